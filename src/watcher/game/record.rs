//! The record of a game: where it began, and the half-moves that were made since.

use std::{cell::LazyCell, collections::VecDeque, ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Color, Move, Role, uci::UciMove};

use super::{Made, names};
use crate::{
    board::{PlyKind, Stand},
    event::{ClockState, CompletedBy},
    laws::MovesCompleted,
    time::Millis,
};

/// Number of half-moves of the record that stay open to correction.
pub(in crate::watcher) const REVISABLE: usize = 3;
/// Nobody reacts to a press within this time.
pub(super) const REACTION_MS: u64 = 200;
/// For so many more half-moves room is made at once. A game has a hundred, and many games are watched.
const MORE_HALF_MOVES: usize = 16;
/// Of so many half-moves that are off the record the times are kept.
const MOST_FORMER: usize = 300;

/// Where a game began, or the watcher took it up, and its half-moves, the first one first.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct GameRecord {
    /// The position before the first half-move.
    pub(in crate::watcher) start: Arc<Stand>,
    made: Vec<Made>,
    /// Half-moves that were taken back while the clock stood, the oldest first.
    pub(in crate::watcher) withdrawn: Vec<Made>,
    /// Half-moves that are off the record, each with its number: who puts one back puts it back as it was.
    pub(in crate::watcher) former: VecDeque<Former>,
}

/// What is known of a half-move that is off the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::watcher) struct Former {
    ply: usize,
    uci: String,
    fen: String,
    clock: ClockState,
    at: Millis,
}

impl Deref for GameRecord {
    type Target = [Made];

    fn deref(&self) -> &[Made] {
        &self.made
    }
}

impl GameRecord {
    /// The record before the first half-move.
    pub(in crate::watcher) fn new(start: Arc<Stand>) -> Self {
        Self {
            start,
            made: Vec::new(),
            withdrawn: Vec::new(),
            former: VecDeque::new(),
        }
    }

    /// The rule by which players castle.
    pub(in crate::watcher) fn mode(&self) -> CastlingMode {
        self.start.mode()
    }

    /// Number of half-moves.
    pub(in crate::watcher) fn plies(&self) -> usize {
        self.made.len()
    }

    /// The position after `ply` half-moves.
    pub(in crate::watcher) fn stand_at(&self, ply: usize) -> &Arc<Stand> {
        self.made_as(ply).map_or(&self.start, |made| &made.stand)
    }

    /// The position after the last half-move.
    pub(in crate::watcher) fn stand(&self) -> &Arc<Stand> {
        self.stand_at(self.plies())
    }

    /// Half-move `ply` (from 1).
    pub(in crate::watcher) fn made_as(&self, ply: usize) -> Option<&Made> {
        ply.checked_sub(1).and_then(|i| self.made.get(i))
    }

    /// The player who made half-move `ply` (from 1).
    pub(in crate::watcher) fn mover(&self, ply: usize) -> Color {
        if ply % 2 == 1 {
            self.start.turn()
        } else {
            !self.start.turn()
        }
    }

    /// True when the opponent of `offender` has made a half-move after the offender's act at half-move `ply`.
    pub(super) fn is_answered(&self, offender: Option<Color>, ply: usize) -> bool {
        offender
            .is_some_and(|offender| (ply.max(1)..=self.plies()).any(|later| self.mover(later) != offender))
    }

    /// The reading of the clock in the position before half-move `ply`.
    pub(super) fn clock_before(&self, ply: usize) -> Option<ClockState> {
        self.get(ply.checked_sub(2)?)?.clock
    }

    /// True when a press at `pressed` came sooner after the opponent's than anybody reacts: the lever has rather sprung back.
    pub(super) fn is_no_reaction(&self, pressed: Millis, slack: u64) -> bool {
        self.after_press(pressed)
            .is_some_and(|ms| ms <= REACTION_MS + slack)
    }

    /// How long after the press for the last half-move a press at `pressed` came, in milliseconds.
    pub(super) fn after_press(&self, pressed: Millis) -> Option<u64> {
        let last = self
            .last()
            .filter(|last| last.completed_by == CompletedBy::Clock)?;
        (last.at <= pressed).then(|| pressed.since(last.at))
    }

    /// Number of moves that each player has completed, with those before the watcher took the game up.
    pub(in crate::watcher) fn moves_completed(&self) -> MovesCompleted {
        let before = self.start.setup().fullmoves.get() - 1;
        let black_began = u32::from(self.start.turn() == Color::Black);
        let plies = self.plies() as u32 + black_began;
        MovesCompleted {
            white: before + plies.div_ceil(2),
            black: before + plies / 2,
        }
    }

    /// The half-moves after which the position of `stand` stood on the board (9.2.3).
    pub(in crate::watcher) fn occurrences(&self, stand: &Stand) -> Vec<usize> {
        // Placements tell nearly all positions apart, and the key takes long to make.
        let key = LazyCell::new(|| stand.repetition_key());
        let same = |other: &Stand| {
            std::ptr::eq(other, stand)
                || other.placement() == stand.placement() && other.repetition_key() == *key
        };
        // With the other side to move it is another position.
        let first = usize::from(stand.turn() != self.start.turn());
        (first..=self.plies())
            .step_by(2)
            .filter(|ply| same(self.stand_at(*ply)))
            .collect()
    }

    /// The same half-moves, played from `start`. None where one of them is not legal there.
    pub(super) fn played_from(&self, start: &Arc<Stand>) -> Option<Vec<Made>> {
        let mode = start.mode();
        self.replayed(0, start, |_, made, mv| UciMove::from_move(mv, mode) == made.uci)
    }

    /// The half-moves from `index` on, played anew from `before`: each is the one of which `is_it` is true. None where none is legal.
    fn replayed(
        &self,
        index: usize,
        before: &Arc<Stand>,
        is_it: impl Fn(usize, &Made, Move) -> bool,
    ) -> Option<Vec<Made>> {
        let mut before = before.clone();
        let play = |(i, made): (usize, &Made)| {
            let made_in = made.made_in.as_ref().unwrap_or(&before);
            let candidate = made_in
                .candidates()
                .find(|candidate| is_it(i, made, candidate.mv))?;
            let stand = Arc::new(made_in.after(&candidate));
            let kind = PlyKind::Legal(candidate.mv);
            let (uci, san) = names(made_in, &kind, before.mode());
            before = stand.clone();
            Some(Made {
                kind,
                uci,
                san,
                stand,
                accepted: false,
                ..made.clone()
            })
        };
        self.iter().enumerate().skip(index).map(play).collect()
    }

    /// The half-moves from the promotion `index` on, with `role` as the new piece. None if they are not legal then.
    pub(in crate::watcher) fn with_promotion(&self, index: usize, role: Role) -> Option<Vec<Made>> {
        self.replayed(index, self.stand_at(index), |i, made, mv| {
            if i == index {
                let to = mv.from().map(|from| (from, mv.to()));
                return to.is_some() && to == made.kind.from_to() && mv.promotion() == Some(role);
            }
            // The new piece may be captured later.
            let like = |said: Move| {
                (said.from(), said.to(), said.promotion()) == (mv.from(), mv.to(), mv.promotion())
            };
            made.kind.legal().is_some_and(like)
        })
    }

    /// Appends a half-move.
    pub(in crate::watcher) fn push(&mut self, made: Made) {
        if self.made.len() == self.made.capacity() {
            self.made.reserve_exact(MORE_HALF_MOVES);
        }
        self.made.push(made);
    }

    /// Half-moves of it, to be put right. None is added so, nor taken out.
    pub(in crate::watcher) fn made_mut(&mut self) -> &mut [Made] {
        &mut self.made
    }

    /// Keeps the first `plies` half-moves, and forgets those that were taken back.
    pub(in crate::watcher) fn truncate(&mut self, plies: usize) {
        let gone = self.made.drain(plies.min(self.made.len())..).zip(plies + 1..);
        let former = gone.filter_map(|(made, ply)| {
            Some(Former {
                ply,
                uci: made.uci.to_string(),
                fen: made.stand.fen(),
                clock: made.clock?,
                at: made.at,
            })
        });
        self.former.extend(former);
        let many = self.former.len().saturating_sub(MOST_FORMER);
        self.former.drain(..many);
        self.withdrawn.clear();
    }

    /// The clock and the time of half-move `ply` as it was on the record before; none where it was not.
    pub(in crate::watcher) fn former(
        &self,
        ply: usize,
        uci: &str,
        after: &Stand,
    ) -> Option<(ClockState, Millis)> {
        let mut same = self
            .former
            .iter()
            .rev()
            .filter(|former| former.ply == ply && former.uci == uci);
        let fen = after.fen();
        same.find(|former| former.fen == fen)
            .map(|former| (former.clock, former.at))
    }

    /// Gives back the room for more half-moves: there will hardly be any.
    pub(in crate::watcher) fn shrink(&mut self) {
        self.made.shrink_to_fit();
    }
}

//! What was heard since the board last stood as the record says: a half-move under way, a press that is
//! not judged yet. It goes into the snapshot and is heard again after a restart, so that what was not
//! said yet is said then.

use std::{collections::VecDeque, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    core::{Core, Phase},
    game::{Game, Press},
    memory::Squares,
    reading::settled,
    snapshot::{Hex, Plies, Shown, When},
};
use crate::{
    board::{Line, Stand},
    dgt::{ClockReading, Decoder, Identity, Message},
    laws::IrregularityKind,
    time::Millis,
};

/// Messages that a trail may have. A longer one tells of much that is in no record: the board as it
/// stands tells as much.
const MOST_HEARD: usize = 256;
/// Half-moves that may have entered the record since its start: later ones are past doubt.
const MOST_PLIES: usize = super::settle::REVISABLE;

/// Moments that may become the start: one for each half-move that is not in the record yet.
const MOST_WAYMARKS: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// Moments when the board stood as a line had it. The first is the start where its half-moves are in the
    /// record; the others wait for that.
    waymarks: VecDeque<Waymark>,
    /// Bytes of all messages since the first, and when each came, with where it ends.
    bytes: Vec<u8>,
    heard: Vec<(Millis, usize)>,
}

#[derive(Clone, Debug)]
struct Waymark {
    at: Millis,
    /// Half-moves of the game by then.
    plies: usize,
    /// The position after them.
    stand: Arc<Stand>,
    /// What stood on the board.
    squares: Squares,
    clock: Option<ClockReading>,
    /// Messages of the trail before it.
    messages: usize,
}

impl Waymark {
    /// True when the record has its half-moves.
    fn is_known(&self, game: &Game) -> bool {
        self.plies <= game.plies() && game.stand_at(self.plies).placement() == self.stand.placement()
    }
}

/// A trail as it is kept: in hex, as in a capture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedTrail {
    plies: Plies,
    squares: Shown,
    heard: Vec<(When, Hex)>,
}

impl SavedTrail {
    /// The trail that was kept with a game of so many half-moves at `taken`; else what makes no sense in it.
    pub(super) fn read(kept: serde_json::Value, plies: usize, taken: When) -> Result<Self, String> {
        let trail: Self = serde_json::from_value(kept).map_err(|error| error.to_string())?;
        let (begins, heard) = (usize::from(trail.plies), trail.heard.len());
        if begins > plies {
            return Err(format!("it begins after half-move {begins} of {plies}"));
        }
        // With what the clock showed at its start.
        if heard > MOST_HEARD + 1 {
            return Err(format!("it has {heard} messages, more than are kept"));
        }
        let times = trail.heard.iter().map(|(at, _)| *at);
        if !times.chain([taken]).is_sorted() {
            return Err("its messages are not in the order of their times".to_owned());
        }
        Ok(trail)
    }
}

impl Trail {
    /// It leads nowhere: what is under way is not told by it.
    pub(super) fn lose(&mut self) {
        self.waymarks.clear();
        self.bytes.clear();
        self.heard.clear();
    }

    /// A message came.
    pub(super) fn hear(&mut self, now: Millis, message: &Message<'_>) {
        let told = matches!(
            message,
            Message::Field { .. } | Message::Dump(_) | Message::Clock(_) | Message::NoClock
        );
        if self.waymarks.is_empty() || !told {
            return;
        }
        if self.heard.len() >= MOST_HEARD {
            return self.lose();
        }
        message.encode(&mut self.bytes);
        self.heard.push((now, self.bytes.len()));
    }

    fn mark(&mut self, mark: Waymark) {
        // The latest moment with as many half-moves will do: an earlier one has more to hear again.
        self.waymarks.retain(|known| known.plies < mark.plies);
        if self.waymarks.len() < MOST_WAYMARKS {
            self.waymarks.push_back(mark);
        }
    }

    /// The trail begins at waymark `index`: what was heard before it is in the record.
    fn begin_at(&mut self, index: usize) {
        self.waymarks.drain(..index);
        let Some(before) = self.waymarks.front().map(|start| start.messages) else {
            return;
        };
        let bytes = before.checked_sub(1).map_or(0, |last| self.heard[last].1);
        self.bytes.drain(..bytes);
        self.heard.drain(..before);
        for (_, end) in &mut self.heard {
            *end -= bytes;
        }
        for mark in &mut self.waymarks {
            mark.messages -= before;
        }
    }

    /// The trail from the last moment that the record knows.
    pub(super) fn save(&self, game: &Game) -> Option<SavedTrail> {
        let start = self.waymarks.front().filter(|start| start.is_known(game))?;
        let mut heard = Vec::with_capacity(self.heard.len() + 1);
        if let Some(clock) = start.clock {
            let mut bytes = Vec::new();
            Message::Clock(clock).encode(&mut bytes);
            heard.push((When(start.at), Hex(bytes)));
        }
        let mut from = 0;
        for (at, end) in &self.heard {
            heard.push((When(*at), Hex(self.bytes[from..*end].to_vec())));
            from = *end;
        }
        Some(SavedTrail {
            plies: start.plies.into(),
            squares: Shown(start.squares),
            heard,
        })
    }
}

impl Core {
    /// Marks the moment where the board stands as the best line has it and no press waits for its
    /// half-move nor a half-move for its press, and begins anew where the record has caught up.
    pub(super) fn follow_trail(&mut self, now: Millis) {
        let (Phase::Game(game), Some(squares)) = (&self.phase, &self.raw) else {
            return self.trail.lose();
        };
        // What an open irregularity leads to is kept with it; displaced men lead to nothing.
        let displaced = [
            IrregularityKind::PiecesDisplaced,
            IrregularityKind::DisplacedPieceFound,
        ];
        let unsettled = game.open.iter().any(|open| !displaced.contains(&open.kind));
        if game.gap || unsettled || game.result.is_some() || self.sensed.is_felt() {
            return self.trail.lose();
        }
        let best = game.lines.best();
        let runs = self.clock.runs();
        let explained = |press: &Press| best.plies.iter().any(|ply| ply.pressed == Some(press.at));
        // What stood wrong before the last half-move is no part of the next.
        let played = best.plies.last().map_or(game.began, |ply| ply.at);
        let stray = |square| self.sensed.since(square) < played;
        let fallen = best.faults().fall.is_some_and(|fall| !fall.is_over());
        if !fallen
            && best.differing().into_iter().all(stray)
            && best.awaits().is_none()
            && best
                .plies
                .iter()
                .all(|ply| ply.kind.legal().is_some() && (ply.pressed.is_some() || !runs))
            && game.press.iter().chain(&game.later_presses).all(explained)
        {
            self.trail.mark(Waymark {
                at: now,
                plies: game.base + best.plies.len(),
                stand: best.stand.clone(),
                squares: *squares,
                clock: self.clock.reading().copied(),
                messages: self.trail.heard.len(),
            });
        }
        // Also where the start itself has moved on: what was heard before it is no longer to be heard again.
        if let Some(index) = self.trail.waymarks.iter().rposition(|mark| mark.is_known(game)) {
            self.trail.begin_at(index);
        }
        let start = self.trail.waymarks.front().map(|start| start.plies);
        if start.is_some_and(|start| game.plies() > start + MOST_PLIES) {
            self.trail.lose();
        }
    }

    /// Hears again what was heard before a restart. Nothing is judged meanwhile, so nothing is said twice.
    /// Returns false when it does not lead to the half-moves of the record.
    pub(super) fn hear_again(&mut self, trail: &SavedTrail) -> bool {
        let seq = self.out.seq;
        let Phase::Game(game) = &mut self.phase else {
            return false;
        };
        let (plies, squares) = (usize::from(trail.plies), trail.squares.0);
        self.raw = Some(squares);
        self.sensed = settled(&self.orientation.placement(&squares));
        if plies > game.plies() {
            return false;
        }
        game.base = plies;
        self.trail.mark(Waymark {
            at: Millis(0),
            plies,
            stand: game.stand_at(plies).clone(),
            squares,
            clock: None,
            messages: 0,
        });
        let line = Line::new(game.stand_at(plies).clone(), &self.sensed, Millis(0));
        game.lines.reset(Millis(0), &self.sensed, vec![line]);
        game.lines.hide(game.hidden_before, Millis(0), &self.sensed);
        let mut decoder = Decoder::new();
        for (When(at), Hex(bytes)) in &trail.heard {
            decoder.push(*at, bytes, &mut |message| self.hear_one(*at, &message));
        }
        self.out.events.clear();
        self.out.seq = seq;
        self.clock.gap();
        self.clock.attached = None;
        let Phase::Game(game) = &mut self.phase else {
            return false;
        };
        game.on_record()
    }

    fn hear_one(&mut self, at: Millis, message: &Message<'_>) {
        self.clock.tick(at);
        self.clock_events();
        self.message(at, message, &Identity::default());
    }
}

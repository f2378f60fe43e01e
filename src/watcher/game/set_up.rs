//! A position that was set up while the clock stood, and that did not occur in the game: a ruling, or pieces that were put back
//! otherwise than they had stood. Once a player has moved from there, the game goes on from there.

use shakmaty::{Bitboard, CastlingMode};

use super::{Game, Press};
use crate::{
    board::{Line, Placement, Stand, bridge, candidate::Candidate},
    event::{Resolution, notice},
    watcher::{arrays::is_playable, ctx::Ctx},
};

/// Hands have left the board this long before the clock is started again.
const SET_UP_MS: u64 = 500;
/// The players may have made this many half-moves beside a clock that stood.
const UNCLOCKED: usize = 4;

impl Game {
    /// The clock runs again. What stands on the board may have been set up while it stood: by half-moves, or as a person wanted it. The
    /// next half-move tells.
    pub(super) fn look_at_set_up(&mut self, ctx: &mut Ctx<'_>) {
        // The hypotheses did not grow while the clock stood.
        self.course.lines.grow_all(ctx.now, ctx.sensed);
        if !self.is_set_up_otherwise(ctx) {
            return;
        }
        let seen = ctx.sensed.placement();
        if !self.explains(seen) {
            let limits = bridge::Limits {
                plies: UNCLOCKED,
                ..bridge::Limits::default()
            };
            self.bridge_gap(ctx, limits);
            if self.explains(seen) {
                return;
            }
        }
        self.set_up = Some(seen.clone());
    }

    /// True where pieces stand on the board otherwise than in the record, and all that differs was changed while the clock stood.
    fn is_set_up_otherwise(&self, ctx: &Ctx<'_>) -> bool {
        let seen = ctx.sensed.placement();
        let Some(stopped) = ctx.clock.stood_from.filter(|_| self.unbridged.is_none()) else {
            return false;
        };
        let hands_off = ctx.sensed.last_change() + SET_UP_MS <= ctx.now;
        if !hands_off || ctx.sensed.is_felt() || !is_playable(seen) {
            return false;
        }
        // A hypothesis of as many half-moves explains it, although the record has them otherwise.
        let mut as_long = self
            .course
            .lines
            .all()
            .filter(|line| line.plies.len() <= self.course.announced());
        if as_long.any(|line| self.unread.is_shown(line.placement(), seen)) {
            return false;
        }
        let apart = self.course.record.stand().placement().differing(seen);
        let stands: Bitboard = apart
            .into_iter()
            .filter(|s| ctx.sensed.at(*s).is_piece())
            .collect();
        stands.any() && apart.into_iter().all(|s| ctx.sensed.since(s) >= stopped)
    }

    /// The game goes on from what was set up, where the half-move of `press` is legal there, and is not from the record. Returns true
    /// if it does.
    pub(super) fn go_on_from_set_up(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let seen = ctx.sensed.placement();
        let Some(set_up) = self.set_up.take() else {
            return false;
        };
        let is_explained = |line: &Line| {
            let legal = line.plies.iter().all(|ply| ply.kind.legal().is_some());
            legal && self.unread.is_shown(line.placement(), seen)
        };
        if self.course.lines.all().any(is_explained) {
            return false;
        }
        let candidate = half_move(&set_up, seen, press).filter(|_| self.course.on_record());
        let Some(candidate) = candidate else {
            self.set_up = Some(set_up);
            return false;
        };
        // What stands otherwise has no part in this half-move, which may be on the record already.
        let ends = |candidate: &Candidate| (candidate.mv.from(), candidate.mv.to());
        let is_of_record = |record: &Stand| record.candidates().any(|other| ends(&other) == ends(&candidate));
        if self.course.to_move() != press.side || is_of_record(self.course.record.stand()) {
            self.set_up = Some(candidate.after(&set_up));
            return false;
        }
        let message = "While the clock stood, a position was set up that did not occur in the game, and the game goes on from there. If another \
                       one was meant, stop the clock and put that up, or send `set_position`.";
        self.course.notice(ctx, notice::POSITION_SET_UP, message);
        while let Some(index) = self.cases.find(|open| open.target.is_some() && !open.by_hand) {
            self.cases
                .resolve(ctx, &self.course, index, Resolution::Superseded);
        }
        let mut presses = std::mem::take(&mut self.presses);
        self.go_on_from(ctx, &set_up, press.side);
        presses.judged.get_or_insert_with(|| press.clone());
        for press in presses.judged.iter().chain(&presses.later) {
            self.course.lines.press(press.at, ctx.sensed, press.side);
        }
        self.presses = presses;
        true
    }
}

/// The legal half-move of the player who pressed that leads from `set_up` to what is `seen`. The opponent may have lifted pieces since.
fn half_move(set_up: &Placement, seen: &Placement, press: &Press) -> Option<Candidate> {
    let stand = Stand::of_placement(set_up, press.side, CastlingMode::Standard);
    let lifted =
        |left: &Placement, square| seen.at(square).is_empty() && left.at(square).color() == Some(!press.side);
    stand.candidates().find(|candidate| {
        let left = candidate.after(set_up);
        left.differing(seen)
            .into_iter()
            .all(|square| lifted(&left, square))
    })
}

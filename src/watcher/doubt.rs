//! A record that is in doubt, for a piece is not read that may have gone anywhere, or for nobody saw what was played while
//! the link was down: nobody is accused of what may follow from how it was told.

use std::sync::Arc;

use super::game::{Ctx, Game};
use crate::{
    board::{Act, Bill, Line, PlyKind},
    event::CompletedBy,
    time::Millis,
};

/// A press that nothing explains is taken for a half-move that cannot be told after so long.
const EXCUSED_MS: u64 = 2500;
/// After so many half-moves that fit, what was told of a gap is believed.
const BELIEVED: usize = 12;

/// Why the record is in doubt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    /// A piece is not read and has moved.
    pub(super) unread: bool,
    /// A piece was not read where it went.
    pub(super) strayed: bool,
    /// Half-moves of the record when it was told what was played in a gap, and nothing has borne that out.
    pub(super) gap: Option<usize>,
    /// Half-moves that could not be told, in a row.
    excused: usize,
}

impl Doubt {
    /// True when nobody is to be accused of what the record makes of things.
    pub(super) fn any(&self) -> bool {
        self.unread || self.strayed || self.gap.is_some()
    }
}

impl Game {
    /// What was told of a gap is believed once play has gone on from it for a while.
    pub(super) fn look_at_doubt(&mut self) {
        if let Some(told) = self.doubt.gap
            && self.plies() >= told + BELIEVED
            && self.lines.best().differing().is_empty()
        {
            self.doubt.gap = None;
        }
    }

    /// Where the record is in doubt, what no half-move explains is no offence: the record is told otherwise, or goes on from
    /// what was seen. Returns true when nobody is to be accused.
    pub(super) fn excuse(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if !self.doubt.any() {
            return false;
        }
        ctx.wait_for("the record to be beyond doubt");
        let k = self.announced();
        let best = self.lines.best();
        let suspected = best
            .plies
            .get(k)
            .filter(|ply| matches!(ply.kind, PlyKind::Suspect(_)));
        let pressed = suspected.and_then(|ply| ply.pressed).or(best.awaits());
        let Some(pressed) = pressed.filter(|_| self.on_record()) else {
            return true;
        };
        if !ctx.passed(pressed, EXCUSED_MS) || best.plies.len() > k + 1 || self.went_elsewhere(ctx, true) {
            return true;
        }
        self.take_as_it_stands(ctx, pressed);
        true
    }

    /// A half-move that cannot be told enters the record, and the game goes on from what is seen after it.
    fn take_as_it_stands(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) {
        let best = self.lines.best();
        let suspected = best.plies.get(self.announced()).map(|ply| ply.kind.clone());
        let act = match suspected {
            Some(PlyKind::Suspect(act)) => *act,
            _ => {
                let mut left = ctx.sensed.placement().clone();
                for square in best.faults().hidden {
                    left.set(square, best.placement().at(square));
                }
                Act::left(None, &left)
            }
        };
        let before = Line::new(self.stand().clone(), ctx.sensed, ctx.now);
        let left = Arc::new(self.stand().left_as(&act.placement()));
        if left.turn() == self.stand().turn() {
            return;
        }
        let kind = PlyKind::Illegal(Box::new(act));
        let line = before.played(kind, left, ctx.sensed, ctx.now, &Bill::default());
        let Some(mut ply) = line.plies.last().cloned() else {
            return;
        };
        ply.pressed = Some(pressed);
        self.press = None;
        self.announce(ctx, &ply, CompletedBy::Recovered);
        self.restart_lines(ctx);
        for press in self.later_presses.clone() {
            self.lines.press(press.at, ctx.sensed, press.side);
        }
    }
}

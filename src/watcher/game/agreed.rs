//! Half-moves that players take back by agreement while the clock runs. They put back pieces of both, which no player does alone. Who
//! plays on from there shows that they meant it; who puts the pieces forward again, that they only looked at the game.

use shakmaty::Color;

use super::{Press, positions::Positions, press::PressQueue, waits::SCAN_MS};
use crate::{board::Lines, watcher::ctx::Ctx};

/// Hands have put back what they want to, when the board has been at rest for this long.
const AGREED_MS: u64 = 800;
/// No half-move changes more squares.
const HALF_MOVE: usize = 4;

/// After how many half-moves the position stands to which the players have put the pieces back, if they have; `before` is what was
/// known of that.
pub(super) fn put_back(
    ctx: &mut Ctx<'_>,
    positions: &Positions<'_>,
    presses: &PressQueue,
    before: Option<usize>,
) -> Option<usize> {
    let (record, seen) = (&positions.course.record, ctx.sensed.placement());
    let last = record.last().filter(|_| ctx.clock.runs())?;
    if !presses.is_empty() {
        return before;
    }
    let apart = record.stand().placement().differing(seen);
    let is_back = |side| {
        let came = |square| ctx.sensed.at(square).color() == Some(side) && ctx.sensed.since(square) > last.at;
        apart.into_iter().any(came)
    };
    let are_both_back = Color::ALL.into_iter().all(is_back);
    if before.is_none() && !are_both_back || !ctx.still_for(AGREED_MS) {
        return before;
    }
    if !are_both_back || positions.explains(seen) {
        return None;
    }
    positions.earlier(seen).or(before)
}

/// What a press says of half-moves that seem taken back.
pub(super) enum Pressed {
    /// Nothing.
    Nothing,
    /// Nobody knows yet.
    Unknown,
    /// The players only turn the lever.
    Lever,
    /// The lever gives the turn to the player who is to move there.
    GivesOver,
    /// The half-move of the press was made from there.
    PlaysOn,
}

/// What `press` says, where the position after `ply` half-moves was put up.
pub(super) fn pressed(ctx: &mut Ctx<'_>, positions: &Positions<'_>, ply: usize, press: &Press) -> Pressed {
    let record = &positions.course.record;
    if ply >= record.plies() || positions.explains_legally(ctx.sensed.placement()) {
        return Pressed::Nothing;
    }
    if !ctx.passed(press.at, SCAN_MS) {
        ctx.wait_for("the half-move of the press");
        return Pressed::Unknown;
    }
    let (earlier, seen) = (record.stand_at(ply), ctx.sensed.placement());
    if positions.unread.is_shown(earlier.placement(), seen) {
        return if ctx.clock.running() == Some(earlier.turn()) {
            Pressed::GivesOver
        } else {
            Pressed::Lever
        };
    }
    let apart = earlier.placement().differing(seen).count();
    let mut lines = Lines::new(earlier.clone(), ctx.sensed, ctx.now);
    lines.grow_all(ctx.now, ctx.sensed);
    lines.press(press.at, ctx.sensed, press.side);
    let best = lines.best();
    let is_explained = !best.plies.is_empty() && best.differing().is_empty();
    if is_explained || press.side == earlier.turn() && apart <= HALF_MOVE {
        Pressed::PlaysOn
    } else {
        Pressed::Nothing
    }
}

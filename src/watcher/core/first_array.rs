//! What the first press shows of how the game began: a pawn stood astray in the initial position, or Black has begun.

use shakmaty::Color;

use crate::{
    dgt::ClockSide,
    watcher::{
        ctx::Ctx,
        game::{Game, array},
    },
};

/// The first press was for a half-move that the position does not allow in which the game began, as the watcher has it, and
/// another beginning does: the game began so. Whoever pressed has the move there. Returns White's side of the clock, as that shows it.
pub(super) fn begin_otherwise(game: &mut Game, ctx: &mut Ctx<'_>) -> Option<ClockSide> {
    if !game.is_watched() || game.gap.is_open {
        return None;
    }
    let beginning = array::begun_otherwise(ctx, &game.course, &game.cases, &game.presses)?;
    let (pressed, turn) = (beginning.press.side, beginning.start.turn());
    if ctx.clock.is_configured() && pressed != turn {
        return None;
    }
    let side = ctx.clock.side_of(pressed);
    if let Some(finding) = array::begin_otherwise(ctx, &mut game.course, &mut game.presses, beginning) {
        game.accuse(ctx, finding, None);
    }
    Some(if turn == Color::White { side } else { side.other() })
}

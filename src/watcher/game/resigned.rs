//! A press beside a king that was laid down, or beside pieces that are being boxed, completes no half-move.

use shakmaty::Role;

use super::{course::Course, unread::Unread};
use crate::{time::Millis, watcher::ctx::Ctx};

/// Where more pieces than these are off the board, they are being boxed or were swept off.
const MOST_MISSING: usize = 3;

/// True where half-move `k` of the best line, for which somebody pressed at `pressed`, rests on a piece that was read until now and is
/// read nowhere, and the player has rather resigned: it is his king, and the clock was stopped after the press, or more pieces are off.
/// Play that goes on decides.
pub(super) fn may_have(ctx: &Ctx<'_>, course: &Course, unread: &Unread, k: usize, pressed: Millis) -> bool {
    let best = course.lines.best();
    let mut since = best.plies.backwards().take(best.plies.len() - k);
    let is_unread = since.all(|ply| !ply.landed);
    let Some((_, to)) = best.plies[k].kind.from_to().filter(|_| is_unread) else {
        return false;
    };
    let piece = best.placement().at(to);
    let is_missing = ctx.sensed.at(to).is_empty()
        && !unread.squares_not_read(course, ctx.sensed).contains(to)
        && !unread.is_named(piece);
    let is_king = piece.piece().is_some_and(|piece| piece.role == Role::King);
    let is_laid_down = is_king && ctx.is_stopped_since(pressed);
    is_missing && (is_laid_down || is_being_cleared(ctx, course, unread))
}

/// True where so few pieces are on the board that somebody boxes them, or has swept them off.
pub(super) fn is_being_cleared(ctx: &Ctx<'_>, course: &Course, unread: &Unread) -> bool {
    let pieces = course.lines.best().placement().occupied();
    let faults = unread.pieces.len() + (pieces & unread.squares_not_read(course, ctx.sensed)).count();
    let read = ctx.sensed.placement().occupied().count();
    !ctx.sensed.is_felt() && pieces.count() > read + faults + MOST_MISSING
}

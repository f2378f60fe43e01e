//! One act against the Laws that explains the whole board, where the best hypothesis has a legal half-move for the press but leaves
//! pieces where they do not belong.

use super::{
    Press,
    accuse::{nearly_as_likely, seen_at},
    course::Course,
    doubt::is_noticed,
    trust::Trust,
};
use crate::{
    board::{Explanation, IllegalAct, Line, Placement, PlyKind, act::Reason, explain},
    watcher::ctx::Ctx,
};

/// What stood on the board after the player had pressed at `press`, if one act of his explains it, and the best hypothesis does not.
pub(super) fn found(ctx: &mut Ctx<'_>, trust: &Trust<'_>, press: &Press) -> Option<Placement> {
    let course = trust.course;
    let best = course.lines.best();
    let made = best.plies.get(course.announced());
    let made = made.filter(|ply| ply.pressed == Some(press.at))?;
    let seen = seen_at(ctx, course, press);
    // A square that was wrong before explains itself.
    let wrong = made.stand.placement().differing(&seen);
    if !(wrong & best.misplaced(ctx.sensed)).any() {
        return None;
    }
    let explanation = explain(course.record.stand(), &seen);
    let stands = explanation.stands_where_it_may_not();
    let is_one = match explanation {
        Explanation::Illegal(act) => is_likely(ctx, course, &act),
        Explanation::PawnNotReplaced { .. }
        | Explanation::WrongColour { .. }
        | Explanation::CastlingIncomplete { .. } => true,
        Explanation::Nothing | Explanation::Legal | Explanation::OnlyMissing(_) => false,
    };
    let noticed = is_noticed(ctx, press.at);
    let is_proven = stands || noticed || !trust.is_unproven(ctx, Some(press.at));
    (is_one && is_proven).then_some(seen)
}

/// True where `act` is nearly as likely as the best hypothesis, and no fall is. Only castling puts king and rook on these squares, so an
/// illegal castling needs no further evidence.
fn is_likely(ctx: &Ctx<'_>, course: &Course, act: &IllegalAct) -> bool {
    let is_it = |line: &Line| {
        let next = line.plies.get(course.announced()).map(|ply| &ply.kind);
        matches!(next, Some(PlyKind::Suspect(other)) if other.from_to() == act.from_to())
    };
    let fell = |line: &Line| line.faults().fall.is_some_and(|fall| !fall.is_over());
    let likely =
        || nearly_as_likely(ctx, &course.lines, is_it) && !nearly_as_likely(ctx, &course.lines, fell);
    let one = act.from_to().is_some() && act.reason != Reason::OpponentsPieceMoved;
    one && (act.reason.is_of_castling() || likely())
}

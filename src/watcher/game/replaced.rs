//! A pawn that was left on the last rank, or was replaced by a piece of the wrong colour, and that a player exchanges for the
//! right piece after the opponent has replied.

use shakmaty::Role;

use super::{Made, cases::Cases, course::Course, exchanged::EXCHANGED_MS};
use crate::{
    board::Code,
    event::{CompletedBy, Resolution},
    laws::IrregularityKind,
    watcher::ctx::Ctx,
};

/// The exchange belongs to a promotion no further back than this.
const LATELY: usize = 8;

/// Looks whether the right piece has come to where a player had left his pawn.
pub(super) fn look_for_replaced(ctx: &mut Ctx<'_>, course: &mut Course, cases: &mut Cases) {
    let Some((id, told)) = replaced(ctx, course, cases) else {
        return;
    };
    course.tell_anew(ctx, told, "pawn_replaced");
    if let Some(index) = cases.find(|open| open.id == id) {
        cases.resolve(ctx, course, index, Resolution::Restored);
    }
}

/// The case of the pawn, and the half-moves from its promotion on as the right piece makes them.
fn replaced(ctx: &mut Ctx<'_>, course: &Course, cases: &Cases) -> Option<(String, Vec<Made>)> {
    use IrregularityKind::{PromotionNotReplaced, WrongColourPromotion};
    if !course.on_record() || ctx.sensed.is_felt() {
        return None;
    }
    let all_said = course.lines.best().plies.len() == course.announced();
    let is_left = |kind| matches!(kind, PromotionNotReplaced | WrongColourPromotion);
    let case = cases.all().find(|open| {
        let recent = open.ply + LATELY > course.record.plies() && open.ply < course.record.plies();
        recent && is_left(open.kind) && !open.is_dismissed()
    })?;
    let left = course.record.made_as(case.ply)?;
    let (_, to) = left.kind.from_to().filter(|_| left.kind.legal().is_none())?;
    // It may have moved on since.
    let went_on = ctx.sensed.at(to).is_empty();
    if !all_said && !went_on {
        return None;
    }
    let read = if went_on {
        ctx.sensed.before(to)
    } else {
        ctx.sensed.at(to)
    };
    let piece = read.piece()?;
    let stood = course.record.stand().placement().at(to) == left.stand.placement().at(to);
    let is_right = piece.color == course.record.mover(case.ply) && piece.role != Role::Pawn;
    if !stood || !is_right || !went_on && !ctx.passed(ctx.sensed.since(to), EXCHANGED_MS) {
        return None;
    }
    let mut told = course.record.with_promotion(case.ply - 1, piece.role)?;
    told.first_mut()?.completed_by = CompletedBy::Ruling;
    let stands = told.last()?.stand.placement().at(to) == Code::from(piece);
    stands.then(|| (case.id.clone(), told))
}

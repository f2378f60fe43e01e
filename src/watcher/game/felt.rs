//! Boards that feel only which squares are occupied. The watcher takes a promotion to a queen for granted and
//! may have to change it; and it reports what occupation alone can prove.

use shakmaty::Role;

use super::{
    Made,
    cases::Cases,
    course::Course,
    finding::{Finding, Scene},
    record::{GameRecord, REVISABLE},
};
use crate::{
    board::{Explanation, IllegalAct, Lines, Ply, act::Reason, explain},
    event::{Certainty, notice},
    watcher::{ctx::Ctx, not_now::NotNow},
};

/// The board must have been at rest for this long before the watcher doubts a promotion.
const DOUBT_MS: u64 = 1500;
/// Without a clock nothing shows that a half-move is over. So a piece must stand for this long where no legal
/// half-move puts it.
const ILLEGAL_MS: u64 = 10_000;

/// For this many half-moves it stays open what a promoted pawn became, if it has not moved since.
const HELD: usize = 40;

/// The pieces that a pawn may have become, the likeliest first.
const OTHERWISE: [Role; 4] = [Role::Queen, Role::Knight, Role::Rook, Role::Bishop];

/// True when pieces stand where no hypothesis has any, and stay there: a promotion may be another than was taken for granted, or
/// a player has made an illegal move.
pub(super) fn is_stuck(ctx: &mut Ctx<'_>, course: &Course) -> bool {
    let stuck = ctx.sensed.is_felt() && course.lines.best().misplaced(ctx.sensed).any();
    stuck && course.on_record() && ctx.still_for(DOUBT_MS)
}

/// The end of the record with another promotion, if the board is explained by another piece that the pawn became.
pub(super) fn promoted_otherwise(ctx: &Ctx<'_>, course: &Course) -> Option<Vec<Made>> {
    let record = &course.record;
    if course.lines.best().plies.len() != course.announced() {
        return None;
    }
    let promotions = (0..record.plies())
        .rev()
        .filter_map(|i| Some((i, promoted_to(&record[i])?)));
    promotions
        .flat_map(|(i, said)| OTHERWISE.map(|role| (i, said, role)))
        .filter(|(_, said, role)| said != role)
        .filter_map(|(i, _, role)| record.with_promotion(i, role))
        .find(|told| {
            let last = told.last().map_or(&record.start, |made| &made.stand);
            let lines = Lines::new(last.clone(), ctx.sensed, ctx.now);
            lines.best().misplaced(ctx.sensed).is_empty()
        })
}

/// The end of the record with `role` as what the pawn of half-move `ply` became, or that of the last promotion; none where the record
/// has it so.
///
/// # Errors
/// An error says that there was no promotion, or that later half-moves are not legal with that piece.
pub(super) fn promoted(
    record: &GameRecord,
    ply: Option<u32>,
    role: Role,
) -> Result<Option<Vec<Made>>, NotNow> {
    let index = match ply {
        Some(ply) => (ply as usize).checked_sub(1),
        None => record.iter().rposition(|made| promoted_to(made).is_some()),
    };
    let known = index.and_then(|i| Some((i, promoted_to(record.get(i)?)?)));
    let (index, said) = known.ok_or(NotNow::NoPromotion)?;
    if said == role {
        return Ok(None);
    }
    let told = record.with_promotion(index, role);
    told.map(Some).ok_or(NotNow::PlayedOn)
}

/// An illegal move, if a piece stands where it may not go, and nothing innocent explains that. It came after the best hypothesis. No
/// clock was pressed, so the finding is never certain.
pub(super) fn illegal_act(
    ctx: &mut Ctx<'_>,
    course: &Course,
    cases: &Cases,
) -> Option<(Finding, IllegalAct)> {
    if !ctx.still_for(ILLEGAL_MS) {
        return None;
    }
    let best = course.lines.best();
    let (stand, ply) = (best.stand.clone(), course.base + best.plies.len() + 1);
    let seen = ctx.sensed.placement().named_by(stand.placement());
    let Explanation::Illegal(act) = explain(&stand, &seen) else {
        return None;
    };
    let from_to = act.from_to();
    let (_, to) = from_to.filter(|_| act.reason != Reason::OpponentsPieceMoved)?;
    if cases.at_board().any(|open| open.ply == ply) {
        return None;
    }
    let scene = Scene {
        ply,
        before: stand.clone(),
        seen,
        at: ctx.sensed.since(to),
        clock: None,
    };
    let mut finding = Finding::illegal(stand.turn(), &act, scene);
    finding.certainty = Certainty::Probable;
    Some((finding, act))
}

/// Number of half-moves since the base that may be closed to correction. A promotion stays open until the
/// piece has moved, and then for as long as any half-move does.
pub(super) fn held(ctx: &Ctx<'_>, course: &Course) -> usize {
    if !ctx.sensed.is_felt() {
        return usize::MAX;
    }
    let said = &course.record[course.base..];
    let open = |i: &usize| {
        let Some(promotion) = said[*i].kind.legal().filter(|mv| mv.is_promotion()) else {
            return false;
        };
        let touches = |made: &Made| {
            let mv = made.kind.legal();
            mv.is_some_and(|mv| mv.from() == Some(promotion.to()) || mv.to() == promotion.to())
        };
        let moved = said[i + 1..].iter().position(touches);
        said.len() - i <= HELD && moved.is_none_or(|after| said.len() - (i + 1 + after) <= REVISABLE)
    };
    (0..said.len()).find(open).unwrap_or(usize::MAX)
}

/// Gives notice that the watcher takes a queen for granted, where the board cannot tell what a pawn
/// became.
pub(super) fn take_for_granted(ctx: &mut Ctx<'_>, course: &Course, ply: &Ply) {
    let promoted = ply.kind.legal().filter(|mv| mv.promotion() == Some(Role::Queen));
    if let Some(mv) = promoted.filter(|_| ctx.sensed.is_felt()) {
        let message = format!(
            "The board cannot tell what the pawn on {} became: a queen is taken for granted. If it is another piece, say so by the command `promotion`.",
            mv.to()
        );
        course.notice(ctx, notice::PROMOTION_NOT_TOLD, &message);
    }
}

/// The piece that a pawn became in a half-move of the record.
fn promoted_to(made: &Made) -> Option<Role> {
    made.kind.legal()?.promotion()
}

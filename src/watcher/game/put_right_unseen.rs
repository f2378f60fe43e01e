//! An offence that was put right while nobody read the board. The players may have played on from there since.

use std::sync::Arc;

use shakmaty::Move;

use super::{
    Open,
    after::RESTORED_MS,
    course::Course,
    gap::{CLOCK_SPEAKS_MS, GIVEN_UP_MS, Gap, NOT_FIRST, recovered},
    positions::Positions,
};
use crate::{
    board::{IllegalAct, Item, Line, Stand, bridge},
    laws::IrregularityKind,
    time::Millis,
    watcher::{
        arrays::{array_named, is_array_as_read},
        ctx::Ctx,
    },
};

/// The players have played so many half-moves at most before the board is read again.
const PLAYED_ON: usize = 2;

/// The index of the open irregularity from whose position to reinstate half-moves lead to what stands on the board after a gap, where
/// none from the position after the irregularity do.
pub(super) fn put_right_unseen(ctx: &mut Ctx<'_>, positions: &Positions<'_>, gap: &Gap) -> Option<usize> {
    let (course, cases) = (positions.course, positions.cases);
    gap.missed_until
        .filter(|until| ctx.now.since(*until) <= GIVEN_UP_MS)?;
    let next = course.record.plies() + 1;
    let is_at = |open: &Open| open.ply == next && !open.by_hand && is_shown(open);
    let index = cases.find(is_at)?;
    let seen = ctx.sensed.placement();
    // Players who go back, or set the pieces up anew, play on from elsewhere.
    let goes_back = positions.earlier(seen).is_some() || is_array_as_read(&array_named(seen));
    let waits = course.clock_used && !ctx.clock.runs() && !says_nothing(ctx, gap);
    if goes_back || waits || !ctx.still_for(RESTORED_MS) {
        return None;
    }
    let leads_here = |from: &Arc<Stand>| !played_on(ctx, from).is_empty();
    let is_after = |line: &Line| line.plies.iter().any(|ply| ply.kind.legal().is_none());
    let explains = |line: &Line| line.misplaced(ctx.sensed).is_empty() || leads_here(&line.stand);
    let goes_on = course.lines.all().any(|line| is_after(line) && explains(line));
    let is_target = cases.open[index].target.as_ref().is_some_and(leads_here);
    (!goes_on && is_target).then_some(index)
}

/// What became of an illegal act of which the watcher has said nothing yet.
pub(super) enum Unheard {
    /// The clock has not told yet whose time runs.
    Waits,
    /// It was put right. Nobody heard how.
    PutRight,
    /// It may stand on the board.
    Stands,
}

/// What became of the illegal act that was pressed at `pressed` and led to `after`, where nobody has read the board for a while since.
pub(super) fn unheard(
    ctx: &mut Ctx<'_>,
    positions: &Positions<'_>,
    gap: &Gap,
    pressed: Millis,
    after: &Arc<Stand>,
) -> Unheard {
    let Some(read_again) = gap.missed_until.filter(|until| *until > pressed) else {
        return Unheard::Stands;
    };
    let course = positions.course;
    let before = course.record.stand();
    let is_before = positions
        .unread
        .is_shown(before.placement(), ctx.sensed.placement());
    let leads_here = |from| !played_on(ctx, from).is_empty();
    if !is_before && (leads_here(after) || !leads_here(before)) {
        return Unheard::Stands;
    }
    // A clock that stands may never tell, and half-moves wait to be told that were made since.
    let is_left = !is_before && ctx.passed(read_again, GIVEN_UP_MS);
    match ctx.clock.running() {
        None if !is_left && ctx.clock.attached != Some(false) && !says_nothing(ctx, gap) => Unheard::Waits,
        turn if !is_before || turn == Some(course.to_move()) => Unheard::PutRight,
        _ => Unheard::Stands,
    }
}

/// True when the clock has sent no frame since the gap, and would have by now.
fn says_nothing(ctx: &mut Ctx<'_>, gap: &Gap) -> bool {
    ctx.clock.is_silent()
        && gap
            .missed_until
            .is_some_and(|until| ctx.passed(until, CLOCK_SPEAKS_MS))
}

/// The half-moves, two at the most, that lead from `from` to what stands on the board. The last one need not be pressed for yet.
fn played_on(ctx: &Ctx<'_>, from: &Arc<Stand>) -> Vec<Vec<(Move, Arc<Stand>)>> {
    let limits = bridge::Limits {
        plies: PLAYED_ON,
        ..bridge::Limits::default()
    };
    let lead = |turn| bridge::bridge(from, ctx.sensed.placement(), turn, limits).found;
    let in_turn = lead(ctx.clock.running());
    if in_turn.is_empty() { lead(None) } else { in_turn }
}

/// The record goes on by the half-moves that lead to what stands on the board. Nobody heard when they were made: a piece may have
/// stood on its square since before the gap.
pub(super) fn go_on_unseen(ctx: &Ctx<'_>, course: &mut Course) {
    let stand = course.record.stand().clone();
    let root = Line::new(stand.clone(), ctx.sensed, ctx.now);
    for (i, path) in played_on(ctx, &stand).into_iter().enumerate() {
        let mut line = recovered(&root, path, ctx);
        line.charge(Item::Recovered, if i == 0 { 0.0 } else { NOT_FIRST });
        course.lines.add(ctx.now, ctx.sensed, line);
    }
}

/// True where the offence stands on the board: a pawn may only seem not to be replaced, where its square reads nothing.
fn is_shown(open: &Open) -> bool {
    let stood = |act: &IllegalAct| open.ruled.is_none_or(|queen| act.stood_on(queen.to()));
    open.kind == IrregularityKind::CastlingIncomplete || open.act.as_ref().is_some_and(stood)
}

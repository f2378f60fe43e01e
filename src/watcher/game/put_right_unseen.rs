//! An irregularity that was put right while nobody read the board: the players have played on from there since.

use std::sync::Arc;

use super::{Open, after::RESTORED_MS, gap::Gap, positions::Positions, trust::APART_MS};
use crate::{
    board::{Line, Stand, bridge},
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
        .filter(|until| ctx.now.since(*until) <= APART_MS)?;
    let next = course.record.plies() + 1;
    let is_at = |open: &Open| open.ply == next && !open.by_hand && is_shown(open);
    let index = cases.find(is_at)?;
    let seen = ctx.sensed.placement();
    // Players who go back, or set the pieces up anew, play on from elsewhere.
    let goes_back = positions.earlier(seen).is_some() || is_array_as_read(&array_named(seen));
    if goes_back || course.clock_used && !ctx.clock.runs() || !ctx.still_for(RESTORED_MS) {
        return None;
    }
    let leads_here = |from: &Arc<Stand>| {
        let limits = bridge::Limits {
            plies: PLAYED_ON,
            ..bridge::Limits::default()
        };
        // The last half-move need not be pressed for yet.
        !bridge::bridge(from, seen, None, limits).found.is_empty()
    };
    let is_after = |line: &Line| line.plies.iter().any(|ply| ply.kind.legal().is_none());
    let explains = |line: &Line| line.misplaced(ctx.sensed).is_empty() || leads_here(&line.stand);
    let goes_on = course.lines.all().any(|line| is_after(line) && explains(line));
    let is_target = cases.open[index].target.as_ref().is_some_and(leads_here);
    (!goes_on && is_target).then_some(index)
}

/// True where the offence stands on the board: a pawn may only seem not to be replaced, where its square reads nothing.
fn is_shown(open: &Open) -> bool {
    let act = open.act.as_ref();
    act.is_some_and(|act| open.ruled.is_none_or(|queen| act.stood_on(queen.to())))
}

//! An irregularity that was put right while nobody read the board: the players have played on from there since.

use std::sync::Arc;

use super::{Open, cases::Cases, course::Course};
use crate::{
    board::{Line, Stand, bridge},
    watcher::ctx::Ctx,
};

/// The players have played so many half-moves at most before the board is read again.
const PLAYED_ON: usize = 2;

/// The index of the open irregularity from whose position to reinstate half-moves lead to what stands on the board, where none from the
/// position after the irregularity do.
pub(super) fn put_right_unseen(ctx: &Ctx<'_>, course: &Course, cases: &Cases) -> Option<usize> {
    let next = course.record.plies() + 1;
    let is_at = |open: &Open| open.act.is_some() && open.ply == next && !open.by_hand;
    let index = cases.find(is_at)?;
    let leads_here = |from: &Arc<Stand>| {
        let limits = bridge::Limits {
            plies: PLAYED_ON,
            ..bridge::Limits::default()
        };
        let seen = ctx.sensed.placement();
        !bridge::bridge(from, seen, ctx.clock.running(), limits)
            .found
            .is_empty()
    };
    let is_after = |line: &Line| line.plies.iter().any(|ply| ply.kind.legal().is_none());
    let explains = |line: &Line| line.misplaced(ctx.sensed).is_empty() || leads_here(&line.stand);
    let goes_on = course.lines.all().any(|line| is_after(line) && explains(line));
    let is_target = cases.open[index].target.as_ref().is_some_and(leads_here);
    (!goes_on && is_target).then_some(index)
}

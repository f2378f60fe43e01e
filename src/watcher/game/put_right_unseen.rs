//! An irregularity that was put right while nobody read the board: the players have played on from there since.

use std::sync::Arc;

use super::{Open, after::Takebacks};
use crate::{
    board::{Line, Stand, bridge},
    watcher::ctx::Ctx,
};

/// The players have played so many half-moves at most before the board is read again.
const PLAYED_ON: usize = 2;

impl Takebacks<'_> {
    /// Looks whether half-moves from the position to reinstate lead to what stands on the board, and none from the position after the
    /// irregularity do.
    pub(super) fn look_for_put_right_unseen(&mut self, ctx: &mut Ctx<'_>) {
        let next = self.course.record.plies() + 1;
        let is_at = |open: &Open| open.act.is_some() && open.ply == next && !open.by_hand;
        let Some(index) = self.cases.find(is_at) else {
            return;
        };
        let leads_here = |from: &Arc<Stand>| {
            let limits = bridge::Limits {
                plies: PLAYED_ON,
                ..bridge::Limits::default()
            };
            let seen = ctx.sensed.placement();
            !bridge::bridge(from, seen, ctx.clock.running(), limits).found.is_empty()
        };
        let is_after = |line: &Line| line.plies.iter().any(|ply| ply.kind.legal().is_none());
        let explains = |line: &Line| line.misplaced(ctx.sensed).is_empty() || leads_here(&line.stand);
        let goes_on = self.course.lines.all().any(|line| is_after(line) && explains(line));
        if !goes_on && self.cases.open[index].target.as_ref().is_some_and(leads_here) {
            self.restore(ctx, index);
        }
    }
}

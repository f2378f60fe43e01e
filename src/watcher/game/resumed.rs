//! The clock runs again, and tells what hands did while it stood: half-moves were taken back, or made otherwise, or an irregularity was
//! put right.

use super::{Open, after::Takebacks, set_up::hands_are_off};
use crate::{event::CompletedBy, laws::IrregularityKind, watcher::ctx::Ctx};

impl Takebacks<'_> {
    /// The clock runs again. If an earlier position stands on the board, the game goes on from there. Returns false where nothing of the
    /// game explains what stands there.
    pub(super) fn started_again(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if self.take_put_straight(ctx) || self.take_unread_back(ctx) {
            return true;
        }
        let seen = ctx.sensed.placement();
        let mut is_known = true;
        if let Some(many) = self.positions().put_up_again(seen) {
            self.course.reinstate(ctx, many);
        } else if !self.take_exchanged(ctx) && !self.take_made_otherwise(ctx) {
            let positions = self.positions();
            let earlier = positions.earlier(seen).filter(|_| !positions.explains(seen));
            let earlier = earlier.or_else(|| {
                let stopped = ctx.clock.stood_from.filter(|_| hands_are_off(ctx))?;
                positions.nearly_earlier(ctx.sensed, ctx.clock.running()?, stopped)
            });
            is_known = earlier.is_some();
            if let Some(ply) = earlier {
                self.go_back(ctx, ply, "position_put_up_again");
            }
        }
        self.course.record.withdrawn.clear();
        is_known
    }

    /// Nothing was read of the last half-move, whose piece has no working chip or which the watcher could not name: its player's time runs
    /// again, so he made none. Returns true if so.
    fn take_unread_back(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let record = &self.course.record;
        let Some(last) = record.last() else {
            return false;
        };
        let ply = record.plies() - 1;
        let before = record.stand_at(ply);
        let is_unread = last.completed_by == CompletedBy::Recovered
            && self.unread.is_shown(before.placement(), ctx.sensed.placement());
        if !is_unread || ctx.clock.running() != Some(before.turn()) {
            return false;
        }
        self.go_back(ctx, ply, "position_put_up_again");
        true
    }

    /// The last half-move was taken back while the clock stood, and another one was made. The opponent's time runs. Returns true if so.
    fn take_made_otherwise(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some((ply, stopped)) = self
            .course
            .record
            .plies()
            .checked_sub(1)
            .zip(ctx.clock.stood_from)
        else {
            return false;
        };
        let (before, seen) = (self.course.record.stand_at(ply).clone(), ctx.sensed.placement());
        let apart = self.course.record.stand().placement().differing(seen);
        let by_hand = apart.any()
            && apart
                .into_iter()
                .all(|square| ctx.sensed.since(square) >= stopped);
        if !by_hand
            || !hands_are_off(ctx)
            || ctx.clock.running() != Some(!before.turn())
            || self.positions().explains(seen)
        {
            return false;
        }
        let Some(made) = self.positions().half_move_shown(&before, seen) else {
            return false;
        };
        self.go_back(ctx, ply, "position_put_up_again");
        self.enter_ruled(ctx, &made);
        true
    }

    /// The time of the opponent runs after an illegal move, and its piece stands where a legal half-move puts it: that was played
    /// while the clock stood. Returns true if so.
    fn take_put_straight(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let (next, offender) = (self.course.record.plies() + 1, self.course.to_move());
        let is_open = |open: &Open| open.kind == IrregularityKind::IllegalMove && open.ply == next;
        let Some(index) = self.cases.find(is_open) else {
            return false;
        };
        let seen = ctx.sensed.placement();
        let Some(made) = self.positions().half_move_shown(self.course.record.stand(), seen) else {
            return false;
        };
        if ctx.clock.running() != Some(!offender) {
            return false;
        }
        self.cases.put_right(ctx, self.course, self.hands, index);
        self.enter_ruled(ctx, &made);
        true
    }
}

//! A promoted piece that is exchanged for another one while the clock stands: the one that was meant was not at hand, and an arbiter
//! has brought it (6.11.2), or has ruled so.

use super::after::{Takebacks, promoted_otherwise};
use crate::{board::candidate::Candidate, event::CompletedBy, time::Millis, watcher::ctx::Ctx};

/// The other piece must stand for this long.
pub(super) const EXCHANGED_MS: u64 = 1500;

impl Takebacks<'_> {
    /// Looks whether the piece of the last half-move, a promotion, has been exchanged while the clock stands.
    pub(super) fn look_for_exchanged(&mut self, ctx: &mut Ctx<'_>) {
        if self.exchanged(ctx).is_some() && ctx.still_for(EXCHANGED_MS) {
            self.take_exchanged(ctx);
        }
    }

    /// The record follows where the piece of the last half-move was exchanged. Returns true if it was.
    pub(super) fn take_exchanged(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(made) = self.exchanged(ctx) else {
            return false;
        };
        self.go_back(ctx, self.course.record.plies() - 1, "promoted_piece_exchanged");
        self.enter_ruled(ctx, &made);
        true
    }

    /// The last half-move as what stands on the board has it, where that is the same promotion to another piece.
    fn exchanged(&self, ctx: &Ctx<'_>) -> Option<Candidate> {
        let made = self.course.record.last()?;
        let promotion = made.kind.legal().filter(|mv| mv.is_promotion())?;
        let stopped = ctx.clock.stopped_at;
        let since = |at: Millis| at >= made.at || made.completed_by == CompletedBy::Ruling;
        let stands = stopped.is_some_and(since) || self.starts_again(ctx, made.at);
        if !stands || ctx.sensed.is_felt() || self.cases.at_board().next().is_some() {
            return None;
        }
        promoted_otherwise(
            self.course.record.stand_at(self.course.record.plies() - 1),
            promotion,
            ctx,
        )
    }

    /// The clock was started again just now, after the half-move that was made at `made`.
    fn starts_again(&self, ctx: &Ctx<'_>, made: Millis) -> bool {
        ctx.clock.started_at == ctx.now && ctx.now > made
    }
}

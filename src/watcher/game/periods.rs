//! How far the players are in the periods of the time control (6.4).

use shakmaty::Color;

use super::flags::Flags;
use crate::{laws::MovesCompleted, watcher::ctx::Ctx};

impl Flags {
    /// True if `side`, who has completed as many moves as `made` says, has made those of the period that ends with this flag
    /// (6.4).
    pub(super) fn period_is_complete(&self, ctx: &Ctx<'_>, side: Color, made: MovesCompleted) -> bool {
        self.progress.complete(&ctx.rules.periods, side, made.by(side))
    }

    /// True when both players are known to be in the last period.
    pub(super) fn in_last_period(&self, ctx: &Ctx<'_>) -> bool {
        let mut sides = Color::ALL.into_iter();
        sides.all(|side| self.progress.is_last(&ctx.rules.periods, side))
    }
}

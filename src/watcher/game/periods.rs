//! How far the players are in the periods of the time control (6.4).

use shakmaty::Color;

use super::Game;
use crate::{laws::MovesCompleted, watcher::ctx::Ctx};

/// Number of moves that `side` has made.
pub(super) fn made_by(side: Color, made: MovesCompleted) -> u32 {
    match side {
        Color::White => made.white,
        Color::Black => made.black,
    }
}

impl Game {
    /// True if `side` has made the moves of the period that ends with this flag (6.4).
    pub(super) fn period_is_complete(&self, ctx: &Ctx<'_>, side: Color) -> bool {
        let made = made_by(side, self.moves_completed());
        self.flags.progress.complete(&ctx.settings.periods, side, made)
    }

    /// True when both players are known to be in the last period.
    pub(super) fn in_last_period(&self, ctx: &Ctx<'_>) -> bool {
        let mut sides = Color::ALL.into_iter();
        sides.all(|side| self.flags.progress.is_last(&ctx.settings.periods, side))
    }
}

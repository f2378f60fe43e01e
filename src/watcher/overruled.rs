//! A board that stands as before what a person has entered.
//!
//! An arbiter may enter half-moves that nobody has made on the board yet. That it shows the position before them is no
//! takeback: the record is the arbiter's, and the board is heard again once it has stood otherwise.

use super::{
    doubt::Overruled,
    game::{Ctx, Game},
};

/// How long the board must stand otherwise: a piece that is adjusted is back sooner.
const OTHERWISE_MS: u64 = 1500;

impl Game {
    /// A person has put the record right.
    pub(super) fn overrule(&mut self, ctx: &Ctx<'_>) {
        self.overruled = if self.gap {
            Some(Overruled::Next)
        } else {
            self.contradicting(ctx)
        };
    }

    fn contradicting(&self, ctx: &Ctx<'_>) -> Option<Overruled> {
        let seen = ctx.sensed.placement();
        let is_before = !self.stand().placement().agrees(seen) && self.earlier(seen).is_some();
        is_before.then(|| Overruled::Shown(seen.clone()))
    }

    /// True while the board is not heard. Nobody can have pressed for what it shows.
    pub(super) fn is_overruled(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if self.overruled == Some(Overruled::Next) {
            self.overruled = self.contradicting(ctx);
        }
        let Some(Overruled::Shown(then)) = &self.overruled else {
            return false;
        };
        let stands = then == ctx.sensed.placement();
        if !stands && (self.stand().placement() == ctx.sensed.placement() || ctx.still_for(OTHERWISE_MS)) {
            self.overruled = None;
            return false;
        }
        if stands {
            self.press = None;
            self.later_presses.clear();
        }
        true
    }
}

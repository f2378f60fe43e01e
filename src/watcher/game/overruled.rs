//! A board that does not yet show what a person has entered.
//!
//! An arbiter may enter half-moves that nobody has made on the board yet. The board then shows the position
//! before them, which is no takeback. Or the board shows half-moves that the arbiter has taken out: they were not
//! played again because it still does. The arbiter's record counts, and the watcher listens to the board again
//! once the board has changed.

use super::{Game, doubt::Overruled};
use crate::{board::Placement, watcher::ctx::Ctx};

/// How long the board must show something else. A piece that is adjusted is back sooner.
const OTHERWISE_MS: u64 = 1500;

impl Overruled {
    /// True while `seen` is the placement that does not count.
    pub(in crate::watcher) fn is_shown(&self, seen: &Placement) -> bool {
        matches!(self, Self::Shown(then) if then == seen)
    }
}

impl Game {
    /// A person has put the record right. Notes what the board shows against it.
    pub(in crate::watcher) fn overrule(&mut self, ctx: &Ctx<'_>) {
        self.overruled = if self.gap {
            Some(Overruled::Next)
        } else {
            self.contradicting(ctx)
        };
    }

    fn contradicting(&self, ctx: &Ctx<'_>) -> Option<Overruled> {
        let seen = ctx.sensed.placement();
        let is_start = self.course.record.start.placement().agrees(seen);
        let is_before = !self.course.record.stand().placement().agrees(seen)
            && (is_start || self.earlier(seen).is_some());
        (is_before || self.is_foreign(seen)).then(|| Overruled::Shown(seen.clone()))
    }

    /// True when pieces stand in `seen` that no half-move from the record can have brought there. A piece that is merely
    /// missing may be in a hand, or not be read.
    fn is_foreign(&self, seen: &Placement) -> bool {
        let stand = self.course.record.stand();
        let strange = stand.placement().differing(seen) & seen.occupied();
        let mut ways = stand.candidates();
        strange.any() && !ways.any(|way| way.squares().is_superset(strange))
    }

    /// True while the watcher does not listen to the board. No press can belong to what it shows.
    pub(in crate::watcher) fn is_overruled(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if self.overruled == Some(Overruled::Next) {
            self.overruled = self.contradicting(ctx);
        }
        let Some(Overruled::Shown(then)) = &self.overruled else {
            return false;
        };
        let sensed = ctx.sensed;
        let seen = sensed.placement();
        let stands = then == seen;
        if !stands && (self.course.record.stand().placement() == seen || ctx.still_for(OTHERWISE_MS)) {
            // The players may make the entered half-moves on the board one by one.
            let goes_on = self.earlier(then) < self.earlier(seen);
            self.overruled = self.contradicting(ctx).filter(|_| goes_on);
            return self.overruled.is_some();
        }
        if stands && self.presses.judged.take().is_some() {
            self.presses.later.clear();
            self.course.restart_lines(ctx);
        }
        true
    }
}

//! A board that does not yet show what a person has entered.
//!
//! An arbiter may enter half-moves that nobody has made on the board yet. The board then shows the position
//! before them, which is no takeback. Or the board shows half-moves that the arbiter has taken out: they were not
//! played again because it still does. The arbiter's record counts, and the watcher listens to the board again
//! once the board has changed.

use serde::{Deserialize, Serialize};

use super::{after::TAKEN_BACK_MS, positions::Positions};
use crate::{board::Placement, watcher::ctx::Ctx};

/// A reading that contradicts the record and does not count, because a person has put the record right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::watcher) enum Overruled {
    /// The next position that is read, if it is an earlier one of the game.
    Next,
    /// This placement, which stands on the board.
    Shown(Placement),
}

impl Overruled {
    /// True while `seen` is the placement that does not count.
    pub(in crate::watcher) fn is_shown(&self, seen: &Placement) -> bool {
        matches!(self, Self::Shown(then) if then == seen)
    }

    /// What `seen` shows against the record.
    pub(super) fn against(positions: &Positions<'_>, seen: &Placement) -> Option<Self> {
        let record = &positions.course.record;
        let is_start = record.start.placement().agrees(seen);
        let is_before =
            !record.stand().placement().agrees(seen) && (is_start || positions.earlier(seen).is_some());
        (is_before || is_foreign(positions, seen)).then(|| Self::Shown(seen.clone()))
    }

    /// What does not count from now on.
    pub(super) fn hold_on(self, ctx: &mut Ctx<'_>, positions: &Positions<'_>) -> Option<Self> {
        let sensed = ctx.sensed;
        let seen = sensed.placement();
        let record = &positions.course.record;
        match self {
            Self::Next => Self::against(positions, seen),
            Self::Shown(then)
                if then != *seen && (record.stand().placement() == seen || ctx.still_for(TAKEN_BACK_MS)) =>
            {
                // The players may make the entered half-moves on the board one by one.
                let goes_on = positions.earlier(&then) < positions.earlier(seen);
                Self::against(positions, seen).filter(|_| goes_on)
            }
            shown @ Self::Shown(_) => Some(shown),
        }
    }
}

/// True when pieces stand in `seen` that no half-move from the record can have brought there. A piece that is merely
/// missing may be in a hand, or not be read.
fn is_foreign(positions: &Positions<'_>, seen: &Placement) -> bool {
    let stand = positions.course.record.stand();
    let strange = stand.placement().differing(seen) & seen.occupied();
    let mut ways = stand.candidates();
    strange.any() && !ways.any(|way| way.squares().is_superset(strange))
}

//! Boards that feel only which squares are occupied: which way round they lie.

use std::sync::Arc;

use super::{Core, Phase};
use crate::{
    board::{Lines, Orientation, Sensed, Stand},
    time::Millis,
    watcher::OrientationSetting,
};

/// What looks like a first move by Black must stand for this long before the watcher takes it for White's, on
/// a board that lies the other way round.
const FIRST_MOVE_MS: u64 = 3000;

impl Core {
    /// Turns the board if the first half-move shows that it lies the other way round: White moves first, and
    /// the half-move is one of White's only then. The initial position looks the same from both sides where
    /// pieces are not known.
    pub(super) fn lie_by_first_move(&mut self, now: Millis) {
        let (OrientationSetting::Auto, Some(raw)) = (self.settings.orientation, &self.raw) else {
            return;
        };
        let other = match self.orientation {
            Orientation::Normal => Orientation::Turned,
            Orientation::Turned => Orientation::Normal,
            Orientation::QuarterLeft | Orientation::QuarterRight => return,
        };
        if !self.sensed.is_felt() {
            return;
        }
        let due = self.sensed.last_change() + FIRST_MOVE_MS;
        if now < due {
            self.look_at(due);
            return;
        }
        let stand = Stand::initial();
        let sensed = Sensed::settled(&other.placement(raw));
        let lines = Lines::new(Arc::new(stand.clone()), &sensed, now);
        if lines.best().plies.len() == 1 && lines.best().misplaced(&sensed).is_empty() {
            self.turn_to(other);
            if let Phase::Waiting(setup) = &mut self.phase {
                setup.array = Some(stand.placement().clone());
                setup.lines = Some(lines);
            }
        }
    }
}

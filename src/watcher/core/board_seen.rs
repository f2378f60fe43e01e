//! What is seen of the board: its readings, which way round it lies, and since when nobody reads it.

use super::phase::Phase;
use crate::{
    board::{Orientation, Sensed, chips::Chips},
    dgt::Squares,
    time::Millis,
};

/// The board as it is read.
#[derive(Debug)]
pub(in crate::watcher) struct BoardSeen {
    /// The readings of the board, in its own order of squares; none before the first dump.
    pub(in crate::watcher) raw: Option<Squares>,
    pub(in crate::watcher) orientation: Orientation,
    /// An initial position has shown which way round the board lies.
    pub(in crate::watcher) orientation_shown: bool,
    /// The board was turned in the step that is under way.
    turned: bool,
    /// Pieces whose chip says another piece. `raw` has what they are.
    pub(in crate::watcher) chips: Chips,
    pub(in crate::watcher) sensed: Sensed,
    /// Since when nobody reads the board: half-moves may be missing before the next dump.
    pub(in crate::watcher) gap: Option<Millis>,
    /// Squares changed in a gap, as the board told before its dump.
    pub(in crate::watcher) gap_changed: bool,
    /// The board has told that the next change of a square lies apart from the one before it.
    pub(in crate::watcher) apart: bool,
}

impl BoardSeen {
    pub(super) fn new(orientation: Orientation) -> Self {
        Self {
            raw: None,
            orientation,
            orientation_shown: false,
            turned: false,
            chips: Chips::default(),
            sensed: Sensed::default(),
            gap: None,
            gap_changed: false,
            apart: false,
        }
    }

    /// Nobody reads the board from `now` on, until the next dump.
    pub(super) fn unheard(&mut self, now: Millis) {
        self.gap.get_or_insert(now);
        self.gap_changed = false;
        self.apart = false;
    }

    /// What stands on the squares where the board reads `squares`.
    pub(super) fn means(&mut self, now: Millis, phase: &Phase, squares: &Squares) -> Squares {
        self.chips.dump(now, phase.is_idle(), self.raw.as_ref(), squares)
    }

    /// Finds out which way round the board lies while no game goes on. Returns true when the board was read
    /// anew for that.
    pub(super) fn orient(&mut self, phase: &mut Phase) -> bool {
        let (true, Some(raw)) = (phase.is_idle(), &self.raw) else {
            return false;
        };
        // The pieces decide, and not the configuration. If they are set up the other way round, that is for
        // the arbiter (7.2.2, 7.3), and the watcher follows the game all the same.
        let Some(found) = Orientation::of_start(raw) else {
            return false;
        };
        self.orientation_shown = true;
        if found == self.orientation {
            return false;
        }
        self.turn_to(phase, found);
        true
    }

    /// Notes that the board lies another way than the watcher thought, and reads it anew. `phase` begins anew, too.
    pub(super) fn turn_to(&mut self, phase: &mut Phase, orientation: Orientation) {
        self.orientation = orientation;
        self.chips.lie(orientation);
        if let Some(raw) = &self.raw {
            self.sensed = Sensed::settled(&orientation.placement(raw));
        }
        self.turned = true;
        phase.start_over();
    }

    /// True, once, if the board was turned.
    pub(super) fn take_turned(&mut self) -> bool {
        std::mem::take(&mut self.turned)
    }
}

//! What there is one of: the settings, the board and the clock, and how far the times are known. The game and the copy beside it
//! see the same.

use super::board_seen::BoardSeen;
use crate::{
    board::Orientation,
    time::Millis,
    watcher::{OrientationSetting, Settings, clock::Clock},
};

/// Presses of one instant get times that are a millisecond apart. There are never as many as would fill this
/// time.
const TOLD_APART_MS: u64 = 50;

/// What the game and the copy beside it share.
#[derive(Debug)]
pub(in crate::watcher) struct World {
    pub(in crate::watcher) settings: Settings,
    pub(in crate::watcher) board: BoardSeen,
    pub(in crate::watcher) clock: Clock,
    pub(in crate::watcher) timing: Timing,
}

/// How far the times of the messages are known.
#[derive(Clone, Copy, Debug)]
pub(in crate::watcher) struct Timing {
    /// Everything that the board sent before this time has arrived.
    pub(in crate::watcher) told: Millis,
    /// The messages that are being read came in one lump, and nobody knows when each happened.
    pub(in crate::watcher) catches_up: bool,
    /// The bounds within which the messages of the lump happened.
    pub(in crate::watcher) within: Option<(Millis, Millis)>,
    /// When the first message of the last lump happened, roughly.
    pub(in crate::watcher) lump_began: Millis,
    /// The end of the last lump: nobody measured the times of its messages.
    pub(in crate::watcher) lumped: Option<Millis>,
    /// When messages last came at once, after a quiet second. They may have waited.
    pub(in crate::watcher) coincided: Option<Millis>,
    /// Until when the line may have gathered, though nobody knew for how long: see `gathers`.
    pub(in crate::watcher) gathered_until: Option<Millis>,
}

impl World {
    pub(super) fn new(settings: Settings) -> Self {
        let orientation = match settings.orientation {
            OrientationSetting::Turned => Orientation::Turned,
            _ => Orientation::Normal,
        };
        Self {
            clock: Clock::new(settings.clock_side),
            board: BoardSeen::new(orientation),
            timing: Timing::default(),
            settings,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            told: Millis(u64::MAX),
            catches_up: false,
            within: None,
            lump_began: Millis(0),
            lumped: None,
            coincided: None,
            gathered_until: None,
        }
    }
}

impl Timing {
    /// The lump that was read `before` goes on.
    pub(in crate::watcher) fn go_on_with_lump(&mut self, before: &Self) {
        self.catches_up = before.catches_up;
        self.within = before.within;
        self.lump_began = before.lump_began;
    }

    /// Nobody measured the times of messages that go on until `until`.
    pub(super) fn lump_until(&mut self, until: Millis) {
        self.lumped = self.lumped.max(Some(until + TOLD_APART_MS));
    }
}

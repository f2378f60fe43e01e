//! What there is one of: the settings, the board and the clock, and how far the times are known. The game and the copy beside it
//! see the same.

use super::board_seen::BoardSeen;
use crate::{
    board::Orientation,
    watcher::{OrientationSetting, Settings, clock::Clock, timing::Timing},
};

/// What the game and the copy beside it share.
#[derive(Debug)]
pub(in crate::watcher) struct World {
    pub(in crate::watcher) settings: Settings,
    pub(in crate::watcher) board: BoardSeen,
    pub(in crate::watcher) clock: Clock,
    pub(in crate::watcher) timing: Timing,
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

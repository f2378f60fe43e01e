//! How far the times of the messages are known.

use crate::time::Millis;

/// Presses of one instant get times that are a millisecond apart. There are never as many as would fill this
/// time.
const TOLD_APART_MS: u64 = 50;

/// How far the times of the messages are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Everything that the board sent before this time has arrived.
    pub(super) told: Millis,
    /// The messages that are being read came in one lump, and nobody knows when each happened.
    pub(super) catches_up: bool,
    /// The bounds within which the messages of the lump happened.
    pub(super) within: Option<(Millis, Millis)>,
    /// When the first message of the last lump happened, roughly.
    pub(super) lump_began: Millis,
    /// The end of the last lump: nobody measured the times of its messages.
    pub(super) lumped: Option<Millis>,
    /// When messages last came at once, after a quiet second. They may have waited.
    pub(super) coincided: Option<Millis>,
    /// Until when the line may have gathered, though nobody knew for how long: see `gathers`.
    pub(super) gathered_until: Option<Millis>,
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
    pub(super) fn go_on_with_lump(&mut self, before: &Self) {
        self.catches_up = before.catches_up;
        self.within = before.within;
        self.lump_began = before.lump_began;
    }

    /// True where nobody measured when what happened at `at` did: it came in the last lump, or before.
    pub(super) fn is_unmeasured(&self, at: Millis) -> bool {
        self.lumped.is_some_and(|lumped| at <= lumped)
    }

    /// Nobody measured the times of messages that go on until `until`.
    pub(super) fn lump_until(&mut self, until: Millis) {
        self.lumped = self.lumped.max(Some(until + TOLD_APART_MS));
    }
}

//! When the session asks a board for its battery. Only boards that have one answer. The session asks the
//! others once on a link.

use crate::time::Millis;

/// From the handshake to the question (milliseconds, as all below). Questions that matter for the game come
/// first.
const FIRST: u64 = 20_000;
/// Between two questions.
const EVERY: u64 = 60_000;

/// When the next question for the battery is due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BatteryWatch(Option<Millis>);

impl BatteryWatch {
    /// The handshake is complete.
    pub(super) fn opened(&mut self, now: Millis) {
        self.0 = Some(now + FIRST);
    }

    /// The board has a battery.
    pub(super) fn answered(&mut self, now: Millis) {
        self.0 = Some(now + EVERY);
    }

    /// When the next question is due.
    pub(super) fn due(self) -> Option<Millis> {
        self.0
    }

    /// True, once, if the question is due now.
    pub(super) fn is_due(&mut self, now: Millis) -> bool {
        self.0.take_if(|due| now >= *due).is_some()
    }
}

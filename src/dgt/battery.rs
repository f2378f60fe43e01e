//! When a board is asked for its battery. Only boards that have one answer: the others are asked once on a link.

use crate::time::Millis;

/// From the handshake to the question (milliseconds, as all below): what matters for the game comes first.
const FIRST: u64 = 20_000;
/// Between two questions.
const EVERY: u64 = 60_000;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BatteryWatch(Option<Millis>);

impl BatteryWatch {
    /// The handshake is through.
    pub(super) fn opened(&mut self, now: Millis) {
        self.0 = Some(now + FIRST);
    }

    /// The board has one.
    pub(super) fn answered(&mut self, now: Millis) {
        self.0 = Some(now + EVERY);
    }

    /// When it is asked next.
    pub(super) fn due(self) -> Option<Millis> {
        self.0
    }

    /// Whether it is to be asked now; true once.
    pub(super) fn is_due(&mut self, now: Millis) -> bool {
        self.0.take_if(|due| now >= *due).is_some()
    }
}

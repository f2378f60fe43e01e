//! A word that is to be said, at a pace.

use std::time::{Duration, Instant};

/// The time between two answers, between two questions and between two births of one gateway, however many words come in. All who asked
/// meanwhile hear the next answer.
pub(super) const PACE: Duration = Duration::from_millis(500);

/// Whether the word is owed, and when it was said.
#[derive(Debug, Default)]
pub(super) struct Paced {
    pub(super) is_owed: bool,
    /// When it was said last.
    said_at: Option<Instant>,
}

impl Paced {
    /// When it may be said.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let paced = self.said_at.map_or(now, |at| at + PACE);
        self.is_owed.then_some(paced)
    }

    /// True when it is time.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due(now).is_some_and(|at| at <= now)
    }

    /// Notes that it was said.
    pub(super) fn said(&mut self, now: Instant) {
        (self.is_owed, self.said_at) = (false, Some(now));
    }
}

//! Tells all states once more where the broker ended connections soon.
//!
//! A cluster whose lost node comes back ends each connection several times within a second. Meanwhile a node may
//! acknowledge what it hands to nobody, because it does not know yet who listens. Who hears the last state of a board
//! knows what is missing, and asks for it.

use std::time::{Duration, Instant};

use super::{BrokerSession, Phase, blame::YOUNG};
use crate::mqtt::link::BrokerLink;

/// How long after the beginning of the connection that lasts.
const AFTER: Duration = Duration::from_secs(3);

impl<L: BrokerLink> BrokerSession<'_, L> {
    /// Notes whether the connection that has ended was a short one, or one on which all states had still to go out again.
    /// An attempt that came to no connection changes nothing.
    pub(super) fn note_end(&mut self, was_lost: bool) {
        if let Some(connected_at) = self.connected_at {
            let is_short = connected_at.elapsed() < YOUNG;
            self.core.was_short = was_lost && (is_short || self.again_at.is_some());
        }
    }

    /// All states go out with the beginning. Plans to send them again where that may not be enough.
    pub(super) fn plan_again(&mut self) {
        self.again_at = self.core.was_short.then(|| Instant::now() + AFTER);
    }

    /// When all states go out once more, if the session may send and does not stop.
    pub(super) fn again_due(&self) -> Option<Instant> {
        self.again_at
            .filter(|_| self.may_send() && self.phase == Phase::Running)
    }

    /// Queues all states once more, when it is time.
    pub(super) fn tell_again(&mut self) {
        if self.again_due().is_some_and(|at| at <= Instant::now()) {
            self.again_at = None;
            self.core.states.republish();
        }
    }
}

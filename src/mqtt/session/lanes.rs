//! The lanes of events and states, which take turns once they are open.

use std::time::Instant;

use super::{BrokerSession, Phase, blame};
use crate::mqtt::{link::BrokerLink, states::First};

impl<L: BrokerLink> BrokerSession<'_, L> {
    /// Has the journal note that its events can be sent, once the broker has `info`, or does not take it.
    pub(super) fn begin_to_send(&mut self) {
        let journal = &self.core.journal;
        self.is_known |= self.core.states.first() == First::Told;
        if self.is_known && !journal.sends() && !self.has_told_journal {
            self.has_told_journal = journal.try_begin_to_send();
        }
    }

    /// True once the lanes are open: not before the broker has answered `info`, and the journal has noted that its events can be sent. A
    /// run of which nobody knows has sent none, and the next one knows that. Of two that take the name in one moment at most one sends
    /// before it hears of the other.
    pub(super) fn is_open(&self) -> bool {
        self.is_known && self.core.journal.sends()
    }

    /// True where a state can go: each of them once the lanes are open, and `info` before.
    pub(super) fn may_state(&self) -> bool {
        self.is_open() || self.core.states.first() == First::Waits
    }

    /// Hands over what the window lets through: replies, then `info`, then the lanes in turn.
    pub(super) fn pump(&mut self) {
        if matches!(self.phase, Phase::LastWords(_) | Phase::Leaving(_)) {
            return;
        }
        while self.has_room() {
            let went = self.send_reply()
                || if self.is_open() {
                    self.take_turns()
                } else {
                    self.send_info()
                };
            if !went {
                return;
            }
        }
    }

    /// Hands over one message of the lane whose turn it is, or of the other.
    fn take_turns(&mut self) -> bool {
        let may_state = !self.events_come_first();
        let states_first = self.states_first && may_state;
        let went = (states_first && self.send_state())
            || self.send_event()
            || self.clear_ceiling()
            || (!states_first && may_state && self.send_state());
        if went {
            self.states_first = !states_first;
        }
        went
    }

    fn send_info(&mut self) -> bool {
        self.core.states.first() == First::Waits && self.send_state()
    }

    /// True once the broker has answered the questions and the name is ours.
    pub(super) fn may_send(&self) -> bool {
        let is_answered = self.core.readback.is_over() && self.core.claim.holds();
        self.connected_at.is_some() && is_answered && !self.asks_anew
    }

    /// True for a moment where the last connection ended by a message of ours. A state may end this one too, and there
    /// may be many states.
    fn events_come_first(&self) -> bool {
        let is_new = self.connected_at.is_some_and(|at| at.elapsed() < blame::YOUNG);
        is_new && self.core.events_first && self.core.outbox.is_sending()
    }

    pub(super) fn has_room(&self) -> bool {
        let core = &self.core;
        let is_careful = core.suspicion.is_careful() || core.outbox.is_trying();
        self.window
            .has_room(is_careful || core.states.is_trying(Instant::now()))
    }
}

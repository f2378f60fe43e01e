//! A connection has ended: was it by a message of ours? What the broker hangs up on rests, so that all else comes through.

use std::time::{Duration, Instant};

use super::BrokerSession;
use crate::mqtt::{link::BrokerLink, window::Sent};

/// How long a state rests on which the broker hangs up.
const LONG_HOLD: Duration = Duration::from_secs(300);
/// How soon a broker hangs up that refuses a message and hangs up on it.
const AT_ONCE: Duration = Duration::from_secs(1);
/// A connection that ends within this time may end by a state that nobody acknowledges; of an older one nothing tells.
pub(super) const YOUNG: Duration = Duration::from_secs(2);
/// A connection that lasts for so long has nothing to do with what was suspected.
const LASTS: Duration = Duration::from_secs(5);
/// After so long on a connection the birth is said on which the broker hung up, or the line did.
const BIRTH_REST: Duration = Duration::from_secs(60);

/// What is known of a message of ours that may have ended a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::mqtt) enum Culprit {
    /// There may be one.
    Suspected,
    /// It rests now.
    Found,
}

impl<L: BrokerLink> BrokerSession<'_, L> {
    /// The connection ended: perhaps by a message of ours.
    ///
    /// Some brokers refuse a message before they hang up on it. Else the oldest under way is it, if it is so again and
    /// again, or went alone because it was so before.
    pub(super) fn find_culprit(&mut self) -> Option<Culprit> {
        let now = Instant::now();
        let age = self.connected_at.map_or(Duration::ZERO, |at| now - at);
        if let Some((refused, at)) = self.refused.take()
            && now - at < AT_ONCE
        {
            self.put_aside(&refused, now);
            return Some(Culprit::Found);
        }
        let oldest = self.window.oldest(age < YOUNG)?;
        let (key, oldest) = (oldest.key(), oldest.clone());
        let is_again = self.was_guilty(&oldest);
        let is_guilty = key.is_some_and(|key| self.core.suspicion.ended(&key) || is_again);
        if !is_guilty {
            return Some(Culprit::Suspected);
        }
        self.put_aside(&oldest, now);
        Some(Culprit::Found)
    }

    /// All that was suspected went, and the connection lasts; the birth that was left out may be said by now.
    pub(super) fn acquit(&mut self, now: Instant) {
        let age = self.connected_at.map_or(Duration::ZERO, |at| now - at);
        if age < LASTS || !self.window.is_empty() {
            return;
        }
        if self.core.suspicion.is_open() {
            self.core.suspicion.close();
        }
        if self.core.leaves_birth_out && age > BIRTH_REST && self.may_send() && !self.is_born {
            self.is_born = true;
            self.say("online");
        }
    }

    fn was_guilty(&self, sent: &Sent) -> bool {
        match sent {
            Sent::Event { n, .. } => self.core.outbox.is_hung(*n),
            Sent::State { topic } => self.core.states.is_hung(topic),
            Sent::Word => self.core.leaves_birth_out,
            _ => false,
        }
    }

    fn put_aside(&mut self, culprit: &Sent, now: Instant) {
        let topic = match culprit {
            Sent::Event { n, topic } => {
                self.core.outbox.hung_up_on(*n, now);
                topic.clone()
            }
            Sent::State { topic } => {
                self.core.states.hold(topic, now + LONG_HOLD);
                topic.clone()
            }
            Sent::Ceiling { board, .. } => {
                self.core.ceilings.hung_up_on(board);
                self.core.topics.numbers(board)
            }
            Sent::Echo => return self.core.readback.do_without_echo(),
            Sent::Word => {
                self.core.leaves_birth_out = true;
                self.core.topics.status()
            }
            Sent::Claim | Sent::Reply { .. } => return,
        };
        self.alarm(&topic, "the broker hangs up on it: may we publish there?");
    }
}

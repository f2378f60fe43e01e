//! Finds out whether a message of ours ended the connection. A message on which the broker hangs up rests, so that all
//! others come through.

use std::time::{Duration, Instant};

use super::BrokerSession;
use crate::mqtt::{
    link::{BrokerLink, Closed},
    window::Sent,
};

/// A broker that refuses a message and hangs up on it does so within this time.
const AT_ONCE: Duration = Duration::from_secs(1);
/// A connection that ends within this time may have ended by a state that nobody acknowledges. A longer connection
/// tells nothing of such states.
pub(super) const YOUNG: Duration = Duration::from_secs(2);
/// A connection that lasts this long clears the suspects.
const LASTS: Duration = Duration::from_secs(5);
/// How long a connection must last before the session sends a birth that it left out. The broker hung up on that birth,
/// or the line broke.
const BIRTH_REST: Duration = Duration::from_secs(60);

/// What the log says where no word about our name goes out.
pub(super) const NO_WORDS: &str =
    "may we publish there? Until then gateways of our name cannot agree on who publishes";

/// How sure it is that a message of ours ended a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::mqtt) enum Culprit {
    /// Some message may have.
    Suspected,
    /// One was found, and rests now.
    Found,
}

impl<L: BrokerLink> BrokerSession<'_, L> {
    /// Looks, after the connection ended, for a message of ours that may have ended it.
    ///
    /// Some brokers refuse a message before they hang up on it. Else it is the oldest message under way, if that
    /// message was the oldest at several ends, or went alone because of earlier ends. What is found, the reason of the end names.
    pub(super) fn find_culprit(&mut self, closed: &mut Closed) -> Option<Culprit> {
        let now = Instant::now();
        let age = self.connected_at.map_or(Duration::ZERO, |at| now - at);
        if let Some((refused, at)) = self.refused.take()
            && now - at < AT_ONCE
        {
            return Some(self.found(&refused, now, closed));
        }
        let oldest = self.window.oldest(age < YOUNG)?;
        let (key, oldest) = (oldest.key(), oldest.clone());
        let is_again = self.was_guilty(&oldest);
        let is_guilty = key.is_some_and(|key| self.core.suspicion.ended(&key) || is_again);
        if !is_guilty {
            return Some(Culprit::Suspected);
        }
        Some(self.found(&oldest, now, closed))
    }

    /// Clears the suspects once all of them went out and the connection lasts, and sends a birth that was left out when
    /// its time has come.
    pub(super) fn acquit(&mut self, now: Instant) {
        let age = self.connected_at.map_or(Duration::ZERO, |at| now - at);
        if age < LASTS || !self.window.is_empty() {
            return;
        }
        if self.core.suspicion.is_open() {
            self.core.suspicion.close();
        }
        self.core.states.release(now);
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
            Sent::Claim => self.core.claim.is_hung(),
            _ => false,
        }
    }

    /// Has the message rest, and tells where we may not publish.
    fn found(&mut self, culprit: &Sent, now: Instant, closed: &mut Closed) -> Culprit {
        if let Some(topic) = self.put_aside(culprit, now) {
            let question = match culprit {
                Sent::Claim => NO_WORDS,
                _ => "may we publish there?",
            };
            let reason = format!("the broker hangs up on it: {question}");
            self.alarm(&topic, &reason);
            closed.reason += &format!("; it hangs up on our messages on {topic}: may we publish there?");
        }
        Culprit::Found
    }

    /// Has the message rest. Returns its topic where somebody must be told.
    fn put_aside(&mut self, culprit: &Sent, now: Instant) -> Option<String> {
        Some(match culprit {
            Sent::Event { n, topic } => {
                self.core.outbox.hung_up_on(*n, now);
                topic.clone()
            }
            Sent::State { topic } => {
                self.core.states.hold(topic, now);
                topic.clone()
            }
            Sent::Ceiling { board, .. } => {
                self.core.ceilings.hung_up_on(board);
                self.core.topics.numbers(board)
            }
            Sent::Echo => {
                self.core.readback.do_without_echo();
                return None;
            }
            Sent::Word => {
                self.core.leaves_birth_out = true;
                self.core.topics.status()
            }
            Sent::Claim => {
                self.core.claim.hung_up_on(now);
                self.core.topics.claim()
            }
            Sent::Reply { .. } => return None,
        })
    }
}

//! Answers to commands on their way to the broker, and what is said of those that it does not take.

use std::time::Instant;

use super::BrokerSession;
use crate::{
    mqtt::{
        link::{BrokerLink, Publication},
        window::Sent,
    },
    throttle::{Throttle, shortened},
};

static LOST_REPLIES: Throttle = Throttle::new();

/// Tells how many lost answers were not told one by one in the minute that is over.
pub(in crate::mqtt) fn tell_left_out(now: Instant) {
    if let Some(count) = LOST_REPLIES.overdue(now) {
        tracing::warn!("the broker did not take {count} more answers to commands");
    }
}

impl<L: BrokerLink> BrokerSession<'_, L> {
    pub(super) fn send_reply(&mut self) -> bool {
        let Some(reply) = self
            .waiting_reply
            .take()
            .or_else(|| self.core.replies.try_recv().ok())
        else {
            return false;
        };
        let message = reply.clone().into_message();
        if !self.reply_fits(&message) {
            return true;
        }
        let topic = message.topic.clone();
        if !self.send(&message, Sent::Reply { topic }) {
            self.waiting_reply = Some(reply);
            return false;
        }
        true
    }

    pub(super) fn reply_fits(&mut self, message: &Publication) -> bool {
        let is_fitting = self.is_within(message);
        if !is_fitting {
            self.reply_lost(&message.topic, "it is larger than the broker takes");
        }
        is_fitting
    }

    /// Logs the loss and keeps nothing of the topic: callers choose where the answer goes, and there is no bound to
    /// such topics.
    pub(super) fn reply_lost(&self, topic: &str, reason: &str) {
        self.core.count(|figures| figures.refused += 1);
        if let Some(left_out) = LOST_REPLIES.pass(Instant::now()) {
            let topic = shortened(topic, 300);
            tracing::warn!(
                "the broker does not take the answer to a command on {topic} ({reason}); answers lost besides, not told one by one: {left_out}"
            );
        }
    }
}

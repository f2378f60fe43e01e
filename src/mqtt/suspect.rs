//! Finds the message on which the broker hangs up.
//!
//! Some brokers end the connection on a message that they do not allow, instead of refusing it. Such a message, sent
//! first after every connect, would keep all others from getting through. At each end of a connection the oldest
//! message under way becomes a suspect, until the broker acknowledges it. After two ends the messages go one by one,
//! which tells the suspects apart and works on a poor network. A message that was the oldest at four ends is put aside.

use std::collections::BTreeMap;

/// Ends after which messages go one by one.
const SUSPECT_ENDS: u32 = 2;
/// A message that was the oldest under way at this many ends is put aside.
const GUILTY_ENDS: u32 = 4;

/// The present suspects.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    /// For each suspect, at how many ends it was the oldest under way.
    ends: BTreeMap<String, u32>,
    is_careful: bool,
}

impl Suspicion {
    /// Notes that a connection ended with this message the oldest under way. True where the message is to be put aside.
    pub(super) fn ended(&mut self, key: &str) -> bool {
        let ends = self.ends.entry(key.to_owned()).or_default();
        *ends += 1;
        if *ends >= GUILTY_ENDS {
            self.close();
            return true;
        }
        self.is_careful |= self.ends.values().sum::<u32>() >= SUSPECT_ENDS;
        false
    }

    /// Notes that the broker acknowledged the message.
    pub(super) fn acked(&mut self, key: &str) {
        self.ends.remove(key);
        self.is_careful &= !self.ends.is_empty();
    }

    /// Clears all suspects, because one was found or a connection lasts with all of them.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    /// True while there are suspects.
    pub(super) fn is_open(&self) -> bool {
        !self.ends.is_empty()
    }

    /// True while messages are to go one by one.
    pub(super) fn is_careful(&self) -> bool {
        self.is_careful
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_message_again_and_again_is_put_aside() {
        let mut suspicion = Suspicion::default();
        assert!(!suspicion.ended("a"));
        assert!(!suspicion.is_careful());
        assert!(!suspicion.ended("a"));
        assert!(suspicion.is_careful());
        suspicion.acked("a");
        assert!(!suspicion.is_careful());
        for _ in 0..3 {
            assert!(!suspicion.ended("a"));
        }
        assert!(!suspicion.ended("b"));
        for _ in 0..2 {
            assert!(!suspicion.ended("b"));
        }
        assert!(suspicion.ended("b"));
        assert!(!suspicion.is_careful(), "it is out of the way");
    }

    #[test]
    fn what_the_broker_takes_is_told_apart_from_what_ends_a_connection() {
        let mut suspicion = Suspicion::default();
        // Both messages go together, each time in another order.
        assert!(!suspicion.ended("a") && !suspicion.ended("b"));
        assert!(suspicion.is_careful(), "each was the oldest once");
        suspicion.acked("a");
        assert!(suspicion.is_careful());
        for _ in 0..2 {
            assert!(!suspicion.ended("b"));
        }
        assert!(suspicion.ended("b") && !suspicion.is_open());
    }
}

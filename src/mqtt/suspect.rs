//! Finding the message on which the broker hangs up.
//!
//! Some brokers end the connection on a message that they do not allow, instead of refusing it:
//! sent first after every connect it would keep everything else from getting through. One that was
//! the oldest under way at two ends in a row is suspected: messages go one by one then, which a poor
//! network survives. One with which the connection ended even so is to be put aside.

/// Ends in a row after which a message is suspected.
const SUSPECT_ENDS: u32 = 2;
/// Ends in a row after which it is to be put aside.
const GUILTY_ENDS: u32 = 4;

/// The present suspect.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    key: String,
    ends: u32,
}

impl Suspicion {
    /// A connection ended with this message the oldest under way. True: put it aside.
    pub(super) fn ended(&mut self, key: &str) -> bool {
        if self.key != key {
            *self = Self {
                key: key.to_owned(),
                ends: 0,
            };
        }
        self.ends += 1;
        self.ends >= GUILTY_ENDS
    }

    /// The broker has it.
    pub(super) fn acked(&mut self, key: &str) {
        if self.key == key {
            *self = Self::default();
        }
    }

    /// True while messages are to go one by one.
    pub(super) fn is_careful(&self) -> bool {
        (SUSPECT_ENDS..GUILTY_ENDS).contains(&self.ends)
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
}

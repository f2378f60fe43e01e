//! What a restored journal had not sent when its copy was made.
//!
//! It may have sent that since, or have given it other numbers since, because another gateway had given its numbers to other events. A copy
//! that was made while the gateway waited for the name, or before it had asked the broker, tells neither. The broker's numbers do: a gateway
//! that must have others goes on far above.

use serde::{Deserialize, Serialize};

use super::{entry::KnownNumbers, numbers::MARGIN};

/// Where a board stood when the copy was made, and where it has gone on since the restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    /// The last number that the copy has.
    pub(super) last: u64,
    /// The number after which it goes on.
    pub(super) base: u64,
}

impl Copied {
    /// The last number under which the journal may have sent what it has; none where the broker has numbers that do not go on from the
    /// copy's, so that others sent theirs under these, or has lost those that it had.
    pub(super) fn sent_since(self, known: &KnownNumbers) -> Option<u64> {
        let highest = known.highest();
        if highest <= self.last {
            (highest > 0).then_some(highest)
        } else {
            let goes_on = highest - self.last <= MARGIN;
            goes_on.then_some(self.base)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_from_the_copy_was_sent_by_its_journal() {
        let copied = Copied {
            last: 10,
            base: 1 << 40,
        };
        let sent = |last, ceiling| {
            copied.sent_since(&KnownNumbers {
                last,
                ceiling,
                ..KnownNumbers::default()
            })
        };
        assert_eq!([sent(0, 0), sent(7, 0), sent(10, 0)], [None, Some(7), Some(10)]);
        assert_eq!([sent(11, 0), sent(9, 70)], [Some(1 << 40); 2]);
        assert_eq!([sent(20 + MARGIN, 0), sent(9, 1 << 41)], [None; 2]);
    }
}

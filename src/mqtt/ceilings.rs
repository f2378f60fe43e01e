//! Ceilings of numbers that lie with the broker, because no disk takes them.
//!
//! Before an event goes out whose number no disk secures, the broker gets a ceiling above it, retained. The next process
//! reads it back and goes on above. It is taken away when a disk has all that was sent.

use std::collections::{BTreeMap, BTreeSet};

/// How far ahead a ceiling is set, so that not every event moves it.
const STEP: u64 = 64;

/// What lies there, and what this connection knows of it.
#[derive(Debug, Default)]
pub(super) struct Ceilings {
    /// Boards of which one lies there, perhaps.
    told: BTreeMap<String, u64>,
    /// What the broker has acknowledged on this connection.
    acked: BTreeMap<String, u64>,
    is_under_way: bool,
    /// Boards of which the broker hangs up on it: it is not sent again.
    hung: BTreeSet<String>,
}

impl Ceilings {
    /// What a former process left there.
    pub(super) fn found(&mut self, ceilings: BTreeMap<String, u64>) {
        self.told.extend(ceilings);
        self.told.retain(|board, _| !self.hung.contains(board));
    }

    /// A new connection: the broker may be another one, or have forgotten.
    pub(super) fn restart(&mut self) {
        let hung = self.hung.iter().map(|board| (board.clone(), u64::MAX));
        self.acked = hung.collect();
        self.is_under_way = false;
    }

    /// Events are not held back for that, on later connections either.
    pub(super) fn hung_up_on(&mut self, board: &str) {
        self.told.remove(board);
        self.hung.insert(board.to_owned());
    }

    /// True when the number is below the ceiling that the broker has.
    pub(super) fn covers(&self, board: &str, seq: u64) -> bool {
        self.acked.get(board).is_some_and(|ceiling| seq <= *ceiling)
    }

    /// The ceiling to send for the number; none while one is under way.
    pub(super) fn wanted(&self, seq: u64) -> Option<u64> {
        (!self.is_under_way).then_some(seq + STEP)
    }

    /// It was handed over; without one, that there is none.
    pub(super) fn sent(&mut self, board: &str, ceiling: Option<u64>) {
        self.is_under_way = true;
        if let Some(ceiling) = ceiling {
            self.told.insert(board.to_owned(), ceiling);
        }
    }

    /// The broker has it.
    pub(super) fn acked(&mut self, board: &str, ceiling: Option<u64>) {
        self.is_under_way = false;
        match ceiling {
            Some(ceiling) => {
                self.acked.insert(board.to_owned(), ceiling);
            }
            None => {
                self.told.remove(board);
                self.acked.remove(board);
            }
        }
    }

    /// The broker does not take it: events are not held back for that.
    pub(super) fn refused(&mut self, board: &str) {
        self.is_under_way = false;
        self.told.remove(board);
        self.acked.insert(board.to_owned(), u64::MAX);
    }

    /// A board whose ceiling lies there, when it is time to take them away.
    pub(super) fn to_clear(&self) -> Option<&str> {
        let board = self.told.keys().next()?;
        (!self.is_under_way).then_some(board)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_counts_when_the_broker_has_it_and_is_taken_away_in_the_end() {
        let mut ceilings = Ceilings::default();
        assert!(!ceilings.covers("7", 129));
        let ceiling = ceilings.wanted(129);
        ceilings.sent("7", ceiling);
        assert!(!ceilings.covers("7", 129) && ceilings.wanted(129).is_none());
        ceilings.acked("7", ceiling);
        assert!(ceilings.covers("7", 129 + STEP) && !ceilings.covers("7", 130 + STEP));
        ceilings.restart();
        assert!(!ceilings.covers("7", 129));
        assert_eq!(ceilings.to_clear(), Some("7"));
        ceilings.hung_up_on("8");
        ceilings.restart();
        assert!(ceilings.covers("8", 129) && !ceilings.covers("7", 129));
        ceilings.sent("7", None);
        ceilings.acked("7", None);
        assert_eq!(ceilings.to_clear(), None);
    }
}

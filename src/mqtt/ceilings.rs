//! The gateway leaves ceilings of event numbers with the broker while no disk takes the events.
//!
//! Before an event goes out whose number no disk secures, the gateway retains a ceiling above that number at the
//! broker. The next process reads the ceiling back and gives out numbers above it. The gateway clears the ceiling when
//! a disk has every event that was sent.

use std::collections::{BTreeMap, BTreeSet};

/// How far above the present number a ceiling is set, so that few events move it.
const STEP: u64 = 64;

/// The ceilings at the broker, and what the broker has done with each on this connection.
#[derive(Debug, Default)]
pub(super) struct Ceilings {
    /// Boards of which the broker may hold a ceiling, with that ceiling.
    told: BTreeMap<String, u64>,
    /// The ceilings that the broker has acknowledged on this connection.
    acked: BTreeMap<String, u64>,
    is_under_way: bool,
    /// Boards whose ceiling made the broker hang up: it is not sent again.
    hung: BTreeSet<String>,
}

impl Ceilings {
    /// Takes the ceilings that a former process left at the broker.
    pub(super) fn found(&mut self, ceilings: BTreeMap<String, u64>) {
        self.told.extend(ceilings);
        self.told.retain(|board, _| !self.hung.contains(board));
    }

    /// Begins a new connection: the broker may be another one, or may have forgotten the ceilings.
    pub(super) fn restart(&mut self) {
        let hung = self.hung.iter().map(|board| (board.clone(), u64::MAX));
        self.acked = hung.collect();
        self.is_under_way = false;
    }

    /// Sends no ceiling of this board again, on later connections either; its events are not held back.
    pub(super) fn hung_up_on(&mut self, board: &str) {
        self.told.remove(board);
        self.hung.insert(board.to_owned());
    }

    /// True when the number is below the ceiling that the broker has.
    pub(super) fn covers(&self, board: &str, seq: u64) -> bool {
        self.acked.get(board).is_some_and(|ceiling| seq <= *ceiling)
    }

    /// The ceiling to send for the number; none while the broker has yet to answer an earlier one.
    pub(super) fn wanted(&self, seq: u64) -> Option<u64> {
        (!self.is_under_way).then_some(seq + STEP)
    }

    /// Notes that a ceiling was handed over; none stands for the message that clears it.
    pub(super) fn sent(&mut self, board: &str, ceiling: Option<u64>) {
        self.is_under_way = true;
        if let Some(ceiling) = ceiling {
            self.told.insert(board.to_owned(), ceiling);
        }
    }

    /// Notes that the broker acknowledged the ceiling.
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

    /// Notes that the broker refuses the ceiling: the board's events are not held back for it.
    pub(super) fn refused(&mut self, board: &str) {
        self.is_under_way = false;
        self.told.remove(board);
        self.acked.insert(board.to_owned(), u64::MAX);
    }

    /// A board whose ceiling the broker holds, when it is time to clear ceilings.
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

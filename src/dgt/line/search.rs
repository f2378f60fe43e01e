//! Searches for boards that come to a line in use and that nobody has configured. The master tells the known
//! boards to be quiet, and then asks all at once whether they are there. It does not wait for answers. If two
//! answers collide, they come again at the next search.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bus::Address;
use crate::time::Millis;

/// Between two searches (milliseconds).
const EVERY: u64 = 10_000;
/// The same for each board that the master has to tell to be quiet before.
const A_BOARD: u64 = 1000;
/// Answers after which a stranger counts as present. A checksum of seven bits fits damaged bytes now and
/// then, but a board that is there answers again.
const SURE: u32 = 2;
/// A stranger that has not answered for this long is not there (milliseconds).
const FORGOTTEN: u64 = 300_000;
/// Most strangers that are kept. More of them are noise.
const MOST: usize = 64;

/// A board that answers and is not configured.
#[derive(Clone, Copy, Debug)]
struct Stranger {
    times: u32,
    heard: Millis,
}

/// Searches for boards besides the configured ones.
#[derive(Debug, Default)]
pub(super) struct Search {
    is_on: bool,
    due: Millis,
    /// Boards that were told to be quiet, even if they did not confirm it.
    hushed: BTreeSet<Address>,
    strangers: BTreeMap<u16, Stranger>,
}

impl Search {
    pub(super) fn on() -> Self {
        Self {
            is_on: true,
            ..Self::default()
        }
    }

    /// Returns true if the master has to tell this board to be quiet, and notes that it does.
    pub(super) fn hushes(&mut self, now: Millis, board: Address) -> bool {
        self.is_on && self.due <= now && self.hushed.insert(board)
    }

    /// Returns true if the master has to ask all boards now, where `known` are the known ones. The next
    /// search comes later, and later still on a full line.
    pub(super) fn asks(&mut self, now: Millis, mut known: impl Iterator<Item = Address>) -> bool {
        let asks = self.is_on && self.due <= now && known.all(|board| self.hushed.contains(&board));
        if asks {
            self.due = now + EVERY.max(A_BOARD * self.hushed.len() as u64);
            self.hushed.clear();
        }
        asks
    }

    /// Notes an answer of a board that is not configured.
    pub(super) fn heard(&mut self, now: Millis, address: u16) {
        self.strangers
            .retain(|_, stranger| now.since(stranger.heard) < FORGOTTEN);
        if !self.is_on
            || address == 0
            || self.strangers.len() >= MOST && !self.strangers.contains_key(&address)
        {
            return;
        }
        let stranger = self
            .strangers
            .entry(address)
            .or_insert(Stranger { times: 0, heard: now });
        stranger.times += 1;
        stranger.heard = now;
    }

    /// The addresses of the boards that are there and not configured, as far as they are known at `now`.
    pub(super) fn found(&self, now: Millis) -> Vec<u16> {
        let is_there = |stranger: &Stranger| stranger.times >= SURE && now.since(stranger.heard) < FORGOTTEN;
        let found = self.strangers.iter().filter(|(_, stranger)| is_there(stranger));
        found.map(|(address, _)| *address).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_that_answered_twice_is_there_until_it_is_silent_for_long() {
        let mut search = Search::on();
        search.heard(Millis(0), 7);
        assert!(
            search.found(Millis(0)).is_empty(),
            "one answer may be damaged bytes"
        );
        search.heard(Millis(1000), 7);
        assert_eq!(search.found(Millis(1000)), [7]);
        assert!(search.found(Millis(1000 + FORGOTTEN)).is_empty());
        // The search keeps no more strangers than `MOST`.
        for address in 1..=1000 {
            search.heard(Millis(2000), address);
        }
        assert_eq!(search.strangers.len(), MOST);
    }
}

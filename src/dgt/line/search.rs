//! Boards that come to a line which is in use, and that nobody has named: all are asked at once whether they are there, after those
//! that are known were told to be quiet. So nobody waits for the answers; one that meets another is damaged, and comes at the next search.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bus::Address;
use crate::time::Millis;

/// Between two searches (milliseconds).
const EVERY: u64 = 10_000;
/// And for each board that is told to be quiet before.
const A_BOARD: u64 = 1000;
/// A checksum of seven bits fits what is damaged now and then: who is there answers more often.
const SURE: u32 = 2;
/// Who has not been heard in so many milliseconds is not there.
const FORGOTTEN: u64 = 300_000;
/// Strangers that are kept: more are noise.
const MOST: usize = 64;

/// Somebody who answers and is not known.
#[derive(Clone, Copy, Debug)]
struct Stranger {
    times: u32,
    heard: Millis,
}

/// Looks for boards beside those that are asked.
#[derive(Debug, Default)]
pub(super) struct Search {
    is_on: bool,
    due: Millis,
    /// Who was told to be quiet, or did not listen.
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

    /// Whether this board is to be told to be quiet; it is taken as told.
    pub(super) fn hushes(&mut self, now: Millis, board: Address) -> bool {
        self.is_on && self.due <= now && self.hushed.insert(board)
    }

    /// Whether all are to be asked now, when these are known; the next search is later, on a full line more so.
    pub(super) fn asks(&mut self, now: Millis, mut known: impl Iterator<Item = Address>) -> bool {
        let asks = self.is_on && self.due <= now && known.all(|board| self.hushed.contains(&board));
        if asks {
            self.due = now + EVERY.max(A_BOARD * self.hushed.len() as u64);
            self.hushed.clear();
        }
        asks
    }

    /// Somebody whom nobody has named answers.
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

    /// Who is there besides, as far as that is known at `now`.
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
    fn who_was_heard_twice_is_there_until_he_is_silent_for_long() {
        let mut search = Search::on();
        search.heard(Millis(0), 7);
        assert!(search.found(Millis(0)).is_empty(), "that may be damage");
        search.heard(Millis(1000), 7);
        assert_eq!(search.found(Millis(1000)), [7]);
        assert!(search.found(Millis(1000 + FORGOTTEN)).is_empty());
        // Noise is not kept.
        for address in 1..=1000 {
            search.heard(Millis(2000), address);
        }
        assert_eq!(search.strangers.len(), MOST);
    }
}

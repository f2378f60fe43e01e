//! The lane of events: what of the journal's outbox is being sent on this connection.
//!
//! In order for each board. An event that the broker refuses holds its own board's lane for a
//! while, not the others'.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use crate::journal::Row;

/// How many events are read ahead.
const AHEAD: usize = 64;
/// How long a board's lane rests after a refusal.
pub(super) const HOLD: Duration = Duration::from_secs(60);
/// How long it rests after an event on which the broker hangs up.
pub(super) const LONG_HOLD: Duration = Duration::from_secs(300);

#[derive(Debug)]
struct Slot {
    row: Row,
    in_flight: bool,
}

/// The lane on one connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    slots: VecDeque<Slot>,
    /// Everything up to here has been read from the journal.
    cursor: u64,
    /// The journal had no more.
    exhausted: bool,
    held: BTreeMap<String, Instant>,
    /// Too large for this broker.
    skipped: BTreeSet<u64>,
}

impl Outbox {
    /// A new connection: nothing is under way. Rests go on.
    pub(super) fn restart(&mut self) {
        *self = Self {
            held: std::mem::take(&mut self.held),
            ..Self::default()
        };
    }

    /// The journal may have more.
    pub(super) fn news(&mut self) {
        self.exhausted = false;
    }

    /// Where to read on and how many, if anything is to be read.
    #[must_use]
    pub(super) fn wants(&self) -> Option<(u64, usize)> {
        (!self.exhausted && self.slots.len() < AHEAD).then_some((self.cursor, AHEAD))
    }

    /// Takes what the journal gave for [`Self::wants`].
    pub(super) fn load(&mut self, rows: Vec<Row>, asked: usize) {
        self.exhausted = rows.len() < asked;
        for row in rows {
            self.cursor = row.n;
            let is_known = self.slots.iter().any(|slot| slot.row.n == row.n);
            if !is_known && !self.held.contains_key(&row.board) && !self.skipped.contains(&row.n) {
                self.slots.push_back(Slot {
                    row,
                    in_flight: false,
                });
            }
        }
    }

    /// The next event to send.
    #[must_use]
    pub(super) fn next(&self) -> Option<&Row> {
        self.slots
            .iter()
            .find(|slot| !slot.in_flight)
            .map(|slot| &slot.row)
    }

    /// It was handed over.
    pub(super) fn sent(&mut self, n: u64) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.row.n == n) {
            slot.in_flight = true;
        }
    }

    /// The broker has it.
    pub(super) fn acked(&mut self, n: u64) {
        self.slots.retain(|slot| slot.row.n != n);
    }

    /// The broker refuses it: its board's lane rests. What of it is under way may still be acknowledged.
    pub(super) fn hold(&mut self, n: u64, until: Instant) {
        let Some(slot) = self.slots.iter().find(|slot| slot.row.n == n) else {
            return;
        };
        let board = slot.row.board.clone();
        self.slots
            .retain(|slot| slot.row.n != n && (slot.row.board != board || slot.in_flight));
        self.held.insert(board, until);
    }

    /// It is too large for this broker: the next connection tries again.
    pub(super) fn skip(&mut self, n: u64) {
        self.acked(n);
        self.skipped.insert(n);
    }

    /// Ends the rests that are over; their boards' events are read again.
    pub(super) fn release(&mut self, now: Instant) {
        let before = self.held.len();
        self.held.retain(|_, until| *until > now);
        if self.held.len() < before {
            self.cursor = 0;
            self.exhausted = false;
        }
    }

    /// True when nothing is left that this connection could send or is waiting for.
    #[must_use]
    pub(super) fn is_drained(&self) -> bool {
        self.slots.is_empty() && self.exhausted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64, board: &str) -> Row {
        Row {
            n,
            board: board.to_owned(),
            seq: n,
            kind: "move".to_owned(),
            json: "{}".into(),
        }
    }

    fn sent_now(outbox: &mut Outbox) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(n) = outbox.next().map(|row| row.n) {
            outbox.sent(n);
            sent.push(n);
        }
        sent
    }

    #[test]
    fn events_go_in_order_and_leave_by_acknowledgement_only() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.wants(), Some((0, AHEAD)));
        outbox.load(vec![row(3, "a"), row(4, "b")], AHEAD);
        assert_eq!(sent_now(&mut outbox), [3, 4]);
        assert!(!outbox.is_drained());
        outbox.acked(3);
        outbox.acked(4);
        assert!(outbox.is_drained());
        assert_eq!(outbox.wants(), None);
        outbox.news();
        assert_eq!(outbox.wants(), Some((4, AHEAD)));
    }

    #[test]
    fn a_refusal_rests_its_own_board_and_is_tried_again() {
        let mut outbox = Outbox::default();
        let now = Instant::now();
        outbox.load(vec![row(1, "a"), row(2, "b"), row(3, "a"), row(4, "b")], AHEAD);
        outbox.sent(1);
        outbox.hold(1, now + HOLD);
        assert_eq!(sent_now(&mut outbox), [2, 4]);
        outbox.release(now + HOLD / 2);
        assert_eq!(outbox.wants(), None);
        outbox.release(now + HOLD);
        assert_eq!(outbox.wants(), Some((0, AHEAD)));
        outbox.acked(2);
        // The journal still has 4, which is under way, and the two of the board that rested.
        outbox.load(vec![row(1, "a"), row(3, "a"), row(4, "b")], AHEAD);
        assert_eq!(sent_now(&mut outbox), [1, 3]);
    }

    #[test]
    fn one_that_is_too_large_does_not_stop_the_others() {
        let mut outbox = Outbox::default();
        outbox.load(vec![row(1, "a"), row(2, "a")], AHEAD);
        outbox.skip(1);
        assert_eq!(sent_now(&mut outbox), [2]);
    }
}

//! The lane of events: what of the journal's outbox is being sent on this connection.
//!
//! In order for each board. An event that the broker refuses holds its own board's lane for a
//! while, not the others'. What happens now at a board of which nothing waits goes before the backlog of others.

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
    /// It goes before the backlog.
    is_live: bool,
}

/// The lane on one connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    slots: VecDeque<Slot>,
    /// Everything up to here has been read from the journal.
    cursor: u64,
    /// The journal had no more.
    exhausted: bool,
    /// The last position in the journal.
    newest: u64,
    /// Everything up to here was there before the connection, or was looked at for events that go before the backlog.
    live: u64,
    /// Boards of which nothing waited, and boards with a backlog: those that were looked at.
    is_free: BTreeMap<String, bool>,
    held: BTreeMap<String, Instant>,
    /// Too large for this broker.
    skipped: BTreeSet<u64>,
}

impl Outbox {
    /// A new connection: nothing is under way, and the journal's last position is `newest`. Rests go on.
    pub(super) fn restart(&mut self, newest: u64) {
        *self = Self {
            held: std::mem::take(&mut self.held),
            newest,
            live: newest,
            ..Self::default()
        };
    }

    /// The journal has more, up to `newest`.
    pub(super) fn news(&mut self, newest: u64) {
        self.newest = newest;
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
                    is_live: false,
                });
            }
        }
    }

    /// Where to look for events that may go before the backlog and how many, if there is one and they are to be looked for.
    #[must_use]
    pub(super) fn wants_live(&mut self) -> Option<(u64, usize)> {
        self.live = self.live.max(self.cursor);
        let waiting = self.slots.iter().filter(|slot| slot.is_live).count();
        (!self.exhausted && self.cursor < self.live && self.live < self.newest && waiting < AHEAD)
            .then_some((self.live, AHEAD))
    }

    /// Takes what the journal gave for [`Self::wants_live`]: rows, each with whether it is the first of its board that waits.
    pub(super) fn load_live(&mut self, rows: Vec<(Row, bool)>, asked: usize) {
        if rows.len() < asked {
            self.live = self.newest;
        }
        for (row, is_first) in rows {
            self.live = self.live.max(row.n);
            let is_free = *self.is_free.entry(row.board.clone()).or_insert(is_first);
            let is_known = self.slots.iter().any(|slot| slot.row.n == row.n);
            if is_known || !is_free || self.held.contains_key(&row.board) || self.skipped.contains(&row.n) {
                continue;
            }
            let backlog = |slot: &Slot| !slot.is_live && !slot.in_flight;
            let place = self.slots.iter().position(backlog).unwrap_or(self.slots.len());
            let slot = Slot {
                row,
                in_flight: false,
                is_live: true,
            };
            self.slots.insert(place, slot);
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
        // What follows waits for it.
        self.is_free.insert(board.clone(), false);
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
            is_secured: true,
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
        outbox.news(4);
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
    fn what_happens_now_goes_before_the_backlog_of_others() {
        let mut outbox = Outbox::default();
        outbox.restart(500);
        let backlog = (1..=AHEAD as u64).map(|n| row(n, "a")).collect();
        outbox.load(backlog, AHEAD);
        assert_eq!(outbox.wants_live(), None);
        outbox.sent(1);
        // Of board `a` others wait, of `b` none.
        outbox.news(503);
        assert_eq!(outbox.wants_live(), Some((500, AHEAD)));
        let rows = vec![
            (row(501, "a"), false),
            (row(502, "b"), true),
            (row(503, "b"), false),
        ];
        outbox.load_live(rows, AHEAD);
        assert_eq!(outbox.wants_live(), None);
        let sent = sent_now(&mut outbox);
        assert_eq!(sent[..3], [502, 503, 2]);
        assert!(!sent.contains(&501));
        // Refused: what follows waits for it.
        outbox.hold(502, Instant::now() + HOLD);
        outbox.news(504);
        outbox.load_live(vec![(row(504, "b"), false)], AHEAD);
        assert_eq!(outbox.next(), None);
        // The backlog comes to what went before it.
        for n in 1..=AHEAD as u64 {
            outbox.acked(n);
        }
        outbox.load(vec![row(501, "a"), row(503, "b")], AHEAD);
        assert_eq!(sent_now(&mut outbox), [501]);
    }

    #[test]
    fn one_that_is_too_large_does_not_stop_the_others() {
        let mut outbox = Outbox::default();
        outbox.load(vec![row(1, "a"), row(2, "a")], AHEAD);
        outbox.skip(1);
        assert_eq!(sent_now(&mut outbox), [2]);
    }
}

//! The lane of events: which events of the journal's outbox this connection is sending.
//!
//! The lane keeps the order of each board, whatever the broker refuses, because one event of a board is under way at a
//! time. The lane sends a refused event again, each time after a longer rest. Only the lane of its own board waits for
//! that. After some refusals a short form goes in the event's place. A new event goes before the backlog of other
//! boards where nothing else of its own board waits.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use crate::journal::OutboxRow;

/// How many events the lane reads ahead. They are of several boards, as a rule, since one of each is under way.
const AHEAD: usize = 512;
/// How long a board's lane rests after a refusal at first, and at the most.
const HOLD: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The least rest of a board's lane on a new connection, where its event ended the last one. It is longer than a
/// reconnection takes: else two rests would end together again and again, and other boards would never have their turn.
const SETTLING: Duration = Duration::from_secs(5);
/// Refusals of an event after which its last short form is tried: some five minutes.
const MOST_REFUSALS: u32 = 10;

#[derive(Debug)]
struct Slot {
    row: OutboxRow,
    in_flight: bool,
    /// True where the event goes before the backlog.
    is_live: bool,
}

/// The lane on one connection.
#[derive(Debug, Default)]
pub(super) struct EventLane {
    slots: VecDeque<Slot>,
    /// The lane has read the journal up to this position.
    cursor: u64,
    /// True where the journal had no more.
    exhausted: bool,
    /// The last position in the journal.
    newest: u64,
    /// Up to this position the events were there before the connection, or the lane has looked through them for events
    /// that go before the backlog.
    live: u64,
    /// The boards that the lane has looked at: true where no event of the board waited, false where it has a backlog.
    is_free: BTreeMap<String, bool>,
    /// Boards whose lanes rest: since when, and until when.
    held: BTreeMap<String, (Instant, Instant)>,
    /// The event that was refused last, by board, and how often.
    refusals: BTreeMap<String, (u64, u32)>,
    /// Events on which the broker hung up. The lane tries each again alone.
    hung: BTreeSet<u64>,
    /// The last position in the journal at the time of the lane's question, and the events that the broker acknowledged
    /// since.
    asked: u64,
    acked: BTreeSet<u64>,
}

impl EventLane {
    /// Begins a new connection, with nothing under way and the journal's last position at `newest`. Rests do not end.
    /// The rest of a board whose event ended a connection lasts for [`SETTLING`] at least. The longest rest counts from
    /// its beginning, because connections may never last.
    pub(super) fn restart(&mut self, newest: u64, now: Instant) {
        for (board, (since, until)) in &mut self.held {
            let refused = self.refusals.get(board);
            if refused.is_some_and(|(n, _)| self.hung.contains(n)) {
                *until = (*until).max((now + SETTLING).min(*since + HOLD.1));
            }
        }
        *self = Self {
            held: std::mem::take(&mut self.held),
            refusals: std::mem::take(&mut self.refusals),
            hung: std::mem::take(&mut self.hung),
            newest,
            live: newest,
            ..Self::default()
        };
    }

    /// Takes note that the journal has events up to `newest`.
    pub(super) fn news(&mut self, newest: u64) {
        self.newest = newest;
        self.exhausted = false;
    }

    /// The position to read on from and the number of events, if the lane is to read.
    #[must_use]
    pub(super) fn wants(&mut self) -> Option<(u64, usize)> {
        let wants = !self.exhausted && self.slots.len() < AHEAD;
        wants.then(|| {
            self.asks();
            (self.cursor, AHEAD)
        })
    }

    /// Notes the journal's state at the time of a question: the answer is as old as the question.
    fn asks(&mut self) {
        self.asked = self.newest;
        self.acked.clear();
    }

    /// Takes what the journal gave for [`Self::wants`].
    pub(super) fn load(&mut self, rows: Vec<OutboxRow>, asked: usize) {
        self.exhausted = rows.len() < asked && self.asked == self.newest;
        for row in rows {
            self.cursor = row.n;
            if !self.is_known(row.n) && !self.held.contains_key(&row.board) {
                self.slots.push_back(Slot {
                    row,
                    in_flight: false,
                    is_live: false,
                });
            }
        }
    }

    /// The position from which to look for events that may go before the backlog, and their number, if the lane is to
    /// look.
    #[must_use]
    pub(super) fn wants_live(&mut self) -> Option<(u64, usize)> {
        self.live = self.live.max(self.cursor);
        let waiting = self.slots.iter().filter(|slot| slot.is_live).count();
        let wants = !self.exhausted && self.cursor < self.live && self.live < self.newest && waiting < AHEAD;
        wants.then(|| {
            self.asks();
            (self.live, AHEAD)
        })
    }

    /// True of an event that the lane has, or that the broker acknowledged since the lane asked the journal.
    fn is_known(&self, n: u64) -> bool {
        self.acked.contains(&n) || self.slots.iter().any(|slot| slot.row.n == n)
    }

    /// Takes what the journal gave for [`Self::wants_live`]: rows, each with whether it is the first of its board that waits.
    pub(super) fn load_live(&mut self, rows: Vec<(OutboxRow, bool)>, asked: usize) {
        if rows.len() < asked {
            self.live = self.live.max(self.asked);
        }
        for (row, is_first) in rows {
            self.live = self.live.max(row.n);
            let is_free = *self.is_free.entry(row.board.clone()).or_insert(is_first);
            if self.is_known(row.n) || !is_free || self.held.contains_key(&row.board) {
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

    /// The next event to send: the first of a board of which none is under way. An event that must go alone goes before
    /// all others.
    #[must_use]
    pub(super) fn next(&self) -> Option<&OutboxRow> {
        let mut waiting = self.slots.iter().filter(|slot| !slot.in_flight);
        if !self.hung.is_empty()
            && let Some(slot) = waiting.find(|slot| self.hung.contains(&slot.row.n))
        {
            return Some(&slot.row);
        }
        let under_way = self.slots.iter().filter(|slot| slot.in_flight);
        let busy: BTreeSet<&str> = under_way.map(|slot| slot.row.board.as_str()).collect();
        self.slots
            .iter()
            .map(|slot| &slot.row)
            .find(|row| !busy.contains(row.board.as_str()))
    }

    /// True for an event that was refused so often that only its last short form is left to try.
    #[must_use]
    pub(super) fn is_hopeless(&self, row: &OutboxRow) -> bool {
        let refused = self.refusals.get(&row.board);
        refused.is_some_and(|(n, times)| *n == row.n && *times >= MOST_REFUSALS)
    }

    /// Notes that the event was handed over.
    pub(super) fn sent(&mut self, n: u64) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.row.n == n) {
            slot.in_flight = true;
        }
    }

    /// Notes that the broker acknowledged the event.
    pub(super) fn acked(&mut self, n: u64) {
        self.slots.retain(|slot| slot.row.n != n);
        self.acked.insert(n);
        self.hung.remove(&n);
        self.refusals.retain(|_, (refused, _)| *refused != n);
    }

    /// Notes that the broker refuses the event, and lets its board's lane rest.
    pub(super) fn refused(&mut self, n: u64, now: Instant) {
        self.hold(n, now, 1);
    }

    /// Notes that the broker hangs up on the event again and again, or that the line is poor. The board's lane rests
    /// for longer.
    pub(super) fn hung_up_on(&mut self, n: u64, now: Instant) {
        self.hold(n, now, MOST_REFUSALS / 2);
        self.hung.insert(n);
    }

    /// True of an event on which the broker hung up before.
    #[must_use]
    pub(super) fn is_hung(&self, n: u64) -> bool {
        self.hung.contains(&n)
    }

    /// True while an event on which the broker hung up is tried again, or is about to be: no other event may be under
    /// way.
    #[must_use]
    pub(super) fn is_trying(&self) -> bool {
        !self.hung.is_empty() && self.slots.iter().any(|slot| self.hung.contains(&slot.row.n))
    }

    /// True while events are under way or wait to be sent.
    #[must_use]
    pub(super) fn is_sending(&self) -> bool {
        !self.slots.is_empty()
    }

    fn hold(&mut self, n: u64, now: Instant, refusals: u32) {
        let Some(slot) = self.slots.iter().find(|slot| slot.row.n == n) else {
            return;
        };
        let board = slot.row.board.clone();
        self.slots.retain(|slot| slot.row.board != board);
        // The later events of the board wait for this one.
        self.is_free.insert(board.clone(), false);
        let (refused, times) = self.refusals.entry(board.clone()).or_insert((n, 0));
        if *refused != n {
            (*refused, *times) = (n, 0);
        }
        *times += refusals;
        let (first, longest) = HOLD;
        let rest = longest.min(first * 2_u32.pow((*times - 1).min(6)));
        self.held.insert(board, (now, now + rest));
    }

    /// Ends the rests that are over, so that the lane reads those boards' events again. True where there are any: the
    /// lane then discards the answer to its last question.
    pub(super) fn release(&mut self, now: Instant) -> bool {
        let before = self.held.len();
        self.held.retain(|_, (_, until)| *until > now);
        let is_over = self.held.len() < before;
        if is_over {
            self.cursor = 0;
            self.exhausted = false;
        }
        is_over
    }

    /// True when this connection has no event left to send and waits for no acknowledgement.
    #[must_use]
    pub(super) fn is_drained(&self) -> bool {
        self.slots.is_empty() && self.exhausted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64, board: &str) -> OutboxRow {
        OutboxRow {
            n,
            board: board.to_owned(),
            seq: n,
            kind: "move".to_owned(),
            json: "{}".into(),
            unsecured: None,
        }
    }

    fn sent_now(outbox: &mut EventLane) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(n) = outbox.next().map(|row| row.n) {
            outbox.sent(n);
            sent.push(n);
        }
        sent
    }

    #[test]
    fn events_go_in_order_and_leave_by_acknowledgement_only() {
        let mut outbox = EventLane::default();
        assert_eq!(outbox.wants(), Some((0, AHEAD)));
        outbox.load(vec![row(3, "a"), row(4, "b"), row(5, "a")], AHEAD);
        assert_eq!(sent_now(&mut outbox), [3, 4]);
        assert!(!outbox.is_drained());
        outbox.acked(3);
        assert_eq!(sent_now(&mut outbox), [5], "one of each board at a time");
        outbox.acked(5);
        outbox.acked(4);
        assert!(outbox.is_drained());
        assert_eq!(outbox.wants(), None);
        outbox.news(6);
        assert_eq!(outbox.wants(), Some((5, AHEAD)));
    }

    #[test]
    fn what_follows_a_refused_event_of_its_board_waits_for_it() {
        let mut outbox = EventLane::default();
        let now = Instant::now();
        let rows = || vec![row(1, "a"), row(2, "b"), row(3, "a"), row(4, "b")];
        outbox.load(rows(), AHEAD);
        assert_eq!(sent_now(&mut outbox), [1, 2]);
        outbox.refused(1, now);
        outbox.acked(2);
        assert_eq!(sent_now(&mut outbox), [4]);
        outbox.release(now + HOLD.0 / 2);
        assert_eq!(outbox.wants(), None);
        outbox.release(now + HOLD.0);
        assert_eq!(outbox.wants(), Some((0, AHEAD)));
        // The journal still has 4, which is under way, and the two of the board that rested.
        outbox.load(vec![row(1, "a"), row(3, "a"), row(4, "b")], AHEAD);
        assert_eq!(sent_now(&mut outbox), [1]);
        outbox.acked(1);
        assert_eq!(sent_now(&mut outbox), [3]);
    }

    #[test]
    fn rests_grow_up_to_a_bound_and_then_a_short_form_is_tried() {
        let mut outbox = EventLane::default();
        let mut now = Instant::now();
        for times in 1..=MOST_REFUSALS {
            outbox.load(vec![row(1, "a"), row(2, "a")], AHEAD);
            assert!(!outbox.is_hopeless(&row(1, "a")), "after {times}");
            outbox.refused(1, now);
            outbox.release(now + HOLD.0 * (1 << (times - 1).min(6)) - Duration::from_millis(1));
            let is_longest = times > 6;
            assert_eq!(outbox.wants().is_some(), is_longest, "after {times}");
            now += HOLD.1;
            outbox.release(now);
        }
        outbox.load(vec![row(1, "a"), row(2, "a")], AHEAD);
        assert!(outbox.is_hopeless(&row(1, "a")) && !outbox.is_hopeless(&row(2, "a")));
        outbox.acked(1);
        assert!(!outbox.is_hopeless(&row(1, "a")));
    }

    #[test]
    fn what_ended_a_connection_lets_others_have_the_next_one_and_goes_alone_then() {
        let mut outbox = EventLane::default();
        let now = Instant::now();
        let rows = || vec![row(1, "a"), row(2, "b"), row(3, "b")];
        outbox.load(rows(), AHEAD);
        assert_eq!(sent_now(&mut outbox), [1, 2]);
        outbox.refused(1, now);
        outbox.hung_up_on(1, now);
        // The reconnection takes longer than the board's own rest.
        let back = now + HOLD.0 * 3;
        outbox.restart(3, back);
        assert!(!outbox.release(back));
        outbox.load(rows(), AHEAD);
        assert_eq!(sent_now(&mut outbox), [2]);
        assert!(!outbox.is_trying());
        assert!(outbox.release(back + SETTLING));
        outbox.load(rows(), AHEAD);
        assert!(outbox.is_trying() && outbox.is_hung(1));
        assert_eq!(
            outbox.next().map(|row| row.n),
            Some(1),
            "before what waits longer"
        );
        outbox.sent(1);
        outbox.acked(1);
        assert!(!outbox.is_trying() && !outbox.is_hung(1));
    }

    #[test]
    fn connections_that_never_last_let_a_rest_end_all_the_same() {
        let mut outbox = EventLane::default();
        let mut now = Instant::now();
        outbox.load(vec![row(1, "a")], AHEAD);
        outbox.hung_up_on(1, now);
        let end = now + HOLD.1;
        while now < end {
            outbox.restart(1, now);
            now += SETTLING / 2;
        }
        assert!(outbox.release(end));
    }

    #[test]
    fn what_happens_now_goes_before_the_backlog_of_others() {
        let mut outbox = EventLane::default();
        outbox.restart(1000, Instant::now());
        let backlog = (1..=AHEAD as u64).map(|n| row(n, "a")).collect();
        outbox.load(backlog, AHEAD);
        assert_eq!(outbox.wants_live(), None);
        outbox.sent(1);
        // Board `a` has other events that wait, board `b` has none.
        outbox.news(1003);
        assert_eq!(outbox.wants_live(), Some((1000, AHEAD)));
        let rows = vec![
            (row(1001, "a"), false),
            (row(1002, "b"), true),
            (row(1003, "b"), false),
        ];
        outbox.load_live(rows, AHEAD);
        assert_eq!(outbox.wants_live(), None);
        assert_eq!(sent_now(&mut outbox), [1002]);
        outbox.acked(1002);
        assert_eq!(sent_now(&mut outbox), [1003]);
        // The broker refuses the event: the later ones of its board wait for it.
        outbox.refused(1003, Instant::now());
        outbox.news(1004);
        outbox.load_live(vec![(row(1004, "b"), false)], AHEAD);
        assert_eq!(outbox.next(), None);
        // The lane reads on to the events that went before the backlog.
        for n in 1..=AHEAD as u64 {
            outbox.acked(n);
        }
        outbox.load(vec![row(1001, "a"), row(1003, "b")], AHEAD);
        assert_eq!(sent_now(&mut outbox), [1001]);
    }

    #[test]
    fn an_answer_is_as_old_as_its_question() {
        let mut outbox = EventLane::default();
        outbox.news(2);
        assert_eq!(outbox.wants(), Some((0, AHEAD)));
        outbox.news(3);
        outbox.load(vec![row(1, "a"), row(2, "a")], AHEAD);
        assert!(!outbox.is_drained());
        // The journal has more by now. Meanwhile the broker acknowledges the first.
        assert_eq!(sent_now(&mut outbox), [1]);
        assert_eq!(outbox.wants(), Some((2, AHEAD)));
        outbox.refused(1, Instant::now());
        assert!(outbox.release(Instant::now() + HOLD.1));
        assert_eq!(outbox.wants(), Some((0, AHEAD)));
        outbox.acked(1);
        outbox.load(vec![row(1, "a"), row(2, "a"), row(3, "a")], AHEAD);
        assert_eq!(
            sent_now(&mut outbox),
            [2],
            "what was acknowledged is not sent again"
        );
    }
}

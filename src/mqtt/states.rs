//! The lane of states: a table of last values, newest only, sent again after every connect.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use tokio_util::bytes::Bytes;

use super::{
    link::{Publication, Qos},
    topic::{BoardState, Topics},
};
use crate::config::Id;

/// How long a topic rests on which the broker hung up, at first and at the most.
const HOLD: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));

/// A topic of the table, and how the value is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateKey {
    topic: String,
    qos: Qos,
    expiry: Option<u32>,
    interval: Duration,
}

impl StateKey {
    /// The gateway's `info`.
    #[must_use]
    pub fn info(topics: &Topics) -> Self {
        Self::plain(topics.info())
    }

    /// The gateway's `health`, forgotten by the broker after `expiry` seconds.
    #[must_use]
    pub fn health(topics: &Topics, expiry: u32) -> Self {
        Self {
            qos: Qos::AtMostOnce,
            expiry: Some(expiry),
            ..Self::plain(topics.health())
        }
    }

    /// The announcement by which another program finds the gateway, on a topic of its own.
    #[must_use]
    pub fn discovery(topic: String) -> Self {
        Self::plain(topic)
    }

    /// A state of a board.
    #[must_use]
    pub fn board(topics: &Topics, board: &Id, state: BoardState) -> Self {
        Self::plain(topics.board_state(board, state))
    }

    /// The clock of a board. Its times change all the time, so it is sent at most once in `interval`.
    #[must_use]
    pub fn clock(topics: &Topics, board: &Id, interval: Duration) -> Self {
        Self {
            qos: Qos::AtMostOnce,
            interval,
            ..Self::plain(topics.board_state(board, BoardState::Clock))
        }
    }

    fn plain(topic: String) -> Self {
        Self {
            topic,
            qos: Qos::AtLeastOnce,
            expiry: None,
            interval: Duration::ZERO,
        }
    }
}

#[derive(Debug)]
struct Slot {
    key: StateKey,
    payload: Bytes,
    /// Place in the queue while unsent.
    place: Option<u64>,
    in_flight: bool,
    not_before: Option<Instant>,
    /// True of a value that goes from the table once the broker has it.
    is_once: bool,
}

#[derive(Debug, Default)]
struct Table {
    slots: BTreeMap<String, Slot>,
    /// Unsent topics, the one that waits longest first.
    queue: BTreeMap<u64, String>,
    places: u64,
    /// Topics on which the broker hung up, each with its rest. After the rest such a topic is tried alone.
    held: BTreeMap<String, Rest>,
}

/// The rest of a topic.
#[derive(Clone, Copy, Debug)]
struct Rest {
    length: Duration,
    until: Instant,
}

impl Table {
    fn due(&self, slot: &Slot) -> Option<Instant> {
        slot.not_before
            .max(self.held.get(&slot.key.topic).map(|rest| rest.until))
    }

    fn waits(&self, topic: &str) -> Option<&Slot> {
        self.slots
            .get(topic)
            .filter(|slot| slot.place.is_some() && !slot.in_flight)
    }

    /// Ends the way of a value to the broker.
    fn free(&mut self, topic: &str) {
        self.held.remove(topic);
        if let Some(slot) = self.slots.get_mut(topic) {
            slot.in_flight = false;
        }
    }

    fn enqueue(&mut self, topic: &str) {
        let Some(slot) = self.slots.get_mut(topic) else {
            return;
        };
        if slot.place.is_none() {
            self.places += 1;
            slot.place = Some(self.places);
            self.queue.insert(self.places, topic.to_owned());
        }
    }
}

/// The table; cheap to clone. Writers never wait.
#[derive(Clone, Debug, Default)]
pub struct States {
    table: Arc<Mutex<Table>>,
    changed: Arc<Notify>,
}

impl States {
    /// Sets a value. A value that has not changed is not sent again.
    pub fn set(&self, key: StateKey, payload: impl Into<Bytes>) {
        self.keep(key, payload.into(), false);
    }

    /// Keeps a value to send. With `is_once` it goes from the table once the broker has it.
    fn keep(&self, key: StateKey, payload: Bytes, is_once: bool) {
        let mut table = self.lock();
        let topic = key.topic.clone();
        match table.slots.get_mut(&topic) {
            Some(slot) if slot.payload == payload && key.expiry.is_none() => {
                slot.is_once |= is_once;
                return;
            }
            Some(slot) => (slot.payload, slot.is_once) = (payload, is_once),
            None => {
                let slot = Slot {
                    key,
                    payload,
                    place: None,
                    in_flight: false,
                    not_before: None,
                    is_once,
                };
                table.slots.insert(topic.clone(), slot);
            }
        }
        table.enqueue(&topic);
        drop(table);
        self.changed.notify_one();
    }

    /// The present value of a board's state; none where it has none.
    pub(crate) fn value(&self, topics: &Topics, board: &Id, state: BoardState) -> Option<Bytes> {
        let table = self.lock();
        let slot = table.slots.get(&topics.board_state(board, state))?;
        (!slot.payload.is_empty()).then(|| slot.payload.clone())
    }

    /// Clears the retained states of a board that the configuration no longer has.
    pub(crate) fn clear(&self, topics: &Topics, board: &Id) {
        for state in BoardState::ALL {
            self.set(StateKey::board(topics, board, state), Bytes::new());
        }
    }

    /// Clears the retained states of a board that was found at the broker and that nobody configured. There may be many, so
    /// nothing is kept of them once they are cleared.
    pub(super) fn clear_once(&self, topics: &Topics, board: &Id) {
        for state in BoardState::ALL {
            self.clear_topic_once(StateKey::board(topics, board, state));
        }
    }

    /// Clears a retained topic, and keeps nothing of it once it is cleared.
    pub(crate) fn clear_topic_once(&self, key: StateKey) {
        self.keep(key, Bytes::new(), true);
    }

    /// Queues every value again, after a connect or when somebody asks. Returns how many there are.
    pub fn republish(&self) -> usize {
        let mut table = self.lock();
        let topics: Vec<String> = table.slots.keys().cloned().collect();
        for topic in &topics {
            table.enqueue(topic);
        }
        drop(table);
        self.changed.notify_one();
        topics.len()
    }

    /// Begins a new connection, with nothing under way.
    pub(super) fn restart(&self) {
        for slot in self.lock().slots.values_mut() {
            slot.in_flight = false;
            slot.not_before = None;
        }
        self.republish();
    }

    /// The next message that may be sent now. It stays in the queue until [`Self::sent`]. With `tracked_first` the
    /// states that nobody acknowledges go last.
    pub(super) fn next(&self, now: Instant, tracked_first: bool) -> Option<Publication> {
        let table = self.lock();
        let is_due = |slot: &&Slot| table.due(slot).is_none_or(|at| at <= now);
        let topics = table.held.keys().chain(table.queue.values());
        let mut due = topics.filter_map(|topic| table.waits(topic)).filter(is_due);
        let is_tracked = |slot: &&Slot| slot.key.qos == Qos::AtLeastOnce;
        let tracked = if tracked_first {
            due.clone().find(is_tracked)
        } else {
            None
        };
        let slot = tracked.or_else(|| due.next())?;
        Some(Publication {
            topic: slot.key.topic.clone(),
            payload: slot.payload.clone(),
            qos: slot.key.qos,
            retain: true,
            expiry: slot.key.expiry,
            correlation: None,
            speaker: None,
        })
    }

    /// Notes that the topic's value was handed over, or cannot be sent at all.
    pub(super) fn sent(&self, topic: &str, now: Instant) {
        let mut table = self.lock();
        let Some(slot) = table.slots.get_mut(topic) else {
            return;
        };
        slot.in_flight = slot.key.qos == Qos::AtLeastOnce;
        slot.not_before = (!slot.key.interval.is_zero()).then(|| now + slot.key.interval);
        if let Some(place) = slot.place.take() {
            table.queue.remove(&place);
        }
    }

    /// Notes that the broker took the value: the next one of the topic may follow.
    pub(super) fn answered(&self, topic: &str) {
        let mut table = self.lock();
        table.free(topic);
        let is_done = |slot: &Slot| slot.is_once && slot.place.is_none();
        if table.slots.get(topic).is_some_and(is_done) {
            table.slots.remove(topic);
        }
    }

    /// Notes that the broker does not take the value. It stays in the table, even one that is sent once: the next connection tries
    /// again.
    pub(super) fn refused(&self, topic: &str) {
        self.lock().free(topic);
    }

    /// Lets the topic rest, over several connections. Each rest is longer than the one before, until the broker takes
    /// the topic: a broker in trouble hangs up on messages that it takes later.
    pub(super) fn hold(&self, topic: &str, now: Instant) {
        let (first, longest) = HOLD;
        let mut table = self.lock();
        let before = table.held.get(topic);
        let length = before.map_or(first, |rest| longest.min(rest.length * 2));
        let until = now + length;
        table.held.insert(topic.to_owned(), Rest { length, until });
    }

    /// Ends the rests of states that nobody acknowledges and that were sent a while ago: the broker did not hang up on
    /// them.
    pub(super) fn release(&self, now: Instant) {
        let mut table = self.lock();
        let Table { slots, held, .. } = &mut *table;
        held.retain(|topic, rest| {
            let slot = slots.get(topic);
            let is_told = slot.is_some_and(|slot| slot.key.qos == Qos::AtMostOnce && slot.place.is_none());
            !(is_told && rest.until + HOLD.0 / 2 <= now)
        });
    }

    /// True of a topic on which the broker hung up.
    pub(super) fn is_hung(&self, topic: &str) -> bool {
        self.lock().held.contains_key(topic)
    }

    /// True while such a topic is tried again, or is about to be: nothing else may be under way.
    pub(super) fn is_trying(&self, now: Instant) -> bool {
        let table = self.lock();
        let is_tried = |topic: &String| {
            let slot = table.slots.get(topic);
            slot.is_some_and(|slot| slot.in_flight || slot.place.is_some())
        };
        let mut held = table.held.iter();
        held.any(|(topic, rest)| rest.until <= now && is_tried(topic))
    }

    /// When a value that is held back by its interval becomes due.
    pub(super) fn due(&self) -> Option<Instant> {
        let table = self.lock();
        table
            .queue
            .values()
            .filter_map(|topic| table.due(table.slots.get(topic)?))
            .min()
    }

    /// True when every value is with the broker.
    pub(super) fn is_drained(&self) -> bool {
        let table = self.lock();
        let now = Instant::now();
        let is_held = |slot: &Slot| {
            table
                .held
                .get(&slot.key.topic)
                .is_some_and(|rest| rest.until > now)
        };
        let is_sent = |slot: &Slot| slot.place.is_none() && !slot.in_flight;
        table.slots.values().all(|slot| is_sent(slot) || is_held(slot))
    }

    /// Waits until a value changes.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A writer that panicked leaves at most one value unset. The table itself is whole.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

    fn key(state: BoardState) -> StateKey {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let board = "7".parse().unwrap();
        match state {
            BoardState::Clock => StateKey::clock(&topics, &board, CLOCK_INTERVAL),
            state => StateKey::board(&topics, &board, state),
        }
    }

    #[test]
    fn only_the_newest_value_goes_and_one_at_a_time() {
        let (states, now) = (States::default(), Instant::now());
        states.set(key(BoardState::Game), "1");
        states.set(key(BoardState::Game), "2");
        let first = states.next(now, false).unwrap();
        assert_eq!(first.payload, "2");
        assert!(first.retain);
        states.sent(&first.topic, now);
        states.set(key(BoardState::Game), "3");
        states.set(key(BoardState::Game), "4");
        assert_eq!(
            states.next(now, false),
            None,
            "the former value is still under way"
        );
        states.answered(&first.topic);
        assert_eq!(states.next(now, false).unwrap().payload, "4");
    }

    #[test]
    fn an_unchanged_value_is_not_sent_again_before_the_next_connection() {
        let (states, now) = (States::default(), Instant::now());
        states.set(key(BoardState::Status), "online");
        let topic = states.next(now, false).unwrap().topic;
        states.sent(&topic, now);
        states.answered(&topic);
        states.set(key(BoardState::Status), "online");
        assert_eq!(states.next(now, false), None);
        assert!(states.is_drained());
        states.restart();
        assert_eq!(states.next(now, false).unwrap().payload, "online");
    }

    #[test]
    fn what_is_cleared_once_goes_from_the_table_when_the_broker_took_it_and_not_before() {
        let (states, now) = (States::default(), Instant::now());
        states.clear_topic_once(key(BoardState::Game));
        let topic = key(BoardState::Game).topic;
        let send = || {
            let message = states.next(now, false).unwrap();
            assert_eq!((&message.topic, message.payload.len()), (&topic, 0));
            states.sent(&topic, now);
        };
        send();
        states.refused(&topic);
        assert_eq!(states.next(now, false), None, "it is not tried again at once");
        states.restart();
        send();
        states.answered(&topic);
        states.restart();
        assert_eq!(states.next(now, false), None, "nothing is kept of it");
        assert!(states.lock().slots.is_empty());
    }

    #[test]
    fn the_clock_is_limited_to_its_rate() {
        let (states, now) = (States::default(), Instant::now());
        states.set(key(BoardState::Clock), "1");
        let first = states.next(now, false).unwrap();
        assert_eq!(first.qos, Qos::AtMostOnce);
        states.sent(&first.topic, now);
        states.set(key(BoardState::Clock), "2");
        assert_eq!(states.next(now, false), None);
        let due = states.due().unwrap();
        assert_eq!(due, now + CLOCK_INTERVAL);
        assert_eq!(states.next(due, false).unwrap().payload, "2");
    }

    #[test]
    fn a_topic_that_rested_goes_before_others_and_what_nobody_acknowledges_last() {
        let (states, now) = (States::default(), Instant::now());
        for state in [BoardState::Clock, BoardState::Status, BoardState::Game] {
            states.set(key(state), "1");
        }
        let topic = |now, tracked_first| states.next(now, tracked_first).unwrap().topic;
        assert_eq!(topic(now, false), key(BoardState::Clock).topic);
        assert_eq!(topic(now, true), key(BoardState::Status).topic);
        let (game, later) = (key(BoardState::Game).topic, now + HOLD.0);
        states.hold(&game, now);
        assert!(states.is_hung(&game) && !states.is_trying(now));
        assert_ne!(topic(now, false), game);
        assert!(states.is_trying(later));
        assert_eq!(topic(later, false), game);
        states.sent(&game, later);
        assert!(states.is_trying(later), "it is under way");
        states.answered(&game);
        assert!(!states.is_trying(later) && !states.is_hung(&game));
    }

    #[test]
    fn each_rest_of_a_topic_is_longer_until_the_broker_takes_it() {
        let (states, now) = (States::default(), Instant::now());
        states.set(key(BoardState::Game), "1");
        let game = key(BoardState::Game).topic;
        let rest = |seconds| {
            states.hold(&game, now);
            let until = now + Duration::from_secs(seconds);
            !states.is_trying(until - Duration::from_millis(1)) && states.is_trying(until)
        };
        assert!([10, 20, 40, 80, 160, 300, 300].into_iter().all(rest));
        states.answered(&game);
        assert!(rest(10));
    }

    /// Of such a state no acknowledgement tells that the broker takes it.
    #[test]
    fn the_rest_of_a_state_that_nobody_acknowledges_ends_once_it_went_out_and_the_connection_lasts() {
        let (states, now) = (States::default(), Instant::now());
        for state in [BoardState::Clock, BoardState::Game] {
            states.set(key(state), "1");
            states.hold(&key(state).topic, now);
        }
        let (clock, game) = (key(BoardState::Clock).topic, key(BoardState::Game).topic);
        let long_after = now + 2 * HOLD.0;
        states.release(long_after);
        assert!(states.is_hung(&clock), "it did not go out");
        for topic in [&clock, &game] {
            states.sent(topic, now + HOLD.0);
        }
        states.release(now + HOLD.0);
        assert!(states.is_hung(&clock), "the broker may be about to hang up on it");
        states.release(long_after);
        assert!(!states.is_hung(&clock) && states.is_hung(&game));
    }
}

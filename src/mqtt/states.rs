//! The lane of states: a table of last values, newest only, sent again after every connect.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use tokio_util::bytes::Bytes;

use super::{
    link::{Message, Qos},
    topic::{BoardState, Topics},
};
use crate::config::Id;

/// A topic of the table and how it is sent.
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

    /// What another program finds us by, on a topic of its own.
    #[must_use]
    pub fn discovery(topic: String) -> Self {
        Self::plain(topic)
    }

    /// A state of a board.
    #[must_use]
    pub fn board(topics: &Topics, board: &Id, state: BoardState) -> Self {
        Self::plain(topics.board_state(board, state))
    }

    /// The clock of a board, whose times change all the time: at most one in `interval`.
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
    /// The broker hangs up on it: not to be tried before.
    held_until: Option<Instant>,
}

impl Slot {
    fn due(&self) -> Option<Instant> {
        self.not_before.max(self.held_until)
    }
}

#[derive(Debug, Default)]
struct Table {
    slots: BTreeMap<String, Slot>,
    /// Unsent topics, longest waiting first.
    queue: BTreeMap<u64, String>,
    places: u64,
}

impl Table {
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
    /// Sets a value. The same value again sends nothing.
    pub fn set(&self, key: StateKey, payload: impl Into<Bytes>) {
        let payload = payload.into();
        let mut table = self.lock();
        let topic = key.topic.clone();
        match table.slots.get_mut(&topic) {
            Some(slot) if slot.payload == payload && key.expiry.is_none() => return,
            Some(slot) => slot.payload = payload,
            None => {
                let slot = Slot {
                    key,
                    payload,
                    place: None,
                    in_flight: false,
                    not_before: None,
                    held_until: None,
                };
                table.slots.insert(topic.clone(), slot);
            }
        }
        table.enqueue(&topic);
        drop(table);
        self.changed.notify_one();
    }

    /// A board that is no more leaves nothing behind.
    pub(super) fn clear(&self, topics: &Topics, board: &Id) {
        for state in BoardState::ALL {
            self.set(StateKey::board(topics, board, state), Bytes::new());
        }
    }

    /// Everything is to be sent (again): after a connect, or when somebody asks. Returns how many.
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

    /// A new connection: nothing is under way.
    pub(super) fn restart(&self) {
        for slot in self.lock().slots.values_mut() {
            slot.in_flight = false;
            slot.not_before = None;
        }
        self.republish();
    }

    /// The next message that may be sent now; it stays in the queue until [`Self::sent`].
    pub(super) fn next(&self, now: Instant) -> Option<Message> {
        let table = self.lock();
        let is_due = |slot: &&Slot| !slot.in_flight && slot.due().is_none_or(|at| at <= now);
        let slot = table
            .queue
            .values()
            .filter_map(|topic| table.slots.get(topic))
            .find(is_due)?;
        Some(Message {
            topic: slot.key.topic.clone(),
            payload: slot.payload.clone(),
            qos: slot.key.qos,
            retain: true,
            expiry: slot.key.expiry,
            correlation: None,
        })
    }

    /// The topic's value was handed over (or cannot be sent at all).
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

    /// The broker answered: the next value of the topic may follow.
    pub(super) fn answered(&self, topic: &str) {
        if let Some(slot) = self.lock().slots.get_mut(topic) {
            slot.in_flight = false;
        }
    }

    /// The topic rests, over connections.
    pub(super) fn hold(&self, topic: &str, until: Instant) {
        if let Some(slot) = self.lock().slots.get_mut(topic) {
            slot.held_until = Some(until);
        }
    }

    /// When a value that is held back by its interval becomes due.
    pub(super) fn due(&self) -> Option<Instant> {
        let table = self.lock();
        table
            .queue
            .values()
            .filter_map(|topic| table.slots.get(topic)?.due())
            .min()
    }

    /// True when every value is with the broker.
    pub(super) fn is_drained(&self) -> bool {
        let table = self.lock();
        let now = Instant::now();
        let is_held = |slot: &Slot| slot.held_until.is_some_and(|until| until > now);
        let is_sent = |slot: &Slot| slot.place.is_none() && !slot.in_flight;
        table.slots.values().all(|slot| is_sent(slot) || is_held(slot))
    }

    /// Waits for a change.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A writer that panicked leaves at worst one value unset; the table itself is whole.
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
        let first = states.next(now).unwrap();
        assert_eq!(first.payload, "2");
        assert!(first.retain);
        states.sent(&first.topic, now);
        states.set(key(BoardState::Game), "3");
        states.set(key(BoardState::Game), "4");
        assert_eq!(states.next(now), None, "the former value is still under way");
        states.answered(&first.topic);
        assert_eq!(states.next(now).unwrap().payload, "4");
    }

    #[test]
    fn an_unchanged_value_is_not_sent_again_before_the_next_connection() {
        let (states, now) = (States::default(), Instant::now());
        states.set(key(BoardState::Status), "online");
        let topic = states.next(now).unwrap().topic;
        states.sent(&topic, now);
        states.answered(&topic);
        states.set(key(BoardState::Status), "online");
        assert_eq!(states.next(now), None);
        assert!(states.is_drained());
        states.restart();
        assert_eq!(states.next(now).unwrap().payload, "online");
    }

    #[test]
    fn the_clock_is_limited_to_its_rate() {
        let (states, now) = (States::default(), Instant::now());
        states.set(key(BoardState::Clock), "1");
        let first = states.next(now).unwrap();
        assert_eq!(first.qos, Qos::AtMostOnce);
        states.sent(&first.topic, now);
        states.set(key(BoardState::Clock), "2");
        assert_eq!(states.next(now), None);
        let due = states.due().unwrap();
        assert_eq!(due, now + CLOCK_INTERVAL);
        assert_eq!(states.next(due).unwrap().payload, "2");
    }
}

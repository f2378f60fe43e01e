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
    /// It goes before all others.
    goes_first: bool,
}

impl StateKey {
    /// The gateway's `info`. It goes before all others: the next process knows by it whose end the broker tells.
    #[must_use]
    pub fn info(topics: &Topics) -> Self {
        Self {
            goes_first: true,
            ..Self::plain(topics.info())
        }
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
            goes_first: false,
        }
    }
}

/// What became of the value that goes before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It is not sent yet.
    Waits,
    /// The broker has not answered it.
    UnderWay,
    /// The broker has it or does not take it, or there is none.
    Told,
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
    /// The topic that goes before all others.
    first: Option<String>,
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
            let place = if slot.key.goes_first {
                0
            } else {
                self.places += 1;
                self.places
            };
            slot.place = Some(place);
            self.queue.insert(place, topic.to_owned());
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
                if slot.key.goes_first {
                    table.first = Some(topic.clone());
                }
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
        let topics = table
            .first
            .iter()
            .chain(table.held.keys())
            .chain(table.queue.values());
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

    /// What became of the value that goes before all others.
    pub(super) fn first(&self) -> First {
        let table = self.lock();
        let topic = table
            .first
            .as_ref()
            .filter(|topic| !table.held.contains_key(*topic));
        match topic.and_then(|topic| table.slots.get(topic)) {
            Some(slot) if slot.in_flight => First::UnderWay,
            Some(slot) if slot.place.is_some() => First::Waits,
            _ => First::Told,
        }
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

    /// Begins anew at another broker, which may take what this one hung up on.
    pub(super) fn at_another(&self) {
        self.lock().held.clear();
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
mod tests;

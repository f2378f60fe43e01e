//! The connection to a broker: states and events into the hall, commands out, answers back.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};
use tokio_util::sync::CancellationToken;

use super::{board::Board, key::BoardKey, portions::Portions, shared::Shared};
use crate::{
    config::{BaseTopic, BrokerUrl},
    link::Backoff,
    mqtt::{
        Arrived, BrokerLink, Claim, Dial, LinkEvent, Publication, Qos,
        link::{Busy, Ticket},
    },
    time::Millis,
};

/// First and longest delay between attempts to connect, and when a connection counts as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 5_000, 5_000);
/// How long the page waits for the answer to a command.
const PATIENCE: Duration = Duration::from_secs(6);
/// A gateway with a good line answers a question within this time.
const SOON: Duration = Duration::from_secs(1);
/// For at most so many looks of a connection the page asks first and listens on afterwards.
const MOST_HELD_BACK: u32 = 20;
/// How many questions for missed events may be under way to one gateway, and to all of them.
const QUESTIONS: (usize, usize) = (4, 48);
/// How long the page waits for the answer to its first question for a board.
const ANSWERED: Duration = Duration::from_secs(2);
/// How long at the most until the page asks again a gateway that did not answer for a board.
const ASK_AGAIN: Duration = Duration::from_secs(20);
/// After this many questions without an answer the page shows a board without the missed events.
const MAX_UNANSWERED: u32 = 5;
/// How often the listener looks whether events are missing.
const TICK: Duration = Duration::from_millis(100);

/// A command of the page.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The gateway for which the command is.
    pub(crate) gateway: String,
    /// The board, if the command is for one.
    pub(crate) board: Option<String>,
    /// The verb: the last level of the topic.
    pub(crate) verb: String,
    /// Its fields, without a reference.
    pub(crate) fields: serde_json::Map<String, Value>,
    /// Where the answer goes.
    pub(crate) answer: oneshot::Sender<Result<Value, AskError>>,
}

/// The name of the queue for commands to the broadcasts of this program. No broker has such a name.
pub(crate) const OWN: &str = "/";

/// The bounded queues for commands, by the names of the brokers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asks(Vec<(String, mpsc::Sender<Ask>)>);

impl Asks {
    /// Makes commands for the gateways at `broker` go to `sender`.
    pub(crate) fn add(&mut self, broker: &str, sender: mpsc::Sender<Ask>) {
        self.0.push((broker.to_owned(), sender));
    }

    /// Hands a command to the broker of its gateway, or to the first broker where that is not known.
    ///
    /// # Errors
    /// When too many wait.
    pub(crate) fn try_send(&self, broker: Option<&str>, ask: Ask) -> Result<(), TrySendError<Ask>> {
        let named = self.0.iter().find(|(name, _)| Some(name.as_str()) == broker);
        match named.or_else(|| self.0.first()) {
            Some((_, sender)) => sender.try_send(ask),
            None => Err(TrySendError::Closed(ask)),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    /// The broker is not connected.
    #[error("the broker is not connected: nothing was sent")]
    NoBroker,
    /// The gateway is silent. It may have carried out the command.
    #[error("the gateway did not answer in time; look at the board's state before you send it again")]
    NoAnswer,
}

impl AskError {
    /// Stable code.
    #[must_use]
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::NoBroker => "no_broker",
            Self::NoAnswer => "no_answer",
        }
    }
}

/// What waits for an answer, by reference.
enum Waiting {
    Command(oneshot::Sender<Result<Value, AskError>>),
    History { key: BoardKey, after: u64, before: u64 },
}

/// Keeps a connection to a broker.
pub(crate) struct Listener<D> {
    dial: D,
    urls: Vec<BrokerUrl>,
    /// The broker's addresses, for people.
    broker: String,
    base: BaseTopic,
    shared: Shared,
    asks: mpsc::Receiver<Ask>,
    waiting: HashMap<String, (Instant, Waiting)>,
    /// Boards of which the page does not ask until then.
    asked: HashMap<BoardKey, Instant>,
    /// How many questions a board's gateway has left without an answer.
    unanswered: HashMap<BoardKey, u32>,
    /// What of this broker is still to be listened to.
    portions: Portions,
    /// For how many looks of this connection it was not listened on.
    held_back: u32,
    count: u64,
    /// Makes our references differ from those of other pages.
    name: String,
}

impl<D: Dial> Listener<D> {
    /// A listener at a broker, whose addresses it tries in turn. Commands for the broker come through the other end of
    /// the receiver.
    pub(crate) fn new(
        dial: D,
        urls: Vec<BrokerUrl>,
        base: BaseTopic,
        shared: Shared,
        asks: mpsc::Receiver<Ask>,
    ) -> Self {
        let addresses: Vec<String> = urls.iter().map(ToString::to_string).collect();
        Self {
            dial,
            urls,
            broker: addresses.join(", "),
            base,
            shared,
            asks,
            waiting: HashMap::new(),
            asked: HashMap::new(),
            unanswered: HashMap::new(),
            portions: Portions::default(),
            held_back: 0,
            count: 0,
            name: format!("page-{:08x}", fastrand::u32(..)),
        }
    }

    /// The broker's addresses.
    pub(crate) fn broker(&self) -> &str {
        &self.broker
    }

    /// Listens until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let (first, longest, stable) = BACKOFF_MS;
        let mut backoff = Backoff::new(first, longest, stable);
        let mut rng = fastrand::Rng::new();
        let mut said = false;
        let broker = self.broker.clone();
        self.shared.change(|hall, _| hall.broker(&broker, false));
        for url in self.urls.clone().iter().cycle() {
            let since = self.shared.now_ms();
            let address = url.to_string();
            let (connected, reason) = match self.dial.dial(url) {
                Ok(link) => tokio::select! {
                    ended = self.session(link, &address) => ended,
                    () = stop.cancelled() => return,
                },
                Err(reason) => (false, reason),
            };
            self.shared.change(|hall, _| hall.broker(&broker, false));
            for (_, (_, waiting)) in self.waiting.drain() {
                answer(waiting, Err(AskError::NoAnswer));
            }
            self.asked.clear();
            if connected {
                said = false;
                backoff.up(Millis(since));
            }
            if !said {
                tracing::warn!("no broker at {address} ({reason}); going on trying");
                said = true;
            }
            let delay = backoff.failed(Millis(self.shared.now_ms()), &mut rng);
            let rest = tokio::time::sleep(Duration::from_millis(delay));
            tokio::pin!(rest);
            loop {
                tokio::select! {
                    () = &mut rest => break,
                    Some(ask) = self.asks.recv() => drop(ask.answer.send(Err(AskError::NoBroker))),
                    () = stop.cancelled() => return,
                }
            }
        }
    }

    /// Works for one connection; tells whether the connection came about, and why it ended.
    async fn session(&mut self, mut link: D::Link, address: &str) -> (bool, String) {
        let mut connected = false;
        let mut newcomers = BTreeSet::new();
        let mut tick = tokio::time::interval(TICK);
        // A machine that stood still has not waited for the broker meanwhile.
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = link.next() => match event {
                    LinkEvent::Connected { .. } => {
                        tracing::info!("listening to {address}");
                        connected = true;
                        self.held_back = 0;
                        if link.listen(&self.portions.begin(&self.base)).is_err() {
                            return (true, "the connection takes nothing".to_owned());
                        }
                        let broker = self.broker.clone();
                        self.shared.change(|hall, _| hall.broker(&broker, true));
                    }
                    LinkEvent::Arrived(arrived) => {
                        newcomers.extend(self.arrived(&arrived));
                    }
                    LinkEvent::SubscriptionRefused(reason) => {
                        self.portions.answered();
                        tracing::error!("the broker {address} refuses a subscription: {reason}");
                    }
                    LinkEvent::Closed(closed) => return (connected, closed.reason),
                    LinkEvent::Subscribed => self.portions.answered(),
                    LinkEvent::Acked(_) | LinkEvent::Unsubscribed => {}
                    // A command that the broker refuses gets no answer, and the caller is told so.
                    LinkEvent::Refused(_, reason) => tracing::warn!("the broker {address} refuses a command: {reason}"),
                },
                Some(ask) = self.asks.recv() => self.send(&mut link, connected, ask),
                _ = tick.tick() => {
                    self.give_up();
                    if connected && self.portions.is_forgotten() {
                        return (true, "the broker does not answer a subscription".to_owned());
                    }
                    if connected {
                        self.ask_for_what_was_missed(&mut link);
                        self.shared.change(|hall, now| {
                            newcomers.extend(hall.moved_to(&self.broker, now));
                            hall.settle_numbers(&self.broker, |gateway| self.portions.has_asked_for(gateway, "game"), now);
                        });
                        if self.listen_on(&mut link, std::mem::take(&mut newcomers)).is_err() {
                            return (true, "the connection takes nothing".to_owned());
                        }
                    }
                }
            }
        }
    }

    /// Listens to more of what the broker retains. Newcomers it listens to again, because the page left out their states
    /// while it took them for other gateways. Those that come over together are asked for together.
    fn listen_on(&mut self, link: &mut D::Link, newcomers: BTreeSet<String>) -> Result<(), Busy> {
        if !newcomers.is_empty() {
            return link.listen(&self.portions.begin_with(&self.base, newcomers));
        }
        // What is known to be lacking goes before what has most likely not changed.
        if self.portions.repeats() && self.is_asking() && self.held_back < MOST_HELD_BACK {
            self.held_back += 1;
            return Ok(());
        }
        let filters = {
            let hall = self.shared.hall();
            let having = |gateway: &str, state: &str| {
                let of_gateway = hall.listed().filter(|(key, _)| key.gateway == gateway);
                of_gateway.filter(|(_, board)| board.has_told(state)).count()
            };
            self.portions
                .next(&self.base, |gateway| hall.boards_of(gateway), having)
        };
        if filters.is_empty() {
            Ok(())
        } else {
            link.listen(&filters)
        }
    }

    /// True while a gateway may soon answer a question.
    fn is_asking(&self) -> bool {
        let mut asked = self.waiting.values();
        asked.any(|(since, waiting)| matches!(waiting, Waiting::History { .. }) && since.elapsed() < SOON)
    }

    /// Takes a message. Returns its gateway where that came over from another broker.
    fn arrived(&mut self, arrived: &Arrived) -> Option<String> {
        let rest = arrived.topic.strip_prefix(self.base.as_str());
        let topic = rest.and_then(|rest| rest.strip_prefix('/'))?;
        self.portions.heard(topic, arrived.retain);
        let levels: Vec<&str> = topic.split('/').collect();
        if let [.., "reply", _] = levels[..] {
            self.replied(&arrived.payload);
            return None;
        }
        // An event that is retained at the broker is old, and somebody's mistake.
        if arrived.retain && levels.contains(&"event") {
            return None;
        }
        let mut is_newcomer = false;
        self.shared.change(|hall, now| {
            match hall.claim(&self.broker, topic, &arrived.payload, !arrived.retain, now) {
                // What a bridge shows twice is heard where the gateway is.
                Claim::Foreign | Claim::Copy => {}
                claim => {
                    // A gateway tells of its health while it is online. The broker may have lost the word on that.
                    if let ([gateway, "health"], false) = (&levels[..], arrived.retain)
                        && hall.is_alive(gateway, &arrived.payload)
                    {
                        hall.take(&format!("{gateway}/status"), b"online", now);
                    }
                    is_newcomer = hall.comes_back(topic, &arrived.payload) || claim == Claim::Moved;
                    hall.take(topic, &arrived.payload, now);
                }
            }
        });
        is_newcomer.then(|| levels[0].to_owned())
    }

    fn replied(&mut self, payload: &[u8]) {
        let Ok(mut reply) = serde_json::from_slice::<Value>(payload) else {
            return;
        };
        let Some((_, waiting)) = reply["ref"].as_str().and_then(|name| self.waiting.remove(name)) else {
            return;
        };
        match waiting {
            Waiting::History { key, after, before } => {
                self.asked.remove(&key);
                if reply["ok"] == true {
                    self.unanswered.remove(&key);
                    self.shared.change(|hall, _| {
                        hall.take_history(&key, after, before, &reply["state"]);
                    });
                } else {
                    // The gateway is an older one, or its journal is in trouble: the page asks again later.
                    self.do_without(&key, after, before);
                }
            }
            command @ Waiting::Command(_) => {
                if let Some(fields) = reply.as_object_mut() {
                    fields.remove("ref");
                }
                answer(command, Ok(reply));
            }
        }
    }

    fn send(&mut self, link: &mut D::Link, connected: bool, ask: Ask) {
        let topic = match &ask.board {
            Some(board) => format!("{}/{}/board/{board}/cmd/{}", self.base, ask.gateway, ask.verb),
            None => format!("{}/{}/cmd/{}", self.base, ask.gateway, ask.verb),
        };
        let waiting = Waiting::Command(ask.answer);
        if !connected {
            return answer(waiting, Err(AskError::NoBroker));
        }
        self.publish(link, topic, ask.fields, waiting);
    }

    fn publish(
        &mut self,
        link: &mut D::Link,
        topic: String,
        mut fields: serde_json::Map<String, Value>,
        waiting: Waiting,
    ) {
        self.count += 1;
        let name = format!("{}-{}", self.name, self.count);
        fields.insert("ref".to_owned(), name.clone().into());
        let message = Publication {
            topic,
            payload: Value::Object(fields).to_string().into(),
            qos: Qos::AtLeastOnce,
            retain: false,
            expiry: None,
            correlation: None,
            speaker: None,
        };
        match link.publish(Ticket(self.count), &message) {
            Ok(()) => drop(self.waiting.insert(name, (Instant::now(), waiting))),
            Err(_) => answer(waiting, Err(AskError::NoBroker)),
        }
    }

    /// How long the page waits for an answer: the longer, the more questions were in vain.
    fn patience(&self, waiting: &Waiting) -> Duration {
        match waiting {
            Waiting::Command(_) => PATIENCE,
            Waiting::History { key, .. } => {
                let in_vain = self.unanswered.get(key).copied().unwrap_or_default();
                PATIENCE.min(ANSWERED * 2_u32.pow(in_vain))
            }
        }
    }

    fn give_up(&mut self) {
        let late: Vec<String> = self
            .waiting
            .iter()
            .filter(|(_, (since, waiting))| since.elapsed() > self.patience(waiting))
            .map(|(name, _)| name.clone())
            .collect();
        for name in late {
            match self.waiting.remove(&name) {
                Some((_, Waiting::History { key, after, before })) => self.do_without(&key, after, before),
                Some((_, command)) => answer(command, Err(AskError::NoAnswer)),
                None => {}
            }
        }
        let now = Instant::now();
        self.asked.retain(|_, until| *until > now);
    }

    /// Shows a board without its missed events after some questions. A gateway that takes no commands never answers.
    fn do_without(&mut self, key: &BoardKey, after: u64, before: u64) {
        let count = self.unanswered.entry(key.clone()).or_default();
        *count += 1;
        let pause = ASK_AGAIN.min(Duration::from_secs(1 << *count));
        self.asked.insert(key.clone(), Instant::now() + pause);
        if *count >= MAX_UNANSWERED {
            *count = 0;
            self.shared.change(|hall, _| hall.do_without(key, after, before));
        }
    }

    fn ask_for_what_was_missed(&mut self, link: &mut D::Link) {
        let mut under_way: HashMap<String, usize> = HashMap::new();
        for (_, waiting) in self.waiting.values() {
            if let Waiting::History { key, .. } = waiting {
                *under_way.entry(key.gateway.clone()).or_default() += 1;
            }
        }
        let room = QUESTIONS.1.saturating_sub(under_way.values().sum());
        if room == 0 {
            return;
        }
        let wanted: Vec<(BoardKey, u64, u64)> = {
            let hall = self.shared.hall();
            let wanted = hall.wanted();
            let mut wanted: Vec<_> = wanted
                .filter(|(key, _, _)| hall.broker_of(&key.gateway) == Some(&self.broker))
                .filter(|(key, _, _)| !self.asked.contains_key(key))
                .collect();
            // An arbiter waits for what an open irregularity is.
            wanted.sort_by_key(|(key, _, _)| !hall.board(key).is_some_and(Board::has_untold_case));
            let has_room = |(key, _, _): &(&BoardKey, u64, u64)| {
                let of_gateway = under_way.entry(key.gateway.clone()).or_default();
                *of_gateway += 1;
                *of_gateway <= QUESTIONS.0
            };
            let asked = wanted.into_iter().filter(has_room).take(room);
            asked
                .map(|(key, after, before)| (key.clone(), after, before))
                .collect()
        };
        for (key, after, before) in wanted {
            self.asked.insert(key.clone(), Instant::now() + ASK_AGAIN);
            let topic = format!("{}/{}/cmd/history", self.base, key.gateway);
            let fields = json!({ "board": key.board, "after": after, "before": before });
            let fields = fields.as_object().cloned().unwrap_or_default();
            self.publish(link, topic, fields, Waiting::History { key, after, before });
        }
    }
}

/// Whoever asked may have gone.
fn answer(waiting: Waiting, outcome: Result<Value, AskError>) {
    if let Waiting::Command(answer) = waiting {
        drop(answer.send(outcome));
    }
}

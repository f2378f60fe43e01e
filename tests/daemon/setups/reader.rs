//! A subscriber as the contract wants it: it drops numbers that it has, holds back what came too early, and asks by
//! `history` for what it misses. It also keeps what each broker alone told it, so that the brokers can be compared.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use rumqttc::v5::{
    AsyncClient, Event as MqttEvent, MqttOptions,
    mqttbytes::{
        QoS,
        v5::{Filter, Packet, Publish},
    },
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::numbered::jump;

/// How long a number may be missing before it is asked for: what is under way comes by itself.
const SOON: Duration = Duration::from_secs(2);
/// How long until the next question for the same board.
const AGAIN: Duration = Duration::from_secs(3);

/// Gateway and board.
pub type Key = (String, String);

/// What stands for the content of an event.
pub fn digest(event: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    event.to_string().hash(&mut hasher);
    hasher.finish()
}

/// What is known of a board.
#[derive(Default)]
struct Told {
    /// What was handed on, by number.
    events: BTreeMap<u64, u64>,
    /// The last number up to which nothing is missing.
    whole: u64,
    /// The first number after each jump that was named, and the last one before it.
    jumps: BTreeMap<u64, u64>,
    /// What came before its turn.
    early: BTreeMap<u64, u64>,
    /// Since when something is missing.
    missing_since: Option<Instant>,
    asked: Option<Instant>,
    /// The last number, by what its game says.
    last: u64,
}

impl Told {
    /// The numbers between which something is missing.
    fn gap(&self) -> Option<(u64, u64)> {
        let after = self.whole;
        let early = self.early.keys().next().copied();
        let before = early.or_else(|| (self.last > after).then_some(self.last + 1))?;
        Some((after, before))
    }

    fn settle(&mut self) {
        while let Some((seq, content)) = self.early.pop_first() {
            let from = self.jumps.get(&seq);
            if seq != self.whole + 1 && from.is_none_or(|from| *from > self.whole) {
                self.early.insert(seq, content);
                break;
            }
            self.events.insert(seq, content);
            self.whole = seq;
        }
        match self.gap() {
            None => self.missing_since = None,
            Some(_) => drop(self.missing_since.get_or_insert_with(Instant::now)),
        }
    }
}

/// What one broker told.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    last: BTreeMap<Key, u64>,
    /// Events that came, each time.
    pub arrived: u64,
    /// Numbers that it left out when they were due.
    pub left_out: u64,
    /// Numbers that were not above the one before.
    pub again: u64,
    /// Retained states, by their topics.
    pub states: BTreeMap<String, Vec<u8>>,
    /// What it still knew at each connection of the reader.
    pub connections: Vec<Known>,
}

/// What a broker still knows at a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Whether it has the session of the reader.
    pub has_session: bool,
    /// How many games it has retained: those that are told anew by gateways do not count.
    pub games: usize,
}

#[derive(Default)]
struct Ledger {
    boards: BTreeMap<Key, Told>,
    /// Numbers that came with two contents.
    contradicted: Vec<String>,
    /// Events that had to be asked for.
    asked_for: u64,
    raw: Vec<Raw>,
}

impl Ledger {
    fn take(&mut self, event: &Value, key: Key, is_answer: bool) {
        let Some(seq) = event["seq"].as_u64() else { return };
        let content = digest(event);
        let told = self.boards.entry(key.clone()).or_default();
        told.jumps.extend(jump(event).map(|(from, to)| (to, from)));
        let known = match told.events.get(&seq) {
            Some(known) => Some(*known),
            None => told.early.insert(seq, content),
        };
        match known {
            None => self.asked_for += u64::from(is_answer),
            Some(known) if known == content => {}
            Some(_) => self.contradicted.push(format!("{}/{}/{seq}", key.0, key.1)),
        }
        self.boards.entry(key).or_default().settle();
    }

    fn take_publish(&mut self, broker: usize, publish: &Publish) {
        let topic = String::from_utf8_lossy(&publish.topic).into_owned();
        let levels: Vec<&str> = topic.split('/').collect();
        match levels[..] {
            [_, gateway, "board", board, "event", _] => {
                let Ok(event) = serde_json::from_slice::<Value>(&publish.payload) else {
                    return;
                };
                let key = (gateway.to_owned(), board.to_owned());
                self.raw[broker].event(&key, event["seq"].as_u64().unwrap_or_default());
                self.take(&event, key, false);
            }
            [_, gateway, "reply", "history"] => {
                let Ok(reply) = serde_json::from_slice::<Value>(&publish.payload) else {
                    return;
                };
                for event in reply["state"]["events"].as_array().into_iter().flatten() {
                    let board = event["board"].as_str().unwrap_or_default().to_owned();
                    self.take(event, (gateway.to_owned(), board), true);
                }
            }
            [_, gateway, "board", board, "game"] => {
                if let (true, Some(known)) = (publish.retain, self.raw[broker].connections.last_mut()) {
                    known.games += 1;
                }
                let game: Value = serde_json::from_slice(&publish.payload).unwrap_or_default();
                let told = self
                    .boards
                    .entry((gateway.to_owned(), board.to_owned()))
                    .or_default();
                told.last = told.last.max(game["last_seq"].as_u64().unwrap_or_default());
                told.settle();
                self.raw[broker].states.insert(topic, publish.payload.to_vec());
            }
            [_, _, "status"] | [_, _, "board", _, "status"] => {
                self.raw[broker].states.insert(topic, publish.payload.to_vec());
            }
            _ => {}
        }
    }

    /// The next boards to ask for, with the numbers between which something is missing.
    fn questions(&mut self) -> Vec<(Key, u64, u64)> {
        let mut questions = Vec::new();
        for (key, told) in &mut self.boards {
            let is_due = told.missing_since.is_some_and(|since| since.elapsed() > SOON)
                && told.asked.is_none_or(|asked| asked.elapsed() > AGAIN);
            if let Some((after, before)) = told.gap().filter(|_| is_due && questions.len() < 8) {
                told.asked = Some(Instant::now());
                questions.push((key.clone(), after, before));
            }
        }
        questions
    }
}

impl Raw {
    fn event(&mut self, key: &Key, seq: u64) {
        self.arrived += 1;
        let last = self.last.entry(key.clone()).or_default();
        if seq <= *last {
            self.again += 1;
        } else {
            self.left_out += seq - *last - 1;
            *last = seq;
        }
    }
}

/// The subscriber, at all brokers that readers read.
pub struct Reader {
    ledger: Arc<Mutex<Ledger>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Reader {
    pub fn start(ports: &[u16], login: bool) -> Self {
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let (mut tasks, mut clients) = (Vec::new(), Vec::new());
        for (broker, port) in ports.iter().enumerate() {
            ledger.lock().unwrap().raw.push(Raw::default());
            let (client, task) = listen(broker, *port, login, ledger.clone());
            tasks.push(task);
            clients.push(client);
        }
        tasks.push(tokio::spawn(ask(clients, ledger.clone())));
        Self { ledger, tasks }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// The contents that it handed on, in order.
    pub fn events(&self, key: &Key) -> Vec<u64> {
        self.ledger()
            .boards
            .get(key)
            .map_or_else(Vec::new, |told| told.events.values().copied().collect())
    }

    /// Numbers that came with two contents.
    pub fn contradicted(&self) -> Vec<String> {
        self.ledger().contradicted.clone()
    }

    /// How many events it had to ask for.
    pub fn asked_for(&self) -> u64 {
        self.ledger().asked_for
    }

    /// What each broker told.
    pub fn raw(&self) -> Vec<Raw> {
        self.ledger().raw.clone()
    }

    /// What the brokers retain of a topic, by broker.
    pub fn states(&self, topic: &str) -> Vec<Vec<u8>> {
        let ledger = self.ledger();
        let of = |raw: &Raw| raw.states.get(topic).cloned();
        ledger.raw.iter().filter_map(of).collect()
    }

    /// The last number of a board by its retained game, at each broker.
    pub fn last(&self, key: &Key) -> Vec<u64> {
        let topic = format!("dgt2mqtt/{}/board/{}/game", key.0, key.1);
        let last = |raw: &Raw| {
            let game: Value = serde_json::from_slice(raw.states.get(&topic)?).ok()?;
            game["last_seq"].as_u64()
        };
        self.ledger()
            .raw
            .iter()
            .map(|raw| last(raw).unwrap_or_default())
            .collect()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn listen(
    broker: usize,
    port: u16,
    login: bool,
    ledger: Arc<Mutex<Ledger>>,
) -> (AsyncClient, JoinHandle<()>) {
    let mut options = MqttOptions::new(format!("reader-{broker}"), "127.0.0.1", port);
    options
        .set_keep_alive(Duration::from_secs(5))
        .set_clean_start(false)
        .set_session_expiry_interval(Some(3600))
        .set_max_packet_size(Some(1 << 24));
    if login {
        options.set_credentials("reader@localhost", "any");
    }
    let (client, mut events) = AsyncClient::new(options, 64);
    let subscribe = client.clone();
    let task = tokio::spawn(async move {
        loop {
            match events.poll().await {
                Ok(MqttEvent::Incoming(Packet::ConnAck(answer))) => {
                    ledger.lock().unwrap().raw[broker].connections.push(Known {
                        has_session: answer.session_present,
                        games: 0,
                    });
                    // Each time: a broker may say that it has the session and have lost what was subscribed.
                    let filter = Filter::new("dgt2mqtt/#", QoS::AtLeastOnce);
                    subscribe.try_subscribe_many([filter]).unwrap();
                }
                Ok(MqttEvent::Incoming(Packet::Publish(publish))) => {
                    ledger.lock().unwrap().take_publish(broker, &publish);
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    });
    (client, task)
}

/// Asks for what is missing, over every broker: the gateway is at one of them.
async fn ask(clients: Vec<AsyncClient>, ledger: Arc<Mutex<Ledger>>) {
    for turn in 0.. {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let questions = ledger.lock().unwrap().questions();
        for ((gateway, board), after, before) in questions {
            let question =
                json!({ "ref": format!("reader-{turn}"), "board": board, "after": after, "before": before });
            let topic = format!("dgt2mqtt/{gateway}/cmd/history");
            for client in &clients {
                let text = question.to_string();
                let _ = client.try_publish(topic.as_str(), QoS::AtLeastOnce, false, text);
            }
        }
    }
}

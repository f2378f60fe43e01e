//! The connection to a broker: events to the intake, questions out, answers back.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{intake::Lack, shared::SharedIntake};
use crate::{
    config::{BaseTopic, BrokerUrl},
    link::Backoff,
    mqtt::{Arrived, BrokerLink, Dial, LinkEvent, Publication, Qos, link::Ticket},
    time::Millis,
};

/// First and longest delay between attempts to connect, and when a connection counts as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 10_000, 5_000);
/// How long the archive waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks whether something is missing.
const TICK: Duration = Duration::from_millis(200);
/// The topics that it hears, below the base.
const FILTERS: [&str; 6] = [
    "+/status",
    "+/info",
    "+/health",
    "+/reply/history",
    "+/board/+/game",
    "+/board/+/event/+",
];

/// Listens at one broker.
pub(crate) struct Subscription<D: Dial> {
    dial: D,
    urls: Vec<BrokerUrl>,
    base: BaseTopic,
    shared: SharedIntake,
    /// The broker's place among all.
    broker: usize,
    /// Questions that are under way, by their references.
    waiting: HashMap<String, (Instant, Lack)>,
    count: u64,
    /// What references begin with.
    name: String,
}

impl<D: Dial> Subscription<D> {
    /// A subscription at the broker with this place among all, whose addresses it tries in turn.
    pub(crate) fn new(
        dial: D,
        urls: Vec<BrokerUrl>,
        base: BaseTopic,
        shared: SharedIntake,
        broker: usize,
    ) -> Self {
        Self {
            dial,
            urls,
            base,
            shared,
            broker,
            waiting: HashMap::new(),
            count: 0,
            name: format!("archive-{:08x}", fastrand::u32(..)),
        }
    }

    /// Listens until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let (first, longest, stable) = BACKOFF_MS;
        let mut backoff = Backoff::new(first, longest, stable);
        let mut rng = fastrand::Rng::new();
        let mut said = false;
        for url in self.urls.clone().iter().cycle() {
            let since = self.shared.now_ms();
            let (connected, reason) = match self.dial.dial(url) {
                Ok(link) => tokio::select! {
                    ended = self.session(link, url) => ended,
                    () = stop.cancelled() => return,
                },
                Err(reason) => (false, reason),
            };
            self.lost();
            if connected {
                said = false;
                backoff.up(Millis(since));
            }
            if !std::mem::replace(&mut said, true) {
                tracing::warn!("no broker at {url} ({reason}); going on trying");
            }
            let delay = backoff.failed(Millis(self.shared.now_ms()), &mut rng);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(delay)) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Works for one connection; tells whether the connection came about, and why it ended.
    async fn session(&mut self, mut link: D::Link, url: &BrokerUrl) -> (bool, String) {
        let mut connected = false;
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = link.next() => match event {
                    LinkEvent::Connected { .. } => {
                        tracing::info!("listening to {url}");
                        connected = true;
                        let base = self.base.as_str();
                        let filters = FILTERS.map(|levels| format!("{base}/{levels}"));
                        if link.listen(&filters).is_err() {
                            return (true, "the connection takes nothing".to_owned());
                        }
                    }
                    LinkEvent::Arrived(arrived) => self.arrived(&arrived),
                    LinkEvent::SubscriptionRefused(reason) => {
                        tracing::error!("the broker {url} refuses a subscription: {reason}; let the archive's user read what is below {}", self.base.as_str());
                    }
                    LinkEvent::Closed(closed) => return (connected, closed.reason),
                    LinkEvent::Acked(_) | LinkEvent::Subscribed | LinkEvent::Unsubscribed => {}
                    // A question that the broker refuses gets no answer, and a person is told so.
                    LinkEvent::Refused(_, reason) => tracing::debug!("the broker {url} refuses a question: {reason}"),
                },
                _ = tick.tick(), if connected => {
                    self.give_up();
                    self.ask(&mut link);
                }
            }
        }
    }

    fn arrived(&mut self, arrived: &Arrived) {
        let rest = arrived.topic.strip_prefix(self.base.as_str());
        let Some(topic) = rest.and_then(|rest| rest.strip_prefix('/')) else {
            return;
        };
        let levels: Vec<&str> = topic.split('/').collect();
        match levels[..] {
            [_, "reply", "history"] => self.replied(&arrived.payload),
            // An event that is retained at the broker is somebody's mistake.
            [.., "event", _] if arrived.retain => return,
            _ => {
                let now = self.shared.now_ms();
                let mut intake = self.shared.intake();
                intake.take(self.broker, &levels, &arrived.payload, !arrived.retain, now);
            }
        }
        self.shared.ring();
    }

    fn replied(&mut self, payload: &[u8]) {
        let Ok(reply) = serde_json::from_slice::<Value>(payload) else {
            return;
        };
        // Others ask, too.
        let Some((_, question)) = reply["ref"].as_str().and_then(|name| self.waiting.remove(name)) else {
            return;
        };
        let now = self.shared.now_ms();
        let mut intake = self.shared.intake();
        if reply["ok"] == true {
            intake.answered(&question, &reply["state"], now);
        } else {
            let why = reply["error"]["message"].as_str().unwrap_or("it refuses");
            intake.unanswered(&question, why, now);
        }
    }

    fn give_up(&mut self) {
        let late = self
            .waiting
            .extract_if(|_, (since, _)| since.elapsed() > PATIENCE);
        let now = self.shared.now_ms();
        for (_, (_, question)) in late {
            self.shared
                .intake()
                .unanswered(&question, "it does not answer", now);
        }
    }

    fn ask(&mut self, link: &mut D::Link) {
        let now = self.shared.now_ms();
        let questions = self.shared.intake().questions(self.broker, now);
        for question in questions {
            self.count += 1;
            let name = format!("{}-{}", self.name, self.count);
            let (gateway, board) = &question.key;
            let fields =
                json!({ "ref": name, "board": board, "after": question.after, "before": question.before });
            let message = Publication {
                topic: format!("{}/{gateway}/cmd/history", self.base.as_str()),
                payload: fields.to_string().into(),
                qos: Qos::AtLeastOnce,
                retain: false,
                expiry: None,
                correlation: None,
                speaker: None,
            };
            match link.publish(Ticket(self.count), &message) {
                Ok(()) => drop(self.waiting.insert(name, (Instant::now(), question))),
                Err(_) => self.shared.intake().put_off(&question, now),
            }
        }
    }

    /// Nothing that was asked over the lost connection is answered.
    fn lost(&mut self) {
        let now = self.shared.now_ms();
        let mut intake = self.shared.intake();
        intake.lost(self.broker);
        for (_, (_, question)) in self.waiting.drain() {
            intake.put_off(&question, now);
        }
    }
}

//! A scripted broker link: the test decides what the broker does.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

mod moment;

use super::{
    lasting::PublisherSettings,
    link::{Arrived, BrokerLink, Busy, Cause, Closed, Dial, LinkEvent, Publication, Qos, Ticket},
    publisher::{Publisher, PublisherHandle},
    reply::ReplyTo,
    states::StateKey,
    topic::{BoardState, Topics},
};
use crate::{
    config::{BrokerUrl, Language},
    event::{Body, Event},
    journal::{Entry, Journal, JournalSettings},
};

/// What the publisher did and what the link will tell it next; shared with the test.
#[derive(Clone, Default)]
struct Script {
    published: Arc<Mutex<Vec<(Ticket, Publication)>>>,
    events: Arc<Mutex<VecDeque<LinkEvent>>>,
    news: Arc<Notify>,
    dials: Arc<Mutex<Vec<String>>>,
    subscribed: Arc<Mutex<Vec<bool>>>,
}

impl Script {
    fn happens(&self, event: LinkEvent) {
        self.events.lock().unwrap().push_back(event);
        self.news.notify_one();
    }

    fn connects(&self, window: usize, max_packet: Option<usize>) {
        self.happens(LinkEvent::Connected {
            window,
            max_packet,
            keep_alive: None,
        });
    }

    /// The messages of type `notice` so far: ticket and seq.
    fn events(&self) -> Vec<(Ticket, u64)> {
        let published = self.published.lock().unwrap();
        let events = published.iter().filter(|(_, m)| m.topic.contains("/event/"));
        events
            .map(|(ticket, m)| {
                let event: Event = serde_json::from_slice(&m.payload).unwrap();
                (*ticket, event.seq)
            })
            .collect()
    }

    /// The ticket of the last message of the gateway, not of a board, on a topic that ends so.
    fn ticket_of(&self, end: &str) -> Option<Ticket> {
        let published = self.published.lock().unwrap();
        let ours = |(_, m): &&(Ticket, Publication)| m.topic.ends_with(end) && !m.topic.contains("/board/");
        published.iter().rfind(ours).map(|(ticket, _)| *ticket)
    }

    fn ack_all(&self) {
        for (ticket, message) in self.published.lock().unwrap().drain(..) {
            if message.qos == Qos::AtLeastOnce {
                self.events.lock().unwrap().push_back(LinkEvent::Acked(ticket));
            }
        }
        self.news.notify_one();
    }
}

struct FakeLink(Script);

impl BrokerLink for FakeLink {
    async fn next(&mut self) -> LinkEvent {
        loop {
            let next = self.0.events.lock().unwrap().pop_front();
            match next {
                Some(event) => return event,
                None => self.0.news.notified().await,
            }
        }
    }

    fn publish(&mut self, ticket: Ticket, message: &Publication) -> Result<(), Busy> {
        if message.topic.ends_with("/echo") {
            self.0.events.lock().unwrap().push_back(LinkEvent::Acked(ticket));
            self.0.happens(LinkEvent::Arrived(Arrived {
                topic: message.topic.clone(),
                payload: message.payload.clone(),
                retain: false,
                response_topic: None,
                correlation: None,
                speaker: None,
            }));
            return Ok(());
        }
        self.0.published.lock().unwrap().push((ticket, message.clone()));
        Ok(())
    }

    fn subscribe_to_others(&mut self, _filters: &[String], _retained: bool) -> Result<(), Busy> {
        Ok(())
    }

    fn subscribe(&mut self, filters: &[String], retained: bool) -> Result<(), Busy> {
        if filters.iter().any(|filter| filter.ends_with("/echo")) {
            return Ok(());
        }
        let mut subscribed = self.0.subscribed.lock().unwrap();
        let published = self.0.published.lock().unwrap();
        let births = published.iter().filter(|(_, m)| m.payload == "online").count();
        assert!(births <= subscribed.len(), "who hears of the birth may command");
        subscribed.push(retained);
        Ok(())
    }

    fn unsubscribe(&mut self, _filter: &str) -> Result<(), Busy> {
        self.0.happens(LinkEvent::Unsubscribed);
        Ok(())
    }

    fn listen(&mut self, _filters: &[String]) -> Result<(), Busy> {
        Ok(())
    }

    fn disconnect(&mut self) {
        self.0.happens(LinkEvent::Closed(closed(Cause::Unknown)));
    }

    fn abandon(&mut self, _reason: &str) {
        self.disconnect();
    }
}

impl Dial for Script {
    type Link = FakeLink;

    fn dial(&mut self, url: &BrokerUrl) -> Result<FakeLink, String> {
        self.dials.lock().unwrap().push(url.to_string());
        Ok(FakeLink(self.clone()))
    }
}

fn closed(cause: Cause) -> Closed {
    Closed {
        reason: "scripted".to_owned(),
        cause,
    }
}

struct Scene {
    script: Script,
    journal: Journal,
    handle: PublisherHandle,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(JournalSettings::at(folder.path().join("j")), "gw").unwrap();
        let script = Script::default();
        let settings = PublisherSettings {
            urls: vec!["mqtt://one".parse().unwrap(), "mqtt://two".parse().unwrap()],
            boot_id: "boot".to_owned(),
            journal_at: None,
            keep_alive: Duration::from_secs(15),
            commands: true,
            languages: Language::ALL.to_vec(),
            ack_timeout: Duration::from_secs(30),
            stop_bound: Duration::from_secs(60),
        };
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let (requests, _) = mpsc::channel(1);
        let (publisher, handle) = Publisher::new(
            script.clone(),
            settings,
            topics,
            vec!["7".parse().unwrap()],
            journal.clone(),
            requests,
            Arc::new(|| {}),
        );
        let stop = CancellationToken::new();
        let task = tokio::spawn(publisher.run(stop.clone()));
        Self {
            script,
            journal,
            handle,
            stop,
            task,
            _folder: folder,
        }
    }

    async fn feed(&self, board: &str, seqs: std::ops::RangeInclusive<u64>, message: &str) {
        for seq in seqs {
            let event = Event {
                v: 1,
                formerly: None,
                unsent_as: None,
                id: format!("gw/{board}/{seq}"),
                seq,
                body: Body::Notice {
                    code: "gap_ambiguous".to_owned(),
                    message: message.to_owned(),
                },
                board: board.to_owned(),
                game: None,
                t: 0.0,
                at: None,
                time: None,
                source: None,
                by: None,
            };
            let entry = Entry {
                board: board.to_owned(),
                events: vec![event],
                ..Entry::default()
            };
            self.journal.append(entry).await.await.unwrap();
        }
    }

    /// Gives the publisher the time to do what the test forbids.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Lets the publisher work until it has done what the test expects.
    async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.seqs());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the journal's outbox has `depth` events, and fails if it goes below that.
    async fn until_depth(&self, depth: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.journal.tick().await.depth > depth {
            assert!(Instant::now() < deadline, "what is acknowledged is kept");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.settle().await;
        assert_eq!(self.journal.tick().await.depth, depth);
    }

    /// Waits until the publisher has sent these events, and fails if it sends others.
    async fn until_sent(&self, seqs: &[u64]) {
        self.until("what is sent", || self.seqs().len() >= seqs.len())
            .await;
        self.settle().await;
        assert_eq!(self.seqs(), seqs);
    }

    fn seqs(&self) -> Vec<u64> {
        self.script.events().into_iter().map(|(_, seq)| seq).collect()
    }
}

#[tokio::test]
async fn the_window_slides_with_the_oldest() {
    let scene = Scene::new();
    for board in 1..=40 {
        scene.feed(&board.to_string(), 1..=1, "").await;
    }
    scene.settle().await;
    assert_eq!(scene.seqs(), [0; 0], "nothing before the connection");
    scene.script.connects(16, None);
    // The birth takes the sixteenth place of the window.
    scene.until_sent(&[1; 15]).await;
    let (second, _) = scene.script.events()[1];
    scene.script.happens(LinkEvent::Acked(second));
    scene.settle().await;
    assert_eq!(scene.seqs().len(), 15, "the oldest holds the window");
    let deadline = Instant::now() + Duration::from_secs(60);
    while scene.journal.tick().await.depth > 0 {
        assert!(
            Instant::now() < deadline,
            "all are acknowledged and some are kept"
        );
        scene.script.ack_all();
        scene.settle().await;
    }
}

#[tokio::test]
async fn what_was_under_way_is_sent_again_on_the_next_connection() {
    let scene = Scene::new();
    scene.script.connects(16, None);
    scene.feed("7", 1..=3, "").await;
    scene.until_sent(&[1]).await;
    let (first, _) = scene.script.events()[0];
    scene.script.happens(LinkEvent::Acked(first));
    scene.until_sent(&[1, 2]).await;
    scene.script.happens(LinkEvent::Closed(closed(Cause::Unknown)));
    scene.script.published.lock().unwrap().clear();
    scene.script.connects(16, None);
    scene.until_sent(&[2]).await;
    assert_eq!(
        scene.script.dials.lock().unwrap()[..2],
        ["mqtt://one:1883", "mqtt://one:1883"]
    );
}

#[tokio::test]
async fn a_broker_that_takes_us_and_hangs_up_at_once_is_not_called_in_a_hot_loop() {
    let begin = Instant::now();
    let scene = Scene::new();
    // The first address does not answer, so that the second has its turn without a pause.
    scene.script.happens(LinkEvent::Closed(closed(Cause::Unknown)));
    for _ in 0..3 {
        scene.script.connects(16, None);
        scene.script.happens(LinkEvent::Closed(closed(Cause::Unknown)));
    }
    let dials = || scene.script.dials.lock().unwrap().clone();
    scene.until("the fifth attempt", || dials().len() >= 5).await;
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(500), "five attempts in {took:?}");
    let expected = ["one", "two", "two", "two", "two"].map(|host| format!("mqtt://{host}:1883"));
    assert_eq!(dials()[..5], expected);
}

#[tokio::test]
async fn no_message_is_put_aside_for_ends_that_the_broker_takes_on_itself() {
    let scene = Scene::new();
    scene.feed("7", 1..=1, "").await;
    for _ in 0..5 {
        scene.script.published.lock().unwrap().clear();
        scene.script.connects(16, None);
        scene.until_sent(&[1]).await;
        scene.script.happens(LinkEvent::Closed(closed(Cause::Broker)));
    }
    assert_eq!(scene.handle.figures().refused, 0);
}

#[tokio::test]
async fn a_refused_event_is_kept_and_not_sent_in_a_loop() {
    let scene = Scene::new();
    scene.script.connects(16, None);
    scene.feed("7", 1..=2, "").await;
    scene.until_sent(&[1]).await;
    let (first, _) = scene.script.events()[0];
    scene
        .script
        .happens(LinkEvent::Refused(first, "NotAuthorized".to_owned()));
    let refused = || scene.handle.figures().refused;
    scene.until("the refusal", || refused() > 0).await;
    scene.feed("8", 1..=1, "").await;
    // Board 8 goes on and board 7 rests. No event overtakes the one that was refused.
    scene.until_sent(&[1, 1]).await;
    assert_eq!(refused(), 1);
    assert_eq!(scene.journal.tick().await.depth, 3);
    scene.until_sent(&[1, 1, 1]).await;
    let (again, _) = scene.script.events()[2];
    scene.script.happens(LinkEvent::Acked(again));
    scene.until_sent(&[1, 1, 1, 2]).await;
}

#[tokio::test]
async fn what_is_too_large_for_the_broker_goes_in_a_short_form_and_in_its_turn() {
    let scene = Scene::new();
    scene.script.connects(16, Some(600));
    scene.feed("7", 1..=1, &"x".repeat(600)).await;
    scene.feed("7", 2..=2, "").await;
    scene.until_sent(&[1]).await;
    let short = scene
        .script
        .published
        .lock()
        .unwrap()
        .iter()
        .find_map(|(_, message)| {
            let event: serde_json::Value = serde_json::from_slice(&message.payload).ok()?;
            event["abridged"].as_bool().map(|_| event)
        });
    let message = short.unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("history"), "{message}");
    scene.script.ack_all();
    scene.until_sent(&[2]).await;
    scene.script.ack_all();
    scene.until_depth(0).await;
}

#[tokio::test]
async fn after_a_message_too_large_nothing_retained_is_asked_for() {
    let scene = Scene::new();
    let subscribed = || scene.script.subscribed.lock().unwrap().clone();
    scene.script.connects(16, None);
    scene.until("a connection", || !subscribed().is_empty()).await;
    scene.script.happens(LinkEvent::Closed(closed(Cause::Oversize)));
    scene.script.connects(16, None);
    scene.until("two connections", || subscribed().len() >= 2).await;
    scene.settle().await;
    assert_eq!(subscribed(), [true, false]);
}

#[tokio::test]
async fn a_stop_drains_says_offline_and_leaves() {
    let scene = Scene::new();
    scene.script.connects(16, None);
    scene.feed("7", 1..=1, "").await;
    scene.until_sent(&[1]).await;
    scene.stop.cancel();
    scene.settle().await;
    let last = |script: &Script| {
        script
            .published
            .lock()
            .unwrap()
            .last()
            .map(|(_, m)| m.payload.clone())
    };
    assert_ne!(last(&scene.script).unwrap(), "offline", "the event comes first");
    scene.script.ack_all();
    let leaves = || last(&scene.script).is_some_and(|payload| payload == "offline");
    scene.until("good-bye", leaves).await;
    assert!(!scene.task.is_finished());
    scene.script.ack_all();
    scene.task.await.unwrap();
    assert_eq!(scene.journal.tick().await.depth, 0);
}

/// Holds how each kind of message goes out: topic, retained, at least once, and after how many seconds the broker
/// forgets it. Consumers rely on each of these.
#[tokio::test]
async fn every_topic_goes_out_as_it_is_promised() {
    let promised = [
        ("dgt2mqtt/gw/board/7/clock", true, false, None),
        ("dgt2mqtt/gw/board/7/event/notice", false, true, None),
        ("dgt2mqtt/gw/board/7/game", true, true, None),
        ("dgt2mqtt/gw/board/7/info", true, true, None),
        ("dgt2mqtt/gw/board/7/pgn", true, true, None),
        ("dgt2mqtt/gw/board/7/position", true, true, None),
        ("dgt2mqtt/gw/board/7/reply/new_game", false, true, None),
        ("dgt2mqtt/gw/board/7/status", true, true, None),
        ("dgt2mqtt/gw/health", true, false, Some(90)),
        ("dgt2mqtt/gw/info", true, true, None),
        ("dgt2mqtt/gw/reply/ping", false, true, None),
        ("dgt2mqtt/gw/status", true, true, None),
    ];
    let scene = Scene::new();
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let (seven, states) = ("7".parse().unwrap(), &scene.handle.states);
    scene.script.connects(64, None);
    scene.feed("7", 1..=1, "").await;
    states.set(StateKey::info(&topics), "{}");
    states.set(StateKey::health(&topics, 90), "{}");
    states.set(StateKey::clock(&topics, &seven, Duration::from_secs(1)), "{}");
    for state in BoardState::ALL {
        if state != BoardState::Clock {
            states.set(StateKey::board(&topics, &seven, state), "x");
        }
    }
    for command in ["dgt2mqtt/gw/cmd/ping", "dgt2mqtt/gw/board/7/cmd/new_game"] {
        let answer = ReplyTo {
            command: command.to_owned(),
            topic: topics.reply_to(command),
            correlation: None,
            reference: serde_json::Value::Null,
            sender: None,
        };
        scene.handle.reply(answer.done(()));
    }
    let sent = || scene.script.published.lock().unwrap().len();
    scene
        .until("`info`", || scene.script.ticket_of("/info").is_some())
        .await;
    let info = scene.script.ticket_of("/info").unwrap();
    scene.script.happens(LinkEvent::Acked(info));
    scene.until("all of it", || sent() >= promised.len()).await;
    scene.settle().await;
    let published = scene.script.published.lock().unwrap();
    let mut sent: Vec<_> = published
        .iter()
        .map(|(_, m)| (m.topic.as_str(), m.retain, m.qos == Qos::AtLeastOnce, m.expiry))
        .collect();
    sent.sort_unstable();
    assert_eq!(sent, promised);
}

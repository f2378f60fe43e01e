//! A publisher with its journal, as the daemon has it, fed by the test.
#![allow(dead_code)] // shared by several test programs.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::{BrokerConfig, BrokerUrl, Id, Language},
    event::{Body, Event},
    journal::{Entry, Journal, JournalSettings},
    mqtt::{Publisher, PublisherHandle, PublisherSettings, Request, Topics, rumqtt::RumqttDial},
};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::broker::PATIENCE;

/// The plainest way to a broker.
pub fn broker(urls: Vec<BrokerUrl>) -> BrokerConfig {
    BrokerConfig {
        urls,
        client_id: "dgt2mqtt-gw".to_owned(),
        login: None,
        tls: None,
        keep_alive: Duration::from_secs(5),
        languages: Language::ALL.to_vec(),
    }
}

/// The numbers of the journal were compared before, also where the broker tells nothing.
fn compared(journal: &Journal) {
    std::thread::scope(|scope| {
        let comparing = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let nothing = std::collections::BTreeMap::new();
                journal.reconcile(Some(nothing)).await.await.unwrap();
            });
        });
        comparing.join().unwrap();
    });
}

/// A publisher with its journal, as the daemon has it, fed by the test.
pub struct Station {
    pub journal: Journal,
    pub handle: PublisherHandle,
    pub requests: mpsc::Receiver<Request>,
    pub topics: Topics,
    pub boot_id: String,
    pub stop: CancellationToken,
    pub task: JoinHandle<()>,
}

impl Station {
    pub fn start(folder: &Path, broker: BrokerConfig) -> Self {
        Self::start_patient(folder, broker, Duration::from_secs(30))
    }

    pub fn start_patient(folder: &Path, broker: BrokerConfig, ack_timeout: Duration) -> Self {
        let settings = JournalSettings::at(folder.join("journal.sqlite"));
        let (journal, _) = Journal::open(settings, "gw").unwrap();
        compared(&journal);
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let (sender, requests) = mpsc::channel(8);
        let boot_id = boot_id();
        let settings = PublisherSettings {
            urls: broker.urls.clone(),
            boot_id: boot_id.clone(),
            journal_at: None,
            keep_alive: broker.keep_alive,
            commands: true,
            languages: Language::ALL.to_vec(),
            ack_timeout,
            stop_bound: Duration::from_secs(2),
        };
        let boards: Vec<Id> = vec!["7".parse().unwrap(), "8".parse().unwrap()];
        let dial = RumqttDial::new(broker, topics.status(), Duration::from_secs(2)).speaking_as(&boot_id);
        let (publisher, handle) = Publisher::new(
            dial,
            settings,
            topics.clone(),
            boards,
            journal.clone(),
            sender,
            Arc::new(|| {}),
        );
        let stop = CancellationToken::new();
        let task = tokio::spawn(publisher.run(stop.clone()));
        Self {
            journal,
            handle,
            requests,
            topics,
            boot_id,
            stop,
            task,
        }
    }

    /// Puts the events `seqs` of `board` into the journal.
    pub async fn feed(&self, board: &str, seqs: std::ops::RangeInclusive<u64>) {
        for seq in seqs {
            let entry = Entry {
                board: board.to_owned(),
                events: vec![event(board, seq)],
                ..Entry::default()
            };
            self.journal.append(entry).await.await.unwrap();
        }
    }

    /// Waits until the outbox is empty.
    pub async fn delivered(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.journal.tick().await.depth > 0 {
            assert!(
                Instant::now() < deadline,
                "the outbox does not empty: {:?}",
                self.handle.figures()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn connected(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.handle.figures().connected {
            assert!(
                Instant::now() < deadline,
                "no connection: {:?}",
                self.handle.figures()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn shut_down(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap();
        self.journal.close().await;
    }
}

/// One for each start, in order.
fn boot_id() -> String {
    static STARTS: AtomicU32 = AtomicU32::new(0);
    format!("boot-{:05}", STARTS.fetch_add(1, Ordering::Relaxed))
}

pub fn event(board: &str, seq: u64) -> Event {
    Event {
        v: 1,
        formerly: None,
        unsent_as: None,
        id: format!("gw/{board}/{seq}"),
        seq,
        body: Body::Notice {
            code: "test".to_owned(),
            message: format!("event {seq} of board {board}"),
        },
        board: board.to_owned(),
        game: None,
        t: 0.0,
        at: None,
        time: None,
        source: None,
        by: None,
    }
}

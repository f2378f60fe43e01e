//! What the publisher keeps when a connection ends: the messages to send, what it knows of the broker, and what it has
//! said in the log.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::{
    alarms::Alarms,
    ceilings::Ceilings,
    claim::NameClaim,
    command::{Refusal, Request},
    outbox::EventLane,
    readback::ReadBack,
    reply::{CommandReply, ReplyTo},
    states::States,
    suspect::Suspicion,
    topic::Topics,
};
use crate::{
    config::{BrokerUrl, Id, Language},
    journal::Journal,
};

/// The longest wait for a slow broker, as a multiple of the first wait.
pub const MOST_PATIENCE: u32 = 8;

/// The addresses of the broker and the bounds of waiting for it.
#[derive(Clone, Debug)]
pub struct PublisherSettings {
    /// The addresses, tried in turn.
    pub urls: Vec<BrokerUrl>,
    /// The boot id: another one after each start of the daemon.
    pub boot_id: String,
    /// What [`journal_at`](super::journal_at) says of the journal.
    pub journal_at: Option<String>,
    /// The keep-alive of the connections.
    pub keep_alive: Duration,
    /// Whether commands are subscribed to.
    pub commands: bool,
    /// The languages of the texts in events.
    pub languages: Vec<Language>,
    /// The publisher gives a connection up when its oldest message has waited this long for an acknowledgement. As a
    /// broker may be slow, the publisher gives the next connection twice as long, up to [`MOST_PATIENCE`] times.
    pub ack_timeout: Duration,
    /// How long a stop may take: sending what is left, `offline`, good-bye.
    pub stop_bound: Duration,
}

/// Counters for the health report.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct BrokerFigures {
    /// True while connected.
    pub connected: bool,
    /// The broker's address, while connected.
    pub broker: Option<String>,
    /// Connections made since the start.
    pub connects: u64,
    /// Events the broker has acknowledged since the start.
    pub events_acked: u64,
    /// Messages the broker has refused since the start.
    pub refused: u64,
    /// Commands received since the start.
    pub commands: u64,
    /// Commands refused since the start, at the door or later.
    pub commands_refused: u64,
    /// The machine of another gateway of our name that is there now: each must have a name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rival: Option<String>,
    /// The machine of a gateway of our name that the broker calls online and that does not answer, while this one waits for it and
    /// publishes nothing.
    #[serde(skip)]
    pub awaited: Option<String>,
    /// Why the last connection or attempt ended.
    pub last_error: Option<String>,
}

/// The working loop calls it to show the watchdog that it works.
pub type Beat = Arc<dyn Fn() + Send + Sync>;

/// The state that the publisher keeps from one connection to the next.
pub(super) struct Lasting {
    pub(super) topics: Topics,
    pub(super) settings: PublisherSettings,
    pub(super) boards: watch::Receiver<Vec<Id>>,
    pub(super) retired: watch::Receiver<BTreeSet<String>>,
    /// Boards whose states the broker retains, and that the configuration no longer has.
    pub(super) former: watch::Sender<Vec<Id>>,
    pub(super) journal: Journal,
    pub(super) news: watch::Receiver<u64>,
    pub(super) outbox: EventLane,
    /// Positions of events that the broker has acknowledged and the journal does not know of yet.
    pub(super) acks: Vec<u64>,
    pub(super) states: States,
    pub(super) replies: mpsc::Receiver<CommandReply>,
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) figures: Arc<Mutex<BrokerFigures>>,
    pub(super) beat: Beat,
    /// Topics of which the log has told that the broker refuses them.
    pub(super) alarms: Alarms,
    /// How long the publisher waits for an acknowledgement at present.
    pub(super) patience: Duration,
    /// The question to the broker for what it knows of our numbers.
    pub(super) readback: ReadBack,
    /// The claim to our name.
    pub(super) claim: NameClaim,
    pub(super) ceilings: Ceilings,
    /// True while events go out whose numbers no disk secures.
    pub(super) unsecured: watch::Receiver<bool>,
    /// The message on which the broker may hang up.
    pub(super) suspicion: Suspicion,
    /// True where the last connection may have ended by a message of ours: the next one sends events before states.
    pub(super) events_first: bool,
    /// True where the broker hangs up on our birth.
    pub(super) leaves_birth_out: bool,
    /// False after a message that was too large: it may lie retained on a command topic, and a
    /// broker that sends it again at each subscription would end each connection.
    pub(super) wants_retained: bool,
}

impl Lasting {
    pub(super) fn count(&self, change: impl FnOnce(&mut BrokerFigures)) {
        change(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Doubles the wait for an acknowledgement, because the broker acknowledged nothing in time.
    pub(super) fn be_patient(&mut self) {
        let most = self.settings.ack_timeout * MOST_PATIENCE;
        self.patience = most.min(self.patience * 2);
    }

    /// Passes a command on, unless the gateway is behind.
    pub(super) fn pass_on(&self, request: Request) -> Result<(), Box<(Refusal, ReplyTo)>> {
        match self.requests.try_reserve() {
            Ok(place) => {
                place.send(request);
                Ok(())
            }
            Err(_) => Err(Box::new((Refusal::Busy, request.answer))),
        }
    }
}

/// How many reasons the log tells while a broker is away.
const MOST_REASONS: usize = 16;

/// Says in the log when the broker is lost and when it is back, and each new reason in between.
#[derive(Debug, Default)]
pub(super) struct StateLog {
    /// The reasons that the log has told since the broker was lost.
    said: BTreeSet<String>,
}

impl StateLog {
    pub(super) fn back(&mut self, address: &str) {
        tracing::info!(broker = address, "connected to the broker {address}");
        self.said.clear();
    }

    pub(super) fn lost(&mut self, address: &str, reason: &str) {
        let line = format!("{address}: {reason}");
        // The reason may change, and the new one is what an operator must act on: a broker may be back with a wrong
        // certificate.
        if self.said.is_empty() {
            tracing::warn!(
                broker = address,
                "no broker at {address} ({reason}); events are kept and the daemon goes on trying"
            );
        } else if !self.said.contains(&line) && self.said.len() < MOST_REASONS {
            tracing::warn!(broker = address, "still no broker at {address} ({reason})");
        }
        if self.said.len() < MOST_REASONS {
            self.said.insert(line);
        }
    }
}

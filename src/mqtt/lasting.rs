//! What outlives a connection: what is sent and how far that is, what is known of the broker, what was said of it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::{
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
    config::{BrokerUrl, Id},
    journal::Journal,
};

/// How much longer than at first a slow broker is waited for at the most.
pub const MOST_PATIENCE: u32 = 8;

/// Which addresses, and how patient.
#[derive(Clone, Debug)]
pub struct PublisherSettings {
    /// Tried in turn.
    pub urls: Vec<BrokerUrl>,
    /// Another one after each start of the daemon.
    pub boot_id: String,
    /// Whether commands are subscribed to.
    pub commands: bool,
    /// Connected, but the oldest message under way is older than this: the connection is given up. The next
    /// one is given twice as long, up to [`MOST_PATIENCE`] times: a broker may be slow.
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
    /// Commands refused at the door since the start.
    pub commands_refused: u64,
    /// The machine of another gateway of our name that is there now: each must have a name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rival: Option<String>,
    /// Why the last connection or attempt ended.
    pub last_error: Option<String>,
}

/// Called by the working loop to show that it works.
pub type Beat = Arc<dyn Fn() + Send + Sync>;

/// See the module.
pub(super) struct Lasting {
    pub(super) topics: Topics,
    pub(super) settings: PublisherSettings,
    pub(super) boards: watch::Receiver<Vec<Id>>,
    /// Boards that were ours.
    pub(super) former: watch::Sender<Vec<Id>>,
    pub(super) journal: Journal,
    pub(super) news: watch::Receiver<u64>,
    pub(super) outbox: EventLane,
    /// What the broker has and the journal was not told yet.
    pub(super) acks: Vec<u64>,
    pub(super) states: States,
    pub(super) replies: mpsc::Receiver<CommandReply>,
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) figures: Arc<Mutex<BrokerFigures>>,
    pub(super) beat: Beat,
    /// Refusals already said, by topic: once is enough.
    pub(super) alarms: std::collections::BTreeSet<String>,
    /// How long an acknowledgement is waited for by now.
    pub(super) patience: Duration,
    /// Until the broker was asked what it knows of our numbers.
    pub(super) readback: ReadBack,
    /// Whether our name is ours.
    pub(super) claim: NameClaim,
    pub(super) ceilings: Ceilings,
    /// True while events go out whose numbers no disk secures.
    pub(super) unsecured: watch::Receiver<bool>,
    /// The message on which the broker hangs up, perhaps.
    pub(super) suspicion: Suspicion,
    /// The last connection ended by a message of ours, perhaps: states wait for events at first.
    pub(super) events_first: bool,
    /// The broker hangs up on our birth.
    pub(super) leaves_birth_out: bool,
    /// False after a message that was too large: it may lie retained on a command topic, and a
    /// broker that sends it again at each subscription would end each connection.
    pub(super) wants_retained: bool,
}

impl Lasting {
    pub(super) fn count(&self, change: impl FnOnce(&mut BrokerFigures)) {
        change(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The broker acknowledged nothing for as long as it was waited for.
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

/// Reasons that are said while a broker is away.
const MOST_REASONS: usize = 16;

/// Says when the broker is lost and when it is back, and in between what is new.
#[derive(Debug, Default)]
pub(super) struct StateLog {
    /// What was said since the broker was lost.
    said: std::collections::BTreeSet<String>,
}

impl StateLog {
    pub(super) fn back(&mut self, address: &str) {
        tracing::info!(broker = address, "connected to the broker {address}");
        self.said.clear();
    }

    pub(super) fn lost(&mut self, address: &str, reason: &str) {
        let line = format!("{address}: {reason}");
        // The reason may change, and the new one is what to act on: a broker is back with a wrong certificate.
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

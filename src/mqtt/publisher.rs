//! The publisher: connects, and connects again; everything that outlives a connection.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    ceilings::Ceilings,
    claim::{self, Claim},
    command::{Refusal, Request},
    link::{Closed, Dial},
    outbox::Outbox,
    readback::ReadBack,
    reply::{Answer, Reply},
    session::{Culprit, End, Session},
    states::States,
    suspect::Suspicion,
    topic::Topics,
};
use crate::{
    config::{BrokerUrl, Id},
    journal::Journal,
    link::Backoff,
    time::Millis,
};

/// Replies that may wait for the broker.
const REPLIES: usize = 256;
/// First and longest delay between attempts, and how long a connection must last to count as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 30_000, 5_000);
/// The longest delay after a connection that a message of ours ended, perhaps: the broker is there, and other boards wait.
const LONGEST_OURS_MS: u64 = 2_000;

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
pub struct Figures {
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

/// Another broker, or another way to it.
#[derive(Clone, Debug)]
pub struct Redial<D> {
    /// How connections are made from now on.
    pub dial: D,
    /// Tried in turn.
    pub urls: Vec<BrokerUrl>,
    /// Whether commands are subscribed to.
    pub commands: bool,
}

/// What the gateway holds of the publisher.
#[derive(Clone, Debug)]
pub struct PublisherHandle {
    /// The boards that there are.
    pub boards: watch::Sender<Vec<Id>>,
    /// The table of last values.
    pub states: States,
    /// Boards whose states lay with the broker and that are not ours any more.
    pub former: watch::Receiver<Vec<Id>>,
    replies: mpsc::Sender<Reply>,
    figures: Arc<Mutex<Figures>>,
}

impl PublisherHandle {
    /// Queues a reply. With the queue full (a broker that is away for long) it is dropped: the
    /// caller has given up by then.
    pub fn reply(&self, reply: Reply) {
        if let Err(error) = self.replies.try_send(reply) {
            tracing::warn!("a reply to a command was dropped: {error}");
        }
    }

    /// The counters now.
    #[must_use]
    pub fn figures(&self) -> Figures {
        self.figures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Called by the working loop to show that it works.
pub type Beat = Arc<dyn Fn() + Send + Sync>;

/// The task that owns the broker link.
pub struct Publisher<D> {
    dial: D,
    redials: mpsc::Receiver<Redial<D>>,
    /// The one for which a connection was left.
    next: Option<Redial<D>>,
    core: Core,
}

/// What outlives a connection.
pub(super) struct Core {
    pub(super) topics: Topics,
    pub(super) settings: PublisherSettings,
    pub(super) boards: watch::Receiver<Vec<Id>>,
    /// Boards that were ours.
    pub(super) former: watch::Sender<Vec<Id>>,
    pub(super) journal: Journal,
    pub(super) news: watch::Receiver<u64>,
    pub(super) outbox: Outbox,
    /// What the broker has and the journal was not told yet.
    pub(super) acks: Vec<u64>,
    pub(super) states: States,
    pub(super) replies: mpsc::Receiver<Reply>,
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) figures: Arc<Mutex<Figures>>,
    pub(super) beat: Beat,
    /// Refusals already said, by topic: once is enough.
    pub(super) alarms: std::collections::BTreeSet<String>,
    /// How long an acknowledgement is waited for by now.
    pub(super) patience: Duration,
    /// Until the broker was asked what it knows of our numbers.
    pub(super) readback: ReadBack,
    /// Whether our name is ours.
    pub(super) claim: Claim,
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

impl Core {
    pub(super) fn count(&self, change: impl FnOnce(&mut Figures)) {
        change(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The broker acknowledged nothing for as long as it was waited for.
    pub(super) fn be_patient(&mut self) {
        let most = self.settings.ack_timeout * MOST_PATIENCE;
        self.patience = most.min(self.patience * 2);
    }

    /// Passes a command on, unless the gateway is behind.
    pub(super) fn pass_on(&self, request: Request) -> Result<(), Box<(Refusal, Answer)>> {
        match self.requests.try_reserve() {
            Ok(place) => {
                place.send(request);
                Ok(())
            }
            Err(_) => Err(Box::new((Refusal::Busy, request.answer))),
        }
    }
}

impl<D: Dial> Publisher<D> {
    /// A publisher for `boards`, and the handle to it. Commands that pass the door go to `requests`.
    pub fn new(
        dial: D,
        settings: PublisherSettings,
        topics: Topics,
        boards: Vec<Id>,
        journal: Journal,
        requests: mpsc::Sender<Request>,
        beat: Beat,
    ) -> (Self, PublisherHandle) {
        let (reply_sender, replies) = mpsc::channel(REPLIES);
        let states = States::default();
        let (former_sender, former) = watch::channel(Vec::new());
        let (boards_sender, boards) = watch::channel(boards);
        let (_none, redials) = mpsc::channel(1);
        let figures = Arc::new(Mutex::new(Figures::default()));
        let handle = PublisherHandle {
            boards: boards_sender,
            states: states.clone(),
            former,
            replies: reply_sender,
            figures: figures.clone(),
        };
        let core = Core {
            claim: Claim::new(settings.boot_id.clone(), claim::host()),
            topics,
            patience: settings.ack_timeout,
            settings,
            boards,
            former: former_sender,
            news: journal.news(),
            unsecured: journal.unsecured(),
            readback: ReadBack::default(),
            ceilings: Ceilings::default(),
            journal,
            outbox: Outbox::default(),
            acks: Vec::new(),
            states,
            replies,
            requests,
            figures,
            beat,
            alarms: std::collections::BTreeSet::new(),
            suspicion: Suspicion::default(),
            events_first: false,
            leaves_birth_out: false,
            wants_retained: true,
        };
        let publisher = Self {
            dial,
            redials,
            next: None,
            core,
        };
        (publisher, handle)
    }

    /// Goes on with each other broker that `redials` names.
    #[must_use]
    pub fn redialled(self, redials: mpsc::Receiver<Redial<D>>) -> Self {
        Self { redials, ..self }
    }

    /// Keeps a connection until `stop`, then drains, says `offline` and ends.
    pub async fn run(mut self, stop: CancellationToken) {
        let (first, longest, stable) = BACKOFF_MS;
        let mut backoff = Backoff::new(first, longest, stable);
        let quick = || Backoff::new(first, LONGEST_OURS_MS, stable);
        let mut by_ours = quick();
        let mut rng = fastrand::Rng::new();
        let start = Instant::now();
        let now = || Millis(u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX));
        let mut turn = 0;
        let mut log = StateLog::default();
        while !stop.is_cancelled() {
            if let Some(redial) = self.next.take().or_else(|| self.redials.try_recv().ok()) {
                self.redial(redial).await;
                (turn, backoff) = (0, Backoff::new(first, longest, stable));
            }
            let urls = &self.core.settings.urls;
            let count = urls.len().max(1);
            let Some(url) = urls.get(turn % count).cloned() else {
                tracing::error!("no broker address is configured");
                stop.cancelled().await;
                return;
            };
            let address = url.to_string();
            let end = match self.dial.dial(&url) {
                Ok(link) => self.hold(link, &address, &stop, &mut log).await,
                Err(reason) => End::failed(reason),
            };
            if let Some(at) = end.connected_at {
                let at = Millis(u64::try_from((at - start).as_millis()).unwrap_or(u64::MAX));
                backoff.up(at);
                by_ours.up(at);
            } else {
                turn += 1;
            }
            let Some(Closed { reason, oversize }) = end.closed else {
                // It was left for another one, or for good.
                continue;
            };
            if oversize {
                self.core.wants_retained = false;
            }
            log.lost(&address, &reason);
            self.core.count(|figures| {
                figures.connected = false;
                figures.broker = None;
                figures.last_error = Some(reason);
            });
            // The first round through several addresses is made without a pause.
            if turn == 0 || turn >= count {
                if end.culprit == Some(Culprit::Found) {
                    by_ours = quick();
                }
                let delay = match end.culprit {
                    Some(_) => by_ours.failed(now(), &mut rng),
                    None => backoff.failed(now(), &mut rng),
                };
                self.rest(Duration::from_millis(delay), &stop).await;
            }
        }
    }

    /// A connection until it ends, until `stop`, or until there is another broker: that is told good-bye as at a stop.
    async fn hold(
        &mut self,
        link: D::Link,
        address: &str,
        stop: &CancellationToken,
        log: &mut StateLog,
    ) -> End {
        let leave = stop.child_token();
        let Self {
            core, redials, next, ..
        } = self;
        let session = Session::new(link, core).run(address, &leave, log);
        tokio::pin!(session);
        loop {
            tokio::select! {
                end = &mut session => return end,
                Some(redial) = redials.recv() => {
                    *next = Some(redial);
                    leave.cancel();
                }
            }
        }
    }

    /// What this broker knows of our numbers is asked anew: what was said to the former one, it need not know.
    async fn redial(&mut self, redial: Redial<D>) {
        let core = &mut self.core;
        core.journal.stand_by(!core.readback.wants_numbers()).await;
        core.count(|figures| {
            figures.connected = false;
            figures.broker = None;
            figures.last_error = None;
        });
        core.settings.urls = redial.urls;
        core.settings.commands = redial.commands;
        core.claim = Claim::new(core.settings.boot_id.clone(), claim::host());
        core.readback = ReadBack::default();
        core.suspicion = Suspicion::default();
        core.alarms.clear();
        core.patience = core.settings.ack_timeout;
        (core.events_first, core.leaves_birth_out, core.wants_retained) = (false, false, true);
        self.dial = redial.dial;
    }

    /// Waits, showing that the task lives.
    async fn rest(&mut self, delay: Duration, stop: &CancellationToken) {
        let until = tokio::time::Instant::now() + delay;
        loop {
            (self.core.beat)();
            let step = until.min(tokio::time::Instant::now() + Duration::from_secs(1));
            tokio::select! {
                () = tokio::time::sleep_until(step) => {}
                () = stop.cancelled() => return,
                Some(redial) = self.redials.recv() => self.next = Some(redial),
            }
            if self.next.is_some() || tokio::time::Instant::now() >= until {
                return;
            }
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

    fn lost(&mut self, address: &str, reason: &str) {
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

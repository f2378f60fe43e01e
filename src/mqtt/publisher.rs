//! The publisher: keeps a connection to the broker, and makes another when it ends.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    alarms::Alarms,
    ceilings::Ceilings,
    claim::{self, NameClaim, Ourselves},
    command::Request,
    lasting::{Beat, BrokerFigures, Lasting, PublisherSettings, StateLog},
    link::{Cause, Closed, Dial},
    outbox::EventLane,
    readback::ReadBack,
    reply::CommandReply,
    session::{BrokerSession, Culprit, SessionEnd},
    states::States,
    suspect::Suspicion,
    topic::Topics,
};
use crate::{
    config::{BrokerUrl, Id, Language},
    journal::Journal,
    link::Backoff,
    time::Millis,
};

/// Replies that may wait for the broker.
const REPLIES: usize = 256;
/// First and longest delay between attempts, and how long a connection must last to count as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 30_000, 5_000);
/// The longest delay after a connection that a message of ours may have ended: the broker is there, and other boards
/// wait.
const LONGEST_OURS_MS: u64 = 2_000;

/// Another broker, or another way to it.
#[derive(Clone, Debug)]
pub struct Redial<D> {
    /// How connections are made from now on.
    pub dial: D,
    /// Tried in turn.
    pub urls: Vec<BrokerUrl>,
    /// The keep-alive of the connections.
    pub keep_alive: Duration,
    /// Whether commands are subscribed to.
    pub commands: bool,
    /// The languages of the texts in events.
    pub languages: Vec<Language>,
}

/// What the gateway holds of the publisher.
#[derive(Clone, Debug)]
pub struct PublisherHandle {
    /// The boards of the configuration.
    pub boards: watch::Sender<Vec<Id>>,
    /// Boards that are not configured any more, and of which the journal has something.
    pub retired: watch::Sender<BTreeSet<String>>,
    /// The table of last values.
    pub states: States,
    /// Boards whose states the broker retains, and that the configuration no longer has.
    pub former: watch::Receiver<Vec<Id>>,
    replies: mpsc::Sender<CommandReply>,
    figures: Arc<Mutex<BrokerFigures>>,
}

impl PublisherHandle {
    /// Queues a reply, and counts a refusal. If the queue is full, as with a broker that is away for long, the reply is dropped:
    /// the caller has given up by then.
    pub fn reply(&self, reply: CommandReply) {
        if reply.is_refusal {
            let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
            figures.commands_refused += 1;
        }
        if let Err(error) = self.replies.try_send(reply) {
            tracing::warn!("a reply to a command was dropped: {error}");
        }
    }

    /// The counters now.
    #[must_use]
    pub fn figures(&self) -> BrokerFigures {
        self.figures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The task that owns the broker link.
pub struct Publisher<D> {
    dial: D,
    redials: mpsc::Receiver<Redial<D>>,
    /// The broker for which the publisher left a connection.
    next: Option<Redial<D>>,
    core: Lasting,
}

impl<D: Dial> Publisher<D> {
    /// A publisher for `boards`, and the handle to it. Accepted commands go to `requests`.
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
        let (retired_sender, retired) = watch::channel(BTreeSet::new());
        let (_none, redials) = mpsc::channel(1);
        let figures = Arc::new(Mutex::new(BrokerFigures::default()));
        let handle = PublisherHandle {
            boards: boards_sender,
            retired: retired_sender,
            states: states.clone(),
            former,
            replies: reply_sender,
            figures: figures.clone(),
        };
        let core = Lasting {
            claim: NameClaim::new(ourselves(&settings, &journal)),
            topics,
            patience: settings.ack_timeout,
            settings,
            boards,
            retired,
            former: former_sender,
            news: journal.news(),
            unsecured: journal.unsecured(),
            readback: ReadBack::default(),
            ceilings: Ceilings::default(),
            journal,
            outbox: EventLane::default(),
            acks: Vec::new(),
            states,
            replies,
            requests,
            figures,
            beat,
            alarms: Alarms::default(),
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

    /// Makes the publisher change to each broker that `redials` names.
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
        // Which address is next, and how many failed since the last connection.
        let (mut turn, mut failed) = (0, 0);
        let mut log = StateLog::default();
        while !stop.is_cancelled() {
            if let Some(redial) = self.next.take().or_else(|| self.redials.try_recv().ok()) {
                self.redial(redial).await;
                (turn, failed) = (0, 0);
                backoff = Backoff::new(first, longest, stable);
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
                Err(reason) => SessionEnd::failed(reason),
            };
            if let Some(at) = end.connected_at {
                let at = Millis(u64::try_from((at - start).as_millis()).unwrap_or(u64::MAX));
                backoff.up(at);
                by_ours.up(at);
                failed = 0;
            } else {
                turn += 1;
                failed += 1;
            }
            let Some(Closed { reason, cause }) = end.closed else {
                // The publisher left the connection for another broker, or for good.
                continue;
            };
            if cause == Cause::Oversize {
                self.core.wants_retained = false;
            }
            log.lost(&address, &reason);
            self.core.count(|figures| {
                figures.connected = false;
                figures.broker = None;
                figures.last_error = Some(reason);
            });
            // The first round through several addresses is made without a pause. After a connection there is one: a
            // broker may take us and end each connection at once.
            if failed == 0 || failed >= count {
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

    /// Keeps a connection until it ends, until `stop`, or until there is another broker. In the last case it closes the
    /// connection as at a stop.
    async fn hold(
        &mut self,
        link: D::Link,
        address: &str,
        stop: &CancellationToken,
        log: &mut StateLog,
    ) -> SessionEnd {
        let leave = stop.child_token();
        let Self {
            core, redials, next, ..
        } = self;
        let session = BrokerSession::new(link, core).run(address, &leave, log);
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

    /// Changes to another broker and asks it anew what it knows of our numbers: it need not know what the former one
    /// was told.
    async fn redial(&mut self, redial: Redial<D>) {
        let core = &mut self.core;
        core.journal.ask_anew(core.claim.has_sent()).await;
        core.count(|figures| {
            figures.connected = false;
            figures.broker = None;
            figures.last_error = None;
        });
        core.settings.urls = redial.urls;
        core.settings.commands = redial.commands;
        core.settings.languages = redial.languages;
        core.settings.keep_alive = redial.keep_alive;
        core.claim = NameClaim::new(ourselves(&core.settings, &core.journal));
        core.readback.at_another();
        core.states.at_another();
        core.suspicion = Suspicion::default();
        core.alarms = Alarms::default();
        core.patience = core.settings.ack_timeout;
        (core.events_first, core.leaves_birth_out, core.wants_retained) = (false, false, true);
        self.dial = redial.dial;
    }

    /// Waits for `delay`, and shows the watchdog meanwhile that the task lives.
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

fn ourselves(settings: &PublisherSettings, journal: &Journal) -> Ourselves {
    Ourselves {
        boot: settings.boot_id.clone(),
        host: claim::host(),
        journal: journal.identity().to_owned(),
        journal_at: settings.journal_at.clone(),
        is_new: journal.is_new(),
        keep_alive: settings.keep_alive,
    }
}

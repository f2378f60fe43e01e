//! Starts the parts of the daemon, works, and stops the parts.

mod parts;
mod reload;
mod renumber;
mod requests;
mod retired;
mod rounds;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use sd_notify::NotifyState;
use tokio::{
    sync::{mpsc, watch},
    task::{self, JoinError, JoinSet},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    alerts::Alerts,
    announce::Announcer,
    board::{BoardContext, BoardError, BoardPlan, BoardTask, Tables},
    caster::Caster,
    clock::Timebase,
    clocks::NewestClocks,
    commands::{BoardCommand, GatewayCommand},
    desk::Desk,
    discovery,
    disk::Disk,
    error::GatewayError,
    hardware::HardwareViews,
    health::{GatewayInfo, Health, Schedule},
    heartbeat::Heartbeat,
    lines::LineTasks,
    losses::Losses,
    mates::Turn,
    metrics::{Look, Metrics},
    needs,
    ports::Ports,
    presence::Presence,
    quota::Quota,
    serials::Serials,
    standing::{BoardStanding, Standings},
};
use crate::{
    config::{Config, Id},
    descriptors,
    journal::{Journal, Notice},
    mqtt::{self, Publisher, PublisherHandle, Redial, Request, StateKey, Topics, rumqtt::RumqttDial},
    notify::notify,
};
use parts::{dial, journal_settings, metrics, not_ready, plans, publisher_settings, tables};
pub use reload::{Controls, LogSwitch};

/// How many commands may wait, for all boards and for one.
const COMMANDS: (usize, usize) = (64, 8);
/// How many reads of the journal for `history` may run at once.
const MAX_READERS: usize = 8;
/// How often the journal does its housekeeping and the loop shows that it works.
const TICK: Duration = Duration::from_secs(1);
/// A board's task that failed is started again after one second, then two, up to this power of two: about a minute.
const MAX_RESTART_DOUBLINGS: u32 = 6;

/// Runs the daemon until `shutdown`, then stops it within the configured bound.
///
/// # Errors
/// When it cannot start (journal, ports), or when its publisher fails.
pub async fn run(config: Config, shutdown: CancellationToken) -> Result<(), GatewayError> {
    let controls = Controls::of(config.clone());
    run_changing(config, controls, shutdown).await
}

/// Runs as [`run`] does. When `controls` ask for it, the daemon reads the configuration again and takes it over while
/// the games go on.
///
/// # Errors
/// As [`run`].
pub async fn run_changing(
    config: Config,
    controls: Controls,
    shutdown: CancellationToken,
) -> Result<(), GatewayError> {
    let mut daemon = Daemon::start(config, controls).await?;
    notify(&NotifyState::Ready);
    let outcome = daemon.work(&shutdown).await;
    notify(&NotifyState::Stopping);
    daemon.stop().await;
    outcome
}

struct Daemon {
    /// The configuration with the round in force.
    config: Config,
    desk: Desk,
    /// The command at the desk that is under way.
    under_way: Option<GatewayCommand>,
    /// The commands of which the journal may still be told.
    quota: Quota,
    tables: watch::Sender<Tables>,
    boot_id: String,
    /// Which lock this process holds on its journal.
    journal_at: Option<String>,
    clock: Timebase,
    heartbeat: Heartbeat,
    shared: BoardContext,
    plans: BTreeMap<Id, BoardPlan>,
    boards: JoinSet<Result<(), BoardError>>,
    lines: LineTasks,
    running: HashMap<task::Id, Id>,
    commands: BTreeMap<Id, mpsc::Sender<BoardCommand>>,
    failures: BTreeMap<Id, u32>,
    publisher: JoinSet<()>,
    requests: mpsc::Receiver<Request>,
    stop_boards: CancellationToken,
    /// Ends the lines, which go on while boards stand still for a while.
    stop_lines: CancellationToken,
    stop_publisher: CancellationToken,
    caster: Caster,
    alerts: Alerts,
    presence: Presence,
    readers: JoinSet<()>,
    disk: Disk,
    announcer: Announcer,
    /// Notices from the start of the daemon.
    notices: Vec<Notice>,
    /// When `health` is due.
    schedule: Schedule,
    /// The machine of another gateway of our name, as `health` last told.
    rival: Option<String>,
    /// Boards of one serial number, as the log has told.
    doubled: Vec<Notice>,
    metrics: Option<Metrics>,
    controls: Controls,
    redials: mpsc::Sender<Redial<RumqttDial>>,
    /// The token that ends the task of each board.
    stops: BTreeMap<Id, CancellationToken>,
}

impl Daemon {
    async fn start(config: Config, controls: Controls) -> Result<Self, GatewayError> {
        let desk = Desk::open(config);
        let config = desk.config();
        descriptors::expect(needs::descriptors(&config));
        let (tables, seats) = watch::channel(tables(&config));
        let (mut plans, line_plans) = plans(&config)?;
        let (journal, notices) = Journal::open(journal_settings(&config), config.gateway.as_str())?;
        for notice in &notices {
            tracing::warn!(code = notice.code, "{}", notice.message);
        }
        let boot_id = format!("{:032x}", fastrand::u128(..));
        journal.set_boot(&boot_id).await;
        // Once, because the disk may hang later.
        let journal_at = mqtt::journal_at(&config.journal.path);
        let clock = Timebase::start();
        let heartbeat = Heartbeat::new(clock);
        let topics = Topics::new(&config.base_topic, &config.gateway);
        let (request_sender, requests) = mpsc::channel(COMMANDS.0);
        let stop_publisher = CancellationToken::new();
        let pulse = heartbeat.pulse("publisher");
        let (publisher, handle) = Publisher::new(
            dial(&config, &boot_id),
            publisher_settings(&config, &boot_id, journal_at.as_ref()),
            topics.clone(),
            plans.keys().cloned().collect(),
            journal.clone(),
            request_sender,
            Arc::new(move || pulse.beat()),
        );
        let (redials, redial) = mpsc::channel(1);
        let publisher = publisher.redialled(redial);
        // The caster stops after the boards, so that it writes their last events too.
        let clocks = NewestClocks::default();
        let caster = Caster::start(&config, &journal, &clocks, stop_publisher.clone());
        let alerts = Alerts::start(&config, &journal);
        let mut publishers = JoinSet::new();
        publishers.spawn(publisher.run(stop_publisher.clone()));
        let (ports, stop_lines) = (Ports::default(), CancellationToken::new());
        let lines = LineTasks::start(line_plans, &ports, &heartbeat, &stop_lines);
        lines.seat(plans.values_mut().map(|plan| &mut plan.source));
        let mut daemon = Self {
            lines,
            boot_id,
            journal_at,
            desk,
            under_way: None,
            quota: Quota::new(),
            tables,
            clock,
            heartbeat,
            shared: BoardContext {
                clock,
                journal,
                journal_path: config.journal.path.clone(),
                captures: config.journal.captures,
                publisher: handle,
                topics,
                ports,
                serials: Serials::default(),
                hardware: HardwareViews::default(),
                clock_interval: config.limits.clock_interval,
                mates: Turn::default(),
                tables: seats,
                standings: Standings::default(),
                clocks,
                losses: Losses::default(),
            },
            boards: JoinSet::new(),
            running: HashMap::new(),
            commands: BTreeMap::new(),
            failures: BTreeMap::new(),
            publisher: publishers,
            requests,
            stop_boards: CancellationToken::new(),
            stop_lines,
            stop_publisher,
            caster,
            alerts,
            presence: Presence::begin(&config),
            readers: JoinSet::new(),
            disk: Disk::default(),
            announcer: Announcer::new(),
            plans,
            notices,
            schedule: Schedule::new(Instant::now()),
            rival: None,
            doubled: Vec::new(),
            metrics: metrics(&config).await,
            controls,
            redials,
            stops: BTreeMap::new(),
            config,
        };
        daemon.say_info();
        daemon.look_for_retired().await;
        daemon.start_boards();
        Ok(daemon)
    }

    fn publisher_handle(&self) -> &PublisherHandle {
        &self.shared.publisher
    }

    fn say_info(&self) {
        let info = GatewayInfo::new(
            &self.config,
            &self.boot_id,
            self.shared.journal.identity(),
            self.journal_at.as_ref(),
        );
        match serde_json::to_vec(&info) {
            Ok(json) => self
                .publisher_handle()
                .states
                .set(StateKey::info(&self.shared.topics), json),
            Err(error) => tracing::error!(%error, "cannot write `info` as JSON"),
        }
        for (topic, payload) in discovery::messages(&self.config, &self.shared.topics) {
            self.publisher_handle()
                .states
                .set(StateKey::discovery(topic), payload.to_string());
        }
    }

    /// Starts the tasks of all boards.
    fn start_boards(&mut self) {
        let ids: Vec<_> = self.plans.keys().cloned().collect();
        for id in ids {
            self.start_board(&id, Duration::ZERO);
        }
    }

    fn start_board(&mut self, id: &Id, delay: Duration) {
        let notices = self.announcer.listen();
        let Some(plan) = self.plans.get(id).cloned() else {
            return;
        };
        let (sender, mut receiver) = mpsc::channel(COMMANDS.1);
        self.commands.insert(id.clone(), sender);
        let (shared, heartbeat, stop) = (
            self.shared.clone(),
            self.heartbeat.clone(),
            self.stop_boards.child_token(),
        );
        self.stops.insert(id.clone(), stop.clone());
        let handle = self.boards.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = stop.cancelled() => return Ok(()),
            }
            let pulse = heartbeat.pulse(&task_name(&plan.id));
            let task = BoardTask::new(plan, shared, pulse, notices).await;
            task.run(&mut receiver, &stop).await
        });
        self.running.insert(handle.id(), id.clone());
    }

    /// Works until `shutdown`, or until a failure that only a restart of the process can put right.
    async fn work(&mut self, shutdown: &CancellationToken) -> Result<(), GatewayError> {
        let watchdog = sd_notify::watchdog_enabled();
        let mut disputed = self.shared.journal.disputed();
        let mut former = self.publisher_handle().former.clone();
        let mut tick = tokio::time::interval(TICK.min(watchdog.map_or(TICK, |period| period / 3)));
        loop {
            tokio::select! {
                Some(ended) = self.boards.join_next_with_id() => self.board_ended(ended),
                Some(defect) = self.lines.failed() => return Err(GatewayError::Line(defect.to_string())),
                Some(ended) = self.publisher.join_next() => {
                    let reason = ended.err().map_or_else(|| "it ended by itself".to_owned(), |error| error.to_string());
                    return Err(GatewayError::Publisher(reason));
                }
                Some(request) = self.requests.recv() => self.dispatch(request).await,
                Some(done) = self.desk.done() => self.desk_done(done).await,
                Some(()) = self.controls.asked.recv() => drop(self.reload().await),
                Ok(()) = disputed.changed() => {
                    let is_disputed = *disputed.borrow_and_update();
                    if is_disputed {
                        self.renumber().await;
                    }
                }
                Ok(()) = former.changed() => self.clear_entities(&former.borrow_and_update()),
                _ = tick.tick() => self.tick(watchdog.is_some()).await,
                () = shutdown.cancelled() => return Ok(()),
            }
        }
    }

    async fn tick(&mut self, feed_watchdog: bool) {
        self.tell_left_out(Instant::now().into_std());
        let before = self.disk.trouble();
        let stats = self.disk.tick(&self.shared.journal).await;
        let slow = self.disk.trouble();
        if slow != before {
            self.schedule.hurry(Instant::now());
        }
        let troubles = self.shared.journal.trouble().borrow().clone();
        if self.announcer.look(self.clock.now(), &troubles) {
            self.schedule.hurry(Instant::now());
        }
        let doubled = self.shared.serials.doubled();
        self.say_doubled(&doubled);
        let stuck = self.heartbeat.stuck();
        // A new process would wait for the disk as well, so it would not help a task that does.
        if !stuck.is_empty() && !self.disk.is_slow() {
            tracing::error!("tasks do not answer: {}", stuck.join(", "));
        } else if feed_watchdog {
            notify(&NotifyState::Watchdog);
        }
        let figures = self.publisher_handle().figures();
        if figures.rival != self.rival {
            self.rival.clone_from(&figures.rival);
            self.schedule.hurry(Instant::now());
        }
        let now = Instant::now();
        self.schedule.connected(figures.connects, now);
        if !self.schedule.is_due(now) && self.metrics.is_none() {
            return;
        }
        let troubles: Vec<Notice> = troubles.into_iter().chain(slow).collect();
        let not_ready = not_ready(&figures, &troubles);
        let notices = [self.notices.clone(), troubles, doubled, self.lines.notices()].concat();
        let health = Health::new(
            self.clock.now(),
            self.plans.len(),
            self.failures.values().map(|count| u64::from(*count)).sum(),
            stats,
            figures,
            notices,
            self.caster.pushed(),
        )
        .with_numbers(self.last_numbers())
        .with(self.shared.hardware.all())
        .with_lines(self.lines.figures());
        if let Some(metrics) = &self.metrics {
            metrics.tell(&Look {
                health: &health,
                boards: self.standings(),
                stuck,
                troubles: not_ready,
            });
            if !self.schedule.is_due(now) {
                return;
            }
        }
        let interval = self.config.limits.health_interval;
        if self.schedule.goes_out(interval, now) {
            self.publisher_handle().states.republish();
        }
        let expiry = u32::try_from(interval.as_secs().saturating_mul(3)).unwrap_or(u32::MAX);
        match serde_json::to_vec(&health) {
            Ok(json) => self
                .publisher_handle()
                .states
                .set(StateKey::health(&self.shared.topics, expiry.max(3)), json),
            Err(error) => tracing::error!(%error, "cannot write `health` as JSON"),
        }
    }

    /// Tells how many lines of the log were left out in minutes that are over.
    fn tell_left_out(&self, now: std::time::Instant) {
        mqtt::tell_left_out(now);
        requests::tell_left_out(now);
        self.quota
            .tell_left_out("boards that are not configured any more", now);
    }

    /// The standing of each board, and how often its task failed.
    fn standings(&self) -> Vec<(Id, BoardStanding, u32)> {
        let boards = self.plans.keys().map(|id| {
            let failures = self.failures.get(id).copied().unwrap_or_default();
            (id.clone(), self.shared.standings.of(id), failures)
        });
        boards.collect()
    }

    fn last_numbers(&self) -> BTreeMap<String, u64> {
        let numbers = self.plans.keys().map(|id| {
            let last = self.shared.standings.of(id).last_seq;
            (id.to_string(), last)
        });
        numbers.collect()
    }

    /// Logs once for each pair of boards that tell one serial number. It is no part of a game, so no event tells of it.
    /// `health` has it while it lasts.
    fn say_doubled(&mut self, doubled: &[Notice]) {
        let fresh = doubled.iter().filter(|notice| !self.doubled.contains(notice));
        for notice in fresh {
            tracing::warn!(code = notice.code, "{}", notice.message);
            self.schedule.hurry(Instant::now());
        }
        self.doubled = doubled.to_vec();
    }

    /// Starts a board's task again that ended by itself. The other boards go on.
    fn board_ended(&mut self, ended: Result<(task::Id, Result<(), BoardError>), JoinError>) {
        let (task, reason) = match ended {
            Ok((task, Ok(()))) => (task, "it ended by itself".to_owned()),
            Ok((task, Err(error))) => (task, error.to_string()),
            Err(error) => (error.id(), error.to_string()),
        };
        let Some(id) = self.running.remove(&task) else {
            return;
        };
        self.heartbeat.forget(&task_name(&id));
        if self.stops.get(&id).is_some_and(CancellationToken::is_cancelled) {
            return self.board_stopped(&id);
        }
        let failures = self.failures.entry(id.clone()).or_default();
        let delay = Duration::from_secs(1 << (*failures).min(MAX_RESTART_DOUBLINGS));
        *failures += 1;
        tracing::error!(
            board = id.as_str(),
            "board {id}: its task failed ({reason}) and is started again in {delay:?}"
        );
        self.start_board(&id, delay);
    }

    /// Stops the boards first, then the publisher after it has sent what they left, and then the journal. Each has its
    /// share of the time.
    async fn stop(mut self) {
        let bound = self.config.limits.shutdown_timeout;
        self.presence.end().await;
        self.stop_boards.cancel();
        self.stop_lines.cancel();
        let boards = async {
            while self.boards.join_next().await.is_some() {}
            self.lines.ended().await;
        };
        if timeout(bound / 4, boards).await.is_err() {
            tracing::error!("boards did not stop in time");
        }
        self.boards.abort_all();
        self.stop_publisher.cancel();
        let publisher = async { while self.publisher.join_next().await.is_some() {} };
        if timeout(bound / 2, publisher).await.is_err() {
            tracing::warn!("the broker did not take everything in time; the rest goes after the next start");
        }
        self.publisher.abort_all();
        self.caster.stop().await;
        if timeout(bound / 4, self.shared.journal.close()).await.is_err() {
            tracing::error!("the journal did not close in time");
        }
    }
}

fn task_name(board: &Id) -> String {
    format!("board {board}")
}

//! One board's task: it holds the link and the watcher, and passes on what the watcher says.
//!
//! The task goes on reading while the journal writes, so that bytes get the time at which they came. It publishes
//! states and answers commands only after the journal has the events behind them.

mod command;
mod kept;
mod line;
mod seat;
mod standstill;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    path::PathBuf,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{
        broadcast::{self, error::RecvError},
        mpsc, watch,
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    clock::{Timebase, has_stepped},
    clocks::NewestClocks,
    commands::BoardCommand,
    desk::Misnumbered,
    hardware::HardwareViews,
    heartbeat::Pulse,
    losses::Losses,
    mates::{Mates, Turn},
    ports::Ports,
    quota::Quota,
    serials::Serials,
    standing::Standings,
    tape::Tape,
    told::LogMemory,
    trouble::Trouble,
};
use crate::{
    broadcast::GameDate,
    capture::Act,
    config::Id,
    dgt::CommandBytes,
    journal::{AppendError, Journal, Notice},
    link::{Backoff, LinkSource},
    mqtt::{BoardState, CommandReply, PublisherHandle, StateKey, Topics},
    time::Millis,
    watcher::{HardwareView, Settings, Snapshot, StateSet, Status, Watcher},
};

/// First and longest delay between attempts to open the link, and the least life of a good link, in milliseconds.
const BACKOFF_MS: (u64, u64, u64) = (250, 10_000, 5_000);
/// How often the task shows that it works, and looks at the wall clock.
const TICK: Duration = Duration::from_secs(2);
/// How many bytes the task handles at once while the other boards wait.
const AT_ONCE: usize = 128;

/// What every board's task shares.
#[derive(Clone, Debug)]
pub(super) struct BoardContext {
    pub(super) clock: Timebase,
    pub(super) journal: Journal,
    /// The path of the journal's file, in which the task reads what the watchers do not keep.
    pub(super) journal_path: PathBuf,
    /// True where captures of the boards' lines are kept beside the journal.
    pub(super) captures: bool,
    pub(super) publisher: PublisherHandle,
    pub(super) topics: Topics,
    pub(super) ports: Ports,
    pub(super) serials: Serials,
    pub(super) hardware: HardwareViews,
    pub(super) clock_interval: Duration,
    /// The turn of the one search for a mate that may run.
    pub(super) mates: Turn,
    pub(super) tables: watch::Receiver<Tables>,
    /// The standing of each board.
    pub(super) standings: Standings,
    /// What each clock shows, for the broadcast.
    pub(super) clocks: NewestClocks,
    /// The events that each board lost, as long as no notice tells of them.
    pub(super) losses: Losses,
}

/// One board's part of the configuration.
#[derive(Clone, Debug)]
pub(super) struct BoardPlan {
    pub(super) id: Id,
    pub(super) source: LinkSource,
    pub(super) settings: Settings,
}

/// Why a board's task ended before it was told to end.
#[derive(Debug, thiserror::Error)]
pub(super) enum BoardError {
    #[error("the journal does not take its events: {0}")]
    Journal(#[from] AppendError),
}

use line::OpenLink;
pub(super) use seat::{Seating, Tables};

pub(super) struct BoardTask {
    plan: BoardPlan,
    shared: BoardContext,
    pulse: Pulse,
    watcher: Watcher,
    epoch_ms: Option<i64>,
    pending: Option<kept::Pending>,
    /// States that changed while the journal wrote an entry.
    changed: StateSet,
    replies: Vec<CommandReply>,
    mates: Mates,
    /// The trouble of the link that the log has told.
    trouble: Option<&'static str>,
    /// When the board first answered on the present link: a port that opens is no board yet.
    answered: Option<Millis>,
    notices: broadcast::Receiver<Notice>,
    /// What the board tells before anything else.
    untold: Vec<Notice>,
    /// Games before the present one that may have a wrong number of their round.
    misnumbered: Option<Misnumbered>,
    /// The captures of the board's line, if they are kept.
    tape: Option<Tape>,
    /// What the log needs to know of the board's evening.
    evening: LogMemory,
    /// The day on which the present game began.
    date: GameDate,
    /// The time up to which a line has told what happened, where the line tells its own times.
    told: Option<Millis>,
    put_off: standstill::PutOff,
    /// When the present link was last heard.
    heard: Option<Millis>,
    /// The commands that the board may still take.
    quota: Quota,
    /// When the snapshot is written at the latest, because it has readings that no event tells of.
    save_at: Option<Millis>,
    /// What the watcher asks for, as it came up in the time that a line told at once.
    asked: Vec<CommandBytes>,
    /// When a line that tells its own times was last asked something, by our clock, if it has told less than that yet.
    asked_at: Option<Millis>,
}

impl BoardTask {
    /// A task that goes on from where the journal says.
    pub(super) async fn new(
        plan: BoardPlan,
        shared: BoardContext,
        pulse: Pulse,
        notices: broadcast::Receiver<Notice>,
    ) -> Self {
        let board = plan.id.as_str();
        shared.losses.begin(&plan.id);
        let resume = shared.journal.resume(board).await;
        // Numbers never go back, even where the rest of the snapshot is of no use.
        let snapshot = Snapshot::kept(resume.snapshot.as_deref(), resume.last_seq);
        let epoch_ms = shared.clock.epoch_ms();
        let settings = Settings {
            epoch_ms,
            ..plan.settings.clone()
        };
        let mates = Mates::new(shared.mates.clone());
        let players = settings.players.clone();
        let mut watcher = Watcher::new(settings, Some(snapshot));
        if resume.is_after_start {
            watcher.expect_another_board();
        }
        let date = kept::date_of(&shared.journal_path, board, watcher.game().game).await;
        Self {
            date,
            tape: shared
                .captures
                .then(|| Tape::new(&shared.journal_path, &plan.settings)),
            evening: LogMemory::resumed(players, watcher.game().moves.len()),
            watcher,
            plan,
            shared,
            pulse,
            epoch_ms,
            pending: None,
            changed: StateSet {
                status: true,
                info: true,
                position: true,
                game: true,
                clock: true,
            },
            replies: Vec::new(),
            mates,
            trouble: None,
            answered: None,
            notices,
            untold: resume.untold,
            misnumbered: None,
            told: None,
            put_off: standstill::PutOff::default(),
            heard: None,
            quota: Quota::new(),
            save_at: None,
            asked: Vec::new(),
            asked_at: None,
        }
    }

    /// Works until `stop`. By then the journal has all that the watcher said.
    pub(super) async fn run(
        mut self,
        commands: &mut mpsc::Receiver<BoardCommand>,
        stop: &CancellationToken,
    ) -> Result<(), BoardError> {
        let (first, longest, stable) = BACKOFF_MS;
        let mut backoff = Backoff::new(first, longest, stable);
        let mut rng = fastrand::Rng::new();
        // No event comes between a jump of the numbers and the notice of it.
        for notice in std::mem::take(&mut self.untold) {
            self.watcher
                .handle_notice(self.now(), notice.code, &notice.message);
        }
        self.seat();
        self.drain().await;
        while !stop.is_cancelled() {
            let line = tokio::select! {
                line = self.open() => line,
                () = stop.cancelled() => None,
            };
            if let Some((line, name)) = line {
                (self.answered, self.heard) = (None, None);
                let now = self.catch_up();
                self.told = line.timed.is_some().then_some(now);
                self.asked_at = None;
                self.record(now, || Act::LinkUp);
                self.watcher.handle_link_up(now, &name);
                let reason = self.serve(Some(line), commands, stop, None).await?;
                self.told = None;
                if stop.is_cancelled() {
                    break;
                }
                if let Some(since) = self.answered {
                    backoff.up(since);
                }
                self.lost(&name, &reason);
            }
            // The board's arbiter may send commands while its link is down.
            let until = self.now() + backoff.failed(self.now(), &mut rng);
            self.serve(None, commands, stop, Some(until)).await?;
        }
        self.finish().await
    }

    /// The time of the board: the daemon's, or the time up to which the line has told what happened.
    fn now(&self) -> Millis {
        self.told.unwrap_or_else(|| self.shared.clock.now())
    }

    /// Writes one line to the log for each trouble, and none for each attempt.
    fn say(&mut self, trouble: &Trouble) {
        let code = trouble.code();
        if self.trouble != Some(code) {
            let board = self.plan.id.as_str();
            tracing::warn!(board, code, "board {board}: {trouble}");
            self.trouble = Some(code);
        }
    }

    /// Notes the first time on a link that the board shows its position.
    fn note_answer(&mut self) {
        if self.answered.is_none() && self.watcher.status() == Status::Online {
            self.answered = Some(self.now());
            self.trouble = None;
            let board = self.plan.id.as_str();
            tracing::info!(board, "board {board}: it answers");
            if let Some(serial) = self.watcher.info().serial {
                self.shared.serials.says(board, &serial);
            }
        }
    }

    fn lost(&mut self, port: &str, reason: &str) {
        if self.answered.take().is_some() {
            let board = self.plan.id.as_str();
            self.shared.serials.silent(board);
            tracing::warn!(board, "board {board}: link lost on {port}: {reason}");
        } else {
            self.say(&Trouble::Silent {
                port: port.to_owned(),
                reason: reason.to_owned(),
            });
        }
        let now = self.catch_up();
        self.record(now, || Act::LinkDown);
        self.watcher.handle_link_down(now, reason);
    }

    /// Feeds the watcher until the line is lost (and returns the reason), until `until`, or until `stop`.
    async fn serve(
        &mut self,
        mut line: Option<OpenLink>,
        commands: &mut mpsc::Receiver<BoardCommand>,
        stop: &CancellationToken,
        until: Option<Millis>,
    ) -> Result<String, BoardError> {
        let mut buffer = [0; AT_ONCE];
        let mut tick = tokio::time::interval(TICK);
        loop {
            self.pulse.beat();
            self.mates
                .ask(std::iter::from_fn(|| self.watcher.poll_question()));
            self.drain().await;
            if self.pending.is_none()
                && let Some(misnumbered) = self.misnumbered.take()
            {
                self.renumber_earlier(misnumbered).await;
            }
            if let Some(reason) = self.transmit(line.as_mut()) {
                return Ok(reason);
            }
            let again = line.as_mut().and_then(|line| self.waits(line));
            // An entry under way wakes the task anyway.
            let save_at = self.save_at.filter(|_| self.pending.is_none());
            // On a line that tells its own times, only the line makes time pass.
            let timeout = self.told.is_none().then(|| self.watcher.poll_timeout()).flatten();
            let silent = line
                .as_ref()
                .and_then(|line| Some(line.timed.as_ref()?.silent_at()));
            let wake = [until, timeout, again, save_at, silent]
                .into_iter()
                .flatten()
                .min();
            let wake = wake.map(|at| self.shared.clock.instant(at));
            let mut nothing = VecDeque::new();
            let (mut read, mut write, mut unsent, mut allowance) = (None, None, &mut nothing, None);
            let mut timed = None;
            if let Some(line) = &mut line {
                (read, write, unsent) = (Some(&mut line.read), Some(&mut line.write), &mut line.unsent);
                (allowance, timed) = (Some(&mut line.allowance), line.timed.as_mut());
            }
            // The end, and what comes once for each entry, wait for nothing. Where the machine was busy, what the board told and what is
            // due wait together: the board told it while the time passed, so it is heard first. Silence is none where something waits.
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(String::new()),
                result = or_never(write.as_mut().map(|w| w.write(unsent.as_slices().0))), if !unsent.is_empty() => match result {
                    Ok(0) => return Ok("the port takes no more".to_owned()),
                    Ok(count) => drop(unsent.drain(..count)),
                    Err(error) => return Ok(error.to_string()),
                },
                answer = or_never(self.pending.as_mut().map(|p| &mut p.committed)) => self.committed(answer)?,
                result = or_never(read.as_mut().map(|r| r.read(&mut buffer))), if again.is_none() => match result {
                    Ok(0) => return Ok("the port is gone".to_owned()),
                    Ok(count) => {
                        let start = Instant::now();
                        self.put_off.more_waits = count == AT_ONCE;
                        if let Err(broken) = self.hear(timed, &buffer[..count]) {
                            return Ok(format!("what comes is no capture: {broken}"));
                        }
                        if let Some(allowance) = &mut allowance {
                            allowance.spent(start.elapsed());
                        }
                        self.note_answer();
                    }
                    Err(error) => return Ok(error.to_string()),
                },
                Some(command) = commands.recv(), if self.pending.is_none() => self.command(command).await,
                () = or_never(wake.map(tokio::time::sleep_until)) => {
                    if until.is_some_and(|until| self.now() >= until) {
                        return Ok(String::new());
                    }
                    if silent.is_some_and(|silent| self.shared.clock.now() >= silent) {
                        return Ok("the other side has said nothing for two minutes".to_owned());
                    }
                    let start = Instant::now();
                    self.catch_up();
                    // The task now works on the bytes that it held back.
                    if let Some(allowance) = &mut allowance {
                        allowance.spent(start.elapsed());
                    }
                }
                Ok(()) = self.shared.tables.changed() => self.seat(),
                notice = next_notice(&mut self.notices) => match notice {
                    Ok(notice) => self.announced(&notice),
                    Err(missed) => {
                        let board = self.plan.id.as_str();
                        tracing::error!(board, missed, "board {board}: it had no time for troubles of the journal");
                    }
                },
                (irregularity, verdict) = self.mates.answer() => {
                    let now = self.catch_up();
                    self.watcher.handle_verdict(now, &irregularity, &verdict);
                }
                _ = tick.tick() => {
                    self.look_at_the_wall_clock();
                    let now = self.shared.clock.now();
                    self.tape.iter_mut().for_each(|tape| tape.save(now));
                    self.shared.hardware.tells(self.plan.id.as_str(), self.watcher.hardware());
                    self.quota.tell_left_out(&format!("board {}", self.plan.id), Instant::now());
                }
            }
        }
    }

    fn announced(&mut self, notice: &Notice) {
        let now = self.catch_up();
        self.watcher.handle_notice(now, notice.code, &notice.message);
    }

    fn look_at_the_wall_clock(&mut self) {
        let epoch_ms = self.shared.clock.epoch_ms();
        if has_stepped(self.epoch_ms, epoch_ms) {
            tracing::info!(board = self.plan.id.as_str(), "the wall clock was set");
            self.epoch_ms = epoch_ms;
            self.watcher.set_epoch(epoch_ms);
        }
    }

    /// Writes the last entry, with the present state and with the board offline.
    async fn finish(mut self) -> Result<(), BoardError> {
        // The next task of the board hears only what comes after this.
        while let Ok(notice) = self.notices.try_recv() {
            self.announced(&notice);
        }
        self.watcher.handle_stop(self.now());
        if let Some(tape) = &mut self.tape {
            tape.finish().await;
        }
        if let Some(pending) = &mut self.pending {
            let answer = (&mut pending.committed).await;
            self.committed(answer)?;
        }
        let events: Vec<_> = std::iter::from_fn(|| self.watcher.poll_event()).collect();
        // The states follow the last event: the next process, or a copy of the journal, has its number from them.
        self.changed |= self.watcher.take_changed();
        self.append(events, None).await;
        if let Some(pending) = &mut self.pending {
            let answer = (&mut pending.committed).await;
            self.committed(answer)?;
        }
        let board = self.plan.id.as_str();
        self.shared.serials.silent(board);
        self.shared.hardware.tells(board, HardwareView::default());
        let offline = StateKey::board(&self.shared.topics, &self.plan.id, BoardState::Status);
        self.shared.publisher.states.set(offline, "offline");
        Ok(())
    }
}

/// Awaits a future that may take long, and shows meanwhile that the task works.
async fn beating<F: Future>(pulse: &Pulse, future: F) -> F::Output {
    tokio::pin!(future);
    loop {
        pulse.beat();
        tokio::select! {
            output = &mut future => return output,
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// The next notice for all boards, or how many came that nobody took.
async fn next_notice(notices: &mut broadcast::Receiver<Notice>) -> Result<Notice, u64> {
    match notices.recv().await {
        Ok(notice) => Ok(notice),
        Err(RecvError::Lagged(missed)) => Err(missed),
        // There will be none any more.
        Err(RecvError::Closed) => std::future::pending().await,
    }
}

/// Awaits the future if there is one, and else for ever.
async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

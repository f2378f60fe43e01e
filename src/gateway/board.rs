//! One board's task: its link, its watcher, and where what the watcher says goes.
//!
//! While the journal writes, the task goes on reading, so that bytes get the time at which they
//! came. States are published and commands answered only after the events behind them are kept.

mod command;
mod kept;
mod line;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf},
    sync::{broadcast, mpsc, watch},
};
use tokio_util::sync::CancellationToken;

use super::{
    clock::{Timebase, has_stepped},
    commands::BoardCommand,
    hardware::HardwareViews,
    heartbeat::Pulse,
    losses::Losses,
    mates::{Mates, Turn},
    ports::{PortClaim, Ports},
    quota::Quota,
    serials::Serials,
    standing::Standings,
    tape::Tape,
    timed::Timed,
    told::LogMemory,
    trouble::Trouble,
};
use crate::{
    capture::Act,
    config::Id,
    event::notice,
    journal::{AppendError, Journal, Notice},
    link::{Allowance, Backoff, Io, LinkSource, Opened},
    mqtt::{BoardState, CommandReply, PublisherHandle, StateKey, Topics},
    time::Millis,
    watcher::{HardwareView, Settings, Snapshot, StateSet, Status, Table, Watcher},
};

/// First and longest delay between attempts to open the link, and when it counts as good.
const BACKOFF_MS: (u64, u64, u64) = (250, 10_000, 5_000);
/// How often the task shows itself and looks at the wall clock.
const TICK: Duration = Duration::from_secs(2);
/// Bytes that are handled in one go: the other boards wait meanwhile.
const AT_ONCE: usize = 128;
/// Bytes to the board that may wait: more means that the port takes nothing any more.
const MAX_UNSENT: usize = 512;

/// Who sits at the boards, for the next game of each.
pub(super) type Tables = Arc<BTreeMap<Id, Table>>;

/// What every board's task shares.
#[derive(Clone, Debug)]
pub(super) struct BoardContext {
    pub(super) clock: Timebase,
    pub(super) journal: Journal,
    /// Where the journal's file is, to read what the watchers do not keep.
    pub(super) journal_path: PathBuf,
    /// Whether what comes and goes over the lines is kept beside it.
    pub(super) captures: bool,
    pub(super) publisher: PublisherHandle,
    pub(super) topics: Topics,
    pub(super) ports: Ports,
    pub(super) serials: Serials,
    pub(super) hardware: HardwareViews,
    pub(super) clock_interval: Duration,
    /// One search for a mate at a time.
    pub(super) mates: Turn,
    pub(super) tables: watch::Receiver<Tables>,
    /// How each board stands.
    pub(super) standings: Standings,
}

/// One board's part of the configuration.
#[derive(Clone, Debug)]
pub(super) struct BoardPlan {
    pub(super) id: Id,
    pub(super) source: LinkSource,
    pub(super) settings: Settings,
}

/// Why a board's task ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub(super) enum BoardError {
    #[error("the journal does not take its events: {0}")]
    Journal(#[from] AppendError),
}

/// An open link.
struct Line {
    read: ReadHalf<Box<dyn Io>>,
    write: WriteHalf<Box<dyn Io>>,
    unsent: VecDeque<u8>,
    allowance: Allowance,
    /// It was said that the line sends too much.
    floods: bool,
    /// It tells when its bytes were read.
    timed: Option<Timed>,
    _claim: PortClaim,
}

pub(super) struct BoardTask {
    plan: BoardPlan,
    shared: BoardContext,
    pulse: Pulse,
    watcher: Watcher,
    epoch_ms: Option<i64>,
    pending: Option<kept::Pending>,
    /// States that changed while an entry was under way.
    changed: StateSet,
    replies: Vec<CommandReply>,
    mates: Mates,
    /// What is wrong with the link, while it is said already.
    trouble: Option<&'static str>,
    /// Since when the board answers on the present link: a port that opens is no board yet.
    answered: Option<Millis>,
    notices: broadcast::Receiver<Notice>,
    losses: Losses,
    /// What came and went over its line, where that is kept.
    tape: Option<Tape>,
    /// What the log says of its evening.
    evening: LogMemory,
    /// Up to when a line that tells its own times has told what happened.
    told: Option<Millis>,
    /// How much of an arbiter it takes.
    quota: Quota,
    /// When what was heard and no event tells of is put down at the latest.
    save_at: Option<Millis>,
}

impl BoardTask {
    /// A task that goes on where the journal says.
    pub(super) async fn new(
        plan: BoardPlan,
        shared: BoardContext,
        pulse: Pulse,
        notices: broadcast::Receiver<Notice>,
    ) -> Self {
        let board = plan.id.as_str();
        let resume = shared.journal.resume(board).await;
        // Numbers never go back, whatever became of the rest.
        let snapshot = Snapshot::kept(resume.snapshot.as_deref(), resume.last_seq);
        for lost in snapshot.lost() {
            tracing::warn!(board, code = notice::SNAPSHOT_SET_ASIDE, "board {board}: {lost}");
        }
        let epoch_ms = shared.clock.epoch_ms();
        let settings = Settings {
            epoch_ms,
            ..plan.settings.clone()
        };
        let mates = Mates::new(shared.mates.clone());
        let players = settings.players.clone();
        let watcher = Watcher::new(settings, Some(snapshot));
        Self {
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
            losses: Losses::default(),
            told: None,
            quota: Quota::new(),
            save_at: None,
        }
    }

    /// Works until `stop`; what the watcher said by then is with the journal.
    pub(super) async fn run(
        mut self,
        commands: &mut mpsc::Receiver<BoardCommand>,
        stop: &CancellationToken,
    ) -> Result<(), BoardError> {
        let (first, longest, stable) = BACKOFF_MS;
        let mut backoff = Backoff::new(first, longest, stable);
        let mut rng = fastrand::Rng::new();
        self.seat();
        self.drain().await;
        while !stop.is_cancelled() {
            let line = tokio::select! {
                line = self.open() => line,
                () = stop.cancelled() => None,
            };
            if let Some((line, name)) = line {
                self.answered = None;
                self.told = line.timed.is_some().then(|| self.now());
                self.record(self.now(), || Act::LinkUp);
                self.watcher.handle_link_up(self.now(), &name);
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
            // The board's arbiter may speak while its link is down.
            let until = self.now() + backoff.failed(self.now(), &mut rng);
            self.serve(None, commands, stop, Some(until)).await?;
        }
        self.finish().await
    }

    /// The time of the board: ours, or as far as a line has told that tells its own.
    fn now(&self) -> Millis {
        self.told.unwrap_or_else(|| self.shared.clock.now())
    }

    async fn open(&mut self) -> Option<(Line, String)> {
        self.pulse.beat();
        let opened = beating(
            &self.pulse,
            self.plan.source.open_as(self.plan.settings.protocol.line()),
        )
        .await;
        match opened
            .map_err(Trouble::from)
            .and_then(|opened| self.claim(opened))
        {
            Ok(open) => Some(open),
            Err(trouble) => {
                self.say(&trouble);
                None
            }
        }
    }

    /// Takes what was opened, unless it is another board's.
    fn claim(&self, opened: Opened) -> Result<(Line, String), Trouble> {
        let board = self.plan.id.as_str();
        let claim = self.shared.ports.claim(&opened.name, board);
        let claim = claim.map_err(|other| Trouble::Taken {
            port: opened.name.clone(),
            other,
        })?;
        tracing::debug!(board, port = opened.name, "port open");
        let (read, write) = tokio::io::split(opened.io);
        let line = Line {
            read,
            write,
            unsent: VecDeque::new(),
            allowance: Allowance::new(self.now()),
            floods: false,
            timed: matches!(self.plan.source, LinkSource::Timed(_)).then(|| Timed::new(self.now())),
            _claim: claim,
        };
        Ok((line, opened.name))
    }

    /// One line for each trouble, none for each attempt.
    fn say(&mut self, trouble: &Trouble) {
        let code = trouble.code();
        if self.trouble != Some(code) {
            let board = self.plan.id.as_str();
            tracing::warn!(board, code, "board {board}: {trouble}");
            self.trouble = Some(code);
        }
    }

    /// The first time on a link that the board shows what stands on it.
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
        self.record(self.now(), || Act::LinkDown);
        self.watcher.handle_link_down(self.now(), reason);
    }

    /// Feeds the watcher until the line is lost (with the reason), `until` has come, or `stop`.
    async fn serve(
        &mut self,
        mut line: Option<Line>,
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
            if let Some(reason) = self.transmit(line.as_mut()) {
                return Ok(reason);
            }
            let again = line.as_mut().and_then(|line| self.waits(line));
            // What waits for the journal anyway is no reason to wake up.
            let save_at = self.save_at.filter(|_| self.pending.is_none());
            // Where the line tells the time, time passes as it tells.
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
            tokio::select! {
                result = or_never(read.as_mut().map(|r| r.read(&mut buffer))), if again.is_none() => match result {
                    Ok(0) => return Ok("the port is gone".to_owned()),
                    Ok(count) => {
                        let start = Instant::now();
                        if let Err(broken) = self.hear(timed, &buffer[..count]) {
                            return Ok(broken.to_string());
                        }
                        if let Some(allowance) = &mut allowance {
                            allowance.spent(start.elapsed());
                        }
                        self.note_answer();
                    }
                    Err(error) => return Ok(error.to_string()),
                },
                result = or_never(write.as_mut().map(|w| w.write(unsent.as_slices().0))), if !unsent.is_empty() => match result {
                    Ok(0) => return Ok("the port takes no more".to_owned()),
                    Ok(count) => drop(unsent.drain(..count)),
                    Err(error) => return Ok(error.to_string()),
                },
                answer = or_never(self.pending.as_mut().map(|p| &mut p.committed)) => self.committed(answer)?,
                Some(command) = commands.recv(), if self.pending.is_none() => self.command(command).await,
                () = or_never(wake.map(tokio::time::sleep_until)) => {
                    let now = self.now();
                    if until.is_some_and(|until| now >= until) {
                        return Ok(String::new());
                    }
                    if silent.is_some_and(|silent| self.shared.clock.now() >= silent) {
                        return Ok("the other side has said nothing for two minutes".to_owned());
                    }
                    let start = Instant::now();
                    self.watcher.handle_timeout(now);
                    // What was held is worked on now.
                    if let Some(allowance) = &mut allowance {
                        allowance.spent(start.elapsed());
                    }
                }
                Ok(()) = self.shared.tables.changed() => self.seat(),
                Ok(notice) = self.notices.recv() => self.announced(&notice),
                (irregularity, verdict) = self.mates.answer() => {
                    self.watcher.handle_verdict(self.now(), &irregularity, &verdict);
                }
                _ = tick.tick() => {
                    self.look_at_the_wall_clock();
                    let now = self.shared.clock.now();
                    self.tape.iter_mut().for_each(|tape| tape.save(now));
                    self.shared.hardware.tells(self.plan.id.as_str(), self.watcher.hardware());
                }
                () = stop.cancelled() => return Ok(String::new()),
            }
        }
    }

    /// Tells the watcher who sits here from the next game on.
    fn seat(&mut self) {
        let table = self.shared.tables.borrow_and_update().get(&self.plan.id).cloned();
        if let Some(table) = table {
            self.watcher.set_table(self.now(), table);
        }
    }

    /// The daemon tells all boards; a notice for another one is not for this one.
    fn announced(&mut self, notice: &Notice) {
        if notice.board.as_ref().is_none_or(|id| id == self.plan.id.as_str()) {
            self.watcher
                .handle_notice(self.now(), notice.code, &notice.message);
        }
    }

    fn look_at_the_wall_clock(&mut self) {
        let epoch_ms = self.shared.clock.epoch_ms();
        if has_stepped(self.epoch_ms, epoch_ms) {
            tracing::info!(board = self.plan.id.as_str(), "the wall clock was set");
            self.epoch_ms = epoch_ms;
            self.watcher.set_epoch(epoch_ms);
        }
    }

    /// The last entry, with the state as it is now, and nobody at the board any more.
    async fn finish(mut self) -> Result<(), BoardError> {
        self.watcher.handle_stop(self.now());
        if let Some(tape) = &mut self.tape {
            tape.finish().await;
        }
        if let Some(pending) = &mut self.pending {
            let answer = (&mut pending.committed).await;
            self.committed(answer)?;
        }
        let events: Vec<_> = std::iter::from_fn(|| self.watcher.poll_event()).collect();
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

/// Awaits what may take long while showing that the task lives.
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

/// Awaits what is there; for nothing, for ever.
async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

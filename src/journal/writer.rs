//! The thread that owns the journal's file.

mod commanded;
mod copy;
mod follow;
mod home;
mod leave;
mod lift;
mod sending;
#[cfg(test)]
mod tests;
mod tidy;
mod trouble;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, oneshot, watch};

use self::{leave::Leaving, trouble::RETRY};
use super::{
    age::Hours,
    batch::{Batch, numbered},
    copied::Copied,
    entry::{AppendError, Entry, JournalSettings, KnownNumbers, Notice, Resume, Shift, Written},
    error::is_damage,
    jump::Jumps,
    lock::JournalLock,
    machine::run_of_machine,
    open::Ready,
    place::JournalPlace,
    request::JournalRequest,
    runs::{KnownRuns, LastRun},
    store::Store,
    taken::Taken,
};

/// How many requests share one transaction at most.
const GROUP: usize = 256;
/// How long a notice stays of something that was found and mended.
const SAY_HEALED: Duration = Duration::from_secs(60);

/// What the rest of the program may watch.
pub(super) struct Tells {
    pub(super) news: watch::Sender<u64>,
    pub(super) trouble: watch::Sender<Vec<Notice>>,
    pub(super) unsecured: watch::Sender<bool>,
    pub(super) disputed: watch::Sender<bool>,
    /// True once events may be sent.
    pub(super) sending: watch::Sender<bool>,
    /// What tells the time since the numbers were compared last from any other; none before.
    pub(super) era: watch::Sender<Option<String>>,
}

/// The state of the thread.
pub(super) struct JournalWriter {
    settings: JournalSettings,
    store: Store,
    place: JournalPlace,
    gateway: String,
    /// What tells the journal from any other, also where it is made anew.
    identity: String,
    resumes: BTreeMap<String, Resume>,
    seq_base: u64,
    /// True once the numbers are compared.
    is_compared: bool,
    /// Why numbers must leave their range, until they have. Nothing in memory is told meanwhile.
    leaving: Option<Leaving>,
    /// What tells the time since the disk knows that the numbers were compared from any other.
    era: String,
    /// The runs that may have sent events of this journal, and the boot id of this one.
    runs: KnownRuns,
    boot: Option<String>,
    /// True where the machine was started since a daemon had the file, or nobody knows.
    is_after_start: bool,
    /// The run that had our name last, until it is looked at.
    last_run: Option<LastRun>,
    /// The run of another that had our name last, above whose numbers those of all boards are by now.
    followed: Option<String>,
    /// The highest numbers that brokers told on former connections.
    heard: BTreeMap<String, u64>,
    /// True where another has had our name since the numbers were compared last.
    has_stood_by: bool,
    /// How the numbers of boards have left their range since the disk last had all.
    shifts: BTreeMap<String, Vec<Shift>>,
    /// True while there is a journal that could not be read when the daemon began.
    is_unread: bool,
    jumps: Jumps,
    /// The last number of each board that was given out before this process, or that a broker knows.
    floors: BTreeMap<String, u64>,
    /// Where boards of a restored journal stood that may have sent since what its copy had not sent.
    copied: BTreeMap<String, Copied>,
    /// The last game of each board at the start.
    games: BTreeMap<String, u32>,
    /// The last number of each board that the disk had at the start.
    opened: BTreeMap<String, u64>,
    /// The first event of each board that no broker had acknowledged when another gateway gave out our numbers.
    unanswered: BTreeMap<String, u64>,
    /// What a broker knows beyond these numbers, and who waits until the journal has dealt with it, with the boards that were left
    /// out.
    beyond: BTreeMap<String, KnownNumbers>,
    waiting: Option<(oneshot::Sender<BTreeSet<String>>, BTreeSet<String>)>,
    /// Accepted events that are not on the disk.
    pending: Batch,
    position: u64,
    /// The position of the last command.
    command: u64,
    events_taken: Taken,
    commands_taken: Taken,
    /// The number of events on disk without acknowledgement, less those in `pending.acked`.
    depth: u64,
    pruned: u64,
    refused: u64,
    failing_since: Option<Instant>,
    /// True once the memory is full as well and a notice told so.
    is_losing: bool,
    last_try: Option<Instant>,
    /// How long a refusing disk is left alone, and when it last took writes again.
    retry: Duration,
    recovered_at: Option<Instant>,
    /// When something was found and mended of which a notice still tells.
    healed_at: Option<Instant>,
    /// When the thread next reads the whole file.
    examine_at: Instant,
    hours: Hours,
    news: watch::Sender<u64>,
    trouble: watch::Sender<Vec<Notice>>,
    /// True while events in memory have numbers that no disk secures.
    unsecured: watch::Sender<bool>,
    disputed: watch::Sender<bool>,
    /// True once the disk knows that all that the journal has can be sent, or numbers have left their range because it cannot.
    sending: watch::Sender<bool>,
    told_era: watch::Sender<Option<String>>,
    lock: Option<JournalLock>,
}

impl JournalWriter {
    pub(super) fn new(
        ready: Ready,
        settings: JournalSettings,
        gateway: String,
        tells: Tells,
    ) -> rusqlite::Result<Self> {
        let depth = ready.store.outbox()?;
        let position = ready.store.last_position()?;
        let command = ready.store.last_command()?;
        // The time before the first comparison is of this journal alone, too.
        let era = ready.store.era()?.unwrap_or_else(|| ready.identity.clone());
        let (now, now_ms) = (Instant::now(), super::wall_ms());
        tells.news.send_replace(position);
        let games = ready.resumes.iter();
        let games = games.filter_map(|(board, resume)| Some((board.clone(), lift::games_of(resume)?)));
        let games = games.collect();
        let last_seqs = ready.resumes.iter();
        let last_seqs = last_seqs.map(|(board, resume)| (board.clone(), resume.last_seq));
        let is_unsecured = ready.is_unsecured;
        let machine = ready.store.machine()?;
        let is_after_start = machine.is_none() || machine != run_of_machine();
        let mut writer = Self {
            is_after_start,
            floors: ready.floors,
            copied: ready.store.copied()?,
            games,
            opened: last_seqs.collect(),
            unanswered: BTreeMap::new(),
            beyond: BTreeMap::new(),
            waiting: None,
            place: JournalPlace::of(&settings.path),
            gateway,
            identity: ready.identity,
            settings,
            position,
            command,
            events_taken: Taken::begin(now, now_ms, position),
            commands_taken: Taken::begin(now, now_ms, command),
            store: ready.store,
            resumes: ready.resumes,
            seq_base: ready.seq_base,
            is_compared: false,
            leaving: None,
            era,
            runs: ready.runs,
            boot: None,
            last_run: None,
            followed: None,
            heard: BTreeMap::new(),
            has_stood_by: false,
            shifts: BTreeMap::new(),
            is_unread: ready.is_unread,
            jumps: ready.jumps,
            pending: Batch::default(),
            depth,
            pruned: 0,
            refused: 0,
            failing_since: None,
            is_losing: false,
            last_try: None,
            retry: RETRY,
            recovered_at: None,
            healed_at: None,
            examine_at: now,
            hours: Hours::begin(now_ms),
            news: tells.news,
            trouble: tells.trouble,
            unsecured: tells.unsecured,
            disputed: tells.disputed,
            sending: tells.sending,
            told_era: tells.era,
            lock: ready.lock,
        };
        // A notice tells before the first event what keeps the journal from writing.
        writer.is_at_home();
        if writer.lock.is_some() {
            // What this process takes before the numbers are compared is not sent, and the next one must know that.
            writer.keep_floors();
        }
        if is_unsecured {
            writer.leave(Leaving::Trails);
        }
        Ok(writer)
    }

    pub(super) fn run(mut self, mut requests: mpsc::Receiver<JournalRequest>) {
        while let Some(first) = requests.blocking_recv() {
            let mut answers = Vec::new();
            let mut closing = None;
            let mut next = Some(first);
            while let Some(request) = next {
                if let JournalRequest::Close(answer) = request {
                    closing = Some(answer);
                    break;
                }
                self.take(request, &mut answers);
                next = (answers.len() < GROUP)
                    .then(|| requests.try_recv().ok())
                    .flatten();
            }
            self.settle(answers);
            if let Some(answer) = closing {
                self.finish();
                // This frees the lock before anybody hears that the journal is closed.
                drop(self);
                // Nobody waits any more once the daemon's own bound has passed.
                let _ = answer.send(());
                return;
            }
        }
        self.finish();
    }

    /// Answers everything except appends at once. Appends wait for the group's transaction.
    fn take(&mut self, request: JournalRequest, answers: &mut Vec<Answer>) {
        match request {
            JournalRequest::Append(entry, answer) => answers.push((self.accept(entry), answer)),
            JournalRequest::Note(record, answer) => {
                // The commands of the gateway are of no board.
                self.note_command(String::new(), record, super::wall_ms());
                answers.push((Ok(()), answer));
            }
            JournalRequest::Acked(positions) => self.acknowledge(&positions),
            JournalRequest::Unacked(after, limit, answer) => {
                // A reader may see only what is settled, so the group goes down first.
                self.settle(std::mem::take(answers));
                let _ = answer.send(self.unacked(after, limit));
            }
            JournalRequest::Latest(after, limit, answer) => {
                self.settle(std::mem::take(answers));
                let _ = answer.send(self.latest(after, limit));
            }
            JournalRequest::Resume(board, answer) => {
                let resume = self.resume(&board);
                let _ = answer.send(Resume {
                    is_after_start: self.is_after_start,
                    untold: self.jumps.untold(&board, resume.last_seq),
                    ..resume
                });
            }
            JournalRequest::Command(board, reference, answer) => {
                let _ = answer.send(self.command(&board, &reference));
            }
            JournalRequest::Reconcile(known, answer) => {
                self.settle(std::mem::take(answers));
                self.reconcile(known, answer);
            }
            JournalRequest::StandBy(was_sending) => {
                (self.followed, self.has_stood_by) = (None, true);
                self.stand_by(was_sending);
            }
            JournalRequest::AskAnew(was_sending) => {
                self.followed = None;
                self.stand_by(was_sending);
            }
            JournalRequest::Send => {
                self.settle(std::mem::take(answers));
                self.begin_to_send();
            }
            JournalRequest::Follow(last) => self.last_run = Some(last),
            JournalRequest::Heard(numbers) => self.heard = numbers,
            JournalRequest::Boot(boot) => self.begin_run(boot),
            JournalRequest::Lift(answer) => {
                self.settle(std::mem::take(answers));
                let _ = answer.send(self.lift());
            }
            JournalRequest::Tick(answer) => {
                self.tick();
                let _ = answer.send(self.stats());
            }
            // `run` takes this request out.
            JournalRequest::Close(_) => {}
        }
    }

    fn resume(&self, board: &str) -> Resume {
        self.resumes.get(board).cloned().unwrap_or_else(|| Resume {
            last_seq: self.seq_base,
            ..Resume::default()
        })
    }

    /// Checks an entry and puts it among the pending ones: all of it or nothing.
    fn accept(&mut self, entry: Entry) -> Result<(), AppendError> {
        let Entry {
            board,
            events,
            snapshot,
            command,
        } = entry;
        let now_ms = super::wall_ms();
        let mut resume = self.resume(&board);
        let rows = numbered(&board, events, &mut resume.last_seq, self.position, now_ms)?;
        let pending = self.pending.snapshots.entry(board.clone()).or_default();
        pending.0 = resume.last_seq;
        if snapshot.is_some() {
            pending.1.clone_from(&snapshot);
            resume.snapshot = snapshot;
        }
        self.resumes.insert(board.clone(), resume);
        if self.failing_since.is_some() && self.pending.rows.len() + rows.len() > self.settings.max_in_memory
        {
            return Err(self.lose(rows.len()));
        }
        let now = Instant::now();
        if !rows.is_empty() {
            self.events_taken.note(now, self.position + 1);
        }
        self.position += rows.len() as u64;
        self.depth += rows.len() as u64;
        self.note_commanded(&rows, command.is_some());
        self.pending.rows.extend(rows);
        if let Some(record) = command {
            self.note_command(board, record, now_ms);
        }
        Ok(())
    }

    /// Refuses events for which neither disk nor memory has room.
    fn lose(&mut self, count: usize) -> AppendError {
        let waiting = self.pending.rows.len();
        if !std::mem::replace(&mut self.is_losing, true) {
            tracing::error!(
                waiting,
                "the disk refuses and memory holds all it may: new events are lost until the journal can be written"
            );
        }
        self.refused += count as u64;
        AppendError::MemoryFull(waiting)
    }

    /// Writes the group and answers it.
    fn settle(&mut self, answers: Vec<Answer>) {
        if answers.is_empty() {
            return;
        }
        let written = if self.pending.is_urgent() {
            self.flush()
        } else {
            Written::Disk
        };
        if written == Written::Memory {
            self.leave_unsecured();
        }
        self.tell_news();
        for (accepted, answer) in answers {
            // A caller that does not wait has dropped the receiver.
            let _ = answer.send(accepted.map(|()| written));
        }
    }

    /// Wakes the publisher. The pending events cannot tell whether there is news, because housekeeping may have written
    /// them already.
    fn tell_news(&self) {
        let position = self.position;
        self.news
            .send_if_modified(|told| std::mem::replace(told, position) != position);
    }

    /// Tries to write everything that is pending.
    fn flush(&mut self) -> Written {
        if self.failing_since.is_some() && self.last_try.is_some_and(|at| at.elapsed() < self.retry) {
            return Written::Memory;
        }
        self.last_try = Some(Instant::now());
        if !self.is_at_home() {
            return Written::Memory;
        }
        self.pending.is_unsecured = *self.unsecured.borrow();
        let mut written = self.store.write(&self.pending, super::wall_ms());
        if written.as_ref().is_err_and(is_damage) && self.mend() {
            written = self.store.write(&self.pending, super::wall_ms());
        }
        match written {
            Ok(()) => {
                let batch = std::mem::take(&mut self.pending);
                if let Some(compared) = batch.compared {
                    self.era = compared.era;
                }
                if batch.sends {
                    self.open();
                }
                self.shifts.clear();
                self.recover();
                Written::Disk
            }
            Err(error) => {
                self.fail(self.trouble_of(&error));
                Written::Memory
            }
        }
    }

    fn acknowledge(&mut self, positions: &[u64]) {
        for n in positions {
            if self.pending.acked.insert(*n) {
                self.depth = self.depth.saturating_sub(1);
            }
        }
    }

    fn tick(&mut self) {
        let is_strange = self.look().is_some() || self.has_lost_its_lock();
        let is_due = !self.pending.is_empty() || self.failing_since.is_some() || is_strange;
        if is_due && self.flush() == Written::Memory {
            return;
        }
        self.examine();
        if self.healed_at.is_some_and(|at| at.elapsed() >= SAY_HEALED) {
            self.forget_troubles();
        }
        self.tidy();
    }

    fn finish(&mut self) {
        self.last_try = None;
        if !self.pending.is_empty() && self.flush() == Written::Memory {
            tracing::error!(
                events = self.pending.rows.len(),
                "the journal still cannot be written: these events are lost at the end of this process"
            );
            return;
        }
        if let Err(error) = self.store.checkpoint() {
            tracing::debug!(%error, "cannot fold the write-ahead log");
        }
    }
}

type Answer = (
    Result<(), AppendError>,
    oneshot::Sender<Result<Written, AppendError>>,
);

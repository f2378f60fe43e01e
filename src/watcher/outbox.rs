//! The outbox of a watcher. It gives each event its number, its time and its game.

use std::collections::VecDeque;

use jiff::Timestamp;
use shakmaty::{Chess, Color};

use super::{Settings, StateSet, explain::Account, last_correction::LastCorrection};
use crate::{
    event::{Body, Event, SCHEMA_VERSION, Source},
    time::Millis,
};

/// A question for [`crate::mate::can_mate`], which may take seconds: the shell asks it off the
/// board's task and hands the verdict to [`super::Watcher::handle_verdict`].
#[derive(Clone, Debug)]
pub struct MateQuestion {
    /// Id of the irregularity whose ruling depends on the answer.
    pub irregularity: String,
    /// The position.
    pub position: Chess,
    /// The side of which the question is whether it can mate.
    pub winner: Color,
}

/// An input that no event tells of yet. After a crash, the board cannot repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard {
    /// A square of the board changed.
    Update,
    /// The clock was pressed, started or stopped.
    Press,
}

impl Heard {
    /// How many milliseconds after the first update of a square the snapshot is written. As a rule both updates of a
    /// half-move share a write.
    pub const UPDATES_MS: u64 = 50;

    /// When the snapshot with what was heard at `now` is written.
    #[must_use]
    pub fn due(self, now: Millis) -> Millis {
        match self {
            Self::Press => now,
            Self::Update => now + Self::UPDATES_MS,
        }
    }
}

/// The outbox makes room for this many more events at once.
const ROOM: usize = 4;

/// Events that wait for the caller, and the states that have changed.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) seq: u64,
    pub(super) events: VecDeque<Event>,
    pub(super) changed: StateSet,
    pub(super) questions: VecDeque<MateQuestion>,
    /// The hypotheses behind each event, where the caller asked for them.
    pub(super) accounts: Option<VecDeque<Account>>,
    /// Accounts have all hypotheses, and not only the likeliest.
    pub(super) whole_accounts: bool,
    /// What decisions have waited for since the last review began.
    pub(super) waits: Vec<&'static str>,
    /// The number of milliseconds by which the core's time is ahead of the daemon's, which events have.
    pub(super) before: u64,
    /// The weightiest input since the caller last asked.
    pub(super) heard: Option<Heard>,
    /// The last event that put a record right.
    pub(super) put_right: Option<LastCorrection>,
    /// A person's command is being carried out.
    pub(super) by_command: bool,
    /// The person's name, where it is known.
    pub(super) by: Option<String>,
}

impl Outbox {
    /// Emits an event decided at `now` about something that happened at `at`. Returns its id.
    pub(super) fn emit(
        &mut self,
        settings: &Settings,
        game: Option<u32>,
        now: Millis,
        at: Option<Millis>,
        body: Body,
    ) -> String {
        self.seq += 1;
        let id = event_id(settings, self.seq);
        self.changed.game = true;
        let since_start = |time: Millis| time - self.before;
        let (at, now) = (at.map(since_start), since_start(now));
        if self.events.len() == self.events.capacity() {
            // The copy of a game keeps many events, so the queue grows by few at a time.
            self.events.reserve_exact(ROOM);
        }
        self.events.push_back(Event {
            v: SCHEMA_VERSION,
            formerly: None,
            unsent_as: None,
            id: id.clone(),
            seq: self.seq,
            body,
            board: settings.board.clone(),
            game,
            t: now.seconds(),
            at: at.filter(|at| *at != now).map(Millis::seconds),
            time: wall_clock(settings, now),
            source: self.by_command.then_some(Source::Arbiter),
            by: self.by.clone(),
        });
        let put_right = self.events.back().and_then(LastCorrection::of);
        self.put_right = put_right.or_else(|| self.put_right.take());
        id
    }

    /// The wall clock's time at the core's `now`, in Unix milliseconds, where the one at the origin is known.
    pub(super) fn wall_ms(&self, settings: &Settings, now: Millis) -> Option<i64> {
        unix_ms(settings, now - self.before)
    }
}

/// The id of event number `seq` of the board.
pub(super) fn event_id(settings: &Settings, seq: u64) -> String {
    format!("{}/{}/{seq}", settings.gateway, settings.board)
}

/// The wall clock's time at `now`, in Unix milliseconds, where the one at the origin is known.
pub(super) fn unix_ms(settings: &Settings, now: Millis) -> Option<i64> {
    settings.epoch_ms?.checked_add(i64::try_from(now.0).ok()?)
}

/// The wall-clock time of `now` in RFC 3339, where the one at the origin is known.
pub(super) fn wall_clock(settings: &Settings, now: Millis) -> Option<String> {
    let stamp = Timestamp::from_millisecond(unix_ms(settings, now)?).ok()?;
    Some(format!("{stamp:.3}"))
}

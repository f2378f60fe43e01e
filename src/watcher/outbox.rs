//! Where events get their number, their time and their game.

use std::collections::VecDeque;

use jiff::Timestamp;
use shakmaty::{Chess, Color};

use super::{Settings, StateSet, explain::Account};
use crate::{
    event::{Body, Event, SCHEMA_VERSION, Source},
    time::Millis,
};

/// A question for [`crate::mate::can_mate`], which may take seconds: the shell asks it off the
/// board's task and hands the verdict to [`super::Watcher::handle_verdict`].
#[derive(Clone, Debug)]
pub struct MateQuestion {
    /// Id of the irregularity whose ruling depends on it.
    pub irregularity: String,
    /// The position.
    pub position: Chess,
    /// Who is to mate.
    pub winner: Color,
}

/// What was heard that no event tells of yet: after a crash the board cannot be asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard {
    /// A square of the board changed.
    Update,
    /// The clock was pressed, started or stopped.
    Press,
}

/// For so many more events room is made at once.
const ROOM: usize = 4;

/// Events that wait to be taken, and which states they changed.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) seq: u64,
    pub(super) events: VecDeque<Event>,
    pub(super) changed: StateSet,
    pub(super) questions: VecDeque<MateQuestion>,
    /// What was weighed for each event, where that is asked for.
    pub(super) accounts: Option<VecDeque<Account>>,
    /// All explanations are told, not only the likeliest.
    pub(super) whole_accounts: bool,
    /// What is being waited for since the last look.
    pub(super) waits: Vec<&'static str>,
    /// Milliseconds by which the watcher's time is ahead of that of the daemon, which events tell.
    pub(super) before: u64,
    /// What was heard since the caller last asked for it.
    pub(super) heard: Option<Heard>,
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
            // What is watched in place of a game keeps many.
            self.events.reserve_exact(ROOM);
        }
        self.events.push_back(Event {
            v: SCHEMA_VERSION,
            formerly: None,
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
        id
    }
}

/// The id of event number `seq` of the board.
pub(super) fn event_id(settings: &Settings, seq: u64) -> String {
    format!("{}/{}/{seq}", settings.gateway, settings.board)
}

/// RFC 3339 of `now`, where the wall clock at the origin is known.
pub(super) fn wall_clock(settings: &Settings, now: Millis) -> Option<String> {
    let ms = settings.epoch_ms?.checked_add(i64::try_from(now.0).ok()?)?;
    let stamp = Timestamp::from_millisecond(ms).ok()?;
    Some(format!("{stamp:.3}"))
}

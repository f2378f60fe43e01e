//! Where events get their number, their time and their game.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::{Settings, StateSet};
use crate::{
    event::{Body, Event, SCHEMA_VERSION},
    time::Millis,
};

/// Events that wait to be taken, and which states they changed.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) seq: u64,
    pub(super) events: VecDeque<Event>,
    pub(super) changed: StateSet,
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
        let id = format!("{}/{}/{}", settings.gateway, settings.board, self.seq);
        self.changed.game = true;
        self.events.push_back(Event {
            v: SCHEMA_VERSION,
            id: id.clone(),
            seq: self.seq,
            body,
            board: settings.board.clone(),
            game,
            t: now.seconds(),
            at: at.filter(|at| *at != now).map(Millis::seconds),
            time: wall_clock(settings, now),
        });
        id
    }
}

/// RFC 3339 of `now`, where the wall clock at the origin is known.
pub(super) fn wall_clock(settings: &Settings, now: Millis) -> Option<String> {
    let ms = settings.epoch_ms?.checked_add(i64::try_from(now.0).ok()?)?;
    let stamp = Timestamp::from_millisecond(ms).ok()?;
    Some(format!("{stamp:.3}"))
}

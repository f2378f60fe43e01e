//! An event that the watcher keeps back until an arbiter says that it counts. Hundreds may wait so. Each is kept
//! without what the outbox gives it when it goes out.

use crate::{
    event::{Body, Event},
    time::Millis,
    watcher::{Settings, outbox::event_id},
};

/// Numbers from here on belong to events that are kept back.
pub(super) const FIRST_UNSAID: u64 = 1 << 40;

/// An event that is kept back.
#[derive(Debug)]
pub(super) struct Unsaid {
    /// Its number until it goes out.
    seq: u64,
    pub(super) game: Option<u32>,
    /// When the act happened, by the daemon's time.
    pub(super) at: Millis,
    pub(super) body: Body,
}

impl Unsaid {
    /// Its id until it goes out.
    pub(super) fn id(&self, settings: &Settings) -> String {
        event_id(settings, self.seq)
    }
}

impl From<Event> for Unsaid {
    fn from(mut event: Event) -> Self {
        if let Body::Move(made) = &mut event.body {
            made.fen.shrink_to_fit();
        }
        Self {
            seq: event.seq,
            game: event.game,
            // Events tell the daemon's time, in seconds.
            at: Millis((event.at.unwrap_or(event.t) * 1000.0).round() as u64),
            body: event.body,
        }
    }
}

/// True where the event of this id is kept back.
pub(super) fn is_unsaid(id: &str) -> bool {
    let seq = id.rsplit('/').next().and_then(|seq| seq.parse::<u64>().ok());
    seq.is_some_and(|seq| seq > FIRST_UNSAID)
}

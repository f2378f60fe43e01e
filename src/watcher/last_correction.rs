//! The last event that put a record right: who saw the record before that saw another one.

use serde::{Deserialize, Serialize};

use crate::event::{Body, Event, Source};

/// The last event that put the record of a game of the board right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastCorrection {
    pub(super) seq: u64,
    by: Option<String>,
}

impl LastCorrection {
    /// What `event` puts right in a record; none where it only goes on with a game.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let by_arbiter = event.source == Some(Source::Arbiter);
        let is_it = match &event.body {
            Body::MovesRetracted { .. } | Body::GameResumed { .. } => true,
            Body::Move(_) | Body::GameStarted { .. } | Body::GameEnded { .. } => by_arbiter,
            _ => false,
        };
        is_it.then(|| Self {
            seq: event.seq,
            by: event.by.clone(),
        })
    }

    pub(super) fn in_words(&self) -> String {
        let by = self.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        format!("it was put right{by} since (event {})", self.seq)
    }
}

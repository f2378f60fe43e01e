//! Whether the record is still as the sender of a command saw it: a page may be stale, and two arbiters may put the same
//! right.

use super::{Core, Phase, past::Past};
use crate::{
    event::{Body, Event, Source},
    watcher::command::{CommandError, Expected},
};

/// The last event that put the record of the present game right.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::watcher) struct LastCorrection {
    pub(in crate::watcher) seq: u64,
    by: Option<String>,
}

impl LastCorrection {
    /// What `event` puts right in a record; none where it only goes on with a game.
    pub(in crate::watcher) fn of(event: &Event) -> Option<Self> {
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

    fn in_words(&self) -> String {
        let by = self.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        format!("it was put right{by} since (event {})", self.seq)
    }
}

impl Core {
    /// Refuses a command whose sender saw another record than the present one, or than that of `past`.
    pub(super) fn is_as_expected(
        &self,
        expects: Expected,
        past: Option<&[Event]>,
    ) -> Result<(), CommandError> {
        let last = match past {
            Some(events) => events.iter().rev().find_map(LastCorrection::of),
            None => self.out.put_right.clone(),
        };
        if let (Some(seen), Some(last)) = (expects.seq, last)
            && last.seq > seen
        {
            return Err(CommandError::MovedOn(last.in_words()));
        }
        let have = match past {
            Some(events) => Past::of(events).map(|past| past.plies()),
            None => match &self.phase {
                Phase::Game(game) => Some(game.record.plies()),
                Phase::Waiting(_) => None,
            },
        };
        match (expects.ply, have) {
            (Some(seen), Some(have)) if seen as usize != have => Err(CommandError::MovedOn(format!(
                "it has {have} half-moves, and had {seen} then"
            ))),
            _ => Ok(()),
        }
    }
}

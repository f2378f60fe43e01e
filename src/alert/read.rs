//! What is read of the journal for a place.

use std::path::Path;

use crate::{
    event::{Body, Event},
    journal::query::{Filter, each_event},
};

/// An event that may be worth a message.
pub(super) struct AlertNews {
    /// Its place in the journal.
    pub(super) position: u64,
    /// When it was written, on the wall clock.
    pub(super) written_ms: i64,
    pub(super) event: Event,
    /// The irregularity that it is about, by the first id that this had.
    pub(super) about: Option<String>,
}

impl AlertNews {
    fn read(path: &Path, position: u64, written_ms: i64, event: Event) -> rusqlite::Result<Self> {
        let about = match (&event.body, event.body.concerns()) {
            (Body::Irregularity(_), _) => Some(first_id(&event).to_owned()),
            (_, Some(id)) => Some(first_id_of(path, id)?),
            (_, None) => None,
        };
        Ok(Self {
            position,
            written_ms,
            event,
            about,
        })
    }
}

/// The id under which an event was known first: its number may have jumped.
pub(super) fn first_id(event: &Event) -> &str {
    let before = event.unsent_as.as_ref().or(event.formerly.as_ref());
    before.unwrap_or(&event.id)
}

/// The same for the event that has `id` now; that itself where the journal does not have the event any more.
fn first_id_of(path: &Path, id: &str) -> rusqlite::Result<String> {
    let mut first = id.to_owned();
    let mut parts = id.rsplitn(3, '/');
    let seq = parts.next().and_then(|seq| seq.parse().ok());
    let (Some(seq), Some(board)) = (seq, parts.next()) else {
        return Ok(first);
    };
    let filter = Filter {
        board: Some(board.to_owned()),
        since_seq: Some(seq),
        before_seq: seq.checked_add(1),
        ..Filter::default()
    };
    each_event(path, &filter, |kept| {
        if let Ok(event) = serde_json::from_str::<Event>(kept.json) {
            first = first_id(&event).to_owned();
        }
        false
    })?;
    Ok(first)
}

/// The events after a position, `most` of them.
pub(super) fn batch(path: &Path, after: u64, most: usize) -> rusqlite::Result<Vec<AlertNews>> {
    let mut read = Vec::new();
    let filter = Filter {
        after: Some(after),
        ..Filter::default()
    };
    each_event(path, &filter, |kept| {
        match serde_json::from_str::<Event>(kept.json) {
            Ok(event) => read.push((kept.position, kept.written_ms, event)),
            Err(error) => tracing::warn!("alerts: an event of the journal cannot be read: {error}"),
        }
        read.len() < most
    })?;
    let news = read
        .into_iter()
        .map(|(position, written_ms, event)| AlertNews::read(path, position, written_ms, event));
    news.collect()
}

/// The event at a position, if the journal has it still.
pub(super) fn at(path: &Path, position: u64) -> Option<AlertNews> {
    let after = batch(path, position.checked_sub(1)?, 1).ok()?;
    after.into_iter().find(|news| news.position == position)
}

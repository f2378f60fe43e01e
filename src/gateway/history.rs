//! `history`: the events that a subscriber missed, read from the journal beside its writer.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    journal::query::{Filter, each_event},
    mqtt::History,
};

/// Bytes of events in one answer: brokers and clients take packets of this size without being told to.
const MAX_BYTES: usize = 48 << 10;
/// Events looked at for one answer.
const MAX_EVENTS: u64 = 300;

/// The newest of them that fit into an answer, oldest first, and whether there are older ones.
///
/// # Errors
/// When the journal cannot be read.
pub(super) fn read(path: &Path, asked: &History) -> Result<Value, String> {
    let filter = Filter {
        board: Some(asked.board.clone()),
        since_seq: Some(asked.after.saturating_add(1)),
        before_seq: asked.before,
        last: Some(MAX_EVENTS),
        ..Filter::default()
    };
    let mut events: Vec<(usize, Value)> = Vec::new();
    each_event(path, &filter, |kept| {
        if let Ok(event) = serde_json::from_str(kept.json) {
            events.push((kept.json.len(), event));
        }
        true
    })
    .map_err(|error| error.to_string())?;
    let looked_at = events.len();
    let mut room = MAX_BYTES;
    let fitting = events.iter().rev().take_while(|(size, _)| {
        let fits = *size <= room;
        room = room.saturating_sub(*size);
        fits
    });
    let count = fitting.count().max(1).min(events.len());
    let more = count < looked_at || looked_at as u64 == MAX_EVENTS;
    let events: Vec<Value> = events
        .drain(looked_at - count..)
        .map(|(_, event)| event)
        .collect();
    Ok(json!({ "board": asked.board, "events": events, "more": more }))
}

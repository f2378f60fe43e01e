//! `history`: the events that a subscriber missed, read from the journal beside its writer.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    event::Event,
    journal::query::{Filter, each_event},
    mqtt::History,
    watcher::Needed,
};

/// How many bytes of events one answer may have. Brokers and clients take packets of this size by default.
const MAX_BYTES: usize = 48 << 10;
/// How many events are looked at for one answer.
const MAX_EVENTS: u64 = 300;

/// How many events one game may have.
const MAX_GAME: u64 = 20_000;

/// The events of an earlier game of `board`, oldest first; none where the journal does not have what `needed` names.
///
/// # Errors
/// When the journal cannot be read.
pub(super) fn game(path: &Path, board: &str, needed: &Needed) -> Result<Vec<Event>, String> {
    let events = |filter: Filter| -> Result<Vec<Event>, String> {
        let filter = Filter {
            board: Some(board.to_owned()),
            ..filter
        };
        let mut events = Vec::new();
        each_event(path, &filter, |kept| {
            events.extend(serde_json::from_str::<Event>(kept.json));
            true
        })
        .map_err(|error| format!("the journal cannot be read now ({error}): try again"))?;
        Ok(events)
    };
    let number = match needed {
        Needed::Game(number) => Some(*number),
        Needed::GameOf(seq) => {
            let found = events(Filter {
                since_seq: Some(*seq),
                before_seq: Some(seq.saturating_add(1)),
                ..Filter::default()
            })?;
            found.first().and_then(|event| event.game)
        }
    };
    let Some(number) = number else {
        return Ok(Vec::new());
    };
    events(Filter {
        game: Some(number),
        last: Some(MAX_GAME),
        ..Filter::default()
    })
}

/// The newest of the wanted events that fit into an answer, oldest first, whether there are older ones, and `game`: the
/// board's state of that name, which may be lost as events may.
///
/// # Errors
/// When the journal cannot be read.
pub(super) fn read(path: &Path, asked: &History, game: Option<&[u8]>) -> Result<Value, String> {
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
    let mut answer = json!({ "board": asked.board, "events": events, "more": more });
    if let Some(game) = game.and_then(|game| serde_json::from_slice::<Value>(game).ok()) {
        answer["game"] = game;
    }
    Ok(answer)
}

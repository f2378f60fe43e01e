//! Short forms of an event that the broker refuses in full.
//!
//! The later events of a board wait for an earlier one, so an event that can never go would hold up its board for good.
//! A short form has the event's number and id and says where the whole event is: the commands `history` and `dgt2mqtt
//! journal` read it from the journal.

mod brief;

use serde_json::{Value, json};
use tokio_util::bytes::Bytes;

use crate::{config::Language, event::notice, journal::OutboxRow};

/// The event as it is published: its texts in these languages alone, an irregularity or an amended ruling within
/// [`brief::MOST_BYTES`].
/// Journal and history have the whole.
pub(super) fn told_in(row: &OutboxRow, languages: &[Language]) -> Form {
    let is_every = Language::ALL.iter().all(|language| languages.contains(language));
    let has_bound = ["irregularity", "ruling_amended"].contains(&row.kind.as_str());
    let is_long = has_bound && row.json.len() > brief::MOST_BYTES;
    let event = (is_long || !is_every).then(|| serde_json::from_slice::<Value>(&row.json));
    let json = match event {
        Some(Ok(mut event)) if event.get("text").is_some() => {
            keep(&mut event, languages);
            if is_long {
                brief::shorten(&mut event);
            }
            Bytes::from(event.to_string())
        }
        _ => row.json.clone(),
    };
    Form {
        kind: row.kind.clone(),
        json,
    }
}

/// A form of an event: its type, which is a part of its topic, and the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) kind: String,
    pub(super) json: Bytes,
}

/// The short forms of an event, the longest first: with texts in one of `languages`, without texts, as a notice.
pub(super) fn forms(row: &OutboxRow, languages: &[Language]) -> Vec<Form> {
    let Ok(event) = serde_json::from_slice::<Value>(&row.json) else {
        return Vec::new();
    };
    let mut forms = vec![stub(&event, row)];
    if event.get("text").is_some() {
        forms.insert(0, without_texts(&event, row));
        if let [first, _, ..] = languages {
            forms.insert(0, in_one(*first, &event, row));
        }
    }
    forms
}

/// The last form: a notice in the place of the event.
pub(super) fn last(row: &OutboxRow) -> Option<Form> {
    forms(row, &[]).pop()
}

fn in_one(language: Language, event: &Value, row: &OutboxRow) -> Form {
    let mut short = event.clone();
    keep(&mut short, &[language]);
    abridged(short, row)
}

/// Leaves the texts in these languages.
fn keep(event: &mut Value, languages: &[Language]) {
    if let Some(text) = event["text"].as_object_mut() {
        text.retain(|name, _| languages.iter().any(|language| language.as_str() == name));
    }
}

fn without_texts(event: &Value, row: &OutboxRow) -> Form {
    let mut short = event.clone();
    short["text"] = json!({});
    if let Some(ruling) = short["ruling"].as_object_mut() {
        ruling.remove("clock_working");
        ruling.remove("clock_alternative");
    }
    abridged(short, row)
}

fn abridged(mut short: Value, row: &OutboxRow) -> Form {
    short["abridged"] = Value::Bool(true);
    short["whole"] = brief::WHERE.into();
    Form {
        kind: row.kind.clone(),
        json: short.to_string().into(),
    }
}

fn stub(event: &Value, row: &OutboxRow) -> Form {
    let message = format!(
        "the broker refuses this {} ({} bytes): `history` or `dgt2mqtt journal` has it",
        row.kind,
        row.json.len()
    );
    let stub = json!({
        "v": event["v"], "id": event["id"], "seq": event["seq"], "type": "notice", "code": notice::EVENT_ABRIDGED,
        "message": message, "board": event["board"], "game": event["game"], "t": event["t"], "time": event["time"],
        "abridged": true, "whole": brief::WHERE,
    });
    Form {
        kind: "notice".to_owned(),
        json: stub.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::Event,
        mqtt::{link::Publication, topic::Topics, unfit::SMALLEST},
    };

    fn row(line: &str) -> OutboxRow {
        let whole: Event = serde_json::from_str(line).unwrap();
        OutboxRow {
            n: 1,
            board: whole.board,
            seq: whole.seq,
            kind: "irregularity".to_owned(),
            json: line.to_owned().into(),
            unsecured: None,
        }
    }

    #[test]
    fn every_form_is_shorter_and_an_event_with_the_same_number() {
        let line = include_str!("../../fixtures/board-sideways.jsonl")
            .lines()
            .find(|line| line.contains(r#""type":"irregularity""#))
            .unwrap();
        let whole: Event = serde_json::from_str(line).unwrap();
        let row = row(line);
        let forms = forms(&row, &Language::ALL);
        assert_eq!(forms.len(), 3);
        let mut size = line.len();
        for form in &forms {
            let event: Event = serde_json::from_slice(&form.json).unwrap();
            assert_eq!((event.seq, &event.id), (whole.seq, &whole.id));
            assert_eq!(event.body.type_name(), form.kind);
            let fields: Value = serde_json::from_slice(&form.json).unwrap();
            assert_eq!(fields["whole"], "history");
            assert!(form.json.len() < size);
            size = form.json.len();
        }
        assert!(size < 400, "{size}");
    }

    #[test]
    fn the_last_form_has_room_in_the_smallest_packet_whatever_the_names() {
        let (base, id) = ("b".repeat(128), "x".repeat(32));
        let topics = Topics::new(&base.parse().unwrap(), &id.parse().unwrap());
        let event = json!({
            "v": 1, "id": format!("{id}/{id}/{}", 1_u64 << 48), "seq": 1_u64 << 48, "type": "irregularity_reopened", "board": id,
            "game": 1_000_000_000, "t": u64::from(u32::MAX) * 1000, "time": "2026-11-23T10:00:00.000Z",
        });
        let row = OutboxRow {
            n: 1,
            board: id.clone(),
            seq: 1 << 48,
            kind: "irregularity_reopened".to_owned(),
            json: vec![b' '; 9_999_999].into(),
            unsecured: None,
        };
        let form = stub(&event, &row);
        let topic = topics.event(&id, &form.kind);
        let bound = Publication::plain(topic, form.json, false).packet_bound();
        assert!(bound <= usize::try_from(SMALLEST).unwrap(), "{bound}");
    }
}

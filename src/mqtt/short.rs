//! Short forms of an event that the broker refuses in full.
//!
//! The later events of a board wait for an earlier one, so an event that can never go would hold up its board for good.
//! A short form has the event's number and id and says where the whole event is: the commands `history` and `dgt2mqtt
//! journal` read it from the journal.

use serde_json::{Value, json};
use tokio_util::bytes::Bytes;

use crate::{config::Language, event::notice, journal::OutboxRow};

/// The event with its texts in these languages alone. Journal and history have all texts.
pub(super) fn told_in(row: &OutboxRow, languages: &[Language]) -> Form {
    let is_whole = Language::ALL.iter().all(|language| languages.contains(language));
    let event = (!is_whole).then(|| serde_json::from_slice::<Value>(&row.json));
    let json = match event {
        Some(Ok(mut event)) if event.get("text").is_some() => {
            keep(&mut event, languages);
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
    Form {
        kind: row.kind.clone(),
        json: short.to_string().into(),
    }
}

fn stub(event: &Value, row: &OutboxRow) -> Form {
    let message = format!(
        "the broker does not take this event of type {} ({} bytes): `history` has it, and `dgt2mqtt journal` on the gateway's machine",
        row.kind,
        row.json.len()
    );
    let stub = json!({
        "v": event["v"], "id": event["id"], "seq": event["seq"], "type": "notice", "code": notice::EVENT_ABRIDGED,
        "message": message, "board": event["board"], "game": event["game"], "t": event["t"], "time": event["time"],
        "abridged": true,
    });
    Form {
        kind: "notice".to_owned(),
        json: stub.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    fn row(line: &str) -> OutboxRow {
        let whole: Event = serde_json::from_str(line).unwrap();
        OutboxRow {
            n: 1,
            board: whole.board,
            seq: whole.seq,
            kind: "irregularity".to_owned(),
            json: line.to_owned().into(),
            is_secured: true,
        }
    }

    #[test]
    fn in_one_language_every_irregularity_of_the_fixtures_has_two_kilobytes_at_most() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        let mut seen = 0;
        for file in files.filter(|file| file.extension().is_some_and(|name| name == "jsonl")) {
            let text = std::fs::read_to_string(&file).unwrap();
            for line in text
                .lines()
                .filter(|line| line.contains(r#""type":"irregularity""#))
            {
                seen += 1;
                let row = row(line);
                let both: Value = serde_json::from_slice(&told_in(&row, &Language::ALL).json).unwrap();
                for language in Language::ALL {
                    let told = told_in(&row, &[language]).json;
                    assert!(told.len() <= 2048, "{} of {line}", told.len());
                    let mut told: Value = serde_json::from_slice(&told).unwrap();
                    assert_eq!(told["text"].as_object().unwrap().len(), 1, "{line}");
                    assert_eq!(told["text"][language.as_str()], both["text"][language.as_str()]);
                    told["text"] = both["text"].clone();
                    assert_eq!(told, both, "nothing else is left out");
                }
            }
        }
        assert!(seen > 100, "{seen}");
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
            assert!(form.json.len() < size);
            size = form.json.len();
        }
        assert!(size < 400, "{size}");
    }
}

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use super::*;
use crate::{
    config::Language,
    event::Irregularity,
    journal::OutboxRow,
    laws::{Edition, Occurrence, words},
    mqtt::short::told_in,
};

/// Each irregularity of the fixtures, as the journal has it where the names are as long as they may be.
fn irregularities() -> Vec<Value> {
    of_type("irregularity")
}

/// Each event of this type of the fixtures.
fn of_type(kind: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|name| name == "jsonl"));
    let events = files.flat_map(|file| {
        let text = fs::read_to_string(file).unwrap();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["type"] == kind).collect::<Vec<_>>()
    });
    events
        .map(|mut event| {
            let (gateway, board) = ("g".repeat(32), "b".repeat(32));
            event["seq"] = 10_000_000.into();
            event["id"] = format!("{gateway}/{board}/10000000").into();
            event["board"] = board.into();
            event["time"] = "2026-11-21T14:00:00.123Z".into();
            event["t"] = 1_234_567.891.into();
            event["at"] = 1_234_566.891.into();
            if kind == "ruling_amended" {
                event["irregularity"] = event["id"].clone();
            }
            event
        })
        .collect()
}

fn told(event: &Value, languages: &[Language]) -> (Value, usize) {
    let row = OutboxRow {
        n: 1,
        board: "7".to_owned(),
        seq: 1,
        kind: event["type"].as_str().unwrap().to_owned(),
        json: event.to_string().into(),
        unsecured: None,
    };
    let json = told_in(&row, languages).json;
    (serde_json::from_slice(&json).unwrap(), json.len())
}

/// Asserts that the sentences of `short` are in `whole`, in this order.
fn assert_sentences(short: &str, whole: &str) {
    let mut rest = whole;
    for sentence in short.split_inclusive(". ").flat_map(|s| s.split(" (")) {
        let sentence = sentence.trim();
        if matches!(
            sentence,
            "Only suspected." | "Probable." | "Лишь подозрение." | "Вероятно."
        ) {
            continue;
        }
        let sentence = sentence.trim_end_matches(['.', ')']);
        let at = rest
            .find(sentence)
            .unwrap_or_else(|| panic!("{sentence:?} is not in {whole:?}"));
        rest = &rest[at + sentence.len()..];
    }
}

#[test]
fn every_irregularity_of_the_fixtures_has_two_kilobytes_at_most_in_all_languages() {
    let (mut kinds, mut short) = (BTreeSet::new(), 0);
    for whole in irregularities() {
        kinds.insert(whole["kind"].as_str().unwrap().to_owned());
        let (mut told, bytes) = told(&whole, &Language::ALL);
        assert!(bytes <= MOST_BYTES, "{bytes}: {told}");
        assert_eq!(told.get("whole").is_some(), told["text"] != whole["text"]);
        short += usize::from(told.get("whole").is_some());
        told.as_object_mut().unwrap().remove("whole");
        for language in Language::ALL {
            let words = |event: &Value| event["text"][language.as_str()].clone();
            assert_eq!(words(&told)["title"], words(&whole)["title"]);
            assert_sentences(
                words(&told)["advice"].as_str().unwrap(),
                words(&whole)["advice"].as_str().unwrap(),
            );
        }
        told["text"] = whole["text"].clone();
        for field in SPARE_FIELDS {
            if let Some(spared) = whole["ruling"].get(field) {
                told["ruling"][field] = spared.clone();
            }
        }
        assert_eq!(told, whole, "every other field is as it was");
    }
    assert!(kinds.len() > 10 && short > 50, "{kinds:?}, {short}");
}

#[test]
fn position_penalty_and_times_are_in_what_is_published() {
    for whole in irregularities() {
        let irregularity: Irregularity = serde_json::from_value(whole.clone()).unwrap();
        // Words of nothing but these.
        let mut bare = irregularity.clone();
        bare.certainty = crate::event::Certainty::Certain;
        let (told, _) = told(&whole, &Language::ALL);
        for (language, text) in words(&Occurrence::of(&bare, Edition::Laws2023)) {
            let mut meant = text.advice;
            for part in spare(&bare, &language) {
                meant = part.out_of(&meant);
            }
            let said = told["text"][&language]["advice"].as_str().unwrap();
            for sentence in meant.split(". ") {
                let sentence = sentence.trim_end_matches('.');
                assert!(said.contains(sentence), "{sentence:?} is not in {said:?}");
            }
        }
        assert_eq!(told["articles"], whole["articles"]);
    }
}

#[test]
fn in_one_language_an_irregularity_of_the_fixtures_is_whole() {
    for mut whole in irregularities() {
        // Names of the usual length.
        (whole["id"], whole["board"]) = ("hall/7/10000".into(), "7".into());
        let (mut told, bytes) = told(&whole, &[Language::En]);
        assert!(bytes <= MOST_BYTES, "{bytes}: {told}");
        assert_eq!(told["text"].as_object().unwrap().len(), 1);
        assert_eq!(told["text"]["en"], whole["text"]["en"]);
        told["text"] = whole["text"].clone();
        assert_eq!(told, whole, "nothing else is left out");
    }
}

#[test]
fn a_ruling_that_was_amended_has_two_kilobytes_at_most_too() {
    let (mut count, mut short) = (0, 0);
    for plain in of_type("ruling_amended") {
        // With the longest note, which an amendment says in its texts alone.
        let note = "ж».”".repeat(125);
        let mut noted = plain.clone();
        for (language, said) in [
            ("en", format!("Note: “{note}”. ")),
            ("ru", format!("Примечание: «{note}». ")),
        ] {
            let advice = &mut noted["text"][language]["advice"];
            let (seen, rest) = advice.as_str().unwrap().split_once(". ").unwrap();
            *advice = format!("{seen}. {said}{rest}").into();
        }
        for whole in [plain, noted] {
            let (mut told, bytes) = told(&whole, &Language::ALL);
            assert!(bytes <= MOST_BYTES, "{bytes}: {told}");
            let is_long = whole.to_string().len() > MOST_BYTES;
            assert_eq!(told.get("whole").is_some(), is_long);
            (count, short) = (count + 1, short + usize::from(is_long));
            told.as_object_mut().unwrap().remove("whole");
            for language in Language::ALL {
                let words = |event: &Value| event["text"][language.as_str()].clone();
                assert_eq!(words(&told)["title"], words(&whole)["title"]);
                assert_sentences(
                    words(&told)["advice"].as_str().unwrap(),
                    words(&whole)["advice"].as_str().unwrap(),
                );
            }
            told["text"] = whole["text"].clone();
            for field in SPARE_FIELDS {
                if let Some(spared) = whole["ruling"].get(field) {
                    told["ruling"][field] = spared.clone();
                }
            }
            assert_eq!(told, whole, "every other field is as it was");
        }
    }
    assert!(count > 20 && short > 20, "{count}, {short}");
}

#[test]
fn a_long_note_is_said_once_and_loses_its_end() {
    let mut whole = irregularities().remove(0);
    let note = "ж".repeat(500);
    whole["note"] = note.clone().into();
    let mut irregularity: Irregularity = serde_json::from_value(whole.clone()).unwrap();
    irregularity.text = words(&Occurrence::of(&irregularity, Edition::Laws2023));
    whole["text"] = serde_json::to_value(&irregularity.text).unwrap();
    let (told, bytes) = told(&whole, &Language::ALL);
    assert!(bytes <= MOST_BYTES, "{bytes}");
    assert_eq!(told["whole"], "history");
    let kept = told["note"].as_str().unwrap();
    assert!(
        kept.chars().count() > 100 && note.starts_with(kept.trim_end_matches('…')),
        "{kept}"
    );
    assert!(!told["text"].to_string().contains("жж"), "{told}");
}

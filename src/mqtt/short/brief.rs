//! An irregularity in 2 kB, with texts in all languages.
//!
//! Nothing is lost that another field does not say, but how the proposed times come about, the rules of the event and, where a person's
//! note is long, the end of it. The whole is in the journal.

use serde_json::Value;

use crate::{
    event::Irregularity,
    laws::{SparePart, spare},
};

/// The most bytes that an irregularity has as it is published.
pub(in crate::mqtt) const MOST_BYTES: usize = 2048;

/// Fields of a ruling that go last: how the proposed times come about, and the rules of the event.
const SPARE_FIELDS: [&str; 3] = ["clock_working", "time_control", "laws"];

/// Leaves out of an irregularity what can be spared, until it is short enough. `whole` then says where the rest is.
pub(super) fn shorten(event: &mut Value) {
    let Ok(irregularity) = serde_json::from_value::<Irregularity>(event.clone()) else {
        return;
    };
    if is_short(event) {
        return;
    }
    event["whole"] = "history".into();
    let spare: Vec<(&String, Vec<SparePart>)> = irregularity
        .text
        .keys()
        .map(|language| (language, spare(&irregularity, language)))
        .collect();
    let most = spare.iter().map(|(_, parts)| parts.len()).max();
    for nth in 0..most.unwrap_or_default() {
        for (language, parts) in &spare {
            let advice = &mut event["text"][language.as_str()]["advice"];
            if let (Some(part), Some(words)) = (parts.get(nth), advice.as_str()) {
                *advice = part.out_of(words).into();
            }
        }
        if is_short(event) {
            return;
        }
    }
    for field in SPARE_FIELDS {
        if is_short(event) {
            return;
        }
        if let Some(ruling) = event["ruling"].as_object_mut() {
            ruling.remove(field);
        }
    }
    cut_note(event);
}

fn is_short(event: &Value) -> bool {
    excess(event) == 0
}

fn excess(event: &Value) -> usize {
    event.to_string().len().saturating_sub(MOST_BYTES)
}

/// Takes the end off a note that is too long.
fn cut_note(event: &mut Value) {
    while let (Some(note), excess @ 1..) = (event["note"].as_str(), excess(event)) {
        // A character may take several bytes, and the mark of the cut takes three.
        let kept = note.len().saturating_sub(excess + '…'.len_utf8());
        let kept = note.floor_char_boundary(kept);
        let shorter = format!("{}…", &note[..kept]);
        if shorter.len() >= note.len() {
            return;
        }
        event["note"] = shorter.into();
    }
}

#[cfg(test)]
mod tests;

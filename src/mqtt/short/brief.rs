//! An irregularity, or a ruling that was amended, in 2 kB, with texts in all languages.
//!
//! Nothing is lost that another field does not say, but how the proposed times come about, the rules of the event and, where a person's
//! note is long, the end of it. The whole is in the journal.

use serde_json::Value;

use crate::{
    event::{Body, Event},
    laws::{SparePart, spare, spare_of_amendment},
};

/// The most bytes that an irregularity or an amended ruling has as it is published.
pub(in crate::mqtt) const MOST_BYTES: usize = 2048;

/// What `whole` says: the command that gives the whole event.
pub(super) const WHERE: &str = "history";

/// Fields of a ruling that go last: how the proposed times come about, and the rules of the event.
const SPARE_FIELDS: [&str; 3] = ["clock_working", "time_control", "laws"];

/// Leaves out of an irregularity, or of a ruling that was amended, what can be spared, until it is short enough. `whole` then
/// says where the rest is.
pub(super) fn shorten(event: &mut Value) {
    let Some(spare) = spare_parts(event) else { return };
    if is_short(event) {
        return;
    }
    event["whole"] = WHERE.into();
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

/// The parts of the texts that can be spared, by language; none where the event is of another kind.
fn spare_parts(event: &Value) -> Option<Vec<(String, Vec<SparePart>)>> {
    match serde_json::from_value::<Event>(event.clone()).ok()?.body {
        Body::Irregularity(it) => {
            let languages = it.text.keys();
            Some(
                languages
                    .map(|language| (language.clone(), spare(&it, language)))
                    .collect(),
            )
        }
        Body::RulingAmended(it) => {
            let languages = it.text.keys();
            Some(
                languages
                    .map(|language| (language.clone(), spare_of_amendment(&it, language)))
                    .collect(),
            )
        }
        _ => None,
    }
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

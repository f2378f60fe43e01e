//! What the words say that the title or other fields of the event say as well.

use super::{Language, Occurrence, en, in_one_line, ru};
use crate::{event::Irregularity, laws::Edition};

/// A part of an advice that can be left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparePart {
    /// As the advice has it.
    pub words: String,
    /// What is put in its place.
    pub instead: &'static str,
}

impl SparePart {
    /// The advice without this part; as it is where it has no such part.
    #[must_use]
    pub fn out_of(&self, advice: &str) -> String {
        let rest = advice.replacen(&self.words, self.instead, 1);
        rest.replace("  ", " ").trim().to_owned()
    }
}

/// The parts of an advice that can be left out, those first that its reader misses least.
///
/// Position, penalty and times are none of them.
#[must_use]
pub fn spare(irregularity: &Irregularity, language: &str) -> Vec<SparePart> {
    let language: &dyn Language = match language {
        "en" => &en::English,
        "ru" => &ru::Russian,
        _ => return Vec::new(),
    };
    // The edition matters to the articles alone: the advice has one of these sentences.
    let occurrence = Occurrence::of(irregularity, Edition::Laws2023);
    let articles = Edition::ALL.map(|edition| language.articles(&irregularity.ruling.articles, edition));
    let mut parts = articles.to_vec();
    parts.push(language.origin(&occurrence));
    let note = irregularity.note.as_deref().and_then(in_one_line);
    parts.extend(note.map(|note| language.note(&note)));
    parts.push(language.fact(&occurrence));
    parts.push(language.raised_by_system().to_owned());
    parts.retain(|part| !part.is_empty());
    let mut parts: Vec<_> = parts
        .into_iter()
        .map(|words| SparePart { words, instead: "" })
        .collect();
    // How far to trust it stays, if only in a word.
    let doubt = language.doubt(&occurrence).map(|words| SparePart {
        words,
        instead: language.doubt_in_a_word(irregularity.certainty),
    });
    let before_last = parts.len() - 1;
    parts.splice(before_last..before_last, doubt);
    parts
}

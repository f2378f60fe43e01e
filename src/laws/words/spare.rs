//! What the words say that the title or other fields of the event say as well.

use super::{Language, Occurrence, en, in_one_line, ru};
use crate::{
    event::{Amendment, Certainty, Irregularity},
    laws::Edition,
    terms::IrregularityKind,
};

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
    let Some(language) = named(language) else {
        return Vec::new();
    };
    // The edition matters to the articles alone: the advice has one of these sentences.
    let occurrence = Occurrence::of(irregularity, Edition::Laws2023);
    let mut parts = articles(language, &irregularity.ruling.articles);
    parts.push(language.origin(&occurrence));
    let note = irregularity.note.as_deref().and_then(in_one_line);
    parts.extend(note.map(|note| language.note(&note)));
    parts.push(language.fact(&occurrence));
    parts.push(language.raised_by_system().to_owned());
    let mut parts = left_out(parts);
    // How far to trust it stays, if only in a word.
    let doubt = language.doubt(&occurrence).map(|words| SparePart {
        words,
        instead: language.doubt_in_a_word(irregularity.certainty),
    });
    let before_last = parts.len() - 1;
    parts.splice(before_last..before_last, doubt);
    // The ruling of a suspicion begins with a word of doubt of its own.
    let is_suspected = irregularity.certainty == Certainty::Suspected;
    parts.extend(is_suspected.then(|| SparePart {
        words: language.doubt_in_a_word(irregularity.certainty).to_owned(),
        instead: "",
    }));
    parts
}

/// The parts of the advice of an amended ruling that can be left out: the irregularity that it amends has said them. The amendment
/// does not say what the irregularity was, so the first sentence stands for what was seen: every advice has one.
#[must_use]
pub fn spare_of_amendment(amendment: &Amendment, language: &str) -> Vec<SparePart> {
    let (Some(words), Some(language)) = (amendment.text.get(language), named(language)) else {
        return Vec::new();
    };
    let occurrence = |certainty| Occurrence {
        kind: IrregularityKind::Other,
        reason: None,
        offender: None,
        certainty,
        edition: Edition::Laws2023,
        offence_number: amendment.offence_number,
        act: None,
        squares: &[],
        advice: &amendment.ruling,
        raised_by_system: false,
        mate_undetermined: false,
        first_flag: None,
        note: None,
    };
    let mut parts = articles(language, &amendment.ruling.articles);
    parts.push(language.origin(&occurrence(Certainty::Certain)));
    parts.extend(quoted(&words.advice, &language.note("\0")));
    let doubts = [Certainty::Probable, Certainty::Suspected].map(|certainty| SparePart {
        words: language.doubt(&occurrence(certainty)).unwrap_or_default(),
        instead: language.doubt_in_a_word(certainty),
    });
    let seen = doubts
        .iter()
        .find_map(|doubt| words.advice.strip_prefix(&doubt.words))
        .unwrap_or(&words.advice);
    let first = seen.trim().split_inclusive(". ").next();
    parts.extend(first.map(|first| first.trim().to_owned()));
    let mut parts = left_out(parts);
    parts.extend(doubts);
    parts.extend(left_out(vec![language.raised_by_system().to_owned()]));
    parts
}

fn named(language: &str) -> Option<&'static dyn Language> {
    match language {
        "en" => Some(&en::English),
        "ru" => Some(&ru::Russian),
        _ => None,
    }
}

/// The sentence of the articles in each edition.
fn articles(language: &dyn Language, articles: &[String]) -> Vec<String> {
    Edition::ALL
        .map(|edition| language.articles(articles, edition))
        .to_vec()
}

fn left_out(mut parts: Vec<String>) -> Vec<SparePart> {
    parts.retain(|part| !part.is_empty());
    let parts = parts.into_iter();
    parts.map(|words| SparePart { words, instead: "" }).collect()
}

/// The sentence of `advice` in the form of `sentence`, which has a nought where another text stands in the advice.
fn quoted(advice: &str, sentence: &str) -> Option<String> {
    let (before, after) = sentence.split_once('\0')?;
    let begin = advice.find(before)?;
    let end = advice.rfind(after)? + after.len();
    advice.get(begin..end).map(str::to_owned)
}

//! The arbiter's page: the people who may open it, and their roles.

use std::{collections::HashSet, path::PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{Secret, checked::secret_file, read::Document};

/// The longest name of a person, in characters.
pub const MAX_NAME: usize = 64;
/// How many people the configuration may name, more than any event has.
const MAX_PEOPLE: usize = 200;
/// The fewest characters of a token.
const MIN_TOKEN: usize = 16;

/// The role of a person on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May do everything.
    Arbiter,
    /// May keep the boards going, and gives neither rulings nor results.
    Operator,
    /// May only look.
    ReadOnly,
}

/// A person who may open the page with a token of his own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name that is written beside what the person did.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// The token that the person shows.
    pub token: Secret,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawDashboard {
    people: Vec<Spanned<RawPerson>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawPerson {
    name: Option<Spanned<String>>,
    role: Option<Role>,
    token_file: Option<Spanned<PathBuf>>,
}

/// True where a text will do as a token: it becomes part of an address and of a cookie, and nobody must be able to
/// guess it.
#[must_use]
pub fn is_token(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    text.len() >= MIN_TOKEN && text.chars().all(fits)
}

/// True where a text will do as the name of a person.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control)
}

/// The people who may open the page; every problem is noted in `document`.
pub(super) fn people(raw: &RawDashboard, document: &mut Document<'_>) -> Vec<Person> {
    if let Some(one) = raw.people.get(MAX_PEOPLE) {
        let help = format!("{MAX_PEOPLE} are possible; several people may share a link");
        document.problem(one.span(), "there are too many people", help);
    }
    let mut seen = Seen::default();
    let people = raw.people.iter().take(MAX_PEOPLE);
    people
        .filter_map(|raw| person(raw, &mut seen, document))
        .collect()
}

/// The names and tokens so far: no two people may share one.
#[derive(Default)]
struct Seen {
    names: HashSet<String>,
    tokens: HashSet<String>,
}

fn person(raw: &Spanned<RawPerson>, seen: &mut Seen, document: &mut Document<'_>) -> Option<Person> {
    let span = raw.span();
    let raw = raw.get_ref();
    let (Some(name), Some(role), Some(file)) = (&raw.name, raw.role, &raw.token_file) else {
        document.missing(
            Some(span),
            "a person needs `name`, `role` and `token_file`",
            "`role` is \"arbiter\", \"operator\" or \"read_only\"; `token_file` holds a token and nothing else",
        );
        return None;
    };
    if !is_name(name.get_ref()) {
        let help = format!("write 1 to {MAX_NAME} letters, without line breaks");
        document.problem(name.span(), format!("{:?} is no name", name.get_ref()), help);
        return None;
    }
    if !seen.names.insert(name.get_ref().clone()) {
        let what = format!("two people are called {:?}", name.get_ref());
        document.problem(
            name.span(),
            what,
            "what each does is written down by the name: give each his own",
        );
        return None;
    }
    let token = secret_file(file, document)?;
    if !is_token(token.reveal()) {
        document.problem(
            file.span(),
            format!("the token of {:?} could be guessed, or does not fit into an address", name.get_ref()),
            format!("write {MIN_TOKEN} letters and digits at least: head -c 24 /dev/urandom | base64 | tr -d '+/=' > FILE"),
        );
        return None;
    }
    if !seen.tokens.insert(token.reveal().to_owned()) {
        let what = format!("{:?} has the token of somebody else", name.get_ref());
        document.problem(
            file.span(),
            what,
            "give each a token of his own, so that one can be taken back alone",
        );
        return None;
    }
    Some(Person {
        name: name.get_ref().clone(),
        role,
        token,
    })
}

//! Turns text and environment into the raw shape.
//!
//! serde stops at the first mistake, but a person wants to see them all. So this module notes what serde refuses, takes
//! it out of the document, and reads the rest again.

use std::{
    borrow::Cow,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue, Deserializer},
};

use serde::de::DeserializeOwned;

use super::{Env, Problem, ProblemPlace, Problems, hint, problem::nearest};

/// The words of the TOML library where it wanted one of several names.
const WANTS_NAME: &str = "wanted string or table";
const DOCUMENTATION: &str = "the keys and their values are described in docs/configuration.md";

/// A configuration file while it is being read: its text, and the problems found.
pub(super) struct Document<'t> {
    text: &'t str,
    path: PathBuf,
    /// Names of the variables that override keys. Variable `i` owns the two places after the end
    /// of the text, for key and value, so that one kind of span serves both sources.
    variables: Vec<String>,
    /// The table of the gateway that is read, in the file of a whole hall: what is missing is missing there.
    table: Option<Range<usize>>,
    problems: Problems,
}

impl<'t> Document<'t> {
    pub(super) fn new(text: &'t str, path: &Path) -> Self {
        Self {
            text,
            path: path.to_owned(),
            variables: Vec::new(),
            table: None,
            problems: Problems::default(),
        }
    }

    /// The tables of the file; none when it is not TOML at all.
    pub(super) fn parse(&mut self) -> Option<Spanned<DeTable<'t>>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let help = "the file must be TOML: texts in quotes, tables in [brackets], one key = value a line";
            let span = error.span().unwrap_or_default();
            let help = hint::of_line(self.text, &span, error.message()).unwrap_or_else(|| help.to_owned());
            self.problem(span, error.message(), help);
        }
        errors.is_empty().then_some(table)
    }

    /// The raw shape of everything that could be read in `table`, with what variables override.
    pub(super) fn shape<T: DeserializeOwned>(
        &mut self,
        mut table: Spanned<DeTable<'t>>,
        env: &'t Env,
    ) -> Option<T> {
        for (name, path, value) in env.overrides() {
            self.override_key(table.get_mut(), name, &path, value);
        }
        loop {
            let error = match T::deserialize(Deserializer::from(table.clone())) {
                Ok(raw) => return Some(raw),
                Err(error) => error,
            };
            let span = error.span().unwrap_or_default();
            // A variable is text at first. If the key wants a number or a truth value, the text of the variable has to
            // be one.
            let wants_other = error.message().starts_with("invalid type: string");
            if wants_other && self.is_variable(&span) && reinterpret(table.get_mut(), &span) {
                continue;
            }
            self.refused(&span, error.message());
            if !remove_from_table(table.get_mut(), &span) {
                return None;
            }
        }
    }

    /// Notes a problem at a span.
    pub(super) fn problem(&mut self, span: Range<usize>, what: impl Into<String>, help: impl Into<String>) {
        let place = self.place(&span);
        self.problems.push(Problem {
            place,
            what: what.into(),
            help: help.into(),
        });
    }

    /// Notes that something is missing, unless that part has another problem. It may have been written with a mistake
    /// that is reported already.
    pub(super) fn missing(&mut self, span: Option<Range<usize>>, what: &str, help: &str) {
        let may_be_there = match &span {
            Some(span) => self.has_problem_in(&hint::table_around(self.text, span)),
            None => !self.problems.is_empty(),
        };
        if may_be_there {
            return;
        }
        match span.or_else(|| self.table.clone()) {
            Some(span) => self.problem(span, what, help),
            None => self.whole(what, help),
        }
    }

    /// Notes a problem of the file as a whole.
    pub(super) fn whole(&mut self, what: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem {
            place: ProblemPlace::Whole(self.path.clone()),
            what: what.into(),
            help: help.into(),
        });
    }

    /// Says which table of the file is read: that of one gateway of a hall.
    pub(super) fn within(&mut self, table: Range<usize>) {
        self.table = Some(table);
    }

    pub(super) fn into_problems(mut self) -> Problems {
        self.problems.sort();
        self.problems
    }

    /// True where the value came from the environment and not from the file.
    pub(super) fn is_variable(&self, span: &Range<usize>) -> bool {
        span.start > self.text.len()
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path in the file is relative to the file's folder.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        match self.path.parent() {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }

    /// True where these lines, or the environment, have a problem.
    fn has_problem_in(&self, span: &Range<usize>) -> bool {
        let line = |at: usize| self.text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let (first, last) = (line(span.start), line(span.end.min(self.text.len())));
        self.problems.iter().any(|problem| match &problem.place {
            ProblemPlace::File { line, .. } => (first..=last).contains(line),
            ProblemPlace::Variable(_) => true,
            ProblemPlace::Whole(_) => false,
        })
    }

    fn place(&self, span: &Range<usize>) -> ProblemPlace {
        if self.is_variable(span) {
            let index = (span.start - self.text.len() - 1) / 2;
            return ProblemPlace::Variable(self.variables.get(index).cloned().unwrap_or_default());
        }
        let before = self.text.get(..span.start).unwrap_or_default();
        ProblemPlace::File {
            path: self.path.clone(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
        }
    }

    /// Notes what serde refused, in words for a person, and what was probably meant.
    fn refused(&mut self, span: &Range<usize>, message: &str) {
        let mut quoted = message.split('`').skip(1).step_by(2);
        let wrong = quoted.next().unwrap_or_default();
        let known: Vec<&str> = quoted.collect();
        let unknown_key = message.starts_with("unknown field");
        if !unknown_key && !message.starts_with("unknown variant") {
            // The value is there, and its own problem was noted.
            if message.starts_with("missing field") && self.has_problem_in(span) {
                return;
            }
            let is_secret = hint::may_be_secret(self.text, span);
            let unquoted = self.unquoted(span, message);
            let help = unquoted
                .map(|text| if is_secret { "..." } else { text })
                .map(|text| format!("write it in quotes: \"{text}\""))
                .or_else(|| hint::instead(self.text, span, message))
                .unwrap_or_else(|| DOCUMENTATION.to_owned());
            let what = match is_secret {
                true => in_words(&hint::without_value(message)),
                false => in_words(message),
            };
            return self.problem(span.clone(), what, help);
        }
        let what = if unknown_key {
            format!("the key `{wrong}` is unknown here")
        } else {
            format!("`{wrong}` is none of the values that this key can have")
        };
        let help = match nearest(wrong, &known) {
            _ if unknown_key && hint::is_of_broadcast(wrong, &known) => {
                format!(
                    "`{wrong}` stands in [broadcast]; possible here are: {}",
                    known.join(", ")
                )
            }
            Some(meant) => format!("did you mean `{meant}`? possible are: {}", known.join(", ")),
            None if known.is_empty() => DOCUMENTATION.to_owned(),
            None => format!("possible are: {}", known.join(", ")),
        };
        self.problem(span.clone(), what, help);
    }

    /// The number or truth value at `span`, where a text was wanted.
    fn unquoted(&self, span: &Range<usize>, message: &str) -> Option<&str> {
        let wants_text = ["a string", "a path string", WANTS_NAME]
            .iter()
            .any(|wanted| message.ends_with(wanted));
        let is_literal = |text: &&str| text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok();
        self.text
            .get(span.clone())
            .filter(|text| wants_text && is_literal(text))
    }

    /// Sets the key that a variable's name leads to.
    fn override_key<'v>(&mut self, root: &mut DeTable<'v>, name: &str, path: &[String], value: &'v str) {
        let start = self.text.len() + 1 + 2 * self.variables.len();
        self.variables.push(name.to_owned());
        let key_span = start..start;
        let value_span = start + 1..start + 1;
        let value = Spanned::new(value_span, DeValue::String(Cow::Borrowed(value)));
        if insert(root, path, &key_span, value).is_err() {
            let help = "write DGT2MQTT__TABLE__KEY; boards and elements of lists have their number, from 0 and without gaps, \
                        as in DGT2MQTT__BOARD__0__PORT";
            self.problem(key_span, "the name leads to no key", help);
        }
    }
}

/// The variable's name leads to no key.
struct NoSuchKey;

fn insert<'v>(
    table: &mut DeTable<'v>,
    path: &[String],
    key_span: &Range<usize>,
    value: Spanned<DeValue<'v>>,
) -> Result<(), NoSuchKey> {
    let [first, rest @ ..] = path else {
        return Err(NoSuchKey);
    };
    let key = Spanned::new(key_span.clone(), first.clone().into());
    let Some(second) = rest.first() else {
        table.remove(first.as_str());
        table.insert(key, value);
        return Ok(());
    };
    let index = second.parse::<usize>().ok();
    let within = table.entry(key).or_insert_with(|| {
        let empty = match index {
            Some(_) => DeValue::Array(DeArray::new()),
            None => DeValue::Table(DeTable::new()),
        };
        Spanned::new(key_span.clone(), empty)
    });
    match (within.get_mut(), index) {
        (DeValue::Table(table), _) => insert(table, rest, key_span, value),
        (DeValue::Array(array), Some(index)) if index <= array.len() && rest.len() == 1 => {
            match array.get_mut(index) {
                Some(element) => *element = value,
                None => array.push(value),
            }
            Ok(())
        }
        (DeValue::Array(array), Some(index)) if index <= array.len() => {
            if index == array.len() {
                array.push(Spanned::new(key_span.clone(), DeValue::Table(DeTable::new())));
            }
            match array.get_mut(index).map(Spanned::get_mut) {
                Some(DeValue::Table(table)) => insert(table, &rest[1..], key_span, value),
                _ => Err(NoSuchKey),
            }
        }
        _ => Err(NoSuchKey),
    }
}

/// Reads the text at `span` as a TOML number or truth value, if it is one.
fn reinterpret(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    table.iter_mut().any(|(_, value)| reinterpret_value(value, span))
}

fn reinterpret_value(value: &mut Spanned<DeValue<'_>>, span: &Range<usize>) -> bool {
    let here = value.span() == *span;
    match value.get_mut() {
        DeValue::Table(table) => reinterpret(table, span),
        DeValue::Array(array) => array.iter_mut().any(|element| reinterpret_value(element, span)),
        DeValue::String(Cow::Borrowed(text)) if here => match DeValue::parse(text).map(Spanned::into_inner) {
            Ok(literal @ (DeValue::Integer(_) | DeValue::Boolean(_))) => {
                *value.get_mut() = literal;
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Removes the key, value or element at `span`.
fn remove_from_table(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let found = table
        .iter()
        .find(|(key, value)| key.span() == *span || value.span() == *span)
        .map(|(key, _)| key.get_ref().to_string());
    match found {
        Some(key) => table.remove(key.as_str()).is_some(),
        None => table
            .iter_mut()
            .any(|(_, value)| remove_from_value(value.get_mut(), span)),
    }
}

fn remove_from_value(value: &mut DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => remove_from_table(table, span),
        DeValue::Array(array) => {
            if array.iter().any(|element| element.span() == *span) {
                let mut rest = DeArray::new();
                array
                    .iter()
                    .filter(|element| element.span() != *span)
                    .for_each(|element| rest.push(element.clone()));
                *array = rest;
                return true;
            }
            array
                .iter_mut()
                .any(|element| remove_from_value(element.get_mut(), span))
        }
        _ => false,
    }
}

/// serde's message without the names of Rust's types.
fn in_words(message: &str) -> String {
    let mut words = message.to_owned();
    for (type_name, meaning) in [
        ("expected a boolean", "expected true or false"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected a path string", "expected a text in quotes"),
        (WANTS_NAME, "expected a text in quotes"),
        ("expected a string", "expected a text in quotes"),
    ] {
        words = words.replace(type_name, meaning);
    }
    if let Some(start) = words.find("expected struct ") {
        words.truncate(start);
        words.push_str("expected a table");
    }
    words
}

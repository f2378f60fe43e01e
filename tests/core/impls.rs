//! No type of the recogniser has its methods in many files: each concern has a type, or functions that take what they need.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proc_macro2::{Delimiter, TokenTree};

use crate::rooms::without_tests;

/// In so many files a type may have its methods.
const MOST: usize = 3;

/// The types for which `tokens`, a file, have an `impl` of their own, not one of a trait.
fn has_methods_of(tokens: &[TokenTree]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        if !matches!(token, TokenTree::Ident(word) if word == "impl") {
            continue;
        }
        let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let (mut name, mut depth, mut of_trait) = (None, 0, false);
        for token in tokens[at + 1..].iter().take_while(|token| !is_body(token)) {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
                TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
                TokenTree::Ident(word) if depth == 0 && word == "for" => of_trait = true,
                TokenTree::Ident(word) if depth == 0 => name = Some(word.to_string()),
                _ => {}
            }
        }
        found.extend(name.filter(|_| !of_trait));
    }
    found
}

/// The files below `folder` that have methods of each type.
fn note(folder: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            note(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for name in has_methods_of(&without_tests(text.parse().unwrap())) {
                *found.entry(name).or_default() += 1;
            }
        }
    }
}

#[test]
fn no_type_of_the_recogniser_has_its_methods_in_more_than_three_files() {
    let mut found = BTreeMap::new();
    for room in ["watcher", "board"] {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        note(&src.join(room), &mut found);
    }
    assert!(found["Game"] > 1, "the methods of a game are found: {found:?}");
    let many: BTreeMap<_, _> = found.iter().filter(|(_, files)| **files > MOST).collect();
    assert!(
        many.is_empty(),
        "types with methods in more than {MOST} files: {many:?}"
    );
}

#[test]
fn methods_are_told_from_those_of_a_trait() {
    let code =
        "impl Core { } impl<'a> super::View<'a> { } impl From<Core> for Line { } fn f() -> impl Iterator { }";
    let found = has_methods_of(&without_tests(code.parse().unwrap()));
    assert!(
        ["Core", "View"].iter().all(|name| found.contains(*name)),
        "{found:?}"
    );
    assert!(!found.contains("Line") && !found.contains("From"), "{found:?}");
}

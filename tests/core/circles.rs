//! No files of the recogniser call each other in a circle: whoever reads one has read what it calls once he has read on.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proc_macro2::{Delimiter, TokenTree};

use crate::rooms::without_tests;

/// Functions of ours with the names of those of libraries.
const OF_LIBRARIES: [&str; 1] = ["without"];

/// What a file defines as functions, and what it calls.
#[derive(Default)]
struct Calls {
    defines: BTreeSet<String>,
    calls: BTreeSet<String>,
}

impl Calls {
    /// Takes in `tokens`, also those within brackets and braces.
    fn read(&mut self, tokens: &[TokenTree]) {
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => {
                    let within: Vec<_> = group.stream().into_iter().collect();
                    let mut inner = Self::default();
                    inner.read(&within);
                    self.calls.append(&mut inner.calls);
                    // What a trait names is called by that name wherever the trait is known.
                    if !is_of_trait(&tokens[..at]) {
                        self.defines.append(&mut inner.defines);
                    }
                }
                TokenTree::Ident(name) => {
                    let before = at.checked_sub(1).map(|at| &tokens[at]);
                    let is_defined = matches!(before, Some(TokenTree::Ident(word)) if word == "fn");
                    let is_called = matches!(tokens.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                    if is_defined {
                        self.defines.insert(name.to_string());
                    } else if is_called {
                        self.calls.insert(name.to_string());
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

/// True where a group of braces after `tokens` is what a type has of a trait.
fn is_of_trait(tokens: &[TokenTree]) -> bool {
    let is_body = |token: &&TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    let is = |token: &TokenTree, wanted: &str| matches!(token, TokenTree::Ident(word) if word == wanted);
    let item: Vec<_> = tokens.iter().rev().take_while(|token| !is_body(token)).collect();
    let begins = item.iter().position(|token| is(token, "impl"));
    begins.is_some_and(|begins| item[..begins].iter().any(|token| is(token, "for")))
}

/// The files below `folder`, by their paths within `src`.
fn read(folder: &Path, src: &Path, files: &mut BTreeMap<String, Calls>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, src, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(src).unwrap().display().to_string();
            let calls = files.entry(name).or_default();
            calls.read(&without_tests(text.parse().unwrap()));
        }
    }
}

/// Which file calls which, by functions that only one file of `files` defines.
fn arrows(files: &BTreeMap<String, Calls>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, calls) in files {
        let own = calls
            .defines
            .iter()
            .filter(|name| !OF_LIBRARIES.contains(&name.as_str()));
        for name in own {
            homes.entry(name).or_default().push(file);
        }
    }
    let called = |file: &str, calls: &Calls| -> BTreeSet<&str> {
        let names = calls.calls.iter();
        let only = names.filter_map(|name| match homes.get(name.as_str())?[..] {
            [home] => Some(home),
            _ => None,
        });
        only.filter(|home| *home != file).collect()
    };
    let arrows = files
        .iter()
        .map(|(file, calls)| (file.as_str(), called(file, calls)));
    arrows.collect()
}

/// The files that are left once those that call none of the rest are gone, and those that none of the rest calls.
fn in_circles<'f>(arrows: &BTreeMap<&'f str, BTreeSet<&'f str>>) -> BTreeSet<&'f str> {
    let mut left: BTreeSet<&str> = arrows.keys().copied().collect();
    loop {
        let calls = |file: &str| arrows[file].iter().any(|other| left.contains(other));
        let is_called = |file: &str| left.iter().any(|other| arrows[other].contains(file));
        let rest: BTreeSet<&str> = left
            .iter()
            .copied()
            .filter(|file| calls(file) && is_called(file))
            .collect();
        if rest.len() == left.len() {
            return left;
        }
        left = rest;
    }
}

#[test]
fn the_files_of_a_room_of_the_recogniser_call_each_other_in_no_circle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    read(&src, &src, &mut files);
    let arrows = arrows(&files);
    assert!(arrows["watcher/game/judge.rs"].contains("watcher/game/settle.rs"));
    for room in ["board/", "watcher/clock", "watcher/game/", "watcher/core/"] {
        let here = |file: &&str| file.starts_with(room);
        let inside = arrows
            .iter()
            .filter(|(file, _)| here(file))
            .map(|(file, called)| {
                let called = called.iter().copied().filter(|other| here(other));
                (*file, called.collect::<BTreeSet<_>>())
            });
        let inside: BTreeMap<_, _> = inside.collect();
        let circles = in_circles(&inside);
        let told = inside.iter().filter(|(file, _)| circles.contains(*file));
        let told: Vec<_> = told.map(|(file, called)| (file, called & &circles)).collect();
        assert!(circles.is_empty(), "{room}: {told:#?}");
    }
}

#[test]
fn a_circle_is_found() {
    let files = [
        "fn a() { b(1) }",
        "fn b() { x.c() }",
        "fn c() { S::a(x) } fn d() { e() }",
        "fn e() {}",
    ];
    let files = files.iter().enumerate().map(|(i, text)| {
        let mut calls = Calls::default();
        calls.read(&without_tests(text.parse().unwrap()));
        (i.to_string(), calls)
    });
    let files = files.collect();
    assert_eq!(in_circles(&arrows(&files)), BTreeSet::from(["0", "1", "2"]));
}

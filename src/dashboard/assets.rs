//! The files of the page. They are inside the program, because a hall may have no internet.

use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

/// Each file's path, type and content.
const FILES: [(&str, &str, &str); 35] = [
    ("/style.css", CSS, include_str!("page/style.css")),
    ("/boards.css", CSS, include_str!("page/boards.css")),
    ("/game.css", CSS, include_str!("page/game.css")),
    ("/wall.css", CSS, include_str!("page/wall.css")),
    ("/print.css", CSS, include_str!("page/print.css")),
    ("/login.js", JAVASCRIPT, include_str!("page/login.js")),
    ("/app.js", JAVASCRIPT, include_str!("page/app.js")),
    ("/dom.js", JAVASCRIPT, include_str!("page/dom.js")),
    ("/words.js", JAVASCRIPT, include_str!("page/words.js")),
    ("/russian.js", JAVASCRIPT, include_str!("page/russian.js")),
    ("/board.js", JAVASCRIPT, include_str!("page/board.js")),
    ("/grid.js", JAVASCRIPT, include_str!("page/grid.js")),
    ("/near.js", JAVASCRIPT, include_str!("page/near.js")),
    ("/find.js", JAVASCRIPT, include_str!("page/find.js")),
    ("/shown.js", JAVASCRIPT, include_str!("page/shown.js")),
    ("/ask.js", JAVASCRIPT, include_str!("page/ask.js")),
    ("/answers.js", JAVASCRIPT, include_str!("page/answers.js")),
    ("/cases.js", JAVASCRIPT, include_str!("page/cases.js")),
    ("/game.js", JAVASCRIPT, include_str!("page/game.js")),
    ("/edit.js", JAVASCRIPT, include_str!("page/edit.js")),
    ("/detail.js", JAVASCRIPT, include_str!("page/detail.js")),
    ("/pairings.css", CSS, include_str!("page/pairings.css")),
    ("/pairings.js", JAVASCRIPT, include_str!("page/pairings.js")),
    ("/results.js", JAVASCRIPT, include_str!("page/results.js")),
    ("/renumber.js", JAVASCRIPT, include_str!("page/renumber.js")),
    ("/begin.js", JAVASCRIPT, include_str!("page/begin.js")),
    ("/beginning.js", JAVASCRIPT, include_str!("page/beginning.js")),
    ("/binding.js", JAVASCRIPT, include_str!("page/binding.js")),
    ("/tables.js", JAVASCRIPT, include_str!("page/tables.js")),
    ("/history.js", JAVASCRIPT, include_str!("page/history.js")),
    ("/sight.js", JAVASCRIPT, include_str!("page/sight.js")),
    ("/wall.js", JAVASCRIPT, include_str!("page/wall.js")),
    ("/lock.js", JAVASCRIPT, include_str!("page/lock.js")),
    ("/outage.js", JAVASCRIPT, include_str!("page/outage.js")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];
/// The files for a browser without a token.
const PUBLIC: [&str; 3] = ["/style.css", "/login.js", "/icon.svg"];

/// The page.
pub(super) fn index() -> Html<&'static str> {
    Html(include_str!("page/index.html"))
}

/// The form that asks for the token.
pub(super) fn login() -> Html<&'static str> {
    Html(include_str!("page/login.html"))
}

/// A file of the page.
pub(super) fn file(path: &str) -> Response {
    match FILES.iter().find(|(name, _, _)| *name == path) {
        Some((_, kind, text)) => ([(header::CONTENT_TYPE, *kind)], *text).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A file that needs no token.
pub(super) fn public(path: &str) -> Option<Response> {
    PUBLIC.contains(&path).then(|| file(path))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The phrases by their keys, each with the texts behind it.
    fn phrases() -> BTreeMap<String, Vec<String>> {
        let words = include_str!("page/words.js");
        let table = words.split("const WORDS = {").nth(1).unwrap();
        let table = table.split("\n};").next().unwrap();
        let mut phrases = BTreeMap::new();
        for part in table.split("],") {
            let Some((key, texts)) = part.split_once(": [") else {
                continue;
            };
            let key = key.trim().trim_matches('"').to_owned();
            let texts = texts.trim_end_matches([']', '\n', ' ', ',']);
            let texts = texts
                .strip_prefix('"')
                .and_then(|texts| texts.strip_suffix('"'))
                .unwrap();
            let texts = texts.split("\", \"").map(str::to_owned).collect();
            phrases.insert(key, texts);
        }
        phrases
    }

    fn slots(text: &str) -> Vec<&str> {
        let mut slots: Vec<_> = text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split('}').next())
            .collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn every_phrase_is_there_in_english_and_russian() {
        let phrases = phrases();
        assert!(phrases.len() > 200, "{}", phrases.len());
        for (key, texts) in &phrases {
            let [english, russian] = &texts[..] else {
                panic!("{key}: {texts:?}")
            };
            // Pawns have no letter.
            assert_eq!(english.is_empty(), russian.is_empty(), "{key}");
            // In Russian a side has two words.
            if !["penalty_time", "done"].contains(&key.as_str()) {
                assert_eq!(slots(english), slots(russian), "{key}");
            }
        }
    }

    #[test]
    fn every_phrase_that_the_page_says_is_there() {
        let phrases = phrases();
        for (file, _, text) in FILES.iter().filter(|(_, kind, _)| *kind == JAVASCRIPT) {
            for (place, call) in text.match_indices("t(\"") {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '.';
                if text[..place].ends_with(is_name) {
                    continue; // another function
                }
                let key = text[place + call.len()..].split('"').next().unwrap();
                assert!(phrases.contains_key(key), "{file} says {key}");
            }
        }
    }

    /// The codes of a table of `russian.js`.
    fn in_russian(table: &str) -> BTreeSet<&'static str> {
        let words = include_str!("page/russian.js");
        let (_, table) = words.split_once(&format!("const {table} = {{\n")).unwrap();
        let (table, _) = table.split_once("\n};").unwrap();
        let code = |line: &'static str| line.trim().split_once(": \"").unwrap().0;
        table.lines().map(code).collect()
    }

    #[test]
    fn every_notice_has_russian_words() {
        let mut notices: BTreeSet<&str> = crate::event::notice::ALL.iter().copied().collect();
        notices.insert("board_disconnected");
        assert_eq!(in_russian("NOTICES"), notices);
    }

    /// The codes that the function `code` of a source file names.
    fn codes(source: &'static str) -> Vec<&'static str> {
        let mut codes = Vec::new();
        for function in source.split("fn code(").skip(1) {
            let body = function.split("\n    }\n").next().unwrap();
            let texts = body.split("=> \"").skip(1);
            codes.extend(texts.map(|text| text.split('"').next().unwrap()));
        }
        assert!(!codes.is_empty());
        codes
    }

    #[test]
    fn every_refusal_has_russian_words() {
        let refusals = in_russian("REFUSALS");
        for source in [
            include_str!("../mqtt/command.rs"),
            include_str!("../watcher/command.rs"),
            include_str!("../watcher/not_now.rs"),
            include_str!("../gateway/desk.rs"),
            include_str!("listener.rs"),
            include_str!("hall/gone.rs"),
        ] {
            for code in codes(source) {
                assert!(refusals.contains(code), "{code}");
            }
        }
    }
}

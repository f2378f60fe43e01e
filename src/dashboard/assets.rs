//! The files of the page, inside the program: a hall may have no internet.

use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

/// Path, type and content.
const FILES: [(&str, &str, &str); 14] = [
    ("/style.css", CSS, include_str!("page/style.css")),
    ("/boards.css", CSS, include_str!("page/boards.css")),
    ("/print.css", CSS, include_str!("page/print.css")),
    ("/login.js", JAVASCRIPT, include_str!("page/login.js")),
    ("/app.js", JAVASCRIPT, include_str!("page/app.js")),
    ("/dom.js", JAVASCRIPT, include_str!("page/dom.js")),
    ("/words.js", JAVASCRIPT, include_str!("page/words.js")),
    ("/board.js", JAVASCRIPT, include_str!("page/board.js")),
    ("/grid.js", JAVASCRIPT, include_str!("page/grid.js")),
    ("/detail.js", JAVASCRIPT, include_str!("page/detail.js")),
    ("/pairings.css", CSS, include_str!("page/pairings.css")),
    ("/pairings.js", JAVASCRIPT, include_str!("page/pairings.js")),
    ("/history.js", JAVASCRIPT, include_str!("page/history.js")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];
/// What somebody without a token may have.
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

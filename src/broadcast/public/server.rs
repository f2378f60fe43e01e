//! The server of the public's view: everybody may read, and nobody may do more.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

use super::game::{Page, Pages};
use crate::door;

type Shown = watch::Receiver<Arc<Pages>>;

const HTML: &str = "text/html; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JSON: &str = "application/json";
const PGN: &str = "application/x-chess-pgn; charset=utf-8";

/// Each file's path, type and content. The view draws the board as the arbiter's page does.
const FILES: [(&str, &str, &str); 7] = [
    ("/public.js", JAVASCRIPT, include_str!("page/public.js")),
    ("/overlay.js", JAVASCRIPT, include_str!("page/overlay.js")),
    ("/public.css", CSS, include_str!("page/public.css")),
    (
        "/board.js",
        JAVASCRIPT,
        include_str!("../../dashboard/page/board.js"),
    ),
    ("/dom.js", JAVASCRIPT, include_str!("../../dashboard/page/dom.js")),
    (
        "/words.js",
        JAVASCRIPT,
        include_str!("../../dashboard/page/words.js"),
    ),
    (
        "/icon.svg",
        "image/svg+xml",
        include_str!("../../dashboard/page/icon.svg"),
    ),
];
/// The place in the page for the drawings of the pieces.
const PIECES: &str = "<!-- pieces -->";
/// The policy for the browser: nothing from other hosts, and nothing inline. Other sites may show the view in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'";

/// Serves the pages until `stop`.
pub(super) async fn serve(listener: TcpListener, pages: Shown, stop: CancellationToken) {
    let mut router = Router::new()
        .route(
            "/",
            get(async |headers: HeaderMap| page(include_str!("page/index.html"), &headers)),
        )
        .route(
            "/overlay",
            get(async |headers: HeaderMap| page(include_str!("page/overlay.html"), &headers)),
        )
        .route("/api/round", get(round))
        .route("/api/game/{number}", get(game))
        .route("/games.pgn", get(pgn));
    for (path, kind, text) in FILES {
        router = router.route(
            path,
            get(async move |headers: HeaderMap| answer(&fixed(text), kind, &headers)),
        );
    }
    door::serve(listener, "the public's view", router.with_state(pages), stop).await;
}

async fn round(State(pages): State<Shown>, headers: HeaderMap) -> Response {
    answer(&now(&pages).round, JSON, &headers)
}

async fn pgn(State(pages): State<Shown>, headers: HeaderMap) -> Response {
    answer(&now(&pages).pgn, PGN, &headers)
}

async fn game(State(pages): State<Shown>, Path(number): Path<usize>, headers: HeaderMap) -> Response {
    let pages = now(&pages);
    let game = number.checked_sub(1).and_then(|place| pages.games.get(place));
    game.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |(_, _, page)| answer(page, JSON, &headers),
    )
}

fn now(pages: &Shown) -> Arc<Pages> {
    Arc::clone(&pages.borrow())
}

fn page(text: &str, headers: &HeaderMap) -> Response {
    answer(&Page::new(text.replace(PIECES, pieces())), HTML, headers)
}

fn fixed(text: &str) -> Page {
    Page::new(text.to_owned())
}

/// The drawings of the pieces, as the arbiter's page has them.
fn pieces() -> &'static str {
    let page = include_str!("../../dashboard/page/index.html");
    let from = page.find("<svg class=\"pieces\"").unwrap_or(page.len());
    page[from..].split_inclusive("</svg>").next().unwrap_or_default()
}

/// A page, or the answer that the reader's copy is still right. A connection serves one request, because readers are
/// many and come again.
fn answer(page: &Page, kind: &'static str, headers: &HeaderMap) -> Response {
    let common = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONNECTION, "close"),
        (header::CONTENT_TYPE, kind),
    ];
    let etag = [(header::ETAG, page.etag.clone())];
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.contains(&page.etag)) {
        return (StatusCode::NOT_MODIFIED, common, etag).into_response();
    }
    (common, etag, page.body.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_found() {
        assert!(pieces().contains("id=\"q\"") && pieces().ends_with("</svg>"));
        for page in [include_str!("page/index.html"), include_str!("page/overlay.html")] {
            assert!(page.contains(PIECES));
        }
    }
}

//! The web server: the page, the stream of changes, commands.

use axum::{
    Extension, Json, Router,
    extract::{DefaultBodyLimit, Path, State, rejection::JsonRejection},
    http::{StatusCode, Uri},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    access::{Access, guard},
    assets,
    key::BoardKey,
    legal::legal,
    listener::{Ask, AskError, Asks, OWN},
    people::Guest,
    shared::Shared,
    stream,
};
use crate::{
    config::{Id, Role},
    door,
    mqtt::command::{BOARD_VERBS, MAX_PAIRINGS, SENDER},
};

/// The largest command, in bytes.
const MAX_BODY: usize = 16 << 10;
/// The largest command with pairings, in bytes. It is a little more than a gateway takes, so that the gateway itself
/// says what is too much.
const MAX_ROUND: usize = MAX_PAIRINGS + MAX_BODY;
/// Commands about the round.
const ROUND_VERBS: [&str; 5] = ["pairings", "next_round", "renumber", "results", "bind"];
/// How many characters of an unreadable body the answer repeats.
const MOST_WORDS: usize = 300;

#[derive(Clone)]
struct Page {
    shared: Shared,
    asks: Asks,
    stop: CancellationToken,
}

/// Serves the page at `listener` until `stop`.
pub(crate) async fn serve(
    listener: TcpListener,
    access: Access,
    shared: Shared,
    asks: Asks,
    stop: CancellationToken,
) {
    let page = Page {
        shared,
        asks,
        stop: stop.clone(),
    };
    let router = Router::new()
        .route("/", get(async || assets::index()))
        .route("/api/stream", get(changes))
        .route("/api/board/{gateway}/{board}", get(detail))
        .route("/api/game/{gateway}/{board}/{number}", get(game))
        .route("/api/legal", post(legal_moves))
        .route("/api/cases", get(cases))
        .route("/api/me", get(me))
        .route("/api/command", post(command))
        .route("/api/remove", post(remove))
        .route("/api/round", post(round).layer(DefaultBodyLimit::max(MAX_ROUND)))
        .fallback(async |uri: Uri| assets::file(uri.path()))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(access, guard))
        // This is no secret, and machines without a token ask for it.
        .route("/healthz", get(async || door::verdict(&[])))
        .route("/readyz", get(readyz))
        .with_state(page);
    door::serve(listener, "the page", router, stop).await;
}

async fn changes(State(page): State<Page>, Extension(guest): Extension<Guest>) -> impl IntoResponse {
    stream::changes(page.shared, [page.stop, guest.gone])
}

/// Whether the page shows what happens, which it does while each broker is connected.
async fn readyz(State(page): State<Page>) -> Response {
    let brokers = page.shared.hall().connections();
    let away = brokers.iter().filter(|connected| !**connected).count();
    let wrong = match (brokers.len(), away) {
        (0, _) => Some("no broker was reached yet".to_owned()),
        (_, 0) => None,
        (all, away) => Some(format!("{away} of {all} brokers are not connected")),
    };
    door::verdict(wrong.as_slice())
}

async fn detail(State(page): State<Page>, Path((gateway, board)): Path<(String, String)>) -> Response {
    let key = BoardKey { gateway, board };
    let now = page.shared.now_ms();
    let view = page.shared.hall().detail(&key, now);
    found(view)
}

async fn game(
    State(page): State<Page>,
    Path((gateway, board, number)): Path<(String, String, u32)>,
) -> Response {
    let key = BoardKey { gateway, board };
    let view = page.shared.hall().game(&key, number);
    found(view)
}

fn found(view: Option<impl Serialize>) -> Response {
    view.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |view| Json(view).into_response(),
    )
}

/// A position of which the page wants the legal half-moves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LegalBody {
    fen: String,
    #[serde(default)]
    chess960: bool,
    /// The squares from which and to which a piece is carried first, as UCI, whatever the Laws say.
    #[serde(default)]
    carried: Option<String>,
}

async fn legal_moves(Json(body): Json<LegalBody>) -> Response {
    match legal(&body.fen, body.chess960, body.carried.as_deref()) {
        Some(legal) => Json(legal).into_response(),
        None => failed(StatusCode::BAD_REQUEST, "bad_fen", "no position that can be read"),
    }
}

/// Tells the page who opened it and what he may do.
async fn me(Extension(guest): Extension<Guest>) -> Response {
    let remove = guest.role != Role::ReadOnly;
    Json(json!({ "name": guest.name, "role": guest.role, "verbs": guest.verbs(), "remove": remove }))
        .into_response()
}

async fn cases(State(page): State<Page>) -> Response {
    let cases = page.shared.hall().cases();
    Json(cases).into_response()
}

/// A command of the arbiter to a board.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandBody {
    gateway: String,
    board: String,
    verb: String,
    #[serde(default)]
    fields: serde_json::Map<String, Value>,
}

/// Sends a command and passes the gateway's answer on as it came.
async fn command(
    State(page): State<Page>,
    Extension(guest): Extension<Guest>,
    body: Result<Json<CommandBody>, JsonRejection>,
) -> Response {
    let Json(CommandBody {
        gateway,
        board,
        verb,
        mut fields,
    }) = match body {
        Ok(body) => body,
        Err(unread) => return failed(unread.status(), "bad_json", &what_is_wrong(&unread)),
    };
    // Both become levels of a topic.
    let fits = gateway.parse::<Id>().is_ok() && board.parse::<Id>().is_ok();
    if !fits || !BOARD_VERBS.contains(&verb.as_str()) {
        return failed(
            StatusCode::BAD_REQUEST,
            "unknown_verb",
            "no such board or command",
        );
    }
    if let Err(refused) = sign(guest, &verb, &mut fields) {
        return refused;
    }
    send(&page, gateway, Some(board), verb, fields).await
}

/// A command of the arbiter about the round.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundBody {
    gateway: String,
    verb: String,
    #[serde(default)]
    fields: serde_json::Map<String, Value>,
}

/// Sends a command about the round to a gateway, or to a broadcast of this program, and passes the answer on.
async fn round(
    State(page): State<Page>,
    Extension(guest): Extension<Guest>,
    body: Result<Json<RoundBody>, JsonRejection>,
) -> Response {
    let RoundBody {
        gateway,
        verb,
        mut fields,
    } = match body {
        Ok(Json(body)) => body,
        Err(unread) => return failed(unread.status(), "bad_json", &what_is_wrong(&unread)),
    };
    let is_there = gateway.parse::<Id>().is_ok() || page.shared.hall().is_own(&gateway);
    if !is_there || !ROUND_VERBS.contains(&verb.as_str()) {
        return failed(
            StatusCode::BAD_REQUEST,
            "unknown_verb",
            "no such gateway or command",
        );
    }
    if let Err(refused) = sign(guest, &verb, &mut fields) {
        return refused;
    }
    send(&page, gateway, None, verb, fields).await
}

/// Adds the sender's name to a command, if he may give it. The name follows from the token, never from what a browser
/// says.
#[allow(clippy::result_large_err)] // an answer, made once a command at most
fn sign(guest: Guest, verb: &str, fields: &mut serde_json::Map<String, Value>) -> Result<(), Response> {
    if !guest.may(verb) {
        let why = "this link is an operator's: an arbiter may do that";
        return Err(failed(StatusCode::FORBIDDEN, "not_allowed", why));
    }
    match guest.name {
        Some(name) => drop(fields.insert(SENDER.to_owned(), name.into())),
        None => drop(fields.remove(SENDER)),
    }
    Ok(())
}

/// Sends a command and waits for its answer.
async fn send(
    page: &Page,
    gateway: String,
    board: Option<String>,
    verb: String,
    fields: serde_json::Map<String, Value>,
) -> Response {
    let (answer, answered) = oneshot::channel();
    let is_own = board.is_none() && page.shared.hall().is_own(&gateway);
    let broker = if is_own {
        Some(OWN.to_owned())
    } else {
        page.shared.hall().broker_of(&gateway).map(str::to_owned)
    };
    let ask = Ask {
        gateway,
        board,
        verb,
        fields,
        answer,
    };
    if page.asks.try_send(broker.as_deref(), ask).is_err() {
        return failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "too many commands are waiting: try again",
        );
    }
    match answered.await.unwrap_or(Err(AskError::NoBroker)) {
        Ok(reply) => Json(reply).into_response(),
        Err(error) => failed(StatusCode::GATEWAY_TIMEOUT, error.code(), &error.to_string()),
    }
}

/// What is wrong with a body that cannot be read. The message has it at the end, after the path to the mistake, which
/// may be as long as the body.
fn what_is_wrong(unread: &JsonRejection) -> String {
    let text = unread.body_text();
    let left_out = text.chars().count().saturating_sub(MOST_WORDS);
    let end: String = text.chars().skip(left_out).collect();
    format!(
        "the command cannot be read: {}{end}",
        if left_out > 0 { "..." } else { "" }
    )
}

/// A gateway that is gone for good.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemoveBody {
    gateway: String,
}

/// Takes a gateway off this page; the states that the broker retains of it stay.
async fn remove(State(page): State<Page>, Json(body): Json<RemoveBody>) -> Response {
    match page.shared.remove_gateway(&body.gateway) {
        Ok(()) => Json(json!({ "ok": true })).into_response(),
        Err(error) => failed(StatusCode::CONFLICT, error.code(), &error.to_string()),
    }
}

fn failed(status: StatusCode, code: &str, message: &str) -> Response {
    let body = json!({ "ok": false, "error": { "code": code, "message": message } });
    (status, Json(body)).into_response()
}

//! The web server: the page, the stream of changes, commands.

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, State, rejection::JsonRejection},
    http::{StatusCode, Uri},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    access::{Access, guard},
    assets, door,
    hall::BoardKey,
    listener::{Ask, AskError, Asks, Shared},
    stream,
};
use crate::{
    config::Id,
    mqtt::command::{BOARD_VERBS, MAX_COMMAND},
};

/// A command is small.
const MAX_BODY: usize = 16 << 10;
/// Pairings are longer: as long as a gateway takes them.
const MAX_PAIRINGS: usize = MAX_COMMAND + MAX_BODY;
/// Commands about the round.
const ROUND_VERBS: [&str; 2] = ["pairings", "next_round"];
/// Characters of what could not be read that are repeated.
const MOST_WORDS: usize = 300;

#[derive(Clone)]
struct Page {
    shared: Shared,
    asks: Asks,
    stop: CancellationToken,
}

/// Serves the page at `listener` until `stop`.
pub async fn serve(
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
        .route("/api/cases", get(cases))
        .route("/api/command", post(command))
        .route(
            "/api/round",
            post(round).layer(DefaultBodyLimit::max(MAX_PAIRINGS)),
        )
        .fallback(async |uri: Uri| assets::file(uri.path()))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(access, guard))
        .with_state(page);
    door::serve(listener, "the page", router, stop).await;
}

async fn changes(State(page): State<Page>) -> impl IntoResponse {
    stream::changes(page.shared, page.stop)
}

async fn detail(State(page): State<Page>, Path((gateway, board)): Path<(String, String)>) -> Response {
    let key = BoardKey { gateway, board };
    let now = page.shared.now_ms();
    let view = page.shared.hall().detail(&key, now);
    view.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |view| Json(view).into_response(),
    )
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

/// Sends a command and waits for its answer, which is passed on as it came.
async fn command(State(page): State<Page>, body: Result<Json<CommandBody>, JsonRejection>) -> Response {
    let Json(CommandBody {
        gateway,
        board,
        verb,
        fields,
    }) = match body {
        Ok(body) => body,
        Err(unread) => return failed(unread.status(), "bad_json", &what_is_wrong(&unread)),
    };
    // They become levels of a topic.
    let fits = gateway.parse::<Id>().is_ok() && board.parse::<Id>().is_ok();
    if !fits || !BOARD_VERBS.contains(&verb.as_str()) {
        return failed(
            StatusCode::BAD_REQUEST,
            "unknown_verb",
            "no such board or command",
        );
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

/// The same for a command about the round, to a gateway.
async fn round(State(page): State<Page>, body: Result<Json<RoundBody>, JsonRejection>) -> Response {
    let RoundBody {
        gateway,
        verb,
        fields,
    } = match body {
        Ok(Json(body)) => body,
        Err(unread) => return failed(unread.status(), "bad_json", &what_is_wrong(&unread)),
    };
    if gateway.parse::<Id>().is_err() || !ROUND_VERBS.contains(&verb.as_str()) {
        return failed(
            StatusCode::BAD_REQUEST,
            "unknown_verb",
            "no such gateway or command",
        );
    }
    send(&page, gateway, None, verb, fields).await
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
    let broker = page.shared.hall().broker_of(&gateway).map(str::to_owned);
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

/// What is wrong with a body that cannot be read. It is said at the end: the way to it comes before, and may be as long as
/// the body.
fn what_is_wrong(unread: &JsonRejection) -> String {
    let text = unread.body_text();
    let left_out = text.chars().count().saturating_sub(MOST_WORDS);
    let end: String = text.chars().skip(left_out).collect();
    format!(
        "the command cannot be read: {}{end}",
        if left_out > 0 { "..." } else { "" }
    )
}

fn failed(status: StatusCode, code: &str, message: &str) -> Response {
    let body = json!({ "ok": false, "error": { "code": code, "message": message } });
    (status, Json(body)).into_response()
}

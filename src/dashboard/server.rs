//! The web server: the page, the stream of changes, commands.

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, State},
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
    assets, door,
    hall::BoardKey,
    legal::legal,
    listener::{Ask, AskError, Asks, Shared},
    stream,
};
use crate::{config::Id, mqtt::command::BOARD_VERBS};

/// A command is small.
const MAX_BODY: usize = 16 << 10;

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
        .route("/api/game/{gateway}/{board}/{number}", get(game))
        .route("/api/legal", post(legal_moves))
        .route("/api/cases", get(cases))
        .route("/api/me", get(me))
        .route("/api/command", post(command))
        .route("/api/remove", post(remove))
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

/// A position, for which the page wants to offer half-moves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LegalBody {
    fen: String,
    #[serde(default)]
    chess960: bool,
    /// From where to where a piece is carried first, as UCI, whatever the Laws say.
    #[serde(default)]
    carried: Option<String>,
}

async fn legal_moves(Json(body): Json<LegalBody>) -> Response {
    match legal(&body.fen, body.chess960, body.carried.as_deref()) {
        Some(legal) => Json(legal).into_response(),
        None => failed(StatusCode::BAD_REQUEST, "bad_fen", "no position that can be read"),
    }
}

/// Who has opened the page, and what he may do.
async fn me() -> Response {
    Json(json!({ "name": null, "role": "arbiter", "verbs": null, "remove": true })).into_response()
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
async fn command(State(page): State<Page>, Json(body): Json<CommandBody>) -> Response {
    let CommandBody {
        gateway,
        board,
        verb,
        fields,
    } = body;
    // They become levels of a topic.
    let fits = gateway.parse::<Id>().is_ok() && board.parse::<Id>().is_ok();
    if !fits || !BOARD_VERBS.contains(&verb.as_str()) {
        return failed(
            StatusCode::BAD_REQUEST,
            "unknown_verb",
            "no such board or command",
        );
    }
    let (answer, answered) = oneshot::channel();
    let broker = page.shared.hall().broker_of(&gateway).map(str::to_owned);
    let ask = Ask {
        gateway,
        board: Some(board),
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

/// A gateway that is gone for good.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemoveBody {
    gateway: String,
}

/// Takes a gateway off this page; what it has retained on the broker stays.
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

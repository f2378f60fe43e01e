//! The sockets of the interface.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{
        Path, Request, State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    session::LivechessSession,
    shapes::{self, Now},
    sockets::{Seat, Sockets},
};
use crate::{
    dashboard::{Shared, access::is_local},
    door,
};

/// The largest message of a client, in bytes: calls are small.
const MAX_CALL: usize = 64 << 10;
/// How many bytes are read, or gathered for writing, at once.
const BUFFER: usize = 8 << 10;
/// A board's updates within this time go out together.
const TOGETHER: Duration = Duration::from_millis(25);
/// How long a client may take to make room for a message. Else one that reads nothing would keep its place for ever.
const READS: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Link {
    shared: Shared,
    sockets: Sockets,
    stop: CancellationToken,
}

impl Link {
    fn now(&self) -> Now {
        Now {
            hall_ms: self.shared.now_ms(),
            unix_ms: jiff::Timestamp::now().as_millisecond(),
        }
    }
}

/// Serves the interface at `listener` until `stop`. Pages of any origin may read it, because the tools expect so.
pub(crate) async fn serve(listener: TcpListener, shared: Shared, stop: CancellationToken) {
    let link = Link {
        shared,
        sockets: Sockets::default(),
        stop: stop.clone(),
    };
    let router = Router::new()
        .route("/api/v1.0", get(socket))
        .route("/api/v1.0/eboards", get(eboards))
        .route("/api/v1.0/tournaments", get(tournaments))
        .route("/api/v1.0/tournament/{id}", get(tournament))
        .route("/api/v1.0/round/{id}/{index}", get(round))
        .route("/api/v1.0/game/{id}", get(game))
        .with_state(link)
        .layer(from_fn(guard));
    door::serve(listener, "the local interface", router, stop).await;
}

/// Refuses what does not name this machine.
async fn guard(request: Request, next: Next) -> Response {
    if !is_local(request.headers()) {
        return (StatusCode::FORBIDDEN, "this is no name of this machine").into_response();
    }
    next.run(request).await
}

async fn eboards(State(link): State<Link>) -> Response {
    let now = link.now();
    answer(serde_json::to_value(shapes::eboards(&link.shared.hall(), now)).ok())
}

async fn tournaments(State(link): State<Link>) -> Response {
    answer(Some(shapes::tournaments(&link.shared.hall())))
}

async fn tournament(State(link): State<Link>, Path(id): Path<String>) -> Response {
    answer(shapes::tournament(&link.shared.hall(), &id))
}

async fn round(State(link): State<Link>, Path((id, index)): Path<(String, usize)>) -> Response {
    answer(shapes::round(&link.shared.hall(), &id, index))
}

async fn game(State(link): State<Link>, Path(id): Path<String>) -> Response {
    let now = link.now();
    answer(shapes::game(&link.shared.hall(), &id, now))
}

fn answer(value: Option<Value>) -> Response {
    let origin = [(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    match value {
        Some(value) => (origin, Json(value)).into_response(),
        None => (StatusCode::NOT_FOUND, origin).into_response(),
    }
}

async fn socket(State(link): State<Link>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let Some(seat) = link.sockets.take(origin.unwrap_or_default()) else {
        let why = "this page has too many sockets open here: one is enough, for any number of feeds";
        return (StatusCode::TOO_MANY_REQUESTS, why).into_response();
    };
    upgrade
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_frame_size(MAX_CALL)
        .max_message_size(MAX_CALL)
        .on_upgrade(move |socket| talk(socket, link, seat))
}

async fn talk(mut socket: WebSocket, link: Link, _seat: Seat) {
    let mut session = LivechessSession::default();
    let mut changes = link.shared.changes();
    loop {
        let texts = tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Text(text))) => session.call(&text, &link.shared.hall(), link.now()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                // The library answers pings.
                Some(Ok(_)) => Vec::new(),
            },
            Ok(()) = changes.changed() => {
                sleep(TOGETHER).await;
                changes.mark_unchanged();
                session.changes(&link.shared.hall(), link.now())
            }
            () = link.stop.cancelled() => return,
        };
        for text in texts {
            let sent = timeout(READS, socket.send(Message::Text(text.into()))).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    }
}

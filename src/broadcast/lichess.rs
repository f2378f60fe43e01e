//! Pushes the games of a round to a broadcast on lichess, over its HTTP API.
//!
//! Each push carries the present state of all games; the server works out what is new. So nothing is
//! queued: when it cannot be reached, the newest state goes as soon as it can.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, StatusCode, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Lichess, Tls, system_authorities},
    mqtt::tls::client_config,
};

/// At most this many games in one push (the server's limit).
const MAX_GAMES: usize = 100;
/// Between two pushes: moves that come at once go together, and the server is left in peace.
const INTERVAL: Duration = Duration::from_secs(1);
/// First and longest wait after a failure that may pass.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// One push, from connecting to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest answer that is read.
const MAX_ANSWER: usize = 1 << 20;

/// Why a push failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
enum PushError {
    #[error("cannot reach {server}: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("{server} answers {status}: {said}{}", hint(*status))]
    Refused {
        server: String,
        status: StatusCode,
        said: String,
    },
}

fn hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "; the token is not valid: write a new one into `token_file` and restart",
        StatusCode::FORBIDDEN => {
            "; the token needs the scope study:write, and its owner must contribute to the broadcast"
        }
        StatusCode::NOT_FOUND => "; is `round` the last part of the round's address?",
        _ => "",
    }
}

/// What the server says of each game.
#[derive(Debug, Deserialize)]
struct Answer {
    games: Vec<GameAnswer>,
}

#[derive(Debug, Deserialize)]
struct GameAnswer {
    error: Option<String>,
}

/// Pushes `games` at every change until `stop`.
pub async fn push(settings: Lichess, mut games: watch::Receiver<Vec<String>>, stop: CancellationToken) {
    let work = async {
        let mut told = BTreeSet::new();
        let mut failures: u32 = 0;
        games.mark_changed();
        while games.changed().await.is_ok() {
            let now = games.borrow_and_update().clone();
            let round: Vec<_> = now.iter().filter(|game| is_known(game)).collect();
            if round.is_empty() {
                continue;
            }
            if round.len() > MAX_GAMES && told.insert(String::from("many")) {
                tracing::warn!(
                    "lichess takes {MAX_GAMES} games; the first of {} are sent",
                    round.len()
                );
            }
            let text: Vec<&str> = round.iter().take(MAX_GAMES).map(|game| game.as_str()).collect();
            match timeout(PATIENCE, post(&settings, text.join("\n")))
                .await
                .unwrap_or(Err(PushError::Late(PATIENCE)))
            {
                Ok(answer) => {
                    if failures > 0 {
                        tracing::info!("lichess: pushing works again");
                    }
                    failures = 0;
                    complain(&answer, &mut told);
                    sleep(INTERVAL).await;
                }
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!("lichess: {error}; the newest state is sent again until it is taken");
                    }
                    let wait = RETRY.0.saturating_mul(1 << failures.min(5)).min(RETRY.1);
                    failures += 1;
                    sleep(wait).await;
                    games.mark_changed();
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}

/// Games without a player cannot be told apart there, and are dropped.
fn is_known(game: &str) -> bool {
    !(game.contains("\n[White \"?\"]") && game.contains("\n[Black \"?\"]"))
}

/// Says once for each game what the server has against it.
fn complain(answer: &Answer, told: &mut BTreeSet<String>) {
    for (number, game) in (1..).zip(&answer.games) {
        if let Some(error) = &game.error
            && told.insert(format!("{number} {error}"))
        {
            tracing::warn!("lichess does not take game {number}: {error}");
        }
    }
}

async fn post(settings: &Lichess, pgn: String) -> Result<Answer, PushError> {
    let unreachable = |reason: String| PushError::Unreachable {
        server: settings.server.clone(),
        reason,
    };
    let (scheme, host) = settings
        .server
        .split_once("://")
        .unwrap_or(("https", &settings.server));
    let secure = scheme == "https";
    let (name, port) = host_and_port(host, secure);
    let stream = TcpStream::connect((name, port))
        .await
        .map_err(|error| unreachable(error.to_string()))?;
    let request = Request::post(format!("/api/broadcast/round/{}/push", settings.round))
        .header(header::HOST, host)
        .header(
            header::AUTHORIZATION,
            format!("Bearer {}", settings.token.reveal()),
        )
        .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(
            header::USER_AGENT,
            concat!("dgt2mqtt/", env!("CARGO_PKG_VERSION")),
        )
        .body(Full::new(Bytes::from(pgn)))
        .map_err(|error| unreachable(error.to_string()))?;
    let (status, body) = if secure {
        let server = ServerName::try_from(name.to_owned()).map_err(|error| unreachable(error.to_string()))?;
        let connector = TlsConnector::from(authorities().map_err(unreachable)?);
        let stream = connector
            .connect(server, stream)
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        exchange(stream, request).await
    } else {
        exchange(stream, request).await
    }
    .map_err(unreachable)?;
    if status != StatusCode::OK {
        return Err(PushError::Refused {
            server: settings.server.clone(),
            status,
            said: String::from_utf8_lossy(&body).chars().take(200).collect(),
        });
    }
    serde_json::from_slice(&body).map_err(|error| unreachable(format!("its answer cannot be read: {error}")))
}

fn host_and_port(host: &str, secure: bool) -> (&str, u16) {
    let default = if secure { 443 } else { 80 };
    match host
        .rsplit_once(':')
        .and_then(|(name, port)| Some((name, port.parse().ok()?)))
    {
        Some((name, port)) => (name.trim_matches(['[', ']']), port),
        None => (host.trim_matches(['[', ']']), default),
    }
}

fn authorities() -> Result<Arc<ClientConfig>, String> {
    let ca_file = system_authorities()
        .ok_or("this system has no list of certificate authorities: install the package ca-certificates")?;
    client_config(&Tls {
        ca_file,
        client: None,
    })
    .map_err(|error| error.to_string())
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // Gone with this function.
    let mut working = JoinSet::new();
    working.spawn(connection);
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| error.to_string())?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers() {
        assert_eq!(host_and_port("lichess.org", true), ("lichess.org", 443));
        assert_eq!(host_and_port("127.0.0.1:8000", false), ("127.0.0.1", 8000));
        assert_eq!(host_and_port("[::1]:8000", false), ("::1", 8000));
    }

    #[test]
    fn games_of_nobody_are_left_out() {
        assert!(!is_known("[Round \"1.1\"]\n[White \"?\"]\n[Black \"?\"]\n\n*\n"));
        assert!(is_known("[Round \"1.1\"]\n[White \"A\"]\n[Black \"?\"]\n\n*\n"));
    }
}

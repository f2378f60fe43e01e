//! One call of lichess' HTTP API.

use std::{io, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{HeaderMap, Request, StatusCode, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::pki_types::ServerName};

use crate::{
    config::{Lichess, Tls, system_authorities},
    mqtt::tls::{client_config, explain},
};

/// One push, from connecting to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest answer that is read.
const MAX_ANSWER: usize = 1 << 20;
/// Characters of an answer that are repeated to a person.
const MAX_SAID: usize = 200;
/// What lichess asks for when it says that there were too many requests.
const TOO_MANY: Duration = Duration::from_secs(60);
/// However long the server wants to be left in peace: a round does not last longer than a few hours.
const LONGEST_PEACE: Duration = Duration::from_secs(600);

/// Why a push failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub(super) enum PushError {
    #[error("cannot reach {server}: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("{server} {reason}{}", trusted(*has_ca_file))]
    Distrusted {
        server: String,
        reason: String,
        has_ca_file: bool,
    },
    #[error("{server} does not answer within {PATIENCE:?}")]
    Late { server: String },
    #[error("{server} answers {status}: {said}{}", hint(*status))]
    Refused {
        server: String,
        status: StatusCode,
        said: String,
        /// How long it wants to be left in peace.
        peace: Option<Duration>,
    },
}

impl PushError {
    /// How long the server wants to be left in peace.
    pub(super) fn peace(&self) -> Option<Duration> {
        match self {
            Self::Refused { peace, .. } => *peace,
            _ => None,
        }
    }
}

fn trusted(has_ca_file: bool) -> &'static str {
    if has_ca_file {
        ""
    } else {
        "; without `ca_file` the authorities of this system are trusted"
    }
}

fn hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "; the token is not valid: write a new one into `token_file` and reload",
        StatusCode::FORBIDDEN => {
            "; the token needs the scope study:write, and its owner must contribute to the broadcast"
        }
        StatusCode::NOT_FOUND => "; is `round` the last part of the round's address?",
        StatusCode::BAD_REQUEST => "; the round must be one without a source of its own",
        _ => "",
    }
}

/// What the server says of each game, in the order in which they were sent.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) games: Vec<GameAnswer>,
}

#[derive(Debug, Deserialize)]
pub(super) struct GameAnswer {
    pub(super) moves: Option<u32>,
    pub(super) error: Option<String>,
}

/// Calls one server for one round.
pub(super) struct Caller {
    settings: Lichess,
    /// Made at the first call, so that what is wrong with it is told like anything else.
    tls: Option<TlsConnector>,
}

impl Caller {
    pub(super) fn new(settings: Lichess) -> Self {
        Self { settings, tls: None }
    }

    /// Sends the games.
    pub(super) async fn push(&mut self, pgn: String) -> Result<Answer, PushError> {
        let server = self.settings.server.clone();
        match timeout(PATIENCE, self.post(pgn)).await {
            Ok(answered) => answered,
            Err(_) => Err(PushError::Late { server }),
        }
    }

    async fn post(&mut self, pgn: String) -> Result<Answer, PushError> {
        let server = self.settings.server.clone();
        let (scheme, host) = server.split_once("://").unwrap_or(("https", &server));
        let secure = scheme == "https";
        let (name, port) = host_and_port(host, secure);
        let stream = TcpStream::connect((name, port))
            .await
            .map_err(|error| self.unreachable(&error))?;
        let request = self.request(host, pgn)?;
        let answered = if secure {
            exchange(self.secured(name, stream).await?, request).await
        } else {
            exchange(stream, request).await
        };
        let (status, headers, body) = answered.map_err(|reason| self.unreachable(&reason))?;
        if status != StatusCode::OK {
            return Err(PushError::Refused {
                server: self.settings.server.clone(),
                status,
                said: self.said(&body),
                peace: peace(status, &headers),
            });
        }
        let mut answer: Answer = serde_json::from_slice(&body)
            .map_err(|error| self.unreachable(&format!("its answer cannot be read: {error}")))?;
        for error in answer.games.iter_mut().filter_map(|game| game.error.as_mut()) {
            *error = self.fit_to_tell(error);
        }
        Ok(answer)
    }

    fn request(&self, host: &str, pgn: String) -> Result<Request<Full<Bytes>>, PushError> {
        let Lichess { round, token, .. } = &self.settings;
        Request::post(format!("/api/broadcast/round/{round}/push"))
            .header(header::HOST, host)
            .header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()))
            .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
            .header(
                header::USER_AGENT,
                concat!("dgt2mqtt/", env!("CARGO_PKG_VERSION")),
            )
            .body(Full::new(Bytes::from(pgn)))
            .map_err(|_| {
                self.unreachable(&"the token cannot be sent: are there other characters in `token_file`?")
            })
    }

    async fn secured(&mut self, name: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, PushError> {
        let to = ServerName::try_from(name.to_owned()).map_err(|error| self.unreachable(&error))?;
        let connector = match &self.tls {
            Some(connector) => connector.clone(),
            None => self.connector().map_err(|reason| self.unreachable(&reason))?,
        };
        self.tls = Some(connector.clone());
        connector
            .connect(to, stream)
            .await
            .map_err(|error| self.distrusted(&error))
    }

    /// Trusts the authorities of `ca_file` alone, without it those of this system.
    fn connector(&self) -> Result<TlsConnector, String> {
        let ca_file = self.settings.ca_file.clone().or_else(system_authorities);
        let ca_file = ca_file.ok_or(
            "this system has no list of certificate authorities: install the package ca-certificates, or name one in `ca_file`",
        )?;
        let tls = Tls {
            ca_file,
            client: None,
        };
        let config = client_config(&tls).map_err(|error| error.to_string())?;
        Ok(TlsConnector::from(config))
    }

    /// The server's own words.
    fn said(&self, body: &[u8]) -> String {
        #[derive(Deserialize)]
        struct Refusal {
            error: String,
        }
        match serde_json::from_slice::<Refusal>(body) {
            Ok(refusal) => self.fit_to_tell(&refusal.error),
            Err(_) => self.fit_to_tell(&String::from_utf8_lossy(body)),
        }
    }

    /// Words of the server, short and without the token.
    fn fit_to_tell(&self, words: &str) -> String {
        let words = words.replace(self.settings.token.reveal(), "...");
        words.trim().chars().take(MAX_SAID).collect()
    }

    fn unreachable(&self, reason: &impl ToString) -> PushError {
        PushError::Unreachable {
            server: self.settings.server.clone(),
            reason: reason.to_string(),
        }
    }

    fn distrusted(&self, error: &io::Error) -> PushError {
        match explain(error) {
            Some(reason) => PushError::Distrusted {
                server: self.settings.server.clone(),
                reason,
                has_ca_file: self.settings.ca_file.is_some(),
            },
            None => self.unreachable(error),
        }
    }
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

/// How long the server wants to be left in peace, in seconds by `Retry-After`.
fn peace(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let asked = headers.get(header::RETRY_AFTER);
    let seconds = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let asked = seconds.map(Duration::from_secs);
    let otherwise = (status == StatusCode::TOO_MANY_REQUESTS).then_some(TOO_MANY);
    asked.or(otherwise).map(|peace| peace.min(LONGEST_PEACE))
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, HeaderMap, Bytes), String>
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
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(|error| error.to_string())?;
    Ok((head.status, head.headers, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn servers() {
        assert_eq!(host_and_port("lichess.org", true), ("lichess.org", 443));
        assert_eq!(host_and_port("127.0.0.1:8000", false), ("127.0.0.1", 8000));
        assert_eq!(host_and_port("[::1]:8000", false), ("::1", 8000));
    }

    #[test]
    fn a_server_is_left_in_peace_as_long_as_it_wants_within_reason() {
        let headers = |wait: &str| HeaderMap::from_iter([(header::RETRY_AFTER, wait.parse().unwrap())]);
        let busy = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(peace(busy, &headers("7")), Some(Duration::from_secs(7)));
        assert_eq!(
            peace(busy, &headers("Sat, 21 Nov 2026 14:00:00 GMT")),
            Some(TOO_MANY)
        );
        assert_eq!(peace(busy, &headers("99999999")), Some(LONGEST_PEACE));
        assert_eq!(
            peace(StatusCode::SERVICE_UNAVAILABLE, &headers("3")),
            Some(Duration::from_secs(3))
        );
        assert_eq!(peace(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new()), None);
    }

    #[test]
    fn what_a_server_repeats_of_the_token_is_not_told() {
        let caller = Caller::new(Lichess {
            round: "a1B2c3D4".into(),
            token: Secret::new("lip_secret"),
            server: "https://lichess.org".into(),
            ca_file: None,
        });
        assert_eq!(
            caller.said(b"{\"error\":\"No such token: lip_secret\"}"),
            "No such token: ..."
        );
        assert_eq!(caller.said(b"<html>lip_secret</html>\n"), "<html>...</html>");
    }
}

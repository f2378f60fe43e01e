//! Calls of other people's HTTP servers: one request a connection, over TLS where the address says so.
#![allow(clippy::disallowed_methods)] // each is owned by the function that makes it.

use std::{io, path::PathBuf, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{HeaderMap, Request, StatusCode, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::pki_types::ServerName};

use crate::{
    config::{Tls, system_authorities},
    tls::{client_config, explain},
};

/// One call, from connecting to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest answer that is read.
const MAX_ANSWER: usize = 1 << 20;
/// What is waited when a server says that there were too many requests, and not for how long.
const TOO_MANY: Duration = Duration::from_secs(60);
/// However long the server wants to be left in peace: a round does not last longer than a few hours.
const LONGEST_PEACE: Duration = Duration::from_secs(600);
/// Who calls.
pub(crate) const AGENT: &str = concat!("dgt2mqtt/", env!("CARGO_PKG_VERSION"));

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub(crate) enum CallError {
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
}

fn trusted(has_ca_file: bool) -> &'static str {
    if has_ca_file {
        ""
    } else {
        "; without `ca_file` the authorities of this system are trusted"
    }
}

/// An answer: its status, its head and its body.
pub(crate) type Answered = (StatusCode, HeaderMap, Bytes);

/// A server.
pub(crate) struct Server {
    /// `http://` or `https://`, host and perhaps port.
    address: String,
    ca_file: Option<PathBuf>,
    /// Made at the first call, so that what is wrong with it is told like anything else.
    tls: Option<TlsConnector>,
    /// How long a call may take.
    patience: Duration,
}

impl Server {
    /// The server at `address`, which begins with `http://` or `https://`; trusts the authorities of `ca_file` alone, without
    /// it those of this system.
    pub(crate) fn new(address: String, ca_file: Option<PathBuf>) -> Self {
        Self {
            address,
            ca_file,
            tls: None,
            patience: PATIENCE,
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// For the head of a request: host and perhaps port.
    pub(crate) fn host(&self) -> &str {
        self.address
            .split_once("://")
            .map_or(self.address.as_str(), |(_, host)| host)
    }

    /// Sends the request.
    pub(crate) async fn call(&mut self, request: Request<Full<Bytes>>) -> Result<Answered, CallError> {
        let server = self.address.clone();
        match timeout(self.patience, self.ask(request)).await {
            Ok(answered) => answered,
            Err(_) => Err(CallError::Late { server }),
        }
    }

    async fn ask(&mut self, request: Request<Full<Bytes>>) -> Result<Answered, CallError> {
        let host = self.host().to_owned();
        let secure = !self.address.starts_with("http://");
        let (name, port) = host_and_port(&host, secure);
        let stream = TcpStream::connect((name, port))
            .await
            .map_err(|error| self.unreachable(&error))?;
        let answered = if secure {
            exchange(self.secured(name, stream).await?, request).await
        } else {
            exchange(stream, request).await
        };
        answered.map_err(|reason| self.unreachable(&reason))
    }

    async fn secured(&mut self, name: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, CallError> {
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

    fn connector(&self) -> Result<TlsConnector, String> {
        let ca_file = self.ca_file.clone().or_else(system_authorities);
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

    pub(crate) fn unreachable(&self, reason: &impl ToString) -> CallError {
        CallError::Unreachable {
            server: self.address.clone(),
            reason: reason.to_string(),
        }
    }

    fn distrusted(&self, error: &io::Error) -> CallError {
        match explain(error) {
            Some(reason) => CallError::Distrusted {
                server: self.address.clone(),
                reason,
                has_ca_file: self.ca_file.is_some(),
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
pub(crate) fn peace(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let asked = headers.get(header::RETRY_AFTER);
    let seconds = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let asked = seconds.map(Duration::from_secs);
    let otherwise = (status == StatusCode::TOO_MANY_REQUESTS).then_some(TOO_MANY);
    asked.or(otherwise).map(|peace| peace.min(LONGEST_PEACE))
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Answered, String>
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
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;

    #[test]
    fn servers() {
        assert_eq!(host_and_port("lichess.org", true), ("lichess.org", 443));
        assert_eq!(host_and_port("127.0.0.1:8000", false), ("127.0.0.1", 8000));
        assert_eq!(host_and_port("[::1]:8000", false), ("::1", 8000));
    }

    /// It takes the connection and the request, and answers nothing, or begins and does not end.
    #[tokio::test]
    async fn a_server_that_is_mute_is_waited_for_no_longer_than_the_patience() {
        for begins in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = format!("http://{}", listener.local_addr().unwrap());
            let mut server = Server {
                patience: Duration::from_millis(200),
                ..Server::new(address, None)
            };
            let mut holding = JoinSet::new();
            holding.spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(begins).await.unwrap();
                std::future::pending::<()>().await;
            });
            let request = Request::new(Full::new(Bytes::new()));
            let called = timeout(Duration::from_secs(20), server.call(request)).await;
            let error = called.expect("it waits for ever").unwrap_err();
            assert!(matches!(error, CallError::Late { .. }), "{error:?}");
        }
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
}

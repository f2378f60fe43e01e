//! The places that take messages: a webhook, or a topic of ntfy.

use std::time::Duration;

use http_body_util::Full;
use hyper::{Request, StatusCode, body::Bytes, header};
use serde_json::{Value, json};

use super::message::AlertMessage;
use crate::{
    config::{AlertConfig, AlertForm, Secret},
    event::Certainty,
    outgoing::{AGENT, CallError, Server, peace},
};

/// How many characters of an answer are repeated to a person.
const MAX_SAID: usize = 200;
/// A part of an address with this many characters may be a secret.
const SECRET_LENGTH: usize = 6;

/// Why a place did not take a message.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub(super) enum SendError {
    #[error("{0}; it is tried again")]
    Call(#[from] CallError),
    #[error("{server} answers {status}: {said}{}", if is_final(*status) { "; check `url` and `token_file` of [[alert]]" } else { "; it is tried again" })]
    Refused {
        server: String,
        status: StatusCode,
        said: String,
        peace: Option<Duration>,
    },
}

/// True where the server would refuse the same message again.
fn is_final(status: StatusCode) -> bool {
    status.is_client_error()
        && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status)
}

impl SendError {
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if is_final(*status))
    }

    /// How long the server asks us to wait.
    pub(super) fn peace(&self) -> Option<Duration> {
        match self {
            Self::Refused { peace, .. } => *peace,
            Self::Call(_) => None,
        }
    }
}

/// A place that takes messages.
pub(super) struct Recipient {
    server: Server,
    alert: AlertConfig,
}

impl Recipient {
    pub(super) fn new(alert: &AlertConfig) -> Self {
        Self {
            server: Server::new(alert.server.clone(), alert.ca_file.clone()),
            alert: alert.clone(),
        }
    }

    /// The address without its path, which may be as good as a password.
    pub(super) fn name(&self) -> &str {
        self.server.address()
    }

    pub(super) async fn send(&mut self, message: &AlertMessage) -> Result<(), SendError> {
        let request = self.request(message)?;
        let (status, headers, body) = self.server.call(request).await?;
        if status.is_success() {
            return Ok(());
        }
        let mut said = String::from_utf8_lossy(&body).into_owned();
        for secret in self.secrets() {
            said = said.replace(secret, "...");
        }
        Err(SendError::Refused {
            server: self.server.address().to_owned(),
            status,
            said: said.trim().chars().take(MAX_SAID).collect(),
            peace: peace(status, &headers),
        })
    }

    fn secrets(&self) -> impl Iterator<Item = &str> {
        let token = self.alert.token.as_ref().map(Secret::reveal);
        // A part of the address may be as good as a password.
        let path = self.alert.path.as_str();
        let parts = path.split(['/', '?', '&', '=']);
        let topic = path.rsplit('/').next().filter(|topic| !topic.is_empty());
        let parts = parts.filter(|part| part.len() >= SECRET_LENGTH).chain(topic);
        token.into_iter().chain(parts)
    }

    fn request(&self, message: &AlertMessage) -> Result<Request<Full<Bytes>>, CallError> {
        let (path, body) = match self.alert.form {
            AlertForm::Webhook => (self.alert.path.as_str(), json!(message)),
            AlertForm::Ntfy => self.ntfy(message),
        };
        let mut request = Request::post(path)
            .header(header::HOST, self.server.host())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, AGENT);
        if let Some(token) = &self.alert.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()));
        }
        request
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|_| {
                let reason =
                    "the request cannot be written: are there other characters in `url` or `token_file`?";
                self.server.unreachable(&reason)
            })
    }

    /// The message in the form of ntfy. It goes as JSON to the address above its topics, because HTTP headers have no
    /// letters beyond ASCII.
    fn ntfy(&self, message: &AlertMessage) -> (&str, Value) {
        let (folder, topic) = self.alert.path.rsplit_once('/').unwrap_or(("", &self.alert.path));
        let folder = if folder.is_empty() { "/" } else { folder };
        let (priority, tag) = match message.certainty {
            Some(Certainty::Certain) => (4, "warning"),
            Some(Certainty::Probable) => (3, "warning"),
            Some(Certainty::Suspected) => (2, "eyes"),
            None => (3, "information_source"),
        };
        // A phone shows a tag that is no symbol as it is: so whoever reads a second message knows which was the first.
        let tags: Vec<_> = [tag].into_iter().chain(message.irregularity.as_deref()).collect();
        let body = json!({
            "topic": topic,
            "title": message.title,
            "message": message.text,
            "priority": priority,
            "tags": tags,
        });
        (folder, body)
    }
}

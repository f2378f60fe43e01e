//! One call of lichess' HTTP API.

use std::time::Duration;

use http_body_util::Full;
use hyper::{Method, Request, StatusCode, body::Bytes, header};
use serde::{Deserialize, de::DeserializeOwned};

use super::pacer::Pacer;
use crate::{
    config::Lichess,
    outgoing::{AGENT, CallError, Server, peace},
};

/// How many characters of an answer are repeated to a person.
const MAX_SAID: usize = 200;

/// Why a push failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub(super) enum PushError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("{server} answers {status}: {said}{}", hint(*status))]
    Refused {
        server: String,
        status: StatusCode,
        said: String,
        /// How long the server asks us to wait.
        peace: Option<Duration>,
    },
    #[error("lichess takes none of the games: {0}{hint}", hint = hint(StatusCode::BAD_REQUEST))]
    Nothing(String),
}

impl PushError {
    /// How long the server asks us to wait.
    pub(super) fn peace(&self) -> Option<Duration> {
        match self {
            Self::Refused { peace, .. } => *peace,
            _ => None,
        }
    }
}

fn hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "; the token is not valid: write a new one into `token_file` and reload",
        StatusCode::FORBIDDEN => {
            "; the token needs the scope study:write, and its owner must contribute to the broadcast"
        }
        StatusCode::NOT_FOUND => {
            "; is `round` the last part of the round's address, or `broadcast` that of the broadcast's?"
        }
        StatusCode::BAD_REQUEST => "; the round must be one without a source of its own",
        _ => "",
    }
}

/// What the server says of each game, in the order of the games sent.
#[derive(Debug, Deserialize)]
pub(super) struct PushAnswer {
    pub(super) games: Vec<GameAnswer>,
}

impl PushAnswer {
    /// The error, if the server takes nothing of a push of so many games: it says so once, in place of all of them.
    pub(super) fn refusal(&self, sent: usize) -> Option<PushError> {
        let [only] = &self.games[..] else { return None };
        let error = only.error.as_ref().filter(|_| sent > 1)?;
        Some(PushError::Nothing(error.clone()))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct GameAnswer {
    pub(super) moves: Option<u32>,
    pub(super) error: Option<String>,
}

/// A round, as the server tells it.
#[derive(Debug, Deserialize)]
pub(super) struct RoundAnswer {
    pub(super) id: String,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
struct BroadcastAnswer {
    rounds: Vec<RoundAnswer>,
}

#[derive(Debug, Deserialize)]
struct MadeAnswer {
    round: RoundAnswer,
}

/// Writes a text as a form has it.
fn form_encoded(text: &str) -> String {
    let mut form = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => form.push('+'),
            _ if byte.is_ascii_alphanumeric() => form.push(char::from(byte)),
            _ => form += &format!("%{byte:02X}"),
        }
    }
    form
}

/// Calls one server.
pub(super) struct Caller {
    settings: Lichess,
    server: Server,
    pacer: Pacer,
}

impl Caller {
    pub(super) fn new(settings: Lichess, pacer: Pacer) -> Self {
        let server = Server::new(settings.server.clone(), settings.ca_file.clone());
        Self {
            settings,
            server,
            pacer,
        }
    }

    /// Sends the games of `round`.
    pub(super) async fn push(&mut self, round: &str, pgn: String) -> Result<PushAnswer, PushError> {
        let path = format!("/api/broadcast/round/{round}/push");
        let body = ("text/plain; charset=utf-8", pgn);
        let mut answer: PushAnswer = self.ask(Method::POST, &path, Some(body)).await?;
        for error in answer.games.iter_mut().filter_map(|game| game.error.as_mut()) {
            *error = self.fit_to_tell(error);
        }
        Ok(answer)
    }

    /// The rounds of a broadcast.
    pub(super) async fn rounds(&mut self, broadcast: &str) -> Result<Vec<RoundAnswer>, PushError> {
        let path = format!("/api/broadcast/{broadcast}");
        let answer: BroadcastAnswer = self.ask(Method::GET, &path, None).await?;
        Ok(answer.rounds)
    }

    /// Makes a round of a broadcast, without a source of its own.
    pub(super) async fn make_round(&mut self, broadcast: &str, name: &str) -> Result<RoundAnswer, PushError> {
        let path = format!("/broadcast/{broadcast}/new");
        let form = format!("name={}&syncSource=push", form_encoded(name));
        let body = ("application/x-www-form-urlencoded", form);
        let answer: MadeAnswer = self.ask(Method::POST, &path, Some(body)).await?;
        Ok(answer.round)
    }

    /// Calls the server when it is our turn, and reads its answer.
    async fn ask<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Option<(&'static str, String)>,
    ) -> Result<T, PushError> {
        let request = self.request(method, path, body)?;
        let mut turn = self.pacer.turn().await;
        let answered = self.server.call(request).await;
        let refusal = answered
            .as_ref()
            .ok()
            .filter(|(status, ..)| *status != StatusCode::OK);
        turn.answered(refusal.and_then(|(status, headers, _)| peace(*status, headers)));
        drop(turn);
        let (status, headers, body) = answered?;
        if status != StatusCode::OK {
            return Err(PushError::Refused {
                server: self.settings.server.clone(),
                status,
                said: self.said(&body),
                peace: peace(status, &headers),
            });
        }
        let unread = |error| {
            self.server
                .unreachable(&format!("its answer cannot be read: {error}"))
        };
        Ok(serde_json::from_slice(&body).map_err(unread)?)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, String)>,
    ) -> Result<Request<Full<Bytes>>, CallError> {
        let Lichess { token, .. } = &self.settings;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.server.host())
            .header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()))
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, AGENT);
        let request = match body {
            Some((form, body)) => request
                .header(header::CONTENT_TYPE, form)
                .body(Full::new(Bytes::from(body))),
            None => request.body(Full::default()),
        };
        request.map_err(|_| {
            let reason = "the token cannot be sent: are there other characters in `token_file`?";
            self.server.unreachable(&reason)
        })
    }

    /// The error in the server's own words.
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

    /// The server's words, shortened and without the token.
    fn fit_to_tell(&self, words: &str) -> String {
        let words = words.replace(self.settings.token.reveal(), "...");
        words.trim().chars().take(MAX_SAID).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn what_a_server_repeats_of_the_token_is_not_told() {
        let settings = Lichess {
            round: "a1B2c3D4".into(),
            broadcast: None,
            token: Secret::new("lip_secret"),
            server: "https://lichess.org".into(),
            ca_file: None,
        };
        let pacer = Pacer::new(&settings);
        let caller = Caller::new(settings, pacer);
        assert_eq!(
            caller.said(b"{\"error\":\"No such token: lip_secret\"}"),
            "No such token: ..."
        );
        assert_eq!(caller.said(b"<html>lip_secret</html>\n"), "<html>...</html>");
    }
}

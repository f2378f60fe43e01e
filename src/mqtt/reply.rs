//! The answer to a caller's command.

use std::{fmt::Display, time::Instant};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_util::bytes::Bytes;

use super::link::{Publication, Qos};
use crate::throttle::{Throttle, shortened};

/// How many characters of a refused command's words the log repeats.
const MOST_WORDS: usize = 300;

/// Where an answer goes and what it repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyTo {
    /// Topic of the command.
    pub command: String,
    /// Topic of the reply.
    pub topic: String,
    /// MQTT 5 correlation data.
    pub correlation: Option<Bytes>,
    /// The caller's reference; null when he gave none.
    pub reference: Value,
    /// Who the caller says he is.
    pub sender: Option<String>,
}

/// Payload of a reply.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "ReplyPayload")]
pub struct ReplyPayload<S> {
    /// The caller's reference; null when he gave none.
    #[serde(rename = "ref")]
    reference: Value,
    /// Who the caller said he was; absent when he did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    /// Whether the command was carried out.
    ok: bool,
    /// True where the same `ref` came before: this is the answer of then, and nothing was done again.
    #[serde(skip_serializing_if = "is_false")]
    repeated: bool,
    /// The state that resulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<S>,
    /// Why it was not carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Complaint>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Why a command was not carried out.
#[derive(Debug, Serialize, JsonSchema)]
struct Complaint {
    /// Stable code, see `docs/troubleshooting.md`.
    code: String,
    /// Of the code `refused`: what makes the command senseless now, as a stable code of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The same for a person.
    message: String,
}

/// The answer to a command, on its way out.
#[derive(Clone, Debug)]
pub struct CommandReply {
    /// Where it goes.
    pub topic: String,
    /// MQTT 5 correlation data of the request.
    pub correlation: Option<Bytes>,
    /// JSON.
    pub payload: String,
    /// True where the command was refused just now.
    pub is_refusal: bool,
}

impl ReplyTo {
    /// The reply to a command that was carried out.
    #[must_use]
    pub fn done(&self, state: impl Serialize) -> CommandReply {
        let payload = ReplyPayload {
            reference: self.reference.clone(),
            sender: self.sender.clone(),
            ok: true,
            repeated: false,
            state: Some(state),
            error: None,
        };
        match serde_json::to_string(&payload) {
            Ok(payload) => self.with(payload),
            Err(error) => self.refused("internal", &error),
        }
    }

    /// The reply to a command that was refused. The log tells the refusal as well, because the sender may never look at
    /// a reply. MQTT does not tell who the sender is: the log has the name that he gives himself, the reference, and
    /// the topic for the answer.
    #[must_use]
    pub fn refused(&self, code: &str, message: &dyn Display) -> CommandReply {
        self.refused_for(code, None, message)
    }

    /// A refusal, as [`Self::refused`], with the code of what makes the command senseless now.
    pub(crate) fn refused_for(
        &self,
        code: &str,
        reason: Option<&str>,
        message: &dyn Display,
    ) -> CommandReply {
        let message = shortened(&message.to_string(), MOST_WORDS);
        self.log_refusal(code, &message);
        self.complain(Complaint {
            code: code.to_owned(),
            reason: reason.map(str::to_owned),
            message,
        })
    }

    /// A refusal without a line of the log, for a caller that writes the line.
    #[must_use]
    pub(crate) fn refusal(&self, code: &str, message: String) -> CommandReply {
        self.complain(Complaint {
            code: code.to_owned(),
            reason: None,
            message,
        })
    }

    fn complain(&self, complaint: Complaint) -> CommandReply {
        let payload = ReplyPayload::<()> {
            reference: self.reference.clone(),
            sender: self.sender.clone(),
            ok: false,
            repeated: false,
            state: None,
            error: Some(complaint),
        };
        // The payload holds texts and a JSON value, all of which JSON can say.
        CommandReply {
            is_refusal: true,
            ..self.with(serde_json::to_string(&payload).unwrap_or_default())
        }
    }

    fn log_refusal(&self, code: &str, message: &str) {
        let Some(left_out) = REFUSALS.pass(Instant::now()) else {
            return;
        };
        if left_out > 0 {
            say_left_out(left_out);
        }
        let [command, to] = [&self.command, &self.topic].map(|topic| shortened(topic, MOST_WORDS));
        let (reference, by) = (&self.reference, self.sender.as_deref());
        let who = by.map(|by| format!(" of {by}")).unwrap_or_default();
        tracing::info!(
            code,
            by,
            "command {command:?}{who} (ref {reference}, answered to {to:?}) refused: {message}"
        );
    }

    /// The answer that a caller got before to the same command. It says that it is no new one.
    #[must_use]
    pub fn again(&self, payload: String) -> CommandReply {
        let said = serde_json::from_str::<serde_json::Map<String, Value>>(&payload);
        self.with(match said {
            Ok(mut said) => {
                said.insert("repeated".to_owned(), true.into());
                Value::Object(said).to_string()
            }
            Err(_) => payload,
        })
    }

    /// A reply with a payload that was made before.
    #[must_use]
    pub fn with(&self, payload: String) -> CommandReply {
        CommandReply {
            topic: self.topic.clone(),
            correlation: self.correlation.clone(),
            payload,
            is_refusal: false,
        }
    }
}

static REFUSALS: Throttle = Throttle::new();

/// Tells how many refusals were not told one by one in the minute that is over.
pub(super) fn tell_left_out(now: Instant) {
    if let Some(count) = REFUSALS.overdue(now) {
        say_left_out(count);
    }
}

fn say_left_out(count: u64) {
    tracing::warn!(
        code = "commands_refused",
        "{count} more commands were refused than are told one by one: who sends so many?"
    );
}

impl CommandReply {
    pub(super) fn into_message(self) -> Publication {
        Publication {
            topic: self.topic,
            payload: self.payload.into(),
            qos: Qos::AtLeastOnce,
            retain: false,
            expiry: None,
            correlation: self.correlation,
            speaker: None,
        }
    }
}

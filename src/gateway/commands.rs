//! Commands between the broker's door and the watchers.

use serde_json::{Value, json};

use crate::{
    journal::{CommandRecord, Journal},
    mqtt::{Refusal, Reply, command::Answer},
    time::Millis,
    watcher::{Command, Watcher},
};

/// A command on its way to a board's task.
#[derive(Clone, Debug)]
pub(super) struct BoardCommand {
    pub(super) command: Command,
    pub(super) verb: String,
    pub(super) payload: String,
    pub(super) answer: Answer,
}

impl BoardCommand {
    /// The reference as the journal keeps it.
    fn reference(&self) -> Option<String> {
        match &self.answer.reference {
            Value::Null => None,
            value => Some(value.to_string()),
        }
    }

    /// A caller that repeats himself gets the answer he got, and nothing is done again.
    pub(super) async fn answered_before(&self, journal: &Journal, board: &str) -> Option<Reply> {
        let before = journal.command(board, &self.reference()?).await?;
        let payload = if before.verb == self.verb && before.payload == self.payload {
            before.reply
        } else {
            let refusal = Refusal::ReferenceReused;
            self.answer.refused(refusal.code(), &refusal.to_string())
        };
        Some(self.reply(payload))
    }

    /// Asks the watcher. The reply goes out, and the record into the journal, with what it led to.
    pub(super) fn carry_out(&self, watcher: &mut Watcher, now: Millis) -> (Reply, CommandRecord) {
        let payload = match watcher.handle_command(now, self.command.clone()) {
            Ok(reply) => match serde_json::to_value(&reply) {
                Ok(state) => self.answer.done(&state),
                Err(error) => self.answer.refused("internal", &error.to_string()),
            },
            Err(error) => self.answer.refused(error.code(), &error.to_string()),
        };
        let record = CommandRecord {
            reference: self.reference(),
            verb: self.verb.clone(),
            payload: self.payload.clone(),
            reply: payload.clone(),
        };
        (self.reply(payload), record)
    }

    /// The board's task cannot take it.
    pub(super) fn refuse(&self, refusal: &Refusal) -> Reply {
        self.reply(self.answer.refused(refusal.code(), &refusal.to_string()))
    }

    fn reply(&self, payload: String) -> Reply {
        Reply {
            topic: self.answer.topic.clone(),
            correlation: self.answer.correlation.clone(),
            payload,
        }
    }
}

/// The answer to the gateway's own commands.
pub(super) fn gateway_reply(answer: Answer, state: &Value) -> Reply {
    let payload = answer.done(state);
    Reply {
        topic: answer.topic,
        correlation: answer.correlation,
        payload,
    }
}

/// The state that `ping` answers with.
pub(super) fn pong(boot_id: &str, uptime: Millis) -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "boot_id": boot_id, "uptime_s": uptime.seconds() })
}

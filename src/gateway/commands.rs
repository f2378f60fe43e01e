//! Commands between the broker's door and the watchers.

use serde_json::{Value, json};

use crate::{
    journal::{CommandRecord, Journal},
    mqtt::{Answer, Refusal, Reply},
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
        let is_same = before.verb == self.verb && before.payload == self.payload;
        Some(if is_same {
            self.answer.with(before.reply)
        } else {
            self.refuse(&Refusal::ReferenceReused)
        })
    }

    /// Asks the watcher. The reply goes out, and the record into the journal, with what it led to.
    pub(super) fn carry_out(&self, watcher: &mut Watcher, now: Millis) -> (Reply, CommandRecord) {
        let reply = match watcher.handle_command(now, self.command.clone()) {
            Ok(state) => self.answer.done(state),
            Err(error) => self.answer.refused(error.code(), &error),
        };
        let record = CommandRecord {
            reference: self.reference(),
            verb: self.verb.clone(),
            payload: self.payload.clone(),
            reply: reply.payload.clone(),
        };
        (reply, record)
    }

    /// The board's task cannot take it.
    pub(super) fn refuse(&self, refusal: &Refusal) -> Reply {
        self.answer.refused(refusal.code(), refusal)
    }
}

/// The state that `ping` answers with.
pub(super) fn pong(boot_id: &str, uptime: Millis) -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "boot_id": boot_id, "uptime_s": uptime.seconds() })
}

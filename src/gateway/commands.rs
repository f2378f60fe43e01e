//! Carries commands from the broker to the watchers, and answers back.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Instant,
};

use serde_json::{Value, json};

use super::quota::Quota;
use crate::{
    event::Event,
    journal::{CommandRecord, Journal},
    mqtt::{CommandReply, Refusal, ReplyTo},
    throttle::shortened,
    time::Millis,
    watcher::{Command, CommandError, Expected, Order, Watcher},
};

/// How many bytes of a payload the journal keeps as they came.
const MOST_KEPT: usize = 2048;

/// A command to the gateway, of which the journal has to know once it is answered.
#[derive(Clone, Debug)]
pub(super) struct GatewayCommand {
    verb: String,
    payload: String,
    reference: Value,
}

impl GatewayCommand {
    pub(super) fn new(verb: &str, payload: &str, answer: &ReplyTo) -> Self {
        Self {
            verb: verb.to_owned(),
            payload: payload.to_owned(),
            reference: answer.reference.clone(),
        }
    }

    /// The command with its answer, as the journal keeps it.
    pub(super) fn answered(self, reply: &CommandReply) -> CommandRecord {
        CommandRecord {
            reference: written(&self.reference),
            verb: self.verb,
            payload: kept(&self.payload),
            reply: kept_reply(&reply.payload),
        }
    }
}

/// A command for a board's task.
#[derive(Clone, Debug)]
pub(super) struct BoardCommand {
    pub(super) command: Command,
    pub(super) expects: Expected,
    pub(super) verb: String,
    pub(super) payload: String,
    pub(super) answer: ReplyTo,
}

impl BoardCommand {
    /// The reference in the form of the journal.
    fn reference(&self) -> Option<String> {
        written(&self.answer.reference)
    }

    /// The earlier answer to a caller who repeats a command. The command is not carried out again.
    pub(super) async fn answered_before(&self, journal: &Journal, board: &str) -> Option<CommandReply> {
        let before = journal.command(board, &self.reference()?).await?;
        let is_same = before.verb == self.verb && before.payload == kept(&self.payload);
        Some(if is_same {
            self.answer.again(before.reply)
        } else {
            self.refuse(&Refusal::ReferenceReused)
        })
    }

    /// Has the watcher carry the command out. The reply goes to the caller. The journal gets the record with the events
    /// that came of the command.
    pub(super) fn carry_out(
        &self,
        watcher: &mut Watcher,
        board: &str,
        now: Millis,
        past: Option<Vec<Event>>,
    ) -> (CommandReply, CommandRecord) {
        let order = Order {
            command: self.command.clone(),
            by: self.answer.sender.clone(),
            past,
            expects: self.expects,
        };
        let reply = match watcher.handle_command(now, order) {
            Ok(state) => {
                self.log_done(board);
                self.answer.done(state)
            }
            Err(error) => {
                let is_unknown = matches!(error, CommandError::UnknownIrregularity(_));
                let message = match self.whose().filter(|_| is_unknown) {
                    Some(whose) => format!("{error}: {whose}"),
                    None => error.to_string(),
                };
                self.answer.refused_for(error.code(), error.reason(), &message)
            }
        };
        let record = CommandRecord {
            reference: self.reference(),
            verb: self.verb.clone(),
            payload: kept(&self.payload),
            reply: reply.payload.clone(),
        };
        (reply, record)
    }

    /// The words for a command on an irregularity of another board, by its id.
    fn whose(&self) -> Option<String> {
        let payload: Value = serde_json::from_str(&self.payload).ok()?;
        let (table, seq) = payload.get("irregularity")?.as_str()?.rsplit_once('/')?;
        let (gateway, board) = table.rsplit_once('/')?;
        seq.parse::<u64>().ok()?;
        let (place, _) = self.answer.command.rsplit_once("/cmd/")?;
        let is_here = place.ends_with(&format!("/{gateway}/board/{board}"));
        let whose =
            || format!("by its id it is of board {board} of the gateway {gateway}; send the command there");
        (!is_here).then(whose)
    }

    fn log_done(&self, board: &str) {
        let (verb, by) = (self.verb.as_str(), self.answer.sender.as_deref());
        let who = by.unwrap_or("somebody without a name");
        tracing::info!(
            board,
            verb,
            by,
            "board {board}: command {verb} of {who} was carried out"
        );
    }

    /// Refuses a command because the board was given too many. The log says so once a minute.
    pub(super) fn refuse_flood(&self, quota: &Quota, wait_s: u64, board: &str) -> CommandReply {
        let refusal = Refusal::OverBudget(wait_s);
        if let Some(left_out) = quota.says(Instant::now()) {
            tracing::warn!(
                board,
                code = refusal.code(),
                "board {board}: command {:?} refused, as were {left_out} before it that are not told one by one: {refusal}",
                self.verb
            );
        }
        self.answer.refusal(refusal.code(), refusal.to_string())
    }

    /// Refuses a command that the board's task cannot take.
    pub(super) fn refuse(&self, refusal: &Refusal) -> CommandReply {
        self.answer.refused(refusal.code(), refusal)
    }
}

fn written(reference: &Value) -> Option<String> {
    (!reference.is_null()).then(|| reference.to_string())
}

/// An answer as the journal keeps it: of a long one, whether the command was carried out, for whom, and the beginning.
fn kept_reply(reply: &str) -> String {
    if reply.len() <= MOST_KEPT {
        return reply.to_owned();
    }
    let whole: Value = serde_json::from_str(reply).unwrap_or_default();
    let (reference, sender, ok) = (&whole["ref"], &whole["sender"], &whole["ok"]);
    json!({ "ref": reference, "sender": sender, "ok": ok, "begins": shortened(reply, 200) }).to_string()
}

/// A payload as the journal keeps it. An arbiter's payloads are short. Of a long one the journal keeps the beginning
/// and a hash of all its bytes.
fn kept(payload: &str) -> String {
    if payload.len() <= MOST_KEPT {
        return payload.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    let begin = shortened(payload, 200);
    json!({ "begins": begin, "hash": format!("{:016x}", hasher.finish()) }).to_string()
}

/// The answer to `ping`.
pub(super) fn pong(boot_id: &str, uptime: Millis) -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "boot_id": boot_id, "uptime_s": uptime.seconds() })
}

//! Commands as they come in, and what is refused at the door.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{link::Arrived, reply::ReplyTo, topic::Topics};
use crate::{
    config::{MAX_NAME, is_name},
    watcher,
};

/// The largest payload of a command, in bytes.
pub const MAX_COMMAND: usize = 64 << 10;
/// The largest payload of `pairings`, in bytes: the file of an open of 400 players and eleven rounds is some 90 kB,
/// twice that in letters of two bytes.
pub const MAX_PAIRINGS: usize = 192 << 10;
/// The longest reference, as JSON text.
const MAX_REFERENCE: usize = 128;

/// The field of a command that names its sender. MQTT does not tell who that is, so the name is what the sender claims.
pub const SENDER: &str = "sender";
/// The fields of a command to a board that say what the sender saw.
pub const EXPECTED: [&str; 2] = ["expect_seq", "expect_ply"];

/// The commands that the gateway itself carries out.
pub const GATEWAY_VERBS: [&str; 10] = [
    "republish",
    "ping",
    "history",
    "pairings",
    "next_round",
    "renumber",
    "results",
    "bind",
    "reload",
    "log",
];
/// The commands that a board's watcher carries out.
pub const BOARD_VERBS: [&str; 15] = [
    "new_game",
    "set_position",
    "result",
    "dismiss",
    "accept",
    "report",
    "raised_by",
    "resync",
    "retract",
    "promotion",
    "resume",
    "correct",
    "reopen",
    "note",
    "rules",
];

/// The part of the program that carries a command out.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Send every state again.
    Republish,
    /// Answer.
    Ping,
    /// Tell a board's events again, in the answer.
    History(History),
    /// Look pairings through, and put them in force.
    Pairings(PairingsAsked),
    /// Close the round.
    NextRound(NextRound),
    /// Put the number of the present round right.
    Renumber(Renumber),
    /// Take results of games of which no board tells.
    Results(ResultsAsked),
    /// Say which board stands on which table, or put that in force.
    Bind(Bind),
    /// Read the configuration again.
    Reload,
    /// Say more or less in the log.
    Log(LogAsked),
    /// A board's watcher.
    Board {
        /// The board's id.
        board: String,
        /// The command for the watcher.
        command: watcher::Command,
        /// What the sender saw.
        expects: watcher::Expected,
    },
}

/// Which events of a board are wanted: the newest of them that fit into an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The board's id.
    pub board: String,
    /// Only those with a larger `seq`.
    #[serde(default)]
    pub after: u64,
    /// Only those with a smaller `seq`.
    pub before: Option<u64>,
}

/// Pairings are looked through: who sits where, and what is wrong. With `put` they are put in force.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingsAsked {
    /// A table (CSV) or a TRF file.
    pub text: String,
    /// Number of the round.
    #[schemars(range(min = 1, max = 99))]
    pub round: u32,
    /// Puts them in force; refused while something is wrong.
    #[serde(default)]
    pub put: bool,
    /// With `put` and an earlier round: the present one was begun by mistake, and the games that have begun since are of this round.
    #[serde(default)]
    pub back: bool,
    /// The round on lichess, where the games go there: the last part of its address.
    pub lichess: Option<String>,
    /// FEN of the position with which all games of the round begin, if that is not the initial array.
    pub start: Option<String>,
}

/// Which boards are without a result. The round is closed when none is, and the next may follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextRound {
    /// Closes it although boards are without a result.
    #[serde(default)]
    pub force: bool,
    /// Number of the round that begins when this one is closed, by the pairings that are known already. A command that
    /// comes twice begins one round.
    #[schemars(range(min = 1, max = 99))]
    pub begin: Option<u32>,
    /// With `begin`: the new round on lichess, where the games go there, as in `pairings`.
    pub lichess: Option<String>,
    /// With `begin`: the array of the new round, as in `pairings`.
    pub start: Option<String>,
}

/// The present round has a wrong number: it gets the right one, with all its games.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renumber {
    /// The wrong number, which is in force. A command that comes twice changes nothing more.
    #[schemars(range(min = 1, max = 99))]
    pub round: u32,
    /// The right number.
    #[schemars(range(min = 1, max = 99))]
    pub to: u32,
}

/// The games of which no board tells, with their results. With `results` those are entered, and taken back by null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultsAsked {
    /// Number of the round: the present one, which it is where the games are asked for without it, or one that was in force
    /// before.
    #[schemars(range(min = 1, max = 99))]
    pub round: Option<u32>,
    /// The results by the numbers of their games, as the pairings count them from 1.
    #[serde(default)]
    pub results: BTreeMap<usize, Option<HandResult>>,
}

/// A result that a person enters for a game of which no board tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum HandResult {
    /// White won.
    #[serde(rename = "1-0")]
    WhiteWins,
    /// Black won.
    #[serde(rename = "0-1")]
    BlackWins,
    /// Drawn.
    #[serde(rename = "1/2-1/2")]
    Draw,
    /// Black did not come.
    #[serde(rename = "+/-")]
    WhiteByForfeit,
    /// White did not come.
    #[serde(rename = "-/+")]
    BlackByForfeit,
    /// Neither came.
    #[serde(rename = "-/-")]
    BothForfeit,
    /// Both lost.
    #[serde(rename = "0-0")]
    BothLost,
}

impl HandResult {
    /// The result as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WhiteWins => "1-0",
            Self::BlackWins => "0-1",
            Self::Draw => "1/2-1/2",
            Self::WhiteByForfeit => "+/-",
            Self::BlackByForfeit => "-/+",
            Self::BothForfeit => "-/-",
            Self::BothLost => "0-0",
        }
    }
}

/// Which board stands on which table. With `boards` that is put in force, for this round and all that follow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// Each board once, as the answer names them, that of the first table first; an empty list for the order of the
    /// configuration.
    pub boards: Option<Vec<String>>,
}

/// The log says more, or less, until the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogAsked {
    /// What of it, as `DGT2MQTT_LOG` names it: `debug`, `info,dgt2mqtt::link=trace`. Without it the log is as at the start.
    #[schemars(length(max = 256))]
    pub filter: Option<String>,
}

/// A command that was accepted from the broker.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who carries it out.
    pub target: Target,
    /// Its verb.
    pub verb: String,
    /// Its payload without reference and sender, as JSON text with sorted keys.
    pub payload: String,
    /// Where and how to answer.
    pub answer: ReplyTo,
}

/// Why a command was refused at the door.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum Refusal {
    /// The command lay on the broker with the retain flag: the gateway would carry it out at every start.
    #[error(
        "commands are not accepted with the retain flag: clear it (an empty retained message) and send the command without"
    )]
    Retained,
    /// The payload is larger than any command can be.
    #[error("the payload has {size} bytes, this command at most {most}")]
    TooLarge { size: usize, most: usize },
    /// The payload is not JSON.
    #[error("the payload is not a JSON object: {0}")]
    BadJson(String),
    /// The reference is neither text nor number, or is too long.
    #[error("`ref` must be a text or number of at most {MAX_REFERENCE} characters")]
    BadReference,
    /// The sender is no name.
    #[error("`sender` must be a text of 1 to {MAX_NAME} characters without line breaks")]
    BadSender,
    /// There is no such verb.
    #[error("unknown command {verb:?}; known here: {known}")]
    UnknownVerb { verb: String, known: String },
    /// There is no such board.
    #[error("no board {0:?} at this gateway")]
    UnknownBoard(String),
    /// Fields are missing, unknown or of the wrong kind.
    #[error("{verb}: {reason}")]
    BadFields { verb: String, reason: String },
    /// Too many commands came at once.
    #[error("too many commands are waiting: try again")]
    Busy,
    /// The board was given more commands that lead to events than an arbiter gives.
    #[error(
        "this board was told more than any arbiter has to say, and takes nothing for now: wait {0} s and send the command again; who sends so many?"
    )]
    OverBudget(u64),
    /// The caller used the same reference for another command.
    #[error("`ref` was used for another command in the last ten minutes")]
    ReferenceReused,
}

impl Refusal {
    /// Stable code for replies and logs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Retained => "retained",
            Self::TooLarge { .. } => "too_large",
            Self::BadJson(_) => "bad_json",
            Self::BadReference => "bad_ref",
            Self::BadSender => "bad_sender",
            Self::UnknownVerb { .. } => "unknown_verb",
            Self::UnknownBoard(_) => "unknown_board",
            Self::BadFields { .. } => "bad_fields",
            Self::Busy => "busy",
            Self::OverBudget(_) => "over_budget",
            Self::ReferenceReused => "ref_reused",
        }
    }
}

/// Checks a message that came in; none when its topic is no command's.
pub fn receive(
    topics: &Topics,
    arrived: &Arrived,
    is_board: impl Fn(&str) -> bool,
) -> Option<Result<Request, Box<(Refusal, ReplyTo)>>> {
    let (board, verb) = topics.parse_command(&arrived.topic)?;
    let named = arrived
        .response_topic
        .clone()
        .filter(|topic| topics.may_answer_to(topic));
    let mut answer = ReplyTo {
        command: arrived.topic.clone(),
        topic: named.unwrap_or_else(|| topics.reply_to(&arrived.topic)),
        correlation: arrived.correlation.clone(),
        reference: Value::Null,
        sender: None,
    };
    let most = match (board, verb) {
        (None, "pairings") => MAX_PAIRINGS,
        _ => MAX_COMMAND,
    };
    let judged = fields(&arrived.payload, most, &mut answer).and_then(|mut fields| {
        if arrived.retain {
            return Err(Refusal::Retained);
        }
        let payload = Value::Object(fields.clone()).to_string();
        let target = match board {
            None => match gateway_target(verb, &mut fields)? {
                Target::History(asked) if !is_board(&asked.board) => {
                    return Err(Refusal::UnknownBoard(asked.board));
                }
                target => target,
            },
            Some(board) if !is_board(board) => return Err(Refusal::UnknownBoard(board.to_owned())),
            Some(board) => Target::Board {
                board: board.to_owned(),
                expects: expected(verb, &mut fields)?,
                command: board_command(verb, &mut fields)?,
            },
        };
        Ok((target, payload))
    });
    Some(match judged {
        Ok((target, payload)) => Ok(Request {
            target,
            verb: verb.to_owned(),
            payload,
            answer,
        }),
        Err(refusal) => Err(Box::new((refusal, answer))),
    })
}

/// The fields of a payload of at most `most` bytes, and from them the reference and the sender.
fn fields(
    payload: &[u8],
    most: usize,
    answer: &mut ReplyTo,
) -> Result<serde_json::Map<String, Value>, Refusal> {
    let size = payload.len();
    if size > most {
        return Err(Refusal::TooLarge { size, most });
    }
    if payload.is_empty() {
        return Ok(serde_json::Map::new());
    }
    let mut fields: serde_json::Map<String, Value> =
        serde_json::from_slice(payload).map_err(|error| Refusal::BadJson(error.to_string()))?;
    match fields.remove("ref") {
        None | Some(Value::Null) => {}
        Some(value @ (Value::String(_) | Value::Number(_))) if value.to_string().len() <= MAX_REFERENCE => {
            answer.reference = value;
        }
        Some(_) => return Err(Refusal::BadReference),
    }
    match fields.remove(SENDER) {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if is_name(&name) => answer.sender = Some(name),
        Some(_) => return Err(Refusal::BadSender),
    }
    Ok(fields)
}

fn gateway_target(verb: &str, fields: &mut serde_json::Map<String, Value>) -> Result<Target, Refusal> {
    match verb {
        "history" => read(verb, fields).map(Target::History),
        "pairings" => {
            let asked: PairingsAsked = read(verb, fields)?;
            is_round(verb, asked.round)?;
            Ok(Target::Pairings(asked))
        }
        "next_round" => {
            let asked: NextRound = read(verb, fields)?;
            asked.begin.map_or(Ok(()), |round| is_round(verb, round))?;
            Ok(Target::NextRound(asked))
        }
        "renumber" => {
            let asked: Renumber = read(verb, fields)?;
            is_round(verb, asked.round)?;
            is_round(verb, asked.to)?;
            Ok(Target::Renumber(asked))
        }
        "results" => read(verb, fields).map(Target::Results),
        "bind" => read(verb, fields).map(Target::Bind),
        "republish" => Ok(Target::Republish),
        "ping" => Ok(Target::Ping),
        "reload" => Ok(Target::Reload),
        "log" => read(verb, fields).map(Target::Log),
        _ => Err(unknown(verb, &GATEWAY_VERBS)),
    }
}

fn is_round(verb: &str, round: u32) -> Result<(), Refusal> {
    match round {
        1..=99 => Ok(()),
        _ => Err(Refusal::BadFields {
            verb: verb.to_owned(),
            reason: format!("the round is a number from 1 to 99, and not {round}"),
        }),
    }
}

fn read<T: DeserializeOwned>(verb: &str, fields: &mut serde_json::Map<String, Value>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(std::mem::take(fields))).map_err(|error| Refusal::BadFields {
        verb: verb.to_owned(),
        reason: error.to_string(),
    })
}

/// Takes what the sender saw out of the fields.
fn expected(verb: &str, fields: &mut serde_json::Map<String, Value>) -> Result<watcher::Expected, Refusal> {
    let taken = EXPECTED.iter().filter_map(|name| fields.remove_entry(*name));
    read(verb, &mut taken.collect())
}

fn board_command(
    verb: &str,
    fields: &mut serde_json::Map<String, Value>,
) -> Result<watcher::Command, Refusal> {
    if !BOARD_VERBS.contains(&verb) {
        return Err(unknown(verb, &BOARD_VERBS));
    }
    let bad = |reason: String| Refusal::BadFields {
        verb: verb.to_owned(),
        reason,
    };
    if fields.insert("verb".to_owned(), verb.into()).is_some() {
        return Err(bad("the verb is given by the topic, not by a field".to_owned()));
    }
    serde_json::from_value(Value::Object(std::mem::take(fields))).map_err(|error| bad(error.to_string()))
}

fn unknown(verb: &str, known: &[&str]) -> Refusal {
    Refusal::UnknownVerb {
        verb: verb.to_owned(),
        known: known.join(", "),
    }
}

#[cfg(test)]
mod tests;

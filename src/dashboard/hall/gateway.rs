//! What a gateway tells of itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

/// The players, by board.
pub(crate) type Paired = BTreeMap<String, [Option<String>; 2]>;

/// A notice of a gateway.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToldNotice {
    /// The code; the page has words for it in other languages.
    code: String,
    text: String,
}

impl ToldNotice {
    /// Reads a notice as `health` has it.
    pub(super) fn read(notice: &Value) -> Option<Self> {
        Some(Self {
            code: notice["code"].as_str().unwrap_or_default().to_owned(),
            text: notice["message"].as_str()?.to_owned(),
        })
    }
}

/// One gateway.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::dashboard) struct Gateway {
    /// Whether it is connected to the broker.
    pub(crate) online: bool,
    /// Version of the program.
    pub(crate) version: Option<String>,
    /// Its boards, if it tells them. Retained states of other boards are of an older configuration.
    pub(crate) boards: Option<Vec<String>>,
    /// True where it takes commands; none where it does not tell.
    pub(crate) commands: Option<bool>,
    /// The players at its boards, if it tells them.
    pub(crate) paired: Paired,
    /// The number of the present round, if it tells.
    pub(crate) round: Option<u32>,
    /// Wrong numbers that this round had before.
    round_formerly: BTreeSet<u32>,
    /// When a command put that round in force, as Unix time in milliseconds.
    round_began_ms: Option<i64>,
    /// The notices for its operator.
    pub(crate) notices: Vec<ToldNotice>,
    /// The machine of another gateway of its name, which stands by while this one is online.
    pub(crate) rival: Option<String>,
    /// What its states weigh, in bytes.
    pub(super) weights: BTreeMap<String, usize>,
    pub(in crate::dashboard) revision: u64,
}

impl Gateway {
    /// Takes the gateway's `info`.
    pub(super) fn take_info(&mut self, info: &Value) {
        self.version = info["version"].as_str().map(str::to_owned);
        self.boards = serde_json::from_value(info["boards"].clone()).ok();
        self.commands = info["commands"].as_bool();
        self.round = serde_json::from_value(info["round"].clone()).ok().flatten();
        self.round_formerly = serde_json::from_value(info["round_formerly"].clone()).unwrap_or_default();
        let began: Option<jiff::Timestamp> =
            info["round_began"].as_str().and_then(|began| began.parse().ok());
        self.round_began_ms = began.map(jiff::Timestamp::as_millisecond);
        self.paired = serde_json::from_value(info["players"].clone()).unwrap_or_default();
    }

    /// The round of this gateway, which has the name `gateway`; none if it tells none.
    pub(super) fn round_of(&self, gateway: &str) -> Option<GatewayRound> {
        Some(GatewayRound {
            gateway: gateway.to_owned(),
            is_online: self.online,
            round: self.round?,
            formerly: self.round_formerly.clone(),
            began_ms: self.round_began_ms,
            players: self.paired.clone(),
        })
    }
}

/// The round of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GatewayRound {
    /// Its name.
    pub(crate) gateway: String,
    /// False where this is what it said last.
    pub(crate) is_online: bool,
    /// The number of the round.
    pub(crate) round: u32,
    /// Wrong numbers that it had before.
    pub(crate) formerly: BTreeSet<u32>,
    /// When a command put it in force, as Unix time in milliseconds.
    pub(crate) began_ms: Option<i64>,
    /// The players, White and Black, by the board's id.
    pub(crate) players: Paired,
}

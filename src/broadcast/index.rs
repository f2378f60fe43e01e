//! The JSON files of the folder: `tournament.json`, and `index.json` of each round.

use serde::{Deserialize, Serialize};

use super::teams::Match;
use crate::tournament::{Pairing, Player};

/// `tournament.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct TournamentFile {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) rounds: Vec<RoundCount>,
}

/// How many games a round has, and how many of them are being played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoundCount {
    pub(super) count: usize,
    pub(super) live: usize,
}

/// `index.json` of a round.
#[derive(Serialize)]
pub(super) struct Index<'a> {
    pub(super) pairings: Vec<IndexPairing<'a>>,
    /// The matches of a tournament of teams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) matches: Vec<Match<'a>>,
}

#[derive(Serialize)]
pub(super) struct IndexPairing<'a> {
    white: IndexPlayer<'a>,
    black: IndexPlayer<'a>,
    result: &'a str,
    live: bool,
}

#[derive(Serialize)]
struct IndexPlayer<'a> {
    fname: Option<&'a str>,
    mname: Option<&'a str>,
    lname: Option<&'a str>,
    title: Option<&'a str>,
    federation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<&'a str>,
}

impl<'a> IndexPairing<'a> {
    pub(super) fn new(pairing: &'a Pairing, result: &'a str, live: bool) -> Self {
        Self {
            white: index_player(&pairing.white),
            black: index_player(&pairing.black),
            result,
            live,
        }
    }
}

/// The parts of a name that is written `Last, First`.
fn index_player(player: &Player) -> IndexPlayer<'_> {
    let (last, first) = match player.name.split_once(',') {
        Some((last, first)) => (last.trim(), Some(first.trim())),
        None => (player.name.trim(), None),
    };
    IndexPlayer {
        fname: first.filter(|name| !name.is_empty()),
        mname: None,
        lname: (!last.is_empty()).then_some(last),
        title: player.title.as_deref(),
        federation: player.federation.as_deref(),
        team: player.team.as_deref(),
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    // The value holds texts, numbers and truth values, all of which JSON can say.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

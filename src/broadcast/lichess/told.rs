//! The answers of lichess on the games, for the gateway's `health` and for the arbiter's page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The push to a round on lichess.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pushed {
    /// Id of the round: the last part of its address.
    pub round: String,
    /// When the games were last taken, RFC 3339 UTC; null before the first time.
    pub taken: Option<String>,
    /// Why they are not taken at present, and what to do; null while they are.
    pub error: Option<String>,
    /// What was answered the last time that games were taken, in the order of the boards.
    pub games: Vec<PushedGame>,
}

/// What lichess said of one game.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PushedGame {
    /// `GATEWAY/BOARD`; null for a pairing without a board.
    pub board: Option<String>,
    /// Number of the game in the folder, from 1: `game-1.pgn`.
    pub game: usize,
    /// How many moves lichess has of it; null where it does not say so.
    pub moves: Option<u32>,
    /// Why lichess does not take it; null when it does.
    pub error: Option<String>,
}

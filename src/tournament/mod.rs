//! A tournament: its round, the pairings, the order of the boards, and what commands put in force of these.

mod beside;
mod entered;
mod in_force;
pub mod pairings;
mod put_right;
pub mod tables;

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Chess, fen::Fen};

use crate::game::Period;
pub use entered::{EnteredResults, HandGame};
pub use in_force::{InForce, LastEvent};
pub use pairings::{Checked, Mistake, MistakeKind, Pairing, Pairings, PairingsError, Player};
pub use tables::TablesWrong;

/// The fields that are the same for all games of the round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tournament {
    /// Name, for the tag `Event`.
    pub name: Option<String>,
    /// Where it is played, for the tag `Site`.
    pub site: Option<String>,
    /// Number of the round, from 1.
    pub round: u32,
    /// How many rounds there are; at least `round`.
    pub rounds: u32,
    /// Periods of the time control; empty when unknown.
    pub periods: Vec<Period>,
    /// FEN of the position with which all games of the round begin, if it is known before them and not the initial array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// How far the public is behind the boards.
    pub delay: Delay,
    /// True where one file has all games together as well.
    pub combined: bool,
    /// Games that begin before this belong to an earlier round. Unix time in milliseconds.
    pub since_ms: i64,
    /// Games that begin at this time or later belong to a later round; none while there is none. Unix time in
    /// milliseconds.
    pub until_ms: Option<i64>,
}

/// The FEN in `text`, if games can begin with its position.
///
/// # Errors
/// What is wrong with it.
pub fn array(text: &str) -> Result<String, String> {
    let fen: Fen = text.parse().map_err(|error| format!("{error}"))?;
    let chess: Result<Chess, _> = fen.clone().into_position(CastlingMode::Chess960);
    chess.map_err(|error| error.to_string())?;
    Ok(fen.to_string())
}

/// How far the public is behind the board. A half-move must satisfy both `ms` and `moves`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// The age in milliseconds from which something is public.
    pub ms: i64,
    /// How many of the last full moves of a game that goes on are held back.
    pub moves: u32,
    /// How many milliseconds longer a result, and what follows it, is held back: somebody may have entered it by
    /// mistake.
    #[serde(default)]
    pub result_ms: i64,
}

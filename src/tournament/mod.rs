//! What is known of a tournament: its round, who plays whom, which board stands on which table, and what was put in force of that
//! by a command.

mod beside;
mod in_force;
pub mod pairings;
pub mod tables;

use serde::{Deserialize, Serialize};

use crate::game::Period;
pub use in_force::InForce;
pub use pairings::{Checked, Mistake, Pairing, Pairings, PairingsError, Player};
pub use tables::TablesWrong;

/// What is the same for all games of the round.
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
    /// How far the public is behind the boards.
    pub delay: Delay,
    /// Whether all games are put into one file as well.
    pub combined: bool,
    /// Games that begin before this belong to an earlier round: Unix time in milliseconds.
    pub since_ms: i64,
    /// Games that begin from then on belong to a later round; none while there is no later one.
    pub until_ms: Option<i64>,
}

/// How far the public is behind the board. Both must be satisfied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// Milliseconds.
    pub ms: i64,
    /// Full moves: the last so many of a game that goes on are held back.
    pub moves: u32,
    /// Milliseconds for which a result, and what follows it, is held back besides: it may have been entered by mistake.
    #[serde(default)]
    pub result_ms: i64,
}

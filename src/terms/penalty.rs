//! What the Laws prescribe: for the offender, and for the position.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Side;

/// What kind of penalty the Laws prescribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PenaltyKind {
    /// Seconds are added to a clock.
    Time,
    /// The offender loses; `to` wins.
    Loss,
    /// The game is drawn.
    Draw,
    /// No penalty.
    None,
    /// The Laws leave the penalty to the arbiter (12.9; 1997: 13.4).
    Arbiter,
}

/// A penalty: what, how many seconds, in whose favour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Penalty {
    /// What is prescribed.
    pub kind: PenaltyKind,
    /// Seconds to add to the clock of `to`; 0 unless `kind` is `time`.
    pub seconds: u32,
    /// Who receives the time, or wins; null where nobody does.
    pub to: Option<Side>,
}

/// What becomes of the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PositionRuling {
    /// Back to just before the irregularity.
    ReinstateBefore,
    /// Back to the last position that can be identified.
    LastIdentifiable,
    /// Play on from what is on the board.
    Continue,
    /// The game is cancelled and a new one is played.
    NewGame,
    /// The position is transferred to a board placed correctly.
    Transfer,
    /// The pawn is replaced by a queen of its colour.
    ReplaceWithQueen,
    /// The position stands as it is.
    Stands,
}

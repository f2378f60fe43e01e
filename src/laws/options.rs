//! Points on which the sources leave room: each has a name, the readings and a default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the contested points are read. `docs/laws.md` gives the grounds for each default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Seconds for a first illegal move and a wrong draw claim in supervised blitz (2023, B.2).
    pub blitz_2023_supervised: Blitz2023,
    /// What becomes of a legal move made with two hands (7.5.4).
    pub two_hands_position: TwoHandsPosition,
    /// What a promoted piece of the wrong colour is.
    pub wrong_colour_promotion: Contested,
    /// What castling with the rook left behind is.
    pub castling_incomplete: Contested,
    /// Two hands in unsupervised rapid and blitz under the proposal of 2017, whose A.4.2.1 does not name 7.5.4.
    pub proposal_2017_two_hands: TwoHands2017,
    /// Both flags down in an order nobody knows, in unsupervised rapid and blitz (2014 on).
    pub both_flags_unsupervised: BothFlagsUnsupervised,
    /// Seconds for a wrong draw claim in the edition of 1997.
    pub wrong_claim_1997: WrongClaim1997,
}

/// Supervised blitz under the Laws of 2023: B.2 refers to 7.5.5, only B.3 brings in A.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blitz2023 {
    /// One minute, as arbiters do.
    #[default]
    Practice,
    /// Two minutes, as the text has it.
    Letter,
}

/// A legal move made with two hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TwoHandsPosition {
    /// The board goes back and the move is made anew with one hand.
    #[default]
    Reinstate,
    /// The move stays on the board.
    Continue,
}

/// An act that some arbiters rule an illegal move and some do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contested {
    /// An irregularity left to the arbiter.
    #[default]
    Arbiter,
    /// An illegal move under 7.5, which counts.
    IllegalMove,
}

/// Two hands, unsupervised, under the proposal of 2017.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TwoHands2017 {
    /// The general rule 7.5.5: time first, then the game.
    #[default]
    GeneralRule,
    /// Lost at once, as for the three acts that A.4.2.1 names.
    Loss,
    /// Left to the arbiter.
    Arbiter,
}

/// Both flags down, order unknown, too few arbiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BothFlagsUnsupervised {
    /// The arbiter decides.
    #[default]
    Arbiter,
    /// As in Guidelines III.3.1: play on, or a draw in the last period.
    Guidelines,
}

/// A wrong draw claim in the edition of 1997, whose amount the sources at hand do not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct WrongClaim1997(
    /// Seconds.
    pub u32,
);

impl Default for WrongClaim1997 {
    fn default() -> Self {
        Self(180)
    }
}

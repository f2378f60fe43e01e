//! Points on which the sources leave room. Each has a name, its readings and a default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the contested points are read. `docs/laws.md` gives the grounds for each default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Seconds for a first illegal move and a wrong draw claim in supervised blitz (2023, B.2).
    pub blitz_2023_supervised: Blitz2023,
    /// Which text of B.3 says what they are in unsupervised blitz (2023).
    pub blitz_2023_unsupervised: Text2023,
    /// What becomes of a legal move made with two hands (7.5.4).
    pub two_hands_position: TwoHandsPosition,
    /// What a promoted piece of the wrong colour is.
    pub wrong_colour_promotion: Contested,
    /// What castling with the rook left behind is.
    pub castling_incomplete: Contested,
    /// Two hands in unsupervised rapid and blitz under the proposal of 2017, whose A.4.2.1 does not name 7.5.4.
    pub proposal_2017_two_hands: TwoHands2017,
    /// Both flags down in an order nobody knows, in unsupervised rapid and blitz (2014 on).
    pub both_flags_unsupervised: BothFlags,
    /// The same in the other games under the edition of 2014, which is silent on it.
    pub both_flags_2014: BothFlagsOf2014,
    /// Articles 7.2, 7.3, 7.4 and 7.6 in unsupervised rapid and blitz (2014 on).
    pub article_7_unsupervised: Analogy,
    /// An unreplaced pawn that the opponent has answered, in unsupervised rapid and blitz (2014 on).
    pub pawn_after_reply: PawnAfterReply,
    /// A claim in the blitz of 1997 by a player who cannot mate (C4).
    pub blitz_1997_without_mate: Blitz1997,
    /// Seconds for a wrong draw claim in the edition of 1997.
    pub wrong_claim_1997: WrongClaim1997,
    /// Whether offences count that nobody acted on.
    pub offences_not_acted_on: Count,
    /// The position in which it is asked whether the opponent can mate (7.5.5).
    pub mate_asked_in: MateAskedIn,
    /// What an alert of the program is in unsupervised rapid and blitz, until `raised_by` is set.
    pub alert_unsupervised: Alert,
}

/// The text of B.3 of 2023 that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Text2023 {
    /// The English one, which brings in A.3: one minute.
    #[default]
    English,
    /// A translation that does not: two minutes.
    Translation,
}

/// Both flags down, order unknown, under the edition of 2014.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BothFlagsOf2014 {
    /// As in Guidelines III.3.1 of its successors: play on, or a draw in the last period.
    #[default]
    Guidelines,
    /// The arbiter decides.
    Arbiter,
}

/// Articles that the appendix for few arbiters does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Analogy {
    /// They apply as in other games.
    #[default]
    Applies,
    /// They do not: left to the arbiter.
    Arbiter,
}

/// A pawn found unreplaced after the opponent's next move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PawnAfterReply {
    /// It stands; whoever comes upon it waits for the next move (2023: A.5.4).
    #[default]
    Stands,
    /// It is still replaced by a queen (7.5.2).
    Replaced,
}

/// A claim of an illegal move by a player who cannot mate, in the blitz of 1997.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blitz1997 {
    /// A draw.
    #[default]
    Draw,
    /// The move is taken back and nothing else.
    NoPenalty,
}

/// Offences that were noticed by the program and that nobody acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// They do not count towards the next.
    #[default]
    NotCounted,
    /// They do.
    Counted,
}

/// Where the mate of 7.5.5 is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MateAskedIn {
    /// In the position that the action of 7.5.1 to 7.5.4 leads to.
    #[default]
    TargetPosition,
    /// In the position before the act, whatever is put on the board afterwards.
    PositionBefore,
}

/// An alert where the Laws want the arbiter to observe or the opponent to claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alert {
    /// It is as good as the arbiter's observation; the words name the system as the source.
    #[default]
    Observation,
    /// It is none: the ruling is that of an act which nobody has raised.
    NotRaised,
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
pub enum BothFlags {
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

//! An irregularity: what is said of it, what the Laws prescribe for it, and how it ends.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClockState;
use crate::terms::{IrregularityKind, Penalty, PenaltyKind, PositionRuling, Side};

/// How sure the daemon is of an irregularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Advice: only a person can know.
    Suspected,
    /// The evidence has another, less likely explanation.
    Probable,
    /// Board and clock leave no other explanation.
    Certain,
}

impl Certainty {
    /// The word for it in a sentence.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Probable => "probable",
            Self::Suspected => "suspected",
        }
    }
}

/// An irregularity, the evidence for it and what the Laws say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Irregularity {
    /// What happened.
    pub kind: IrregularityKind,
    /// Who did it; null when nobody or unknown.
    pub offender: Option<Side>,
    /// The half-move it concerns: completed plies before it, plus one; 0 before the first.
    pub ply: u32,
    /// How sure.
    pub certainty: Certainty,
    /// Articles that apply, in the numbering of the edition.
    pub articles: Vec<String>,
    /// Squares concerned, `a1` to `h8`.
    pub squares: Vec<String>,
    /// The act as UCI, where it was a move.
    #[serde(rename = "move")]
    pub act: Option<String>,
    /// Why: for an illegal move what was wrong with it.
    pub reason: Option<String>,
    /// The position before it.
    pub fen_before: String,
    /// What stood on the board: the placement field of a FEN.
    pub placement: String,
    /// The clock when it happened.
    pub clock: Option<ClockState>,
    /// Number of this offence among those of the offender that count together (7.5.5); 0 where the notion does not apply.
    pub offence_number: u32,
    /// What the Laws prescribe.
    pub ruling: Advice,
    /// The same for a person, by language (`en`, `ru`; at the broker those that the gateway is told to send).
    pub text: BTreeMap<String, Words>,
    /// What the arbiter who reported it wrote down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A ruling with what an arbiter needs to carry it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The penalty.
    pub penalty: Penalty,
    /// What becomes of the position.
    pub position: PositionRuling,
    /// Articles, in the numbering of the edition.
    pub articles: Vec<String>,
    /// How the board is to stand.
    pub target_fen: Option<String>,
    /// Times to propose; null without a clock, and where the game ends.
    pub clock_proposal: Option<ClockState>,
    /// Other times that may be set instead, where half-moves were played since: the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_alternative: Option<ClockState>,
    /// How the times to propose come about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_working: Option<ClockWorking>,
    /// True while it is still being found out whether the opponent can mate; a `ruling_amended`
    /// follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// The edition of the Laws by which this was ruled, as in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laws: Option<String>,
    /// The time control by which this was ruled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_control: Option<String>,
}

impl Advice {
    /// The advice before the Laws were asked.
    #[must_use]
    pub fn none() -> Self {
        Self {
            penalty: Penalty {
                kind: PenaltyKind::None,
                seconds: 0,
                to: None,
            },
            position: PositionRuling::Continue,
            articles: Vec::new(),
            target_fen: None,
            clock_proposal: None,
            clock_alternative: None,
            clock_working: None,
            provisional: false,
            laws: None,
            time_control: None,
        }
    }
}

/// How times to propose come about (7.1): what was taken back, given back, and what the clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockWorking {
    /// What the times start from.
    pub from: ClockFrom,
    /// What the press gave the offender and is taken back, in milliseconds.
    pub increment_ms: u64,
    /// What has run off for the other player since the press and is given back, in milliseconds.
    pub returned_ms: u64,
    /// What to add to the clock's move counter: it counts presses.
    pub move_counter: i32,
}

/// What times to propose start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockFrom {
    /// The times at the press.
    Press,
    /// The times recorded at the position that is put back.
    Position,
    /// The present times.
    Now,
}

/// A ruling that changed. It has the fields of the irregularity that may change with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amendment {
    /// The `id` of the irregularity's event.
    pub irregularity: String,
    /// Why.
    pub why: Why,
    /// Articles that apply, in the numbering of the edition.
    pub articles: Vec<String>,
    /// Number of this offence, as in the irregularity.
    pub offence_number: u32,
    /// What the Laws prescribe now.
    pub ruling: Advice,
    /// The same for a person, by language (`en`, `ru`; at the broker those that the gateway is told to send).
    pub text: BTreeMap<String, Words>,
}

/// Why a ruling changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is known now whether the opponent can mate, or that it cannot be found out.
    MateChecked,
    /// The arbiter said who raised it.
    RaisedBy,
    /// An earlier offence of the player was dismissed.
    OffenceCount,
    /// An arbiter said that the game goes by other rules.
    Rules,
    /// Half-moves were played since.
    Played,
    /// The clock was stopped after half-moves were played since: times are to be proposed.
    ClockStopped,
}

/// Title and advice in one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Words {
    /// One line: what happened.
    pub title: String,
    /// What the Laws say and what can be done.
    pub advice: String,
}

/// How an irregularity ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The target position stands on the board.
    Restored,
    /// The position is accepted as it is.
    Stands,
    /// The arbiter dismissed it.
    Dismissed,
    /// Something else took its place (the game ended, a new one began).
    Superseded,
}

impl Resolution {
    /// The word for it in a sentence.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Stands => "stands",
            Self::Dismissed => "dismissed",
            Self::Superseded => "superseded",
        }
    }
}

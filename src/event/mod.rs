//! The events that leave the house: one JSON object each, the same on a line of `replay` and in
//! an MQTT message.

pub mod notice;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::terms::{IrregularityKind, Penalty, PenaltyKind, PositionRuling, Side};

/// Major version of the payloads. A consumer may rely on the fields of one major version.
pub const SCHEMA_VERSION: u32 = 1;

/// Something that happened at a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = with_abridged)]
pub struct Event {
    /// Major version of the schema.
    pub v: u32,
    /// The id that it had before another gateway took the name over. It may have been sent with that: who has it drops this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
    /// Unique for ever: `GATEWAY/BOARD/SEQ`.
    pub id: String,
    /// Number of the event on its board: from 1, without gaps, kept across restarts.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
    /// The board's id.
    pub board: String,
    /// Number of the game on this board, from 1; null outside a game.
    pub game: Option<u32>,
    /// Seconds since the start of the capture or of the daemon, when the event was decided.
    pub t: f64,
    /// The same clock: when the act happened, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// RFC 3339, UTC; null when the wall clock is unknown.
    pub time: Option<String>,
    /// Who brought it about; left out where board, clock and Laws alone did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The name of that person, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Who brought an event about, where it was not the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person, by a command.
    Arbiter,
}

/// A field that is added on the way to a broker that does not take the whole.
fn with_abridged(schema: &mut schemars::Schema) {
    let field = serde_json::json!({
        "description": "True for a short form, sent because the broker does not take the whole: `history` gives that.",
        "type": "boolean",
    });
    if let Some(fields) = schema.ensure_object().get_mut("properties") {
        fields["abridged"] = field;
    }
}

/// The kinds of event with their own fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// A board answers.
    BoardConnected {
        /// Serial number as the board reports it.
        serial: Option<String>,
        /// Firmware, `main.sub`.
        firmware: Option<String>,
        /// Where it is attached.
        port: Option<String>,
    },
    /// A board no longer answers.
    BoardDisconnected {
        /// What ended the link.
        reason: String,
    },
    /// A clock is attached to the board.
    ClockConnected,
    /// The clock was unplugged.
    ClockDisconnected,
    /// A game began.
    GameStarted {
        /// The start position.
        fen: String,
        /// True for Chess960.
        chess960: bool,
        /// White's name, where the configuration gives it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        white: Option<String>,
        /// Black's name, the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        black: Option<String>,
        /// Name of the event, the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<String>,
        /// Number of the round, the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
    },
    /// A half-move was completed.
    Move(MoveMade),
    /// Moves after `to_ply` no longer count.
    MovesRetracted {
        /// Half-moves that remain.
        to_ply: u32,
        /// Why.
        reason: String,
    },
    /// Something the Laws call an irregularity.
    Irregularity(Box<Irregularity>),
    /// The ruling on an irregularity changed, or is provisional no longer.
    RulingAmended(Box<Amendment>),
    /// An irregularity is over.
    IrregularityResolved {
        /// The `id` of the irregularity's event.
        irregularity: String,
        /// How it ended.
        how: Resolution,
    },
    /// What was said of the end of an irregularity was taken back: it is as it was before.
    IrregularityReopened {
        /// The `id` of the irregularity's event.
        irregularity: String,
        /// True when it is open again; false when it only counts again.
        open: bool,
    },
    /// An arbiter wrote down what was done about an irregularity.
    CaseNoted {
        /// The `id` of the irregularity's event.
        irregularity: String,
        /// The penalty that was given; `none` takes back one that was noted before. Null: nothing is said of it.
        penalty: Option<Penalty>,
        /// In the arbiter's words.
        note: Option<String>,
    },
    /// A game ended. The last of these, unless a `game_resumed` follows, has the result.
    GameEnded {
        /// The result.
        result: GameResult,
        /// What showed it: the position, the board, the arbiter.
        reason: String,
        /// The arbiter's reason, in his words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The result was taken back: the game goes on, or is without a result.
    GameResumed {
        /// The arbiter's reason, in his words.
        reason: Option<String>,
    },
    /// Something an operator should know.
    Notice {
        /// Stable code, see `docs/troubleshooting.md`.
        code: String,
        /// The same for a person.
        message: String,
    },
}

impl Body {
    /// A notice with one of the codes of [`notice`].
    #[must_use]
    pub fn notice(code: &'static str, message: impl Into<String>) -> Self {
        Self::Notice {
            code: code.to_owned(),
            message: message.into(),
        }
    }

    /// The value of `type`: the last level of the event's topic.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::BoardConnected { .. } => "board_connected",
            Self::BoardDisconnected { .. } => "board_disconnected",
            Self::ClockConnected => "clock_connected",
            Self::ClockDisconnected => "clock_disconnected",
            Self::GameStarted { .. } => "game_started",
            Self::Move(_) => "move",
            Self::MovesRetracted { .. } => "moves_retracted",
            Self::Irregularity(_) => "irregularity",
            Self::RulingAmended(_) => "ruling_amended",
            Self::IrregularityResolved { .. } => "irregularity_resolved",
            Self::IrregularityReopened { .. } => "irregularity_reopened",
            Self::CaseNoted { .. } => "case_noted",
            Self::GameEnded { .. } => "game_ended",
            Self::GameResumed { .. } => "game_resumed",
            Self::Notice { .. } => "notice",
        }
    }
}

/// A half-move of the game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoveMade {
    /// From 1.
    pub ply: u32,
    /// UCI; castling as the king's two squares in standard chess.
    pub uci: String,
    /// SAN; null where an illegal move stands.
    pub san: Option<String>,
    /// The position after it.
    pub fen: String,
    /// What completed it.
    pub completed_by: CompletedBy,
    /// The clock when it was completed; null without a clock.
    pub clock: Option<ClockState>,
    /// True where an illegal move stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub illegal: bool,
}

/// What completed a half-move (6.2.1 and what stands in for it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletedBy {
    /// The player pressed the clock.
    Clock,
    /// The opponent replied.
    Reply,
    /// Nobody touched the board for a while.
    Stillness,
    /// Reconstructed after a gap in the record.
    Recovered,
    /// By the arbiter, or as the Laws prescribe (a queen for an unreplaced pawn).
    Ruling,
}

/// What a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ClockState {
    /// White's time in milliseconds.
    pub white_ms: u64,
    /// Black's time in milliseconds.
    pub black_ms: u64,
    /// Whose time runs; null when the clock is stopped.
    pub running: Option<Side>,
}

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
    /// The word for it.
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
    /// The same for a person, by language (`en`, `ru`).
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
}

impl Advice {
    /// No advice yet.
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
    /// The same for a person, by language (`en`, `ru`).
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
    /// The word for it.
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

/// The result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GameResult {
    /// White won.
    #[serde(rename = "1-0")]
    WhiteWins,
    /// Black won.
    #[serde(rename = "0-1")]
    BlackWins,
    /// Drawn.
    #[serde(rename = "1/2-1/2")]
    Draw,
    /// Not known.
    #[serde(rename = "*")]
    Open,
    /// White wins by forfeit: Black did not come.
    #[serde(rename = "+/-")]
    WhiteByForfeit,
    /// Black wins by forfeit: White did not come.
    #[serde(rename = "-/+")]
    BlackByForfeit,
    /// Neither came.
    #[serde(rename = "-/-")]
    BothForfeit,
    /// Both lost, by an arbiter's decision.
    #[serde(rename = "0-0")]
    BothLost,
}

impl GameResult {
    /// The result as an arbiter writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WhiteWins => "1-0",
            Self::BlackWins => "0-1",
            Self::Draw => "1/2-1/2",
            Self::Open => "*",
            Self::WhiteByForfeit => "+/-",
            Self::BlackByForfeit => "-/+",
            Self::BothForfeit => "-/-",
            Self::BothLost => "0-0",
        }
    }

    /// The same as PGN writes it, which knows four results: where both lose it has none.
    #[must_use]
    pub fn in_pgn(self) -> &'static str {
        match self {
            Self::WhiteWins | Self::WhiteByForfeit => "1-0",
            Self::BlackWins | Self::BlackByForfeit => "0-1",
            Self::Draw => "1/2-1/2",
            Self::Open | Self::BothForfeit | Self::BothLost => "*",
        }
    }

    /// What PGN's result does not tell, for its tag `Termination`.
    #[must_use]
    pub fn termination(self) -> Option<&'static str> {
        match self {
            Self::WhiteByForfeit | Self::BlackByForfeit => Some("forfeit"),
            Self::BothForfeit => Some("forfeit by both players"),
            Self::BothLost => Some("lost by both players"),
            Self::WhiteWins | Self::BlackWins | Self::Draw | Self::Open => None,
        }
    }

    /// True where nobody had to play for it.
    #[must_use]
    pub fn is_forfeit(self) -> bool {
        matches!(
            self,
            Self::WhiteByForfeit | Self::BlackByForfeit | Self::BothForfeit
        )
    }

    /// Who won; none where nobody did.
    #[must_use]
    pub fn winner(self) -> Option<Side> {
        match self {
            Self::WhiteWins | Self::WhiteByForfeit => Some(Side::White),
            Self::BlackWins | Self::BlackByForfeit => Some(Side::Black),
            Self::Draw | Self::Open | Self::BothForfeit | Self::BothLost => None,
        }
    }
}

//! The events that leave the program: one JSON object each, the same on a line of `replay` and in an MQTT message.

mod irregularity;
pub mod notice;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::terms::{Penalty, Side};
pub use irregularity::{
    Advice, Amendment, Certainty, ClockFrom, ClockWorking, Irregularity, Resolution, Why, Words,
};

/// Major version of the payloads. A consumer may rely on the fields of one major version.
pub const SCHEMA_VERSION: u32 = 1;

/// Numbers from here on are of a range of its own, to which no board comes one by one.
pub const FAR: u64 = 1 << 46;

/// Where numbers jump to without a clock: above those of clocks until 2039. They end at twice as much, up to which they are believed.
pub const WITHOUT_CLOCK: u64 = 1 << 47;

/// Something that happened at a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = with_short_forms)]
pub struct Event {
    /// Major version of the schema.
    pub v: u32,
    /// The id that it had before another gateway took the name over. It may have been sent with that: who has it drops this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
    /// The id that it had before its number jumped, where it was never sent with that: the id may be another event's. Nobody but a
    /// phone knows it by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent_as: Option<String>,
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

/// Adds to the schema the fields of an event that is published in a shorter form.
fn with_short_forms(schema: &mut schemars::Schema) {
    let abridged = serde_json::json!({
        "description": "True for a short form, sent because the broker does not take the whole: `history` gives that.",
        "type": "boolean",
    });
    let whole = serde_json::json!({
        "description": "The command that gives the whole event (`history`), where the texts of an irregularity leave out what other fields say, or the broker does not take the whole.",
        "type": "string",
    });
    if let Some(fields) = schema.ensure_object().get_mut("properties") {
        fields["abridged"] = abridged;
        fields["whole"] = whole;
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
    /// The names of a game were corrected. These are in force, as if it had begun with them.
    NamesCorrected {
        /// White's name, where it is known.
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
        /// The start position from which the game counts now: a wrong one was put right. Later events tell the half-moves again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fen: Option<String>,
        /// True where the game counts from there as one of Chess960; it is one of standard chess otherwise.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        chess960: bool,
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

    /// The `id` of the irregularity that this is about, which another event reported.
    #[must_use]
    pub fn concerns(&self) -> Option<&str> {
        match self {
            Self::RulingAmended(amendment) => Some(&amendment.irregularity),
            Self::IrregularityResolved { irregularity, .. }
            | Self::IrregularityReopened { irregularity, .. }
            | Self::CaseNoted { irregularity, .. } => Some(irregularity),
            _ => None,
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
            Self::NamesCorrected { .. } => "names_corrected",
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

    /// The result as PGN writes it. PGN knows four results and has none for a game that both players lose.
    #[must_use]
    pub fn in_pgn(self) -> &'static str {
        match self {
            Self::WhiteWins | Self::WhiteByForfeit => "1-0",
            Self::BlackWins | Self::BlackByForfeit => "0-1",
            Self::Draw => "1/2-1/2",
            Self::Open | Self::BothForfeit | Self::BothLost => "*",
        }
    }

    /// What PGN's result does not tell, for the tag `Termination`.
    #[must_use]
    pub fn termination(self) -> Option<&'static str> {
        match self {
            Self::WhiteByForfeit | Self::BlackByForfeit => Some("forfeit"),
            Self::BothForfeit => Some("forfeit by both players"),
            Self::BothLost => Some("lost by both players"),
            Self::WhiteWins | Self::BlackWins | Self::Draw | Self::Open => None,
        }
    }

    /// True for a game that was lost by default.
    #[must_use]
    pub fn is_forfeit(self) -> bool {
        matches!(
            self,
            Self::WhiteByForfeit | Self::BlackByForfeit | Self::BothForfeit
        )
    }

    /// The winner; none where nobody won.
    #[must_use]
    pub fn winner(self) -> Option<Side> {
        match self {
            Self::WhiteWins | Self::WhiteByForfeit => Some(Side::White),
            Self::BlackWins | Self::BlackByForfeit => Some(Side::Black),
            Self::Draw | Self::Open | Self::BothForfeit | Self::BothLost => None,
        }
    }
}

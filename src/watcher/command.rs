//! Commands of an arbiter to one board, and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::GameResult,
    laws::{FirstFlag, IrregularityKind, Observed, RaisedBy, ResponseTo, Side},
};

/// A command: the last level of the topic is the verb, the payload its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// A new game starts from what stands on the board.
    NewGame,
    /// The game's position is this one.
    SetPosition {
        /// FEN.
        fen: String,
    },
    /// The game ended.
    Result {
        /// `1-0`, `0-1`, `1/2-1/2` or `*`.
        result: GameResult,
    },
    /// The irregularity was none: it does not count.
    Dismiss {
        /// Id of the event.
        irregularity: String,
    },
    /// The position stands as it is on the board.
    Accept {
        /// Id of the event.
        irregularity: String,
    },
    /// What only a person can see.
    Report(Report),
    /// Who took an irregularity up.
    RaisedBy {
        /// Id of the event.
        irregularity: String,
        /// Who.
        by: RaisedBy,
    },
    /// Read the board anew.
    Resync,
    /// Moves after `to_ply` no longer count.
    Retract {
        /// Plies that remain.
        to_ply: u32,
    },
    /// What a pawn became, on a board that cannot tell.
    Promotion {
        /// The piece.
        piece: PromotionPiece,
        /// The half-move of the promotion; the last one when it is left out.
        #[serde(default)]
        ply: Option<u32>,
    },
}

/// What a person reports: the irregularity, and what of it no sensor can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What happened.
    pub kind: IrregularityKind,
    /// Who did it; for a claim the claimant. Left out: whoever it must have been, if that is clear.
    #[serde(default)]
    pub offender: Option<Side>,
    /// Further irregularities in the very same act.
    #[serde(default)]
    pub concurrent: Vec<IrregularityKind>,
    /// Whether a draw claim is right. Left out: as the record has it.
    #[serde(default)]
    pub claim_correct: Option<bool>,
    /// For touch-move: the opponent has touched a piece meaning to move it (4.8).
    #[serde(default)]
    pub opponent_touched_piece: bool,
    /// Both players agree to correct it.
    #[serde(default)]
    pub players_agree: bool,
    /// What a press without a move answered.
    #[serde(default)]
    pub response_to: Option<ResponseTo>,
    /// Whose flag fell first, where both are down.
    #[serde(default)]
    pub first_flag: FirstFlag,
    /// The impossible position that was come upon.
    #[serde(default)]
    pub observed: Option<Observed>,
    /// Since it was come upon a move has been completed.
    #[serde(default)]
    pub next_move_completed: bool,
    /// And the position is still impossible.
    #[serde(default)]
    pub illegal_position_persists: bool,
}

impl Report {
    /// A report of `kind` with nothing to add.
    #[must_use]
    pub fn of(kind: IrregularityKind, offender: Option<Side>) -> Self {
        Self {
            kind,
            offender,
            concurrent: Vec::new(),
            claim_correct: None,
            opponent_touched_piece: false,
            players_agree: false,
            response_to: None,
            first_flag: FirstFlag::Unknown,
            observed: None,
            next_move_completed: false,
            illegal_position_persists: false,
        }
    }
}

/// What a pawn may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The names say it.
pub enum PromotionPiece {
    Queen,
    Rook,
    Bishop,
    Knight,
}

impl From<PromotionPiece> for shakmaty::Role {
    fn from(piece: PromotionPiece) -> Self {
        match piece {
            PromotionPiece::Queen => Self::Queen,
            PromotionPiece::Rook => Self::Rook,
            PromotionPiece::Bishop => Self::Bishop,
            PromotionPiece::Knight => Self::Knight,
        }
    }
}

/// The answer to a command that was carried out: the resulting state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reply {
    /// The game after the command.
    pub game: Option<super::GameView>,
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The irregularity does not exist or is over.
    #[error("no open irregularity has the id {0:?}")]
    UnknownIrregularity(String),
    /// The FEN cannot be read.
    #[error("cannot read the FEN: {0}")]
    BadFen(String),
    /// The command needs a game.
    #[error("no game is going on at this board")]
    NoGame,
    /// The ply is beyond the game.
    #[error("the game has {have} plies, so {asked} cannot remain")]
    NoSuchPly {
        /// Half-moves that were to remain.
        asked: u32,
        /// Half-moves of the game.
        have: u32,
    },
    /// It makes no sense now.
    #[error("{0}")]
    Refused(String),
}

impl CommandError {
    /// Stable code for replies and logs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownIrregularity(_) => "unknown_irregularity",
            Self::BadFen(_) => "bad_fen",
            Self::NoGame => "no_game",
            Self::NoSuchPly { .. } => "no_such_ply",
            Self::Refused(_) => "refused",
        }
    }
}

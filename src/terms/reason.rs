//! Why a half-move is illegal (Article 3.10.2).

use serde::{Deserialize, Serialize};

/// What was wrong with an illegal move: the values of `reason` in an irregularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IllegalReason {
    /// The own king was left or put in check (3.9).
    KingLeftInCheck,
    /// The piece does not move like that (3.1-3.7).
    PieceCannotMoveSo,
    /// Castling without the right, or through check (3.8).
    CastlingNotAllowed,
    /// King and rook were moved in one turn, and not as castling moves them (3.8.2).
    CastledOtherwise,
    /// A piece of the opponent was moved.
    OpponentsPieceMoved,
    /// A piece of one's own was taken.
    OwnPieceCaptured,
    /// The opponent's king was taken.
    KingCaptured,
    /// The board differs in a way that no single act explains.
    Unexplained,
}

impl IllegalReason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::KingLeftInCheck,
        Self::PieceCannotMoveSo,
        Self::CastlingNotAllowed,
        Self::CastledOtherwise,
        Self::OpponentsPieceMoved,
        Self::OwnPieceCaptured,
        Self::KingCaptured,
        Self::Unexplained,
    ];

    /// The value of `reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KingLeftInCheck => "king_left_in_check",
            Self::PieceCannotMoveSo => "piece_cannot_move_so",
            Self::CastlingNotAllowed => "castling_not_allowed",
            Self::CastledOtherwise => "castled_otherwise",
            Self::OpponentsPieceMoved => "opponents_piece_moved",
            Self::OwnPieceCaptured => "own_piece_captured",
            Self::KingCaptured => "king_captured",
            Self::Unexplained => "unexplained",
        }
    }

    /// True where king and rook were moved in one turn.
    #[must_use]
    pub fn is_of_castling(self) -> bool {
        matches!(self, Self::CastlingNotAllowed | Self::CastledOtherwise)
    }

    /// The reason of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == name)
    }
}

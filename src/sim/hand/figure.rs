//! A wooden piece: with a chip that the board reads, with the chip of another piece, or without one.

use shakmaty::{Board, Color, Piece, Role, Square};

use crate::{board::Code, dgt::PieceCode};

/// What stands on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct TaggedPiece {
    pub(in crate::sim) color: Color,
    pub(in crate::sim) role: Role,
    /// What its chip says; none if it has no working chip.
    pub(in crate::sim) chip: Option<Piece>,
}

/// What stands on the squares, a1 first.
pub(in crate::sim) type Pieces = [Option<TaggedPiece>; 64];

impl From<Piece> for TaggedPiece {
    fn from(piece: Piece) -> Self {
        let Piece { color, role } = piece;
        Self {
            color,
            role,
            chip: Some(piece),
        }
    }
}

impl TaggedPiece {
    /// This piece without a working chip.
    pub(in crate::sim) fn unread(self) -> Self {
        Self { chip: None, ..self }
    }

    /// This piece with the chip of `other`.
    pub(in crate::sim) fn with_chip_of(self, other: Piece) -> Self {
        Self {
            chip: Some(other),
            ..self
        }
    }

    /// The piece as the game knows it.
    pub(in crate::sim) fn piece(self) -> Piece {
        self.role.of(self.color)
    }
}

/// What a board tells of a square.
pub(in crate::sim) fn reading(stands: Option<TaggedPiece>) -> Option<Piece> {
    stands.and_then(|figure| figure.chip)
}

/// The code of a piece on the wire.
pub(in crate::sim) fn code(piece: Option<Piece>) -> PieceCode {
    PieceCode(piece.map_or(Code::EMPTY, Code::from).0)
}

/// The pieces of `board`, each with a working chip.
pub(in crate::sim) fn pieces_of(board: &Board) -> Pieces {
    std::array::from_fn(|i| board.piece_at(Square::new(i as u32)).map(TaggedPiece::from))
}

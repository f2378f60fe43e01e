//! A wooden piece: with a chip that the board reads, or without one.

use shakmaty::{Board, Color, Piece, Role, Square};

use crate::{board::Code, dgt::PieceCode};

/// What stands on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct TaggedPiece {
    pub(in crate::sim) color: Color,
    pub(in crate::sim) role: Role,
    /// The board reads the piece.
    pub(in crate::sim) read: bool,
}

/// What stands on the squares, a1 first.
pub(in crate::sim) type Men = [Option<TaggedPiece>; 64];

impl From<Piece> for TaggedPiece {
    fn from(piece: Piece) -> Self {
        let Piece { color, role } = piece;
        Self {
            color,
            role,
            read: true,
        }
    }
}

impl TaggedPiece {
    /// This piece without a working chip.
    pub(in crate::sim) fn unread(self) -> Self {
        Self { read: false, ..self }
    }

    /// The piece as the game knows it.
    pub(in crate::sim) fn piece(self) -> Piece {
        self.role.of(self.color)
    }
}

/// What a board tells of a square.
pub(in crate::sim) fn reading(stands: Option<TaggedPiece>) -> Option<Piece> {
    stands.filter(|figure| figure.read).map(TaggedPiece::piece)
}

/// The code of a piece on the wire.
pub(in crate::sim) fn code(piece: Option<Piece>) -> PieceCode {
    PieceCode(piece.map_or(Code::EMPTY, Code::from).0)
}

/// The pieces of `board`, each with a working chip.
pub(in crate::sim) fn men_of(board: &Board) -> Men {
    std::array::from_fn(|i| board.piece_at(Square::new(i as u32)).map(TaggedPiece::from))
}

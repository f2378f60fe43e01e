//! A piece as a thing of wood: with a chip that the board reads, or without.

use shakmaty::{Board, Color, Piece, Role, Square};

/// What stands on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaggedPiece {
    pub(super) color: Color,
    pub(super) role: Role,
    /// The board reads it.
    pub(super) read: bool,
}

/// What stands on the squares, a1 first.
pub(super) type Men = [Option<TaggedPiece>; 64];

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
    /// The same without a working chip.
    pub(super) fn unread(self) -> Self {
        Self { read: false, ..self }
    }

    /// What it is in the game.
    pub(super) fn piece(self) -> Piece {
        self.role.of(self.color)
    }
}

/// What a board tells of a square.
pub(super) fn reading(stands: Option<TaggedPiece>) -> Option<Piece> {
    stands.filter(|figure| figure.read).map(TaggedPiece::piece)
}

/// A whole set on `board`, all of it read.
pub(super) fn men_of(board: &Board) -> Men {
    std::array::from_fn(|i| board.piece_at(Square::new(i as u32)).map(TaggedPiece::from))
}

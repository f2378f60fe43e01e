//! What stands on the 64 squares, right or wrong.

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color, Piece, Role, Square};

/// What one square shows, in the wire's own codes (protocol section 3.2): 0 empty, 1..=6 White's
/// P R N B K Q, 7..=12 Black's, 13..=15 the special pieces, anything else a misreading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub u8);

impl Code {
    /// Nothing stands there.
    pub const EMPTY: Self = Self(0);

    /// True when nothing stands there.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The chess piece, if it is one.
    #[must_use]
    pub fn piece(self) -> Option<Piece> {
        let (color, n) = match self.0 {
            1..=6 => (Color::White, self.0),
            7..=12 => (Color::Black, self.0 - 6),
            _ => return None,
        };
        let role = match n {
            1 => Role::Pawn,
            2 => Role::Rook,
            3 => Role::Knight,
            4 => Role::Bishop,
            5 => Role::King,
            _ => Role::Queen,
        };
        Some(Piece { color, role })
    }

    /// The colour of the piece, if it is one.
    #[must_use]
    pub fn color(self) -> Option<Color> {
        match self.0 {
            1..=6 => Some(Color::White),
            7..=12 => Some(Color::Black),
            _ => None,
        }
    }
}

impl From<Piece> for Code {
    fn from(piece: Piece) -> Self {
        let n = match piece.role {
            Role::Pawn => 1,
            Role::Rook => 2,
            Role::Knight => 3,
            Role::Bishop => 4,
            Role::King => 5,
            Role::Queen => 6,
        };
        Self(piece.color.fold_wb(n, n + 6))
    }
}

/// What stands on each square; may be nonsense.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Placement([Code; 64]);

impl Default for Placement {
    fn default() -> Self {
        Self([Code::EMPTY; 64])
    }
}

impl Placement {
    /// What stands on `square`.
    #[must_use]
    pub fn at(&self, square: Square) -> Code {
        self.0[usize::from(square)]
    }

    /// Puts `code` on `square`.
    pub fn set(&mut self, square: Square, code: Code) {
        self.0[usize::from(square)] = code;
    }

    /// The squares on which the two differ.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Bitboard {
        Bitboard(by_ranks(|r| nonzero_bytes(self.rank(r) ^ other.rank(r))))
    }

    /// The squares that show `code`.
    #[must_use]
    pub fn squares_of(&self, code: Code) -> Bitboard {
        let all = u64::from_ne_bytes([code.0; 8]);
        Bitboard(by_ranks(|r| !nonzero_bytes(self.rank(r) ^ all)))
    }

    /// The codes of a rank, the a-file's lowest: eight are held against each other at once.
    fn rank(&self, r: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|file| self.0[r * 8 + file].0))
    }

    /// The squares on which something stands.
    #[must_use]
    pub fn occupied(&self) -> Bitboard {
        !self.squares_of(Code::EMPTY)
    }

    /// A hash that is the same on every machine and in every run (FNV-1a).
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.0.iter().fold(0xcbf2_9ce4_8422_2325, |hash, code| {
            (hash ^ u64::from(code.0)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// The chess pieces; codes that are none are left out.
    #[must_use]
    pub fn board(&self) -> Board {
        let mut board = Board::empty();
        for (i, code) in self.0.iter().enumerate() {
            if let Some(piece) = code.piece() {
                board.set_piece_at(Square::new(i as u32), piece);
            }
        }
        board
    }

    /// The placement field of a FEN.
    #[must_use]
    pub fn fen(&self) -> String {
        self.board().board_fen().to_string()
    }
}

/// Sixty-four bits from those of each rank.
fn by_ranks(of: impl Fn(usize) -> u8) -> u64 {
    u64::from_le_bytes(std::array::from_fn(of))
}

/// One bit for each byte that is not zero, the lowest byte's lowest.
fn nonzero_bytes(bytes: u64) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The high bit of each byte, set where any bit of the byte is: no carry leaves a byte.
    let high = (((bytes & LOW) + LOW) | bytes) & !LOW;
    // The product gathers the eight high bits in the highest byte.
    ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

impl From<&Board> for Placement {
    fn from(board: &Board) -> Self {
        let mut placement = Self::default();
        for (square, piece) in board.iter() {
            placement.set(square, piece.into());
        }
        placement
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Placement({})", self.fen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_wire() {
        let names: Vec<_> = (1..=12)
            .map(|n| Code(n).piece().map_or('?', Piece::char))
            .collect();
        assert_eq!(names.into_iter().collect::<String>(), "PRNBKQprnbkq");
        for n in 1..=12 {
            assert_eq!(Code(n).piece().map(Code::from), Some(Code(n)));
        }
        for n in [0, 13, 14, 15, 0x7f] {
            assert_eq!((Code(n).piece(), Code(n).color()), (None, None));
        }
    }

    #[test]
    fn placements_differ_on_the_squares_where_they_do() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let (mut a, mut b) = (Placement::default(), Placement::default());
            let mut expected = Bitboard::EMPTY;
            for square in Square::ALL {
                // Misreadings are any byte.
                let codes = [random.u8(..), random.u8(..)];
                a.set(square, Code(codes[0]));
                b.set(square, Code(codes[random.usize(0..2)]));
                expected.set(square, a.at(square) != b.at(square));
            }
            assert_eq!(a.differing(&b), expected);
            let code = a.at(Square::C3);
            let shown: Bitboard = Square::ALL.into_iter().filter(|s| a.at(*s) == code).collect();
            assert_eq!(a.squares_of(code), shown);
        }
    }

    #[test]
    fn special_pieces_stand_on_squares_but_not_in_a_fen() {
        let mut placement = Placement::default();
        placement.set(Square::D4, Code(13));
        placement.set(Square::E1, Code(5));
        assert_eq!(
            placement.occupied(),
            Bitboard::from_square(Square::D4).with(Square::E1)
        );
        assert_eq!(placement.fen(), "8/8/8/8/8/8/8/4K3");
    }

    #[test]
    fn the_hash_tells_placements_apart() {
        let initial = Placement::from(&Board::new());
        let mut moved = initial.clone();
        moved.set(Square::E2, Code::EMPTY);
        assert_ne!(initial.hash(), moved.hash());
        assert_eq!(initial.differing(&moved), Bitboard::from_square(Square::E2));
    }
}

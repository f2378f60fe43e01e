//! The pieces on the 64 squares. They need not be a legal position.

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color, Piece, Role, Square};

use crate::dgt::PieceCode;

/// What one square shows, in the wire's own codes (protocol section 3.2): 0 empty, 1..=6 White's
/// P R N B K Q, 7..=12 Black's, 13..=15 the special pieces, 16 a piece that the board does not know
/// ([`Code::UNKNOWN`]), anything else a misreading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub u8);

impl Code {
    /// Nothing stands there.
    pub const EMPTY: Self = Self(0);
    /// A piece stands there, and the board cannot tell which: boards that feel only occupation.
    pub const UNKNOWN: Self = Self(PieceCode::UNKNOWN.0);

    /// True when nothing stands there.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when a chess piece stands there, known or not.
    #[must_use]
    pub const fn is_piece(self) -> bool {
        matches!(self.0, 1..=12) || self.0 == Self::UNKNOWN.0
    }

    /// True when both may be the same: a piece that is not known may be any.
    #[must_use]
    pub const fn agrees(self, other: Self) -> bool {
        self.0 == other.0
            || self.0 == Self::UNKNOWN.0 && other.0 != Self::EMPTY.0
            || other.0 == Self::UNKNOWN.0 && self.0 != Self::EMPTY.0
    }

    /// The chess piece, if it is one.
    #[must_use]
    pub fn piece(self) -> Option<Piece> {
        const ROLES: [Role; 6] = [
            Role::Pawn,
            Role::Rook,
            Role::Knight,
            Role::Bishop,
            Role::King,
            Role::Queen,
        ];
        let color = self.color()?;
        let n = usize::from(self.0) - color.fold_wb(1, 7);
        Some(Piece {
            color,
            role: *ROLES.get(n)?,
        })
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

/// What stands on each square. It need not be a legal position.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Placement {
    // The first field, for comparing it tells most placements apart at once.
    occupied: Bitboard,
    pieces: Bitboard,
    codes: [Code; 64],
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            codes: [Code::EMPTY; 64],
            occupied: Bitboard::EMPTY,
            pieces: Bitboard::EMPTY,
        }
    }
}

impl Placement {
    /// The initial array (2.3).
    pub const ARRAY: Self = Self::array();

    const fn array() -> Self {
        // The codes of White's pieces from a1 to h1. Black's are six higher.
        const PIECES: [u8; 8] = [2, 3, 4, 6, 5, 4, 3, 2];
        let mut codes = [Code::EMPTY; 64];
        let mut file = 0;
        while file < 8 {
            codes[file] = Code(PIECES[file]);
            codes[8 + file] = Code(1);
            codes[48 + file] = Code(7);
            codes[56 + file] = Code(PIECES[file] + 6);
            file += 1;
        }
        let occupied = Bitboard(0xffff_0000_0000_ffff);
        Self {
            codes,
            occupied,
            pieces: occupied,
        }
    }

    /// What stands on `square`.
    #[must_use]
    pub fn at(&self, square: Square) -> Code {
        self.codes[usize::from(square)]
    }

    /// Puts `code` on `square`.
    pub fn set(&mut self, square: Square, code: Code) {
        self.codes[usize::from(square)] = code;
        self.occupied.set(square, !code.is_empty());
        self.pieces.set(square, code.is_piece());
    }

    /// The squares on which the two differ. A piece that is not known differs from no other.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Bitboard {
        Bitboard(by_ranks(|r| {
            let (a, b) = (self.rank(r), other.rank(r));
            let differing = nonzero_bytes(a ^ b);
            if differing == 0 {
                return 0;
            }
            let any = u64::from_ne_bytes([Code::UNKNOWN.0; 8]);
            let unknown = !nonzero_bytes(a ^ any) | !nonzero_bytes(b ^ any);
            differing & !(unknown & nonzero_bytes(a) & nonzero_bytes(b))
        }))
    }

    /// True when the two differ on no square.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        self.differing(other).is_empty()
    }

    /// True when the board that showed it does not know its pieces.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.codes
            .iter()
            .fold(false, |found, code| found | (*code == Code::UNKNOWN))
    }

    /// True when a special piece stands on a square.
    #[must_use]
    pub fn shows_special(&self) -> bool {
        // A loop without an early end lets the processor look at many squares together.
        let special = |found, code: &Code| found | matches!(code.0, 13..=15);
        self.codes.iter().fold(false, special)
    }

    /// This placement with names for its unknown pieces. An unknown piece on a square where `expected` has a
    /// piece is that piece. If exactly one piece of `expected` is missing and exactly one unknown piece
    /// stands elsewhere, it is the missing one.
    #[must_use]
    pub fn named_by(&self, expected: &Self) -> Self {
        let mut named = self.clone();
        if !self.is_felt() {
            return named;
        }
        for square in self.squares_of(Code::UNKNOWN) & expected.occupied() {
            named.set(square, expected.at(square));
        }
        let missing = expected.occupied() & !self.occupied();
        let unnamed = named.squares_of(Code::UNKNOWN);
        if let (Some(from), Some(to)) = (missing.single_square(), unnamed.single_square()) {
            named.set(to, expected.at(from));
        }
        named
    }

    /// The squares that show `code`.
    #[must_use]
    pub fn squares_of(&self, code: Code) -> Bitboard {
        let all = u64::from_ne_bytes([code.0; 8]);
        Bitboard(by_ranks(|r| !nonzero_bytes(self.rank(r) ^ all)))
    }

    /// The codes of a rank as one number, the a-file's in the lowest byte: so eight codes are compared at
    /// once. It is written out because no function is called more often.
    fn rank(&self, r: usize) -> u64 {
        let (code, a) = (&self.codes, r * 8);
        u64::from_le_bytes([
            code[a].0,
            code[a + 1].0,
            code[a + 2].0,
            code[a + 3].0,
            code[a + 4].0,
            code[a + 5].0,
            code[a + 6].0,
            code[a + 7].0,
        ])
    }

    /// The squares on which something stands.
    #[must_use]
    pub fn occupied(&self) -> Bitboard {
        self.occupied
    }

    /// The squares on which a chess piece stands, known or not.
    #[must_use]
    pub fn pieces(&self) -> Bitboard {
        self.pieces
    }

    /// A hash that is the same on every machine and in every run (FNV-1a).
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.codes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, code| {
            (hash ^ u64::from(code.0)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// The chess pieces; codes that are none are left out.
    #[must_use]
    pub fn board(&self) -> Board {
        let mut board = Board::empty();
        for (i, code) in self.codes.iter().enumerate() {
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
    u64::from_le_bytes([of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)])
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
                // A misreading may be any byte.
                let codes = [random.u8(..), random.u8(..)];
                a.set(square, Code(codes[0]));
                b.set(square, Code(codes[random.usize(0..2)]));
                expected.set(square, !a.at(square).agrees(b.at(square)));
            }
            assert_eq!(a.differing(&b), expected);
            let code = a.at(Square::C3);
            let shown: Bitboard = Square::ALL.into_iter().filter(|s| a.at(*s) == code).collect();
            assert_eq!(a.squares_of(code), shown);
            assert_eq!(a.occupied(), !a.squares_of(Code::EMPTY));
        }
    }

    #[test]
    fn the_initial_array_is_that_of_the_laws() {
        assert_eq!(Placement::ARRAY, Placement::from(&Board::new()));
    }

    #[test]
    fn special_pieces_stand_on_squares_but_not_in_a_fen() {
        let mut placement = Placement::default();
        placement.set(Square::D4, Code(13));
        placement.set(Square::E1, Code(5));
        assert!(placement.shows_special());
        assert!(!Placement::ARRAY.shows_special());
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

//! Which way round the board lies. A board never renumbers its squares (protocol section 3.4):
//! when it is turned, its raw index means another square.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Color, Piece, Rank, Square};

use super::placement::{Code, Placement};
use crate::dgt::PieceCode;

/// How raw indices map to squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// Raw index 0 is a8.
    #[default]
    Normal,
    /// Turned by 180 degrees: raw index 0 is h1. Harmless.
    Turned,
    /// Turned by 90 degrees (7.2.2): raw index 0 is a1.
    QuarterLeft,
    /// Turned by 90 degrees the other way (7.2.2): raw index 0 is h8.
    QuarterRight,
}

impl Orientation {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Turned, Self::QuarterLeft, Self::QuarterRight];

    /// The square that raw index `raw` (0..=63) means.
    #[must_use]
    pub fn square(self, raw: u8) -> Square {
        let (row, col) = (u32::from(raw & 63) / 8, u32::from(raw & 63) % 8);
        let (file, rank) = match self {
            Self::Normal => (col, 7 - row),
            Self::Turned => (7 - col, row),
            Self::QuarterLeft => (row, col),
            Self::QuarterRight => (7 - row, 7 - col),
        };
        Square::new(rank * 8 + file)
    }

    /// True when the board lies sideways.
    #[must_use]
    pub fn is_sideways(self) -> bool {
        matches!(self, Self::QuarterLeft | Self::QuarterRight)
    }

    /// The placement that a raw dump shows when the board lies this way.
    #[must_use]
    pub fn placement(self, dump: &[PieceCode; 64]) -> Placement {
        let mut placement = Placement::default();
        for (raw, code) in dump.iter().enumerate() {
            placement.set(self.square(raw as u8), Code(code.0));
        }
        placement
    }

    /// The way round in which each army is nearer to its own side of the board. It is sideways only if pawns
    /// would stand on the first and the last rank otherwise.
    #[must_use]
    pub fn likely(dump: &[PieceCode; 64]) -> Self {
        let upright = [Self::Normal, Self::Turned];
        let sideways = [Self::QuarterLeft, Self::QuarterRight];
        // One such pawn may be a misreading.
        let lies_so = impossible_pawns(&Self::Normal.placement(dump)) >= 2
            && impossible_pawns(&Self::QuarterLeft.placement(dump)) == 0;
        let [one, other] = if lies_so { sideways } else { upright };
        let (lean, pieces) = lean(&one.placement(dump));
        if 2 * lean < pieces { other } else { one }
    }

    /// The orientation in which `dump` looks like the beginning of a game, if there is one: at least six
    /// pawns of each side at home, nearly nothing between the armies, and the kings on their first ranks.
    /// Neighbours that were exchanged (king and queen) do not matter.
    #[must_use]
    pub fn of_start(dump: &[PieceCode; 64]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|o| looks_like_start(&o.placement(dump)))
    }
}

/// How much further up the board the black pieces stand than the white ones, in ranks, and how many pieces there are.
fn lean(placement: &Placement) -> (i32, i32) {
    let each = |square: Square| {
        let rank = i32::from(square.rank());
        match placement.at(square).color() {
            Some(Color::White) => (4 - rank, 1),
            Some(Color::Black) => (rank - 3, 1),
            None => (0, 0),
        }
    };
    let sum = |a: (i32, i32), b: (i32, i32)| (a.0 + b.0, a.1 + b.1);
    Square::ALL.into_iter().map(each).fold((0, 0), sum)
}

/// Pawns on the first and the last rank.
fn impossible_pawns(placement: &Placement) -> usize {
    let pawns = Color::ALL.map(|color| placement.squares_of(Code::from(color.pawn())));
    ((pawns[0] | pawns[1]) & Bitboard::BACKRANKS).count()
}

/// So many pieces of the initial position, a king among them, may not be read.
pub const MOST_UNREAD: usize = 2;

/// True when the placement looks like the beginning of a game, exact or with some pieces misplaced.
#[must_use]
pub fn looks_like_start(placement: &Placement) -> bool {
    let on_rank = |piece: Piece, rank| placement.squares_of(Code::from(piece)) & Bitboard::from_rank(rank);
    let at_home = |color: Color| on_rank(color.pawn(), color.fold_wb(Rank::Second, Rank::Seventh)).count();
    let king_home = |color: Color| on_rank(color.king(), color.backrank()).any();
    // Or the board does not read the king, and all else stands in the initial position.
    let unread = placement.differing(&Placement::ARRAY);
    let is_array = unread.count() <= MOST_UNREAD && (unread & placement.occupied()).is_empty();
    // In the arrays of Chess960 the kings stand on one file.
    let opposite_is_empty = |color: Color| {
        let king = placement.squares_of(Code::from((!color).king()));
        let opposite = king.single_square().map(Square::flip_vertical);
        opposite.is_some_and(|square| placement.at(square).is_empty()) && king_home(!color)
    };
    let is_nearly_full = placement.occupied().count() + MOST_UNREAD >= 32;
    let king_stands = |color| king_home(color) || is_array || is_nearly_full && opposite_is_empty(color);
    let between = placement.occupied() & !Placement::ARRAY.occupied();
    placement.occupied().count() >= 28
        && at_home(Color::White) >= 6
        && at_home(Color::Black) >= 6
        && king_stands(Color::White)
        && king_stands(Color::Black)
        && between.count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw_of(placement: &Placement, orientation: Orientation) -> [PieceCode; 64] {
        let mut raw = [PieceCode::EMPTY; 64];
        for (index, code) in (0u8..).zip(&mut raw) {
            *code = PieceCode(placement.at(orientation.square(index)).0);
        }
        raw
    }

    #[test]
    fn each_orientation_is_found_from_the_initial_position() {
        let initial = Placement::from(&shakmaty::Board::new());
        for orientation in Orientation::ALL {
            let raw = raw_of(&initial, orientation);
            assert_eq!(Orientation::of_start(&raw), Some(orientation));
            assert_eq!(orientation.placement(&raw), initial);
        }
    }

    #[test]
    fn raw_index_0_is_where_the_documentation_says() {
        let squares = Orientation::ALL.map(|orientation| orientation.square(0));
        assert_eq!(squares, [Square::A8, Square::H1, Square::A1, Square::H8]);
    }

    #[test]
    fn a_middlegame_does_not_look_like_a_start() {
        let fen = "r1bq1rk1/pp3ppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R2Q1RK1";
        let board = shakmaty::Board::from_ascii_board_fen(fen.as_bytes()).unwrap();
        let raw = raw_of(&Placement::from(&board), Orientation::Turned);
        assert_eq!(Orientation::of_start(&raw), None);
    }
}

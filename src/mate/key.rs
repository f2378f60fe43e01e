//! A position as an exact key: two positions with one key have the same legal moves.

use shakmaty::{Bitboard, CastlingSide, Chess, Color, EnPassantMode, Position};

/// The occupied squares, four bits for each piece on them, and the other facts in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    occupied: u64,
    pieces: u128,
    /// Bit 0 side to move, bits 1-4 castling rights, from bit 8 the en passant square plus one.
    state: u32,
}

impl Key {
    /// The key of a position that [`fits`].
    pub(super) fn of(position: &Chess) -> Self {
        let board = position.board();
        let (white, occupied) = (board.white(), board.occupied());
        let low = board.pawns() | board.bishops() | board.queens();
        let middle = board.knights() | board.bishops() | board.kings();
        let high = board.rooks() | board.queens() | board.kings();
        let mut pieces = 0_u128;
        let mut place = 0;
        for square in occupied {
            let bit = |set: Bitboard| u128::from(set.contains(square));
            let piece = bit(white) | bit(low) << 1 | bit(middle) << 2 | bit(high) << 3;
            pieces |= piece << place;
            place += 4;
        }
        let castles = position.castles();
        let right = |color, side| u32::from(castles.has(color, side));
        let state = u32::from(position.turn().is_black())
            | right(Color::White, CastlingSide::KingSide) << 1
            | right(Color::White, CastlingSide::QueenSide) << 2
            | right(Color::Black, CastlingSide::KingSide) << 3
            | right(Color::Black, CastlingSide::QueenSide) << 4;
        // The square counts only if the capture is legal.
        let en_passant = position
            .ep_square(EnPassantMode::Legal)
            .map_or(0, |s| u32::from(s) + 1);
        Self {
            occupied: occupied.into(),
            pieces,
            state: state | (en_passant << 8),
        }
    }
}

/// True for a position that a key has room for: 32 pieces, with which a game begins. No later position has more.
pub(super) fn fits(position: &Chess) -> bool {
    position.board().occupied().count() <= 32
}

//! A position as an exact key: two positions with one key have the same legal moves.

use shakmaty::{CastlingSide, Chess, Color, EnPassantMode, Position};

/// The occupied squares, four bits for each piece on them, and the other facts in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    occupied: u64,
    pieces: [u64; 2],
    /// Bit 0 side to move, bits 1-4 castling rights, from bit 8 the en passant square plus one.
    state: u32,
}

impl Key {
    /// The key of a position that [`fits`].
    pub(super) fn of(position: &Chess) -> Self {
        let board = position.board();
        let mut pieces = [0_u64; 2];
        let by_bits = [
            board.white(),
            board.pawns() | board.bishops() | board.queens(),
            board.knights() | board.bishops() | board.kings(),
            board.rooks() | board.queens() | board.kings(),
        ];
        for (i, square) in board.occupied().into_iter().enumerate() {
            let nibble = by_bits.iter().enumerate().fold(0_u64, |n, (bit, set)| {
                n | (u64::from(set.contains(square)) << bit)
            });
            if let Some(half) = pieces.get_mut(i / 16) {
                *half |= nibble << (i % 16 * 4);
            }
        }
        let castles = position.castles();
        let mut state = u32::from(position.turn().is_black());
        for (bit, (color, side)) in [
            (Color::White, CastlingSide::KingSide),
            (Color::White, CastlingSide::QueenSide),
            (Color::Black, CastlingSide::KingSide),
            (Color::Black, CastlingSide::QueenSide),
        ]
        .into_iter()
        .enumerate()
        {
            state |= u32::from(castles.has(color, side)) << (bit + 1);
        }
        // The square counts only if the capture is legal.
        let en_passant = position
            .ep_square(EnPassantMode::Legal)
            .map_or(0, |s| u32::from(s) + 1);
        Self {
            occupied: board.occupied().into(),
            pieces,
            state: state | (en_passant << 8),
        }
    }
}

/// True for a position that a key has room for: 32 pieces, with which a game begins. No later position has more.
pub(super) fn fits(position: &Chess) -> bool {
    position.board().occupied().count() <= 32
}

//! What is believed of the rights in a position whose history nobody knows.

use shakmaty::{Bitboard, Board, CastlingMode, Chess, Color, FromSetup, Move, Position, Rank, Setup};

/// Castling rights for kings and rooks at home.
#[must_use]
pub(super) fn castling_rights(board: &Board, mode: CastlingMode) -> Bitboard {
    let mut rights = Bitboard::EMPTY;
    for color in Color::ALL {
        let rank = color.fold_wb(Rank::First, Rank::Eighth);
        let Some(king) = board.king_of(color).filter(|k| k.rank() == rank) else {
            continue;
        };
        let rooks = board.rooks() & board.by_color(color) & Bitboard::from_rank(rank);
        if mode == CastlingMode::Standard {
            if king.file() == shakmaty::File::E {
                rights |= rooks & Bitboard::CORNERS;
            }
        } else {
            rights |= rooks;
        }
    }
    rights
}

/// The captures en passant that would be legal if the captured pawn had just gone two squares. Each is taken
/// by itself.
#[must_use]
pub(super) fn captures_en_passant(setup: &Setup, mode: CastlingMode) -> Vec<Move> {
    let rank = setup.turn.fold_wb(Rank::Sixth, Rank::Third);
    let passed = Bitboard::from_rank(rank).into_iter().filter_map(|square| {
        let mut setup = setup.clone();
        setup.ep_square = Some(square);
        // If such a step cannot have left the check that is on the board, it was not made.
        Chess::from_setup(setup, mode)
            .or_else(shakmaty::PositionError::ignore_invalid_castling_rights)
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .ok()
    });
    passed.flat_map(|chess| chess.en_passant_moves()).collect()
}

//! The crate `chasolver`, asked in its own types and never taken at its word.
//!
//! Its lines are replayed here: one of its phases answers "winnable" without a line. Its search
//! calls a position unwinnable when an iteration ends uncut, but a table kept from earlier, cut
//! iterations may have stopped it: that claim is not used as a proof.

use std::str::FromStr as _;

use chasolver::{Winnability, winnability};
use shakmaty::{Bitboard, CastlingMode, Chess, Color, EnPassantMode, Move, Position, fen::Fen, uci::UciMove};

use super::is_mate_by;

/// Moves that mate, if the solver finds them.
pub(super) fn line(position: &Chess, winner: Color) -> Option<Vec<Move>> {
    match winnability(&board(position)?, color(winner))? {
        Winnability::Winnable { helpmate } => {
            replay(position, winner, helpmate.iter().map(ToString::to_string))
        }
        Winnability::Unwinnable => None,
    }
}

fn color(color: Color) -> chess::Color {
    color.fold_wb(chess::Color::White, chess::Color::Black)
}

/// Pieces of one side that the solver's move lists have room for. They are filled unchecked, so that
/// more would write past their end.
const MEN: usize = 16;

/// The position in the solver's terms; none where it has no words for it (more pieces than a side
/// begins with).
fn board(position: &Chess) -> Option<chess::Board> {
    if Color::ALL
        .into_iter()
        .any(|side| position.board().by_color(side).count() > MEN)
    {
        return None;
    }
    let mut setup = position.to_setup(EnPassantMode::Legal);
    if position.castles().mode() != CastlingMode::Standard {
        // It does not castle as in Chess960. A line that does without is a line all the same.
        setup.castling_rights = Bitboard::EMPTY;
    }
    chess::Board::from_str(&Fen::try_from_setup(setup).ok()?.to_string()).ok()
}

/// The moves, if each is legal and the last mates.
fn replay(position: &Chess, winner: Color, line: impl Iterator<Item = String>) -> Option<Vec<Move>> {
    let mut position = position.clone();
    let mut moves = Vec::new();
    for uci in line {
        let next = UciMove::from_ascii(uci.as_bytes())
            .ok()?
            .to_move(&position)
            .ok()?;
        position.play_unchecked(next);
        moves.push(next);
    }
    is_mate_by(&position, winner).then_some(moves)
}

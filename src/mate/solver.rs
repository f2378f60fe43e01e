//! Asks the crate `chasolver` and checks its answers.
//!
//! This module replays the solver's lines, because one of its phases answers "winnable" without a line. The solver
//! calls a position unwinnable when an iteration ends uncut. But a table that it kept from earlier, cut iterations may
//! have stopped that iteration, so its claim is not used as a proof.

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

/// How many pieces of a side the solver's lists of moves have room for. The solver fills them unchecked, so that more
/// pieces would make it write past their end.
const MOST_PIECES: usize = 16;

/// The position in the solver's types; none where they have no room for it (more pieces than a side begins with).
fn board(position: &Chess) -> Option<chess::Board> {
    if Color::ALL
        .into_iter()
        .any(|side| position.board().by_color(side).count() > MOST_PIECES)
    {
        return None;
    }
    let mut setup = position.to_setup(EnPassantMode::Legal);
    if position.castles().mode() != CastlingMode::Standard {
        // The solver does not castle as in Chess960. A line without castling is a line all the same.
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

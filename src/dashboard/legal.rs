//! The legal half-moves of a position, for arbiters who correct a record: the page knows no rules.

use serde::Serialize;
use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position, PositionError, Setup, Square,
    fen::{Fen, LossyFenError},
    san::SanPlus,
    uci::UciMove,
};

/// A position and its legal half-moves.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Legal {
    /// FEN.
    fen: String,
    /// None where no game can reach the position, as after an illegal half-move.
    moves: Vec<Choice>,
}

/// A legal half-move.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Choice {
    uci: String,
    san: String,
    /// The position after it.
    fen: String,
}

/// The legal half-moves in `fen`, or in the position after a piece was carried from one square to another (`carried`),
/// whatever the Laws say. None where `fen` or `carried` cannot be read.
pub(super) fn legal(fen: &str, chess960: bool, carried: Option<&str>) -> Option<Legal> {
    let mut setup = fen.parse::<Fen>().ok()?.into_setup();
    if let Some(uci) = carried {
        setup = carry(setup, uci)?;
    }
    let mode = CastlingMode::from_chess960(chess960);
    let moves = position(&setup, mode).map_or_else(Vec::new, |position| {
        let moves = position.legal_moves();
        let choice = |mv: &shakmaty::Move| {
            let mut after = position.clone();
            let san = SanPlus::from_move_and_play_unchecked(&mut after, *mv);
            Choice {
                uci: UciMove::from_move(*mv, mode).to_string(),
                san: san.to_string(),
                fen: Fen::from_position(&after, EnPassantMode::Legal).to_string(),
            }
        };
        moves.iter().map(choice).collect()
    });
    Some(Legal {
        fen: Fen::try_from_setup(setup)
            .unwrap_or_else(LossyFenError::ignore)
            .to_string(),
        moves,
    })
}

/// The positions after each of `moves` from `start`. The list ends before the first half-move that cannot be played.
pub(super) fn replayed(start: &str, chess960: bool, moves: &[String]) -> Vec<String> {
    let mut fen = start.to_owned();
    let mut fens = Vec::new();
    for uci in moves {
        let Some(before) = legal(&fen, chess960, None) else {
            return fens;
        };
        let played = before.moves.into_iter().find(|choice| choice.uci == *uci);
        let after = played.map(|choice| choice.fen);
        let Some(after) = after.or_else(|| legal(&fen, chess960, Some(uci)).map(|carried| carried.fen))
        else {
            return fens;
        };
        fens.push(after.clone());
        fen = after;
    }
    fens
}

fn position(setup: &Setup, mode: CastlingMode) -> Option<Chess> {
    Chess::from_setup(setup.clone(), mode)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .ok()
}

fn carry(mut setup: Setup, uci: &str) -> Option<Setup> {
    let square = |range| uci.get(range).and_then(|name: &str| name.parse::<Square>().ok());
    let (from, to) = (square(0..2)?, square(2..4)?);
    let piece = setup.board.remove_piece_at(from)?;
    setup.board.set_piece_at(to, piece);
    if setup.turn == Color::Black {
        setup.fullmoves = setup.fullmoves.saturating_add(1);
    }
    setup.turn = !setup.turn;
    setup.ep_square = None;
    Some(setup)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    #[test]
    fn what_may_be_played_is_told_with_where_it_leads() {
        let start = legal(START, false, None).unwrap();
        assert_eq!(start.moves.len(), 20);
        let knight = start.moves.iter().find(|choice| choice.san == "Nf3").unwrap();
        assert_eq!(knight.uci, "g1f3");
        assert!(
            knight
                .fen
                .starts_with("rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b")
        );
        let promotions = legal("8/P6k/8/8/8/8/8/K7 w - - 0 1", false, None).unwrap();
        let names: Vec<_> = promotions
            .moves
            .iter()
            .map(|choice| choice.uci.as_str())
            .collect();
        assert!(names.contains(&"a7a8q") && names.contains(&"a7a8n"), "{names:?}");
        let castling = legal("4k3/8/8/8/8/8/8/4K2R w K - 0 1", false, None).unwrap();
        assert!(castling.moves.iter().any(|choice| choice.uci == "e1g1"));
        assert_eq!(legal("no position", false, None), None);
    }

    #[test]
    fn after_an_illegal_half_move_the_other_side_plays_on() {
        let after = legal(START, false, Some("b1d4")).unwrap();
        assert_eq!(
            after.fen,
            "rnbqkbnr/pppppppp/8/8/3N4/8/PPPPPPPP/R1BQKBNR b KQkq - 0 1"
        );
        assert_eq!(after.moves.len(), 20);
        assert_eq!(legal(START, false, Some("e4e5")), None, "nothing stands there");
        // The king could be taken, so nobody can say what is legal.
        let check = legal("4k3/8/8/8/8/8/4q3/K7 b - - 0 1", false, Some("e2a2")).unwrap();
        assert!(!check.moves.is_empty());
        let left = legal("4k3/8/8/8/8/8/8/K3r2R w - - 0 1", false, Some("h1h2")).unwrap();
        assert_eq!(left.moves.len(), 0);
    }

    #[test]
    fn a_game_is_played_again_as_far_as_it_can_be() {
        let moves = ["e2e4", "e7e5", "b1d4", "g8f6"].map(str::to_owned);
        let fens = replayed(START, false, &moves);
        assert_eq!(fens.len(), 4);
        assert!(fens[3].starts_with("rnbqkb1r/pppp1ppp/5n2/4p3/3NP3/8/PPPP1PPP/R1BQKBNR w"));
        let unknown = ["e2e4", "0000"].map(str::to_owned);
        assert_eq!(replayed(START, false, &unknown).len(), 1);
    }
}

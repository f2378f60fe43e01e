//! What the watcher sees without a clock: the column of `docs/boards.md`.

use super::*;
use crate::event::GameResult;

const BOTH: [Protocol; 2] = [Protocol::Chesslink, Protocol::Chessnut];

#[test]
fn a_half_move_is_reported_at_the_reply_or_after_six_seconds() {
    for protocol in BOTH {
        let mut bench = Bench::new(protocol);
        bench.play("e2e4");
        bench.after(2500);
        assert!(bench.watcher.game().moves.is_empty());
        bench.after(2500);
        assert_eq!(bench.watcher.game().moves, ["e2e4"]);
        bench.play("e7e5");
        bench.play("g1f3");
        assert_eq!(
            bench.watcher.game().moves[..2],
            ["e2e4", "e7e5"],
            "the reply completes a half-move"
        );
    }
}

#[test]
fn illegal_moves_and_displaced_pieces_are_not_judged() {
    for protocol in BOTH {
        for (from, to) in [("g1", "g3"), ("a8", "a6"), ("h2", "b4")] {
            let mut bench = Bench::new(protocol);
            bench.play("e2e4");
            bench.play("e7e5");
            bench.after(8000);
            bench.slide(&[from, to], HAND_MS);
            bench.has_played(&["e2e4", "e7e5"]);
            // The game goes on when the pieces are put right.
            bench.slide(&[to, from], HAND_MS);
            bench.after(2000);
            bench.play("g1f3");
            bench.has_played(&["e2e4", "e7e5", "g1f3"]);
        }
    }
}

#[test]
fn a_takeback_counts_when_the_board_has_stood_for_some_seconds() {
    for protocol in BOTH {
        let mut bench = Bench::new(protocol);
        for uci in ["e2e4", "e7e5", "g1f3"] {
            bench.play(uci);
        }
        bench.after(8000);
        bench.play("f3g1");
        assert_eq!(bench.watcher.game().moves.len(), 3);
        bench.has_played(&["e2e4", "e7e5"]);
        bench.play("b1c3");
        bench.has_played(&["e2e4", "e7e5", "b1c3"]);
    }
}

#[test]
fn mate_and_kings_in_the_centre_end_a_game() {
    for protocol in BOTH {
        let mut mate = Bench::new(protocol);
        for uci in ["f2f3", "e7e5", "g2g4", "d8h4"] {
            mate.play(uci);
        }
        mate.after(8000);
        assert_eq!(mate.watcher.game().result, Some(GameResult::BlackWins));
        let mut agreed = Bench::new(protocol);
        for uci in ["g1f3", "g8f6"] {
            agreed.play(uci);
        }
        agreed.after(8000);
        agreed.slide(&["e1", "e4"], HAND_MS);
        agreed.slide(&["e8", "e5"], HAND_MS);
        agreed.after(8000);
        assert_eq!(agreed.watcher.game().result, Some(GameResult::Draw));
        assert_eq!(agreed.watcher.game().moves, ["g1f3", "g8f6"]);
    }
}

#[test]
fn a_pawn_becomes_the_piece_that_is_put_there() {
    for protocol in BOTH {
        let mut bench = Bench::new(protocol);
        for uci in ["a2a4", "b7b5", "a4b5", "h7h5", "b5b6", "h5h4", "b6a7", "h4h3"] {
            bench.play(uci);
        }
        // The pawn captures the knight and becomes a knight.
        bench.squares[raw("a7")] = PieceCode::EMPTY;
        bench.tell();
        bench.after(HAND_MS);
        bench.squares[raw("b8")] = PieceCode::EMPTY;
        bench.tell();
        bench.after(HAND_MS);
        bench.squares[raw("b8")] = PieceCode(3);
        bench.tell();
        bench.after(2000);
        bench.play("h3g2");
        bench.has_played(&[
            "a2a4", "b7b5", "a4b5", "h7h5", "b5b6", "h5h4", "b6a7", "h4h3", "a7b8n", "h3g2",
        ]);
    }
}

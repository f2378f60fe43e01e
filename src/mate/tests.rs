use proptest::prelude::*;
use shakmaty::{CastlingMode, File, Piece, PositionError, Rank, Role, Setup, Square, fen::Fen};

use super::*;

const BUDGET: Budget = Budget {
    closure_positions: 50_000,
};

fn position(fen: &str) -> Chess {
    let fen: Fen = fen.parse().expect("a FEN");
    fen.into_position::<Chess>(CastlingMode::Standard)
        .or_else(PositionError::ignore_impossible_check)
        .or_else(PositionError::ignore_too_much_material)
        .expect("a position")
}

fn assert_mates(position: &Chess, winner: Color, line: &[Move]) {
    let mut at = position.clone();
    for by in line {
        assert!(at.is_legal(*by), "{by} is not legal");
        at.play_unchecked(*by);
    }
    assert!(is_mate_by(&at, winner), "the line does not mate");
}

fn verdict(fen: &str, winner: Color) -> Verdict {
    let position = position(fen);
    let verdict = can_mate(&position, winner, &BUDGET);
    if let Verdict::Winnable(line) = &verdict {
        assert_mates(&position, winner, line);
    }
    verdict
}

fn is_winnable(fen: &str, winner: Color) -> bool {
    matches!(verdict(fen, winner), Verdict::Winnable(_))
}

#[test]
fn more_pieces_than_a_side_begins_with_are_not_searched_for_seconds() {
    let fen: Fen = "rnbqkbnr/pppppppp/8/8/8/P7/PPPPPPPP/RNBQKBNR w - - 0 1"
        .parse()
        .expect("a FEN");
    let crowd = fen
        .into_position::<Chess>(CastlingMode::Standard)
        .or_else(PositionError::ignore_too_much_material)
        .expect("a position, if an odd one");
    let verdict = can_mate(&crowd, Color::White, &Budget::default());
    assert_eq!(verdict, Verdict::Undetermined(Limit::Pieces));
}

#[test]
fn a_mate_on_the_board_needs_no_moves_whatever_the_material() {
    // A lone knight has mated here, so the check of the material must not come first.
    let smothered = "6rk/5Npp/8/8/8/8/8/K7 b - - 0 1";
    assert_eq!(verdict(smothered, Color::White), Verdict::Winnable(Vec::new()));
    assert_eq!(
        verdict(smothered, Color::Black),
        Verdict::Unwinnable(Proof::Terminal)
    );
}

#[test]
fn stalemate_is_no_win_for_anybody() {
    let stalemate = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1";
    for winner in Color::ALL {
        assert_eq!(verdict(stalemate, winner), Verdict::Unwinnable(Proof::Terminal));
    }
}

#[test]
fn bare_kings_and_lone_minors_are_settled_by_material() {
    assert_eq!(
        verdict("8/8/4k3/8/8/3K4/8/8 w - - 0 1", Color::White),
        Verdict::Unwinnable(Proof::Material)
    );
    assert_eq!(
        verdict("8/8/4k3/8/8/3KN3/8/8 w - - 0 1", Color::White),
        Verdict::Unwinnable(Proof::Material)
    );
    // A knight can mate against a pawn, which may become a blocker.
    assert!(is_winnable("8/7p/4k3/8/8/3KN3/8/8 w - - 0 1", Color::White));
}

#[test]
fn forced_moves_lead_the_line_and_a_forced_circle_is_a_proof() {
    // Black's only move comes first. Without it the rest of the line would not be legal.
    assert!(is_winnable("7k/8/6K1/8/8/8/8/6Q1 b - - 0 1", Color::White));
    let circle = "5b1k/4p1p1/4P1P1/8/8/1p1p4/1P1P4/K1B5 w - - 0 1";
    assert_eq!(
        verdict(circle, Color::White),
        Verdict::Unwinnable(Proof::ForcedLoop)
    );
}

#[test]
fn a_wall_that_no_bishop_opens_is_proven_at_once() {
    let wall = "5b2/p7/Pp3k2/1Pp1pBp1/2P1P1P1/5K2/8/8 w - - 0 1";
    assert!(matches!(verdict(wall, Color::Black), Verdict::Unwinnable(_)));
    assert!(is_winnable(wall, Color::White));
    assert!(is_dead_quick(&position(
        "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/4K3 w - - 0 1"
    )));
}

#[test]
fn one_legal_capture_that_takes_the_last_piece_is_dead() {
    let take = position("7k/8/8/8/8/8/1q6/K7 w - - 0 1");
    assert!(is_dead_quick(&take), "the queen has to be taken");
}

#[test]
fn a_small_budget_leaves_the_question_open_and_a_larger_one_closes_it() {
    let hard = position("6k1/1p4P1/6PB/1p4P1/8/1P6/2K5/8 w - - 0 1");
    let small = can_mate(
        &hard,
        Color::White,
        &Budget {
            closure_positions: 50,
        },
    );
    assert_eq!(small, Verdict::Undetermined(Limit::Positions(50)));
    assert!(matches!(
        can_mate(&hard, Color::White, &BUDGET),
        Verdict::Unwinnable(Proof::Closure { .. })
    ));
}

#[test]
fn more_pieces_than_a_side_begins_with_are_answered_all_the_same() {
    let crowd = position("NNNNNNNN/NNNNNNNN/NNNN4/8/8/8/k7/2K5 w - - 0 1");
    let small = Budget {
        closure_positions: 2_000,
    };
    assert!(!matches!(
        can_mate(&crowd, Color::White, &small),
        Verdict::Unwinnable(_)
    ));
    assert_eq!(
        can_mate(&crowd, Color::Black, &small),
        Verdict::Unwinnable(Proof::Material)
    );
    assert!(!is_dead_quick(&crowd));
}

/// Whoever puts spare pieces on a board may leave one legal move among forty pieces.
#[test]
fn more_pieces_than_a_game_has_are_answered_where_one_move_is_forced() {
    let crowd = position("7k/8/8/7R/PPPBPPPP/PPPPPPPP/PPPPPPPP/KNNNNNNN b - - 0 1");
    assert_eq!(crowd.legal_moves().len(), 1);
    assert!(!is_dead_quick(&crowd));
    assert!(!cannot_mate_quick(&crowd, Color::White));
}

#[test]
fn the_start_is_neither_dead_nor_lost() {
    assert!(!is_dead_quick(&Chess::default()));
    for winner in Color::ALL {
        assert!(matches!(
            can_mate(&Chess::default(), winner, &BUDGET),
            Verdict::Winnable(_)
        ));
    }
}

#[test]
fn what_holds_now_holds_a_move_later() {
    let small = Budget {
        closure_positions: 5_000,
    };
    for fen in [
        "5b2/p7/Pp3k2/1Pp1pBp1/2P1P1P1/5K2/8/8 w - - 0 1",
        "4kb2/8/1p1p1p1p/1P1P1P1P/8/8/3BK3/8 w - - 0 1",
        "8/8/4k3/8/8/3KN3/7p/8 b - - 0 1",
        "k7/8/1K6/8/8/8/8/7R w - - 0 1",
        "6k1/1p4P1/6PB/1p4P1/8/1P6/2K5/8 w - - 0 1",
    ] {
        for winner in Color::ALL {
            let now = position(fen);
            let later = |by: Move| can_mate(&now.clone().play(by).expect("legal"), winner, &small);
            match can_mate(&now, winner, &BUDGET) {
                Verdict::Unwinnable(_) => {
                    let denied = now
                        .legal_moves()
                        .into_iter()
                        .all(|by| !matches!(later(by), Verdict::Winnable(_)));
                    assert!(denied, "{fen} {winner}");
                }
                Verdict::Winnable(line) => {
                    assert_mates(&now, winner, &line);
                    assert!(
                        line.first()
                            .is_none_or(|by| !matches!(later(*by), Verdict::Unwinnable(_))),
                        "{fen} {winner}"
                    );
                }
                Verdict::Undetermined(_) => panic!("{fen} {winner} should be settled"),
            }
        }
    }
}

#[test]
fn with_few_pieces_the_answer_is_that_of_the_exhaustive_search_alone() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut compared = 0;
    while compared < 40 {
        let mut setup = Setup::empty();
        let mut square = || Square::new(random.u32(0..64));
        for piece in [
            Color::White.king(),
            Color::Black.king(),
            Color::White.knight(),
            Color::Black.bishop(),
        ] {
            setup.board.set_piece_at(square(), piece);
        }
        setup.turn = Color::from_white(random.bool());
        let Ok(position) = setup.position::<Chess>(CastlingMode::Standard) else {
            continue;
        };
        for winner in Color::ALL {
            let verdict = can_mate(&position, winner, &BUDGET);
            match explore(&position, winner, 3_000) {
                Closure::Empty { .. } => assert!(matches!(verdict, Verdict::Unwinnable(_))),
                Closure::Mate(_) => assert!(matches!(verdict, Verdict::Winnable(_))),
                Closure::Cut => assert!(!matches!(
                    verdict,
                    Verdict::Unwinnable(Proof::Wall | Proof::Material)
                )),
            }
            compared += 1;
        }
    }
}

/// Positions that are nearly walls: chains of facing pawns, with bishops and a few other pieces about them.
fn walled() -> impl Strategy<Value = Chess> {
    let file = prop_oneof![1 => Just(None), 5 => (1_u32..6, 0_u8..12).prop_map(Some)];
    let piece = (
        0_u32..64,
        prop_oneof![9 => Just(Role::Bishop), 1 => Just(Role::Knight), 1 => Just(Role::Rook)],
        any::<bool>(),
    );
    (
        prop::collection::vec(file, 8),
        prop::collection::vec(piece, 0..4),
        0_u32..64,
        0_u32..64,
        any::<bool>(),
    )
        .prop_filter_map(
            "not a position",
            |(files, pieces, white_king, black_king, white_moves)| {
                let mut setup = Setup::empty();
                for (file, pair) in (0_u32..).zip(files) {
                    let Some((rank, gap)) = pair else { continue };
                    let facing = if gap == 0 && rank < 5 { rank + 2 } else { rank + 1 };
                    let at = |r| Square::from_coords(File::new(file), Rank::new(r));
                    setup.board.set_piece_at(at(rank), Color::White.pawn());
                    setup.board.set_piece_at(at(facing), Color::Black.pawn());
                }
                for (square, role, white) in pieces {
                    let square = Square::new(square);
                    if setup.board.piece_at(square).is_none() {
                        setup.board.set_piece_at(
                            square,
                            Piece {
                                color: Color::from_white(white),
                                role,
                            },
                        );
                    }
                }
                for (square, color) in [(white_king, Color::White), (black_king, Color::Black)] {
                    setup.board.set_piece_at(Square::new(square), color.king());
                }
                setup.turn = Color::from_white(white_moves);
                setup.position::<Chess>(CastlingMode::Standard).ok()
            },
        )
}

fn mirrored(position: &Chess) -> Chess {
    let mut setup = position.to_setup(shakmaty::EnPassantMode::Legal);
    setup.mirror();
    setup
        .position(CastlingMode::Standard)
        .expect("the mirror image of a position is one")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_proven_quickly_the_exhaustive_search_does_not_refute(position in walled()) {
        prop_assume!(!position.legal_moves().is_empty());
        for winner in Color::ALL {
            if quick_proof(&position, winner).is_some() {
                let refuted = matches!(explore(&position, winner, 2_000), Closure::Mate(_));
                prop_assert!(!refuted);
            }
        }
    }

    #[test]
    fn colours_swapped_and_board_flipped_the_quick_answers_are_the_same(position in walled()) {
        let mirror = mirrored(&position);
        prop_assert_eq!(is_dead_quick(&position), is_dead_quick(&mirror));
        for winner in Color::ALL {
            prop_assert_eq!(quick_proof(&position, winner), quick_proof(&mirror, !winner));
        }
    }

    #[test]
    fn keys_are_equal_for_equal_positions_only(a in walled(), b in walled()) {
        prop_assert_eq!(Key::of(&a) == Key::of(&b), a.board() == b.board() && a.turn() == b.turn());
    }
}

use super::*;

use shakmaty::{CastlingMode, fen::Fen};

/// What explains the board after the player to move has carried pieces as `acts` say and has pressed.
fn after(fen: &str, acts: &[(Square, Option<Square>)]) -> Explanation {
    let fen: Fen = fen.parse().unwrap();
    let stand = Stand::of_setup(fen.into_setup(), CastlingMode::Standard);
    let mut seen = stand.placement().clone();
    for (from, to) in acts {
        let code = seen.at(*from);
        seen.set(*from, Code::EMPTY);
        if let Some(to) = to {
            seen.set(*to, code);
        }
    }
    explain(&stand, &seen)
}

fn reason(fen: &str, from: Square, to: Square) -> Option<Reason> {
    match after(fen, &[(from, Some(to))]) {
        Explanation::Illegal(act) => Some(act.reason),
        _ => None,
    }
}

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const PAWN: &str = "8/P6k/8/8/8/8/7K/8 w - - 0 1";

#[test]
fn each_illegal_act_has_its_reason() {
    let pinned = "4k3/8/8/8/8/4r3/4B3/4K3 w - - 0 1";
    assert_eq!(
        reason(pinned, Square::E2, Square::D3),
        Some(Reason::KingLeftInCheck)
    );
    assert_eq!(
        reason(INITIAL, Square::E2, Square::E5),
        Some(Reason::PieceCannotMoveSo)
    );
    assert_eq!(
        reason(INITIAL, Square::E7, Square::E5),
        Some(Reason::OpponentsPieceMoved)
    );
    assert_eq!(
        reason(INITIAL, Square::D1, Square::D2),
        Some(Reason::OwnPieceCaptured)
    );
    let checked = "4k3/8/8/8/8/8/4R3/4K3 w - - 0 1";
    assert_eq!(
        reason(checked, Square::E2, Square::E8),
        Some(Reason::KingCaptured)
    );
}

#[test]
fn what_the_opponent_has_lifted_still_belongs_to_the_position() {
    let acts = [(Square::B1, Some(Square::B4)), (Square::D8, None)];
    let Explanation::Illegal(act) = after(INITIAL, &acts) else {
        panic!("no knight goes from b1 to b4");
    };
    assert_eq!(act.uci().as_deref(), Some("b1b4"));
    assert!(
        act.stood_on(Square::D8),
        "the opponent has lifted the queen, and it still belongs to the position"
    );
    assert!(act.stood_on(Square::B4) && !act.stood_on(Square::B1));
}

#[test]
fn castling_without_right_is_one_act() {
    let acts = [(Square::E1, Some(Square::G1)), (Square::H1, Some(Square::F1))];
    let Explanation::Illegal(act) = after("4kr2/8/8/8/8/8/8/4K2R w K - 0 1", &acts) else {
        panic!("castling through check is illegal");
    };
    assert_eq!(
        (act.reason, act.uci().as_deref()),
        (Reason::CastlingNotAllowed, Some("e1g1"))
    );
}

/// A pawn that is not read for a moment stands; one that lies beside its square does not stand there as well.
#[test]
fn castling_without_right_takes_no_other_piece_off_and_adds_none() {
    let no_right = "4k3/5p2/8/8/8/8/7P/4K2R w - - 0 1";
    let castled = [(Square::E1, Some(Square::G1)), (Square::H1, Some(Square::F1))];
    let left =
        |others: [(Square, Option<Square>); 1]| match after(no_right, &[&castled[..], &others].concat()) {
            Explanation::Illegal(act) => act.placement(),
            other => panic!("{other:?}"),
        };
    let blinked = left([(Square::F7, None)]);
    assert_eq!(blinked.at(Square::F7), Code::from(Color::Black.pawn()));
    let fell = left([(Square::H2, Some(Square::H3))]);
    assert_eq!(
        [fell.at(Square::H2), fell.at(Square::H3)],
        [Code::EMPTY, Code::from(Color::White.pawn())]
    );
}

#[test]
fn a_castled_king_with_its_rook_at_home_is_incomplete() {
    let acts = [(Square::E1, Some(Square::G1))];
    let found = after("4k3/8/8/8/8/8/8/4K2R w K - 0 1", &acts);
    assert!(
        matches!(found, Explanation::CastlingIncomplete { .. }),
        "{found:?}"
    );
}

#[test]
fn a_pawn_that_was_not_replaced_is_certain_only_when_it_is_seen() {
    let there = after(PAWN, &[(Square::A7, Some(Square::A8))]);
    assert!(
        matches!(there, Explanation::PawnNotReplaced { seen: true, .. }),
        "{there:?}"
    );
    let gone = after(PAWN, &[(Square::A7, None)]);
    assert!(
        matches!(gone, Explanation::PawnNotReplaced { seen: false, .. }),
        "{gone:?}"
    );
}

#[test]
fn missing_pieces_accuse_nobody() {
    assert_eq!(after(INITIAL, &[]), Explanation::Nothing);
    let lifted = after(INITIAL, &[(Square::G1, None)]);
    assert_eq!(
        lifted,
        Explanation::OnlyMissing(Bitboard::from_square(Square::G1))
    );
    let both = after(INITIAL, &[(Square::E2, Some(Square::E4)), (Square::E7, None)]);
    assert_eq!(
        both,
        Explanation::Legal,
        "the opponent has lifted a piece to reply"
    );
}

#[test]
fn a_kept_act_with_squares_off_the_board_is_refused() {
    let act = IllegalAct::carried(
        Square::F1,
        Square::F3,
        Reason::PieceCannotMoveSo,
        &Placement::ARRAY,
    );
    let kept = serde_json::to_value(&act).unwrap();
    let read = |kept| serde_json::from_value::<IllegalAct>(kept).map_err(|error| error.to_string());
    assert_eq!(read(kept.clone()), Ok(act));
    let (mut off, mut short) = (kept.clone(), kept);
    off["squares"] = serde_json::json!([64, 0]);
    short["left"] = serde_json::json!([2, 3]);
    for (kept, why) in [(off, "names square 64"), (short, "has 2 squares")] {
        let error = read(kept).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn two_pieces_that_went_astray_are_an_unexplained_act() {
    let acts = [(Square::A1, Some(Square::A5)), (Square::D1, Some(Square::D5))];
    let Explanation::Illegal(act) = after(INITIAL, &acts) else {
        panic!("two pieces on wrong squares are an illegal act");
    };
    assert_eq!((act.reason, act.from_to()), (Reason::Unexplained, None));
}

#[test]
fn castling_that_is_legal_is_no_offence_where_another_piece_stands_wrong() {
    let acts = [
        (Square::E1, Some(Square::G1)),
        (Square::H1, Some(Square::F1)),
        (Square::H2, Some(Square::G3)),
    ];
    let explained = |rights: &str| after(&format!("4k3/8/8/8/8/8/5PPP/4K2R w {rights} - 0 1"), &acts);
    assert!(matches!(explained("K"), Explanation::Legal));
    let Explanation::Illegal(act) = explained("-") else {
        panic!("White has no right to castle");
    };
    assert_eq!(act.reason, Reason::CastlingNotAllowed);
}

#[test]
fn a_capture_en_passant_is_no_offence_while_the_captured_pawn_is_still_there() {
    let explained = |passed: &str| {
        let fen = format!("4k3/8/8/3pP3/8/8/8/4K3 w - {passed} 0 1");
        after(&fen, &[(Square::E5, Some(Square::D6))])
    };
    assert!(matches!(explained("d6"), Explanation::Legal));
    assert!(matches!(explained("-"), Explanation::Illegal(_)));
}

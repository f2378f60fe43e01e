use super::*;
use crate::board::placement::Code;

fn stand(fen: &str) -> Stand {
    let fen: Fen = fen.parse().unwrap();
    Stand::of_setup(fen.into_setup(), CastlingMode::Standard)
}

fn moves(stand: &Stand) -> Vec<String> {
    let mut moves: Vec<_> = stand
        .moves()
        .iter()
        .map(|mv| UciMove::from_standard(*mv).to_string())
        .collect();
    moves.sort();
    moves
}

#[test]
fn moves_are_written_down_in_an_irregular_position_too() {
    // Black is in check and White is to move.
    let irregular = stand("4k3/8/8/8/8/8/8/R3R1K1 w - - 0 1");
    let find = |uci: &str| {
        let named = |mv: &Move| UciMove::from_standard(*mv).to_string() == uci;
        let mv = irregular.moves().into_iter().find(|mv| named(mv)).unwrap();
        irregular.san(mv).to_string()
    };
    assert_eq!(find("g1g2"), "Kg2+");
    assert_eq!(find("a1c1"), "Rac1+");
    assert_eq!(find("e1d1"), "Red1");
    assert_eq!(find("a1a8"), "Ra8+");
}

#[test]
fn play_goes_on_from_a_king_left_in_check() {
    // Black is in check and White is to move.
    let irregular = stand("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1");
    assert!(irregular.chess().is_none());
    assert!(
        !moves(&irregular).contains(&"e1e8".to_owned()),
        "kings are not captured"
    );
    assert!(moves(&irregular).contains(&"e1e7".to_owned()));
}

#[test]
fn after_an_illegal_act_the_opponent_is_to_move() {
    let mut left = Stand::initial().placement().clone();
    left.set(Square::E1, Code::EMPTY);
    left.set(Square::E3, Code::from(Color::White.king()));
    let stand = Stand::initial().left_as(&left);
    assert_eq!(stand.turn(), Color::Black);
    assert_eq!(
        stand.fen(),
        "rnbqkbnr/pppppppp/8/8/8/4K3/PPPPPPPP/RNBQ1BNR b kq - 1 1"
    );
}

#[test]
fn castling_is_assumed_for_kings_and_rooks_at_home() {
    let placement = stand("r3k2r/8/8/8/8/8/8/R2K3R w - - 0 1").placement().clone();
    let stand = Stand::of_placement(&placement, Color::Black, CastlingMode::Standard);
    assert_eq!(stand.fen(), "r3k2r/8/8/8/8/8/8/R2K3R b kq - 0 1");
}

#[test]
fn en_passant_is_believed_of_every_pawn_that_may_just_have_gone_two_squares() {
    let of = |fen: &str| {
        let known = stand(fen);
        Stand::of_placement(known.placement(), known.turn(), CastlingMode::Standard)
    };
    let passed = |fen: &str| {
        let stand = of(fen);
        let passed = stand.moves().into_iter().filter(|mv| mv.is_en_passant());
        passed.map(Move::to).collect::<Bitboard>()
    };
    let both = |a, b| Bitboard::from_square(a).with(b);
    assert_eq!(
        passed("4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1"),
        both(Square::D6, Square::F6)
    );
    assert_eq!(
        passed("4k3/8/8/8/2PpP3/8/8/4K3 b - - 0 1"),
        both(Square::C3, Square::E3)
    );
    let never = [
        (
            "a piece stands where the pawn came from",
            "4k3/3n4/8/3pP3/8/8/8/4K3 w - - 0 1",
        ),
        (
            "a piece stands where the pawn passed",
            "4k3/8/3n4/3pP3/8/8/8/4K3 w - - 0 1",
        ),
        (
            "the capture opens the rank to the king",
            "7k/8/8/K2pP2r/8/8/8/8 w - - 0 1",
        ),
        (
            "the capture opens the file to the king",
            "4r2k/8/8/3pP3/8/8/8/4K3 w - - 0 1",
        ),
        (
            "the pawn cannot have left this check",
            "4k3/8/8/3pP3/7b/8/8/4K3 w - - 0 1",
        ),
    ];
    for (why, fen) in never {
        assert!(passed(fen).is_empty(), "{why}: {fen}");
    }
    let after = of("4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1");
    let taken = after.candidates().find(|c| c.mv.to() == Square::F6).unwrap();
    assert_eq!(after.san(taken.mv).to_string(), "exf6");
    assert_eq!(after.fen(), "4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1");
    let allowing = after.allowing(taken.mv).unwrap();
    assert_eq!(allowing.fen(), "4k3/8/8/3pPp2/8/8/8/4K3 w - f6 0 1");
    assert_eq!(after.after(&taken).fen(), "4k3/8/5P2/3p4/8/8/8/4K3 b - - 0 1");
}

#[test]
fn what_was_believed_of_a_start_is_believed_again() {
    let again = |fen: &str| moves(&Stand::of_start(fen.parse().unwrap(), CastlingMode::Standard));
    let believed = again("4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1");
    assert!(believed.contains(&"e5d6".to_owned()) && believed.contains(&"e5f6".to_owned()));
    let known = "4k3/8/8/3pPp2/8/8/8/4K3 w - d6 0 1";
    assert_eq!(again(known), moves(&stand(known)));
}

#[test]
fn counters_do_not_make_positions_differ() {
    let (a, b) = (
        stand("8/8/8/8/8/k7/8/K6R w - - 0 1"),
        stand("8/8/8/8/8/k7/8/K6R w - - 30 60"),
    );
    assert_eq!((a.key(), a.repetition_key()), (b.key(), b.repetition_key()));
}

#[test]
fn mate_and_stalemate_leave_no_half_moves() {
    assert!(stand("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").moves().is_empty());
    assert_eq!(Stand::initial().moves().len(), 20);
}

#[test]
fn a_player_castles_while_the_opponents_king_is_in_check() {
    // Black has left his king in check, and White is to move.
    let castles = |fen: &str| {
        let stand = stand(fen);
        assert!(stand.chess().is_none(), "{fen} is playable");
        let castlings = stand.moves().into_iter().filter(|mv| mv.is_castle());
        castlings.map(|mv| stand.san(mv).to_string()).collect::<Vec<_>>()
    };
    let checked = "rnbqkbnr/1pp2ppp/p2p4/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 0 4";
    assert_eq!(castles(checked), ["O-O+"]);
    let after = stand(checked);
    let castling = after
        .candidates()
        .find(|candidate| candidate.mv.is_castle())
        .unwrap();
    let after = after.after(&castling).placement().fen();
    assert_eq!(after, "rnbqkbnr/1pp2ppp/p2p4/1B2p3/4P3/5N2/PPPP1PPP/RNBQ1RK1");
    assert_eq!(castles("4k3/8/8/1B6/8/8/8/R3K2R w KQ - 0 1"), ["O-O-O+", "O-O+"]);
    assert_eq!(
        castles("4k3/8/8/1B6/8/8/8/R3K2R w K - 0 1"),
        ["O-O+"],
        "without the right"
    );
    assert_eq!(
        castles("4kr2/8/8/1B6/8/8/8/R3K2R w KQ - 0 1"),
        ["O-O-O+"],
        "through an attack"
    );
    assert_eq!(
        castles("4k3/8/8/1B6/8/8/8/RN2K2R w KQ - 0 1"),
        ["O-O+"],
        "a piece between"
    );
    assert_eq!(
        castles("4k3/8/8/1B6/8/4r3/8/R3K2R w KQ - 0 1"),
        [""; 0],
        "out of check"
    );
}

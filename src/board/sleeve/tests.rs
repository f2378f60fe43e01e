use std::sync::Arc;

use shakmaty::CastlingMode;

use super::*;
use crate::board::{Bill, PlyKind, Stand};

/// What the hypothesis of a fall pays where White plays e2-e4 from `stand`, from 1.0 to 1.2 s, and presses at 1.5 s, and squares change
/// besides; none where nothing has fallen.
fn paid(stand: Stand, besides: &[(u64, Square, Code)]) -> Option<f32> {
    let stand = Arc::new(stand);
    let mut sensed = Sensed::default();
    sensed.replace(Millis(0), stand.placement());
    let mut line = Line::new(stand, &sensed, Millis(0));
    let candidate = line.stand.candidates().find(|c| c.mv.to() == Square::E4);
    let candidate = candidate.expect("a legal half-move");
    let after = Arc::new(line.stand.after(&candidate));
    let mut changes = vec![(1000, Square::E2, Code::EMPTY), (1200, Square::E4, Code(1))];
    changes.extend(besides);
    changes.sort_by_key(|(at, ..)| *at);
    for (at, square, code) in changes {
        sensed.set(Millis(at), square, code);
    }
    let kind = PlyKind::Legal(candidate.mv);
    line = line.played(kind, after, &sensed, Millis(1200), &Bill::default());
    line.hold_against(Bitboard::FULL, &sensed);
    line.pressed_by(Color::White, Millis(1500));
    let fallen = with_fall(&line, &sensed)?;
    Some(fallen.account(&sensed, Millis(1500)).paid_for(Item::Displaced))
}

/// The same where White's knight of g1 is gone at the press and is read on `lies`, while `missing` reads nothing.
fn fall_of_the_knight(lies: Square, missing: Option<Square>) -> f32 {
    let mut besides = vec![(1300, Square::G1, Code::EMPTY), (1320, lies, Code(3))];
    besides.extend(missing.map(|square| (100, square, Code::EMPTY)));
    paid(Stand::initial(), &besides).expect("the knight may have fallen")
}

#[test]
fn a_piece_that_went_its_own_way_was_carried_if_another_square_differs() {
    let costs = |lies, missing, nats: f32| (fall_of_the_knight(lies, missing) - nats).abs() < 1e-3;
    assert!(costs(Square::F3, None, weight::DISPLACED));
    assert!(costs(Square::G3, Some(Square::A7), weight::DISPLACED));
    assert!(costs(Square::F3, Some(Square::A7), weight::CARRIED));
}

/// The same where Black's knight leaves its square at `left` and comes to lie on another one at `came`.
fn push_of_the_knight(fen: &str, [home, lies]: [Square; 2], left: u64, came: u64) -> Option<f32> {
    let stand = Stand::of_start(fen.parse().unwrap(), CastlingMode::Standard);
    paid(stand, &[(left, home, Code::EMPTY), (came, lies, Code(9))])
}

#[test]
fn an_opponents_piece_is_pushed_only_while_the_hand_is_beside_it() {
    let beside = "4k3/8/8/3n4/8/8/4P3/4K3 w - - 0 1";
    let push = [Square::D5, Square::C5];
    let costs = |paid: Option<f32>| paid.map(|nats| (nats * 10.0).round() / 10.0);
    let pushed = |way, left, came| costs(push_of_the_knight(beside, way, left, came));
    assert_eq!(pushed(push, 1050, 1450), Some(weight::DISPLACED));
    assert_ne!(
        pushed(push, 600, 1000),
        Some(weight::DISPLACED),
        "before the hand came"
    );
    assert_ne!(
        pushed(push, 1050, 1700),
        Some(weight::DISPLACED),
        "put down after the press"
    );
    assert_ne!(
        pushed([Square::D5, Square::B5], 1050, 1450),
        Some(weight::DISPLACED),
        "too far for a push"
    );
    let away = "4k3/8/7n/8/8/8/4P3/4K3 w - - 0 1";
    assert_ne!(
        costs(push_of_the_knight(away, [Square::H6, Square::H5], 1050, 1450)),
        Some(weight::DISPLACED),
        "the hand was elsewhere"
    );
}

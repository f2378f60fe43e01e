use super::*;

use crate::board::placement::Placement;

fn board() -> (Arc<Stand>, Sensed) {
    let stand = Arc::new(Stand::initial());
    let mut sensed = Sensed::default();
    sensed.replace(Millis(0), &Placement::from(stand.board()));
    (stand, sensed)
}

/// What the line of the initial position costs when e2 shows `code` for `ms`.
fn cost_of(code: u8, ms: u64) -> f32 {
    let (stand, mut sensed) = board();
    sensed.set(Millis(1000), Square::E2, Code(code));
    let mut line = Line::new(stand, &sensed, Millis(1000));
    line.age(&Span::new(
        &sensed,
        Bitboard::FULL,
        Millis(1000),
        Millis(1000 + ms),
    ));
    line.total(&sensed, Millis(1000 + ms))
}

#[test]
fn a_missing_piece_costs_less_than_a_wrong_one() {
    assert!(cost_of(0, 0) < cost_of(13, 0));
    assert!(cost_of(13, 0) < cost_of(2, 0));
}

#[test]
fn a_difference_that_lasts_costs_more_up_to_a_bound() {
    assert!(cost_of(0, 0) < cost_of(0, 3000));
    assert!((cost_of(0, 60_000) - cost_of(0, 600_000)).abs() < 1e-3);
}

/// What the hypothesis of a fall pays for the fall: White's knight of g1 was gone when White pressed after
/// e2-e4 and is read on `lies`, while `missing` reads nothing.
fn fall_of_the_knight(lies: Square, missing: Option<Square>) -> f32 {
    let (stand, mut sensed) = board();
    let mut line = Line::new(stand, &sensed, Millis(0));
    sensed.set(Millis(1000), Square::E2, Code::EMPTY);
    sensed.set(Millis(1200), Square::E4, Code(1));
    let candidate = line.stand.candidates().find(|c| c.mv.to() == Square::E4);
    let candidate = candidate.expect("a legal half-move");
    let after = Arc::new(line.stand.after(&candidate));
    let kind = PlyKind::Legal(candidate.mv);
    line = line.played(kind, after, &sensed, Millis(1200), &Bill::default());
    sensed.set(Millis(1300), Square::G1, Code::EMPTY);
    sensed.set(Millis(1320), lies, Code(3));
    if let Some(square) = missing {
        sensed.set(Millis(100), square, Code::EMPTY);
    }
    line.hold_against(Bitboard::FULL, &sensed);
    line.pressed_by(Color::White, Millis(1500));
    let fallen = line.with_fall(&sensed).expect("the knight may have fallen");
    let items = fallen.account(&sensed, Millis(1500)).items();
    let displaced = items.iter().find(|(item, _)| *item == Item::Displaced);
    displaced.map_or(0.0, |(_, nats)| *nats)
}

#[test]
fn a_piece_that_went_its_own_way_was_carried_if_another_square_differs() {
    let costs = |lies, missing, nats: f32| (fall_of_the_knight(lies, missing) - nats).abs() < 1e-3;
    assert!(costs(Square::F3, None, weight::DISPLACED));
    assert!(costs(Square::G3, Some(Square::A7), weight::DISPLACED));
    assert!(costs(Square::F3, Some(Square::A7), weight::CARRIED));
}

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

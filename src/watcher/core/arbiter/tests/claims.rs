//! Claims of a draw.

use super::*;

/// Knights go out and back, one half-move every two seconds from 6 s on.
fn shuffle(watcher: &mut Watcher, half_moves: usize) -> u64 {
    const WHITE: PieceCode = PieceCode(3);
    const BLACK: PieceCode = PieceCode(9);
    // Squares as the board numbers them, a8 first: Nf6, Nf3, Ng8, Ng1.
    let ways = [(6, 21, BLACK), (62, 45, WHITE), (21, 6, BLACK), (45, 62, WHITE)];
    let mut at = 6000;
    for (from, to, knight) in ways.into_iter().cycle().take(half_moves) {
        let mut field = |at, square, piece| hear(watcher, at, Message::Field { square, piece });
        field(at, from, PieceCode::EMPTY);
        field(at + 300, to, knight);
        let pressed = if knight == WHITE {
            Lever::RightHigh
        } else {
            Lever::LeftHigh
        };
        hear(watcher, at + 600, clock(pressed));
        at += 2000;
    }
    at
}

#[test]
fn a_half_move_that_is_written_down_brings_the_position_about_for_the_third_time() {
    for (half_moves, penalty) in [(3, PenaltyKind::Time), (7, PenaltyKind::Draw)] {
        let mut watcher = after_e4();
        let now = shuffle(&mut watcher, half_moves);
        assert_eq!(watcher.game().moves.len(), 1 + half_moves);
        events(&mut watcher);
        let claim = Command::Report(Report {
            written_move: Some("Ng1".into()),
            ..Report::of(IrregularityKind::ThreefoldClaim, None)
        });
        watcher.handle_command(Millis(now), claim).unwrap();
        assert_eq!(said(&events(&mut watcher)).ruling.penalty.kind, penalty);
    }
}

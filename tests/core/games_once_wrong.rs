//! Made-up games of which the watcher had a half-move wrong once. Each is one of a class.

use dgt2mqtt::sim::rehearsal::{kinds, rehearse, verdict::Judgement};

/// A pawn slid over a square to the next and was taken there en passant: from the square before, the board would look the same in
/// the end. A king slid in bullet.
#[test]
fn what_slid_before_its_press_keeps_its_half_move() {
    for (kind, seed) in [("en-passant", 5_500_053), ("bullet", 5_500_009)] {
        let (_, game) = kinds::chosen(kind).unwrap()[0].game(seed);
        let faults = Judgement::of(&game.truth, &rehearse(&game).events).faults;
        assert_eq!(faults, [""; 0], "{kind} {seed}");
    }
}

//! A half-move is taken back, and the opponent presses: nobody knows yet whether he agrees.

use super::*;

/// After 1.e4 e5 2.Nf3 the knight is put back, and Black presses without a half-move of his own.
fn given_back() -> Watcher {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    play(&mut watcher, 9000, NF3, Lever::RightHigh);
    put(&mut watcher, 12_000, [(45, 0), (62, 3)]);
    hear(&mut watcher, 13_000, clock(Lever::LeftHigh));
    hear(&mut watcher, 14_500, clock(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ["e2e4", "e7e5", "g1f3"]);
    drained(&mut watcher);
    watcher
}

fn put(watcher: &mut Watcher, at: u64, squares: [(u8, u8); 2]) {
    for (i, (square, code)) in (0..).zip(squares) {
        let piece = PieceCode(code);
        hear(watcher, at + 300 * i, Message::Field { square, piece });
    }
}

#[test]
fn it_is_off_the_record_once_play_goes_on() {
    let mut watcher = given_back();
    play(&mut watcher, 16_000, (57, 42, 3), Lever::RightHigh);
    hear(&mut watcher, 20_000, clock(Lever::RightHigh));
    assert_eq!(uci(&watcher), ["e2e4", "e7e5", "b1c3"]);
}

#[test]
fn it_stays_where_it_is_put_up_again() {
    let mut watcher = given_back();
    put(&mut watcher, 15_000, [(62, 0), (45, 3)]);
    hear(&mut watcher, 16_000, clock(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ["e2e4", "e7e5", "g1f3"]);
    let retracted = |event: &Event| matches!(event.body, Body::MovesRetracted { .. });
    assert!(!drained(&mut watcher).iter().any(retracted));
}

#[test]
fn a_person_may_have_taken_all_back_meanwhile() {
    let mut watcher = given_back();
    do_it(&mut watcher, 15_000, Command::Retract { to_ply: 0 });
    hear(&mut watcher, 30_000, clock(Lever::LeftHigh));
    assert!(watcher.game().game.is_some());
}

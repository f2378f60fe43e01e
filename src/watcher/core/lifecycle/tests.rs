//! Games that the watcher hears of when they have begun.

use crate::{
    dgt::{ClockReading, Lever, Message, PieceCode},
    event::{Body, Certainty},
    time::Millis,
    watcher::{
        Settings, Watcher,
        testing::{hear, initial_pieces},
    },
};

fn frame(left: u32, right: u32, lever: Lever) -> Message<'static> {
    Message::Clock(ClockReading::of_seconds(left, right, true, lever))
}

fn field(square: u8, code: u8) -> Message<'static> {
    let piece = PieceCode(code);
    Message::Field { square, piece }
}

/// A watcher that first reads a board while White's king's pawn is in a hand. The clock tells later that White's time, the left
/// one, has run for some seconds.
fn begun_within_the_first_half_move() -> Watcher {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = initial_pieces();
    squares[52] = PieceCode::EMPTY;
    hear(&mut watcher, 700, Message::Dump(&squares));
    hear(&mut watcher, 1150, field(36, 1));
    hear(&mut watcher, 1250, frame(5397, 5400, Lever::LeftHigh));
    watcher
}

fn irregularities(watcher: &mut Watcher) -> Vec<Certainty> {
    let said = std::iter::from_fn(|| watcher.poll_event());
    let certainty = |body| match body {
        Body::Irregularity(said) => Some(said.certainty),
        _ => None,
    };
    said.filter_map(|event| certainty(event.body)).collect()
}

fn is_guessed(watcher: &Watcher) -> bool {
    let kept = serde_json::to_value(watcher.snapshot()).unwrap();
    kept["side_guessed"] == true
}

#[test]
fn a_time_that_is_whole_tells_that_nobody_has_pressed() {
    let mut watcher = begun_within_the_first_half_move();
    assert!(is_guessed(&watcher));
    hear(&mut watcher, 1800, frame(5396, 5400, Lever::RightHigh));
    assert!(!is_guessed(&watcher), "the press bears it out");
    hear(&mut watcher, 4000, field(12, 0));
    hear(&mut watcher, 4300, field(28, 7));
    hear(&mut watcher, 4600, frame(5396, 5398, Lever::LeftHigh));
    hear(&mut watcher, 6000, frame(5395, 5398, Lever::LeftHigh));
    assert_eq!(watcher.game().moves, ["e2e4", "e7e5"]);
    assert_eq!(watcher.snapshot().seq, 5, "nothing else was said");
    assert_eq!(irregularities(&mut watcher), []);
}

#[test]
fn until_a_press_tells_whose_time_runs_a_player_is_suspected_only() {
    let mut watcher = begun_within_the_first_half_move();
    let flag = |mut reading: ClockReading| {
        (reading.left.flag, reading.left.seconds) = (true, 0);
        Message::Clock(reading)
    };
    let reading = ClockReading::of_seconds(0, 5400, true, Lever::LeftHigh);
    for at in [4000, 5000, 6000, 9000] {
        hear(&mut watcher, at, flag(reading));
    }
    assert_eq!(irregularities(&mut watcher), [Certainty::Suspected]);
}

#[test]
fn a_game_with_an_unread_piece_is_no_wrong_initial_position() {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = initial_pieces();
    // 1.d4 d5 2.Nc3, the knight from g8 is in a hand, and the chip of the rook on a1 is dead.
    for (square, code) in [
        (51, 0),
        (35, 1),
        (11, 0),
        (27, 7),
        (57, 0),
        (42, 3),
        (6, 0),
        (56, 0),
    ] {
        squares[square] = PieceCode(code);
    }
    hear(&mut watcher, 1100, Message::Dump(&squares));
    hear(&mut watcher, 1200, frame(5390, 5395, Lever::LeftHigh));
    for at in [1500, 2500, 5000] {
        hear(&mut watcher, at, frame(5389, 5395, Lever::LeftHigh));
    }
    assert_eq!(irregularities(&mut watcher), []);
}

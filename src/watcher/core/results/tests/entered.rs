//! Half-moves that a person enters and the board does not show.

use super::*;

/// A frame of the stopped clock.
fn stopped(lever: Lever) -> Message<'static> {
    let Message::Clock(reading) = clock(lever) else {
        unreachable!()
    };
    Message::Clock(ClockReading {
        running: false,
        ..reading
    })
}

/// The board shows 1.e4 e5. The arbiter has stopped the clock, and enters two more half-moves.
fn entered() -> Watcher {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    hear(&mut watcher, 9000, stopped(Lever::LeftHigh));
    do_it(
        &mut watcher,
        9500,
        Command::Correct(correct(3, 0, &["Nf3", "Nc6"])),
    );
    assert_eq!(uci(&watcher), ENTERED);
    watcher
}

const ENTERED: [&str; 4] = ["e2e4", "e7e5", "g1f3", "b8c6"];

/// The squares after 1.e4 e5.
fn after_e5() -> [PieceCode; 64] {
    let mut squares = initial_pieces();
    for (square, code) in [(52, 0), (36, 1), (12, 0), (28, 7)] {
        squares[square] = PieceCode(code);
    }
    squares
}

#[test]
fn a_board_that_stands_as_before_takes_back_no_entered_half_moves() {
    let mut watcher = entered();
    for at in [12_000, 16_000, 20_000] {
        hear(&mut watcher, at, stopped(Lever::LeftHigh));
    }
    // A player adjusts a piece, which changes nothing.
    show(&mut watcher, 21_000, 60, PieceCode::EMPTY);
    show(&mut watcher, 21_500, 60, PieceCode(5));
    hear(&mut watcher, 30_000, stopped(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ENTERED);
    hear(&mut watcher, 31_000, clock(Lever::LeftHigh));
    hear(&mut watcher, 40_000, clock(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ENTERED);
}

#[test]
fn it_takes_back_none_after_a_restart_or_before_the_board_is_read() {
    let restarted = |watcher: &Watcher| {
        let text = serde_json::to_string(&watcher.snapshot()).unwrap();
        let mut again = Watcher::new(Settings::default(), Some(serde_json::from_str(&text).unwrap()));
        again.handle_link_up(Millis(0), "port");
        again
    };
    let read = |watcher: &mut Watcher| {
        hear(watcher, 900, Message::Dump(&after_e5()));
        hear(watcher, 1000, clock(Lever::LeftHigh));
        hear(watcher, 12_000, clock(Lever::LeftHigh));
        drained(watcher);
        assert_eq!(uci(watcher), ENTERED);
    };
    read(&mut restarted(&entered()));

    let mut before = after_e4();
    play(&mut before, 6000, E5, Lever::LeftHigh);
    let enter = |watcher: &mut Watcher| {
        do_it(watcher, 800, Command::Correct(correct(3, 0, &["Nf3", "Nc6"])));
    };
    let mut unread = restarted(&before);
    enter(&mut unread);
    read(&mut unread);

    // The clock sends its first frame after the dump.
    let mut unheard = restarted(&before);
    hear(&mut unheard, 500, Message::Dump(&after_e5()));
    enter(&mut unheard);
    read(&mut unheard);
}

#[test]
fn an_earlier_position_that_is_set_up_later_counts() {
    let mut watcher = entered();
    // Players make the entered half-moves on the board, and take them back.
    for (at, square, code) in [(12_000, 62, 0), (12_400, 45, 3), (12_800, 1, 0), (13_200, 18, 9)] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 20_000, stopped(Lever::LeftHigh));
    for (at, square, code) in [(21_000, 45, 0), (21_400, 62, 3), (21_800, 18, 0), (22_200, 1, 9)] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 30_000, stopped(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ENTERED[..2]);
}

#[test]
fn players_may_make_the_entered_half_moves_one_by_one() {
    let mut watcher = entered();
    for (at, square, code) in [(12_000, 62, 0), (12_400, 45, 3)] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 18_000, stopped(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ENTERED, "only the knight has moved so far");
    for (at, square, code) in [(20_000, 1, 0), (20_400, 18, 9)] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 26_000, stopped(Lever::LeftHigh));
    hear(&mut watcher, 27_000, clock(Lever::LeftHigh));
    hear(&mut watcher, 32_000, clock(Lever::LeftHigh));
    assert_eq!(uci(&watcher), ENTERED);
}

#[test]
fn half_moves_entered_over_the_initial_position_begin_no_other_game() {
    let mut watcher = after_e4();
    hear(&mut watcher, 6000, stopped(Lever::RightHigh));
    show(&mut watcher, 6500, 36, PieceCode::EMPTY);
    show(&mut watcher, 6800, 52, PieceCode(1));
    do_it(
        &mut watcher,
        7200,
        Command::Correct(correct(2, 0, &["e5", "Nf3"])),
    );
    for at in [9000, 12_000, 15_000] {
        hear(&mut watcher, at, stopped(Lever::RightHigh));
    }
    assert_eq!(
        (watcher.game().result, uci(&watcher)),
        (
            Some(GameResult::Open),
            ENTERED[..3].iter().map(|uci| (*uci).to_owned()).collect()
        )
    );
}

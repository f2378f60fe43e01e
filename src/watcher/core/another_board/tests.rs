use super::*;

use crate::{
    dgt::{ClockReading, Lever},
    event::Event,
    time::Millis,
    watcher::{
        Command, Settings, Snapshot, Watcher,
        testing::{after_e4_on, clock, hear, initial_pieces},
    },
};

const OWN: &str = "01001";
const OTHER: &str = "01002";

fn drained(watcher: &mut Watcher) -> Vec<Event> {
    std::iter::from_fn(|| watcher.poll_event()).collect()
}

fn notices(watcher: &mut Watcher) -> Vec<String> {
    let code = |event: Event| match event.body {
        Body::Notice { code, .. } => Some(code),
        _ => None,
    };
    drained(watcher).into_iter().filter_map(code).collect()
}

/// The initial position with these squares changed, in the order of the wire.
fn squares(changes: &[(usize, u8)]) -> Squares {
    let mut squares = initial_pieces();
    for (square, code) in changes {
        squares[*square] = PieceCode(*code);
    }
    squares
}

/// 1.e4, and 1.d4 d5 on the wire.
const E4: [(usize, u8); 2] = [(52, 0), (36, 1)];
const D4_D5: [(usize, u8); 4] = [(51, 0), (35, 1), (11, 0), (27, 7)];

/// The cable comes out, and into another board, which shows `shown`.
fn plug_in(watcher: &mut Watcher, at: u64, serial: &str, shown: &Squares) {
    watcher.handle_link_down(Millis(at), "unplugged");
    watcher.handle_link_up(Millis(at + 2000), "port");
    hear(watcher, at + 2100, Message::Serial(serial));
    hear(watcher, at + 2200, Message::Dump(shown));
    hear(watcher, at + 3000, clock(Lever::RightHigh));
}

/// 1...e5 and the press.
fn reply(watcher: &mut Watcher, at: u64) {
    for (at, square, code) in [(at, 12, 0), (at + 300, 28, 7)] {
        hear(
            watcher,
            at,
            Message::Field {
                square,
                piece: PieceCode(code),
            },
        );
    }
    hear(watcher, at + 600, clock(Lever::LeftHigh));
    hear(watcher, at + 1600, clock(Lever::LeftHigh));
}

fn after_e4() -> Watcher {
    let mut watcher = after_e4_on(Settings::default(), Some(OWN));
    drained(&mut watcher);
    watcher
}

#[test]
fn what_stands_on_another_board_is_no_part_of_the_game() {
    let mut watcher = after_e4();
    plug_in(&mut watcher, 6000, OTHER, &squares(&D4_D5));
    hear(
        &mut watcher,
        20_000,
        Message::Field {
            square: 62,
            piece: PieceCode(0),
        },
    );
    hear(
        &mut watcher,
        20_300,
        Message::Field {
            square: 45,
            piece: PieceCode(3),
        },
    );
    hear(&mut watcher, 20_600, clock(Lever::LeftHigh));
    hear(&mut watcher, 60_000, clock(Lever::LeftHigh));
    assert_eq!(watcher.game().moves, ["e2e4"]);
    assert_eq!(notices(&mut watcher), [notice::ANOTHER_BOARD]);
    // The cables are exchanged back.
    plug_in(&mut watcher, 61_000, OWN, &squares(&E4));
    reply(&mut watcher, 70_000);
    assert_eq!(watcher.game().moves, ["e2e4", "e7e5"]);
    assert_eq!(notices(&mut watcher), [""; 0]);
}

#[test]
fn a_board_that_takes_the_other_ones_place_goes_on_from_the_position_of_the_game() {
    let mut watcher = after_e4();
    plug_in(&mut watcher, 6000, OTHER, &initial_pieces());
    for (at, square, code) in [(12_000, 52, 0), (13_000, 36, 1)] {
        assert_eq!(watcher.game().moves, ["e2e4"]);
        hear(
            &mut watcher,
            at,
            Message::Field {
                square,
                piece: PieceCode(code),
            },
        );
    }
    hear(&mut watcher, 20_000, clock(Lever::RightHigh));
    reply(&mut watcher, 25_000);
    assert_eq!(watcher.game().moves, ["e2e4", "e7e5"]);
    assert_eq!(notices(&mut watcher), [notice::ANOTHER_BOARD]);
}

#[test]
fn a_command_takes_it_as_it_stands() {
    let mut watcher = after_e4();
    plug_in(&mut watcher, 6000, OTHER, &squares(&D4_D5));
    watcher.handle_command(Millis(20_000), Command::NewGame).unwrap();
    let game = watcher.game();
    assert_eq!(game.game, Some(2));
    assert!(
        game.start_fen
            .is_some_and(|fen| fen.starts_with("rnbqkbnr/ppp1pppp/8/3p4/3P4/"))
    );
}

#[test]
fn it_is_known_after_a_restart_too() {
    let watcher = after_e4();
    let kept = serde_json::to_string(&watcher.snapshot()).unwrap();
    let kept = Snapshot::kept(Some(&kept), watcher.snapshot().seq);
    let mut watcher = Watcher::new(Settings::default(), Some(kept));
    watcher.handle_link_up(Millis(0), "port");
    hear(&mut watcher, 100, Message::Serial(OTHER));
    hear(&mut watcher, 200, Message::Dump(&squares(&D4_D5)));
    hear(&mut watcher, 10_000, clock(Lever::RightHigh));
    assert_eq!(watcher.game().moves, ["e2e4"]);
    assert_eq!(notices(&mut watcher), [notice::ANOTHER_BOARD]);
}

/// After a start of the machine two ports may have exchanged their names. The other board is a half-move ahead.
#[test]
fn its_position_is_read_after_its_number_where_another_may_answer() {
    let kept = serde_json::to_string(&after_e4().snapshot()).unwrap();
    let mut watcher = Watcher::new(Settings::default(), Some(Snapshot::kept(Some(&kept), 0)));
    watcher.expect_another_board();
    // It shows 1.e4 e5, and its clock that Black has pressed.
    let shown = squares(&[(52, 0), (36, 1), (12, 0), (28, 7)]);
    let pressed = ClockReading::of_seconds(600, 580, true, Lever::LeftHigh);
    watcher.handle_link_up(Millis(0), "port");
    for at in (0..12_000).step_by(20) {
        watcher.handle_timeout(Millis(at));
        while let Some(asked) = watcher.poll_transmit() {
            let answer = match asked.first() {
                Some(b'A') => Message::Clock(pressed),
                Some(b'B') => Message::Dump(&shown),
                Some(b'E') => Message::Serial(OTHER),
                Some(b'M') => Message::Firmware(1, 8),
                _ => continue,
            };
            let mut bytes = Vec::new();
            answer.encode(&mut bytes);
            watcher.handle_bytes(Millis(at), &bytes);
        }
    }
    assert_eq!(watcher.game().moves, ["e2e4"]);
    assert_eq!(notices(&mut watcher), [notice::ANOTHER_BOARD]);
}

#[test]
fn between_games_any_board_may_answer() {
    let mut watcher = after_e4();
    watcher
        .handle_command(Millis(6000), Command::result(crate::event::GameResult::Draw))
        .unwrap();
    plug_in(&mut watcher, 7000, OTHER, &initial_pieces());
    hear(&mut watcher, 15_000, clock(Lever::RightHigh));
    assert_eq!(notices(&mut watcher), [""; 0]);
}

/// A newer board tells two serial numbers, the short one first.
#[test]
fn the_same_board_is_known_by_either_of_its_numbers() {
    const LONG: &str = "3000001001";
    for known in [OWN, LONG] {
        let mut watcher = after_e4_on(Settings::default(), Some(known));
        drained(&mut watcher);
        watcher.handle_link_down(Millis(6000), "unplugged");
        watcher.handle_link_up(Millis(7000), "port");
        hear(&mut watcher, 7100, Message::Serial(OWN));
        hear(&mut watcher, 7200, Message::Dump(&squares(&E4)));
        hear(&mut watcher, 7300, Message::Serial(LONG));
        hear(&mut watcher, 8000, clock(Lever::RightHigh));
        reply(&mut watcher, 15_000);
        assert_eq!(watcher.game().moves, ["e2e4", "e7e5"], "known as {known}");
        assert_eq!(notices(&mut watcher), [""; 0]);
    }
}

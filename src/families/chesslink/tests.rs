use proptest::prelude::*;

use super::*;
use crate::families::BoardEnd as _;

/// The initial position as the maker's text has it, a8 to h8 first.
const START: &str = "srnbqkbnrpppppppp................................PPPPPPPPRNBQKBNR";

fn heard(host: &mut Host, now: u64, bytes: &[u8]) -> Vec<Told> {
    let mut told = Vec::new();
    host.bytes(Millis(now), bytes, &mut |what| told.push(what));
    told
}

fn read(bytes: &[u8]) -> (Vec<Told>, u64) {
    let mut host = Host::default();
    let told = heard(&mut host, 0, bytes);
    (told, host.garbled())
}

fn placement(told: &Told) -> String {
    match told {
        Told::Squares(squares) => squares.iter().map(|piece| letter(*piece)).collect(),
        other => format!("{other:?}"),
    }
}

#[test]
fn the_bytes_are_those_that_were_seen_on_a_real_line() {
    // From a log of python-mchess with a real board, which answered V56 with v010374.
    assert_eq!(*Command::Version.bytes(), [0xd6, 0xb5, 0xb6]);
    let answer = b"v\xb01\xb0\xb374";
    assert_eq!(frame("v0103"), answer);
    assert_eq!(read(answer), (vec![Told::Firmware(1, 3)], 0));
}

#[test]
fn the_initial_position_is_read_with_parity_and_without() {
    let whole = frame(START);
    assert_eq!(whole.len(), 67);
    let stripped: Vec<u8> = whole.iter().map(|c| c & 0x7f).collect();
    for bytes in [whole, stripped] {
        let (told, garbled) = read(&bytes);
        assert_eq!(
            (placement(&told[0]), told.len(), garbled),
            (START[1..].to_owned(), 1, 0)
        );
    }
    let Told::Squares(squares) = read(&frame(START)).0[0] else {
        panic!("no squares");
    };
    assert_eq!(
        (squares[0], squares[4], squares[60]),
        (PieceCode(8), PieceCode(11), PieceCode(5))
    );
}

#[test]
fn one_wrong_bit_anywhere_costs_the_frame_and_the_next_is_read() {
    let (good, next) = (frame(START), frame("v0103"));
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let (told, garbled) = read(&[bad, next.clone()].concat());
        assert_eq!(told, [Told::Firmware(1, 3)], "bit {bit}");
        assert!(garbled > 0, "bit {bit}");
    }
}

#[test]
fn half_a_frame_and_noise_cost_nothing_else() {
    let whole = frame(START);
    for cut in 0..whole.len() {
        // The end of a frame whose beginning was missed, and a frame that breaks off.
        for part in [&whole[cut..], &whole[..cut]] {
            let told = read(&[part, &whole, b"\xff\x00rrr", &whole].concat()).0;
            assert!(told.len() >= 2, "{cut}: {told:?}");
            assert!(told.iter().all(|told| placement(told) == START[1..]), "{cut}");
        }
    }
}

/// The commands that go out in `ms` milliseconds to a board that answers as `answers` says.
fn asked(host: &mut Host, ms: u64, answers: impl Fn(&[u8]) -> Vec<u8>) -> Vec<(u64, Vec<u8>)> {
    let mut asked = Vec::new();
    host.link_up(Millis(0));
    for now in 0..ms {
        host.handle_timeout(Millis(now));
        assert!(
            host.poll_timeout().is_some_and(|due| due > Millis(now)),
            "a deadline that does not pass"
        );
        while let Some(command) = host.poll_transmit() {
            let answer = answers(&command);
            asked.push((now, command.to_vec()));
            heard(host, now, &answer);
        }
    }
    asked
}

fn statuses(asked: &[(u64, Vec<u8>)]) -> usize {
    let status = Command::Status.bytes();
    asked.iter().filter(|(_, command)| *command == *status).count()
}

#[test]
fn a_board_that_tells_nothing_by_itself_is_asked_ten_times_a_second() {
    let answer = |reports: &'static str| {
        move |command: &[u8]| match command[0] & 0x7f {
            b'S' => frame(START),
            b'R' => frame(&format!("r02{reports}")),
            _ => frame("v0104"),
        }
    };
    let mut host = Host::default();
    let often = asked(&mut host, 10_000, answer("01"));
    assert!((90..=110).contains(&statuses(&often)), "{}", statuses(&often));
    let first: Vec<&[u8]> = often.iter().take(3).map(|(_, command)| &command[..]).collect();
    assert_eq!(
        first,
        [
            &*Command::Reports.bytes(),
            &*Command::Version.bytes(),
            &*Command::Status.bytes()
        ]
    );
    // A board that tells changes is asked only for a sign of life.
    let mut host = Host::default();
    let seldom = asked(&mut host, 10_000, answer("03"));
    assert!((9..=12).contains(&statuses(&seldom)), "{}", statuses(&seldom));
    assert_eq!(host.poll_wish(), None);
}

#[test]
fn a_board_that_does_not_answer_is_opened_anew() {
    let mut host = Host::default();
    asked(&mut host, SILENCE_MS, |_| Vec::new());
    assert_eq!(host.poll_wish(), None);
    host.handle_timeout(Millis(SILENCE_MS));
    assert_eq!((host.poll_wish(), host.poll_wish()), (Some(Wish::Reopen), None));
}

#[test]
fn nothing_that_is_said_writes_resets_or_lights() {
    for command in Command::ALL {
        let letter = command.bytes()[0] & 0x7f;
        assert!(b"VSR".contains(&letter), "{letter}");
    }
}

#[test]
fn the_simulated_board_answers_what_is_asked() {
    let squares = squares(&START.as_bytes()[1..]).unwrap();
    let mut board = board::Simulated::default();
    let mut answers = Vec::new();
    for command in Command::ALL {
        board.hear(&command.bytes(), &squares, &mut answers);
    }
    let mut host = Host::default();
    assert_eq!(
        heard(&mut host, 0, &answers),
        [Told::Firmware(1, 4), Told::Squares(squares)]
    );
    assert_eq!((host.tells, host.garbled()), (Some(true), 0));
    assert_eq!(board.tell(&squares), frame(START));
}

proptest! {
    #[test]
    fn what_is_said_is_read_after_any_garbage(garbage in prop::collection::vec(any::<u8>(), 0..80)) {
        // A frame that seems to begin within garbage may take some of the bytes that follow.
        let told = read(&[&garbage[..], &frame(START), &frame(START)].concat()).0;
        prop_assert!(told.iter().any(|told| placement(told) == START[1..]));
    }
}

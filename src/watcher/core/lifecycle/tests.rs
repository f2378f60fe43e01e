//! Games that the watcher hears of when they have begun.

use crate::{
    dgt::{ClockReading, Lever, Message, PieceCode},
    event::{Body, Certainty},
    laws::IrregularityKind,
    time::Millis,
    watcher::{
        Settings, Snapshot, Watcher,
        testing::{certainties, hear, initial_pieces},
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
    assert_eq!(certainties(&mut watcher), []);
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
    assert_eq!(certainties(&mut watcher), [Certainty::Suspected]);
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
    assert_eq!(certainties(&mut watcher), []);
}

fn standing(left: u32, right: u32) -> Message<'static> {
    Message::Clock(ClockReading::of_seconds(left, right, false, Lever::LeftHigh))
}

/// A watcher goes on from what another one kept.
fn restarted(watcher: &Watcher) -> Watcher {
    let kept = serde_json::to_string(&watcher.snapshot()).unwrap();
    let snapshot = Snapshot::kept(Some(&kept), watcher.snapshot().seq);
    assert_eq!(snapshot.lost(), [""; 0], "{kept}");
    Watcher::new(Settings::default(), Some(snapshot))
}

/// Kinds and certainty of all irregularities.
fn said(watcher: &mut Watcher) -> Vec<(IrregularityKind, Certainty)> {
    let said = std::iter::from_fn(|| watcher.poll_event());
    let kind = |body| match body {
        Body::Irregularity(said) => Some((said.kind, said.certainty)),
        _ => None,
    };
    said.filter_map(|event| kind(event.body)).collect()
}

/// White moves the king's pawn three squares and presses. Nobody replies.
fn illegal_first_move(watcher: &mut Watcher, at: u64) {
    hear(watcher, at, frame(5400, 5400, Lever::LeftHigh));
    hear(watcher, at + 1000, field(52, 0));
    hear(watcher, at + 1300, field(28, 1));
    hear(watcher, at + 1600, frame(5398, 5400, Lever::RightHigh));
    for s in 1..8 {
        let right = 5400 - s as u32;
        hear(
            watcher,
            at + 1600 + 1000 * s,
            frame(5398, right, Lever::RightHigh),
        );
    }
}

/// The pieces lay in their box when the daemon was stopped or the cable came out, and stood again long before the round.
#[test]
fn a_gap_before_the_pieces_stand_again_is_no_excuse() {
    for is_restart in [false, true] {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&initial_pieces()));
        hear(&mut watcher, 200, standing(5400, 5400));
        hear(&mut watcher, 2000, standing(5400, 5400));
        if is_restart {
            watcher = restarted(&watcher);
        } else {
            watcher.handle_link_down(Millis(3000), "cable");
        }
        watcher.handle_link_up(Millis(4000), "port");
        let mut squares = initial_pieces();
        squares[52] = PieceCode::EMPTY;
        hear(&mut watcher, 4100, Message::Dump(&squares));
        hear(&mut watcher, 4200, standing(5400, 5400));
        hear(&mut watcher, 8000, field(52, 1));
        hear(&mut watcher, 12_000, standing(5400, 5400));
        illegal_first_move(&mut watcher, 20_000);
        assert_eq!(
            said(&mut watcher),
            [(IrregularityKind::IllegalMove, Certainty::Certain)],
            "restart: {is_restart}"
        );
    }
}

/// Somebody shows a half-move before the round, and the daemon is stopped. What it kept begins no game before the board tells
/// what stands there.
#[test]
fn what_was_kept_begins_no_game_before_the_board_is_read() {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    hear(&mut watcher, 100, Message::Dump(&initial_pieces()));
    hear(&mut watcher, 200, standing(5400, 5400));
    hear(&mut watcher, 2000, field(52, 0));
    hear(&mut watcher, 2300, field(36, 1));
    hear(&mut watcher, 5000, standing(5400, 5400));
    let mut watcher = restarted(&watcher);
    watcher.handle_link_up(Millis(60_000), "port");
    for at in [61_000, 62_000, 65_000] {
        watcher.handle_timeout(Millis(at));
    }
    hear(&mut watcher, 70_000, Message::Dump(&initial_pieces()));
    hear(&mut watcher, 70_010, standing(5400, 5400));
    hear(&mut watcher, 80_000, standing(5400, 5400));
    assert_eq!(watcher.game().start_fen, None);
}

/// White's king and queen stood exchanged when the daemon was stopped. It comes back to 1.e4.
fn exchanged_before_a_gap(put_right: bool) -> Vec<(IrregularityKind, Certainty)> {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = initial_pieces();
    squares.swap(59, 60);
    hear(&mut watcher, 100, Message::Dump(&squares));
    hear(&mut watcher, 200, standing(5400, 5400));
    hear(&mut watcher, 5000, standing(5400, 5400));
    let mut watcher = restarted(&watcher);
    watcher.handle_link_up(Millis(60_000), "port");
    if put_right {
        squares.swap(59, 60);
    }
    squares.swap(52, 36);
    hear(&mut watcher, 60_100, Message::Dump(&squares));
    for s in 0..10 {
        let reading = frame(5393, 5390 - s as u32, Lever::RightHigh);
        hear(&mut watcher, 60_200 + 1000 * s, reading);
    }
    said(&mut watcher)
}

#[test]
fn a_wrong_position_from_before_a_gap_is_not_believed_once_it_was_put_right() {
    assert_eq!(exchanged_before_a_gap(true), []);
}

#[test]
fn what_stands_wrong_after_a_gap_as_before_is_said() {
    let wrong = (IrregularityKind::InitialPositionWrong, Certainty::Certain);
    assert_eq!(exchanged_before_a_gap(false), [wrong]);
}

/// A daemon that saw the pieces being set up says what is wrong with them, wherever they stand and whatever the clock shows.
#[test]
fn a_pawn_that_is_set_up_one_rank_too_far_is_said() {
    for clock in [None, Some((5400, 5400)), Some((303, 303)), Some((300, 240))] {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&[PieceCode::EMPTY; 64]));
        match clock {
            Some((left, right)) => hear(&mut watcher, 200, standing(left, right)),
            None => hear(&mut watcher, 200, Message::NoClock),
        }
        let mut squares = initial_pieces();
        squares.swap(52, 44);
        for (square, piece) in squares
            .into_iter()
            .enumerate()
            .filter(|(_, piece)| *piece != PieceCode::EMPTY)
        {
            hear(
                &mut watcher,
                1000 + 100 * square as u64,
                field(square as u8, piece.0),
            );
        }
        if let Some((left, right)) = clock {
            for s in 0..8 {
                let left = left - s as u32;
                hear(
                    &mut watcher,
                    10_000 + 1000 * s,
                    frame(left, right, Lever::LeftHigh),
                );
            }
        } else {
            for (at, square, code) in [(12_000, 51, 0), (12_300, 35, 1), (15_000, 11, 0), (15_300, 27, 7)] {
                hear(&mut watcher, at, field(square, code));
            }
            hear(&mut watcher, 30_000, Message::NoClock);
        }
        let said = said(&mut watcher);
        let wrong = (IrregularityKind::InitialPositionWrong, Certainty::Certain);
        assert!(said.contains(&wrong), "{clock:?}: {said:?}");
    }
}

/// The half-moves that are told where a board is first read at 1000, with a bishop of Black on its way from f8 to d6 over e7 that goes on
/// at `gone`. `further` half-moves of pawns of both players were played before.
fn first_read_with_a_bishop_on_e7(gone: u64, further: usize) -> Vec<String> {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = initial_pieces();
    // 1.Nh3 e5 2.g3, and Black's time, the right one, runs.
    for (from, to) in [(62, 47), (12, 28), (54, 46), (5, 12)] {
        squares[to] = std::mem::replace(&mut squares[from], PieceCode::EMPTY);
    }
    let pawns = [(49, 33), (9, 25), (50, 42), (15, 23), (53, 37), (14, 22)];
    for (from, to) in pawns.into_iter().take(further) {
        squares[to] = std::mem::replace(&mut squares[from], PieceCode::EMPTY);
    }
    hear(&mut watcher, 1000, Message::Dump(&squares));
    hear(&mut watcher, 1070, frame(4100, 4000, Lever::RightHigh));
    let at = |ms| gone + ms;
    hear(&mut watcher, at(0), field(12, 0));
    hear(&mut watcher, at(60), field(19, 10));
    hear(&mut watcher, at(300), frame(4100, 3999, Lever::LeftHigh));
    for (ms, from, to, code, lever) in [
        (1000, 51, 43, 1, Lever::RightHigh),
        (2000, 6, 12, 9, Lever::LeftHigh),
        (3000, 48, 40, 1, Lever::RightHigh),
        (4000, 8, 16, 7, Lever::LeftHigh),
    ] {
        let right = 3999 - u32::try_from(ms / 2000).unwrap();
        hear(&mut watcher, at(ms), field(from, 0));
        hear(&mut watcher, at(ms + 200), field(to, code));
        hear(&mut watcher, at(ms + 500), frame(4100, right, lever));
    }
    hear(&mut watcher, at(14_000), frame(4090, 3997, Lever::LeftHigh));
    assert_eq!(certainties(&mut watcher), []);
    watcher.game().moves.clone()
}

#[test]
fn a_piece_in_passing_at_the_first_reading_begins_no_half_move() {
    // Near the initial position, and further from it.
    for further in [0, 6] {
        let told = |gone| first_read_with_a_bishop_on_e7(gone, further).join(" ");
        assert_eq!(told(1140), "d2d3 g8e7 a2a3 a7a6");
        assert_eq!(told(2500), "e7d6 d2d3 g8e7 a2a3 a7a6", "it has stood there");
    }
}

//! Kings in the centre by mistake, and kings that contradict a ruling.

use super::*;
use crate::watcher::game::finish::contradicts;

/// Puts both kings on centre squares that show a win for Black.
fn kings_up(watcher: &mut Watcher, at: u64) {
    for (after, square, code) in [(0, 60, 0), (300, 35, 5), (600, 4, 0), (900, 28, 11)] {
        show(watcher, at + after, square, PieceCode(code));
    }
    hear(watcher, at + 4000, clock(Lever::RightHigh));
    assert_eq!(watcher.game().result, Some(GameResult::BlackWins));
}

/// Puts both kings back.
fn kings_down(watcher: &mut Watcher, at: u64) {
    for (after, square, code) in [(0, 35, 0), (300, 60, 5), (600, 28, 0), (900, 4, 11)] {
        show(watcher, at + after, square, PieceCode(code));
    }
    hear(watcher, at + 3000, clock(Lever::RightHigh));
}

/// A watcher after a restart that has read the board, with the kings in the centre, and the clock.
fn restarted(watcher: &Watcher, at: u64) -> Watcher {
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    let mut resumed = Watcher::new(Settings::default(), Some(serde_json::from_str(&text).unwrap()));
    resumed.handle_link_up(Millis(at), "port");
    let mut squares = initial_pieces();
    for (square, code) in [(52, 0), (36, 1), (60, 0), (35, 5), (4, 0), (28, 11)] {
        squares[square] = PieceCode(code);
    }
    hear(&mut resumed, at + 100, Message::Dump(&squares));
    hear(&mut resumed, at + 1000, clock(Lever::RightHigh));
    resumed
}

#[test]
fn a_result_by_kings_can_be_taken_back_and_nothing_is_missed_with_or_without_a_restart() {
    // More half-moves than a search over a gap finds. All pieces of White come home.
    let pieces = [
        E5,
        NF3,
        (1, 18, 9),
        (57, 42, 3),
        (6, 21, 9),
        (42, 57, 3),
        (21, 6, 9),
        (45, 62, 3),
    ];
    for restarts in [false, true] {
        let mut watcher = after_e4();
        kings_up(&mut watcher, 6000);
        if restarts {
            watcher = restarted(&watcher, 11_000);
        }
        kings_down(&mut watcher, 14_000);
        drained(&mut watcher);
        for (i, made) in pieces.into_iter().enumerate() {
            let lever = if i % 2 == 0 {
                Lever::LeftHigh
            } else {
                Lever::RightHigh
            };
            play(&mut watcher, 20_000 + 3000 * i as u64, made, lever);
        }
        assert_eq!(notices(&drained(&mut watcher)), [notice::PLAYED_ON], "{restarts}");
        do_it(&mut watcher, 60_000, resume());
        let events = drained(&mut watcher);
        let played = ["e7e5", "g1f3", "b8c6", "b1c3", "g8f6", "c3b1", "f6g8", "f3g1"];
        assert_eq!(moves_of(&events), played, "{restarts}");
        assert_eq!(events.len(), 1 + played.len(), "{restarts}: {events:?}");
        assert_eq!(watcher.game().result, Some(GameResult::Open), "{restarts}");
    }
}

#[test]
fn kings_that_stay_in_the_centre_end_a_game_once_and_kings_that_come_again_end_it_again() {
    for restarts in [false, true] {
        let mut watcher = after_e4();
        kings_up(&mut watcher, 6000);
        do_it(&mut watcher, 11_000, resume());
        if restarts {
            watcher = restarted(&watcher, 12_000);
        }
        hear(&mut watcher, 16_000, clock(Lever::RightHigh));
        assert_eq!(watcher.game().result, Some(GameResult::Open), "{restarts}");
        kings_down(&mut watcher, 20_000);
        play(&mut watcher, 25_000, E5, Lever::LeftHigh);
        assert_eq!(uci(&watcher), ["e2e4", "e7e5"], "{restarts}");
        // The pawn leaves the kings' square.
        show(&mut watcher, 30_000, 28, PieceCode::EMPTY);
        show(&mut watcher, 30_300, 12, PieceCode(7));
        kings_up(&mut watcher, 31_000);
    }
}

#[test]
fn retracting_a_half_move_after_a_result_by_kings_leaves_the_game_open() {
    let mut watcher = after_e4();
    kings_up(&mut watcher, 6000);
    do_it(&mut watcher, 11_000, Command::Retract { to_ply: 0 });
    hear(&mut watcher, 16_000, clock(Lever::RightHigh));
    assert_eq!(watcher.game().result, Some(GameResult::Open));
}

/// A watcher to which an arbiter has reported White's flag fall after e4.
fn with_a_fallen_flag() -> Watcher {
    let mut watcher = after_e4();
    let mut report = Report::of(IrregularityKind::FlagFall, Some(Side::White));
    report.confirmed = Some(true);
    do_it(&mut watcher, 6000, Command::Report(report));
    drained(&mut watcher);
    watcher
}

#[test]
fn a_notice_asks_about_kings_against_an_accepted_ruling_until_somebody_plays_on() {
    let contradicts = |result, watcher: &Watcher| match &watcher.core.play.phase {
        Phase::Game(game) => contradicts(&game.course.record, &game.cases, result).is_some(),
        Phase::Waiting(_) => panic!("no game"),
    };
    let mut watcher = with_a_fallen_flag();
    let case = watcher.game().open_irregularities[0].clone();
    let accept = Command::Accept { irregularity: case };
    do_it(&mut watcher, 7000, accept);
    assert!(watcher.game().open_irregularities.is_empty());
    assert!(contradicts(GameResult::WhiteWins, &watcher));
    assert!(!contradicts(GameResult::BlackWins, &watcher));
    play(&mut watcher, 8000, E5, Lever::LeftHigh);
    play(&mut watcher, 12_000, NF3, Lever::RightHigh);
    assert!(
        !contradicts(GameResult::WhiteWins, &watcher),
        "the players have played on"
    );
    let mut watcher = with_a_fallen_flag();
    let case = watcher.game().open_irregularities[0].clone();
    let dismiss = Command::Dismiss { irregularity: case };
    do_it(&mut watcher, 7000, dismiss);
    assert!(
        !contradicts(GameResult::WhiteWins, &watcher),
        "the arbiter has dismissed the flag fall"
    );
}

#[test]
fn a_notice_asks_about_kings_that_contradict_the_last_ruling() {
    let mut watcher = with_a_fallen_flag();
    // White's king goes to e4, where the pawn stood, and Black's to d5. That shows a win for White.
    for (at, square, code) in [
        (8000, 36, 0),
        (8300, 60, 0),
        (8600, 36, 5),
        (9000, 4, 0),
        (9300, 27, 11),
    ] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 12_000, clock(Lever::RightHigh));
    let told = drained(&mut watcher);
    let asked = told.iter().position(
        |event| matches!(&event.body, Body::Notice { code, .. } if code == notice::RESULT_CONTRADICTS),
    );
    let ended = told
        .iter()
        .position(|event| matches!(event.body, Body::GameEnded { .. }));
    assert!(asked.is_some() && asked < ended, "{told:?}");
    // The arbiter's result makes an event, though it is the same result.
    do_it(&mut watcher, 13_000, Command::result(GameResult::WhiteWins));
    let told = drained(&mut watcher);
    assert!(
        matches!(&told[0].body, Body::GameEnded { reason, .. } if reason == "arbiter"),
        "{told:?}"
    );
}

#[test]
fn a_notice_asks_once_about_kings_that_contradict_a_mate_which_stands() {
    let mut watcher = after_e4();
    let half_moves = [
        ((14, 30, 7), Lever::LeftHigh),
        ((51, 35, 1), Lever::RightHigh),
        ((13, 21, 7), Lever::LeftHigh),
        ((59, 31, 6), Lever::RightHigh),
    ];
    for (at, (moved, lever)) in (6000..).step_by(3000).zip(half_moves) {
        play(&mut watcher, at, moved, lever);
    }
    hear(&mut watcher, 20_000, stopped());
    assert_eq!(watcher.game().result, Some(GameResult::WhiteWins), "5.Qh5#");
    drained(&mut watcher);
    let asked = |watcher: &mut Watcher| {
        let is_question = |event: &Event| matches!(&event.body, Body::Notice { code, .. } if code == notice::RESULT_CONTRADICTS);
        drained(watcher).iter().filter(|event| is_question(event)).count()
    };
    // Kings on light squares show a win for White, which is right.
    for (after, square, code) in [(0, 60, 0), (300, 36, 5), (600, 4, 0), (900, 27, 11)] {
        show(&mut watcher, 21_000 + after, square, PieceCode(code));
    }
    hear(&mut watcher, 26_000, stopped());
    assert_eq!(asked(&mut watcher), 0);
    // Kings on dark squares show a win for Black.
    for (after, square, code) in [(0, 36, 0), (300, 35, 5), (600, 27, 0), (900, 28, 11)] {
        show(&mut watcher, 27_000 + after, square, PieceCode(code));
    }
    for at in [32_000, 36_000, 40_000] {
        hear(&mut watcher, at, stopped());
    }
    assert_eq!(asked(&mut watcher), 1);
    assert_eq!(watcher.game().result, Some(GameResult::WhiteWins));
}

//! Kings that are put into the centre by mistake, and back, and those that contradict a ruling.

use super::*;

/// Both kings go to the centre, where Black is said to have won.
fn kings_up(watcher: &mut Watcher, at: u64) {
    for (after, square, man) in [(0, 60, 0), (300, 35, 5), (600, 4, 0), (900, 28, 11)] {
        show(watcher, at + after, square, PieceCode(man));
    }
    hear(watcher, at + 4000, clock(Lever::RightHigh));
    assert_eq!(watcher.game().result, Some(GameResult::BlackWins));
}

/// They go home.
fn kings_down(watcher: &mut Watcher, at: u64) {
    for (after, square, man) in [(0, 35, 0), (300, 60, 5), (600, 28, 0), (900, 4, 11)] {
        show(watcher, at + after, square, PieceCode(man));
    }
    hear(watcher, at + 3000, clock(Lever::RightHigh));
}

/// The board and its clock after a restart, while the kings are up.
fn restarted(watcher: &Watcher, at: u64) -> Watcher {
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    let mut resumed = Watcher::new(Settings::default(), Some(serde_json::from_str(&text).unwrap()));
    resumed.handle_link_up(Millis(at), "port");
    let mut men = initial_men();
    for (square, man) in [(52, 0), (36, 1), (60, 0), (35, 5), (4, 0), (28, 11)] {
        men[square] = PieceCode(man);
    }
    hear(&mut resumed, at + 100, Message::Dump(&men));
    hear(&mut resumed, at + 1000, clock(Lever::RightHigh));
    resumed
}

#[test]
fn a_result_by_kings_is_taken_back_and_nothing_was_missed_before_a_restart_or_after() {
    // More half-moves than a search over a gap finds, by pieces that come home.
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
        assert_eq!(drained(&mut watcher), [], "{restarts}");
        do_it(&mut watcher, 60_000, resume());
        let events = drained(&mut watcher);
        let played = ["e7e5", "g1f3", "b8c6", "b1c3", "g8f6", "c3b1", "f6g8", "f3g1"];
        assert_eq!(moves_of(&events), played, "{restarts}");
        assert_eq!(events.len(), 1 + played.len(), "{restarts}: {events:?}");
        assert_eq!(watcher.game().result, Some(GameResult::Open), "{restarts}");
    }
}

#[test]
fn kings_that_still_stand_there_end_no_game_twice_and_those_that_come_again_do() {
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
        // The pawn makes room.
        show(&mut watcher, 30_000, 28, PieceCode::EMPTY);
        show(&mut watcher, 30_300, 12, PieceCode(7));
        kings_up(&mut watcher, 31_000);
    }
}

#[test]
fn a_half_move_that_is_taken_out_after_kings_leaves_the_game_open() {
    let mut watcher = after_e4();
    kings_up(&mut watcher, 6000);
    do_it(&mut watcher, 11_000, Command::Retract { to_ply: 0 });
    hear(&mut watcher, 16_000, clock(Lever::RightHigh));
    assert_eq!(watcher.game().result, Some(GameResult::Open));
}

/// White's flag fell after e4, as an arbiter says.
fn with_a_fallen_flag() -> Watcher {
    let mut watcher = after_e4();
    let mut report = Report::of(IrregularityKind::FlagFall, Some(Side::White));
    report.confirmed = Some(true);
    do_it(&mut watcher, 6000, Command::Report(report));
    drained(&mut watcher);
    watcher
}

#[test]
fn kings_that_contradict_a_ruling_that_was_accepted_are_asked_about_until_somebody_plays_on() {
    let contradicts = |result, watcher: &Watcher| match &watcher.core.phase {
        Phase::Game(game) => game.contradicts(result).is_some(),
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
    assert!(!contradicts(GameResult::WhiteWins, &watcher), "it was played on");
    let mut watcher = with_a_fallen_flag();
    let case = watcher.game().open_irregularities[0].clone();
    let dismiss = Command::Dismiss { irregularity: case };
    do_it(&mut watcher, 7000, dismiss);
    assert!(
        !contradicts(GameResult::WhiteWins, &watcher),
        "the flag had not fallen"
    );
}

#[test]
fn kings_that_contradict_the_last_ruling_are_asked_about() {
    let mut watcher = with_a_fallen_flag();
    // White's king to e4 (where the pawn stood), Black's to d5: White is said to have won.
    for (at, square, man) in [
        (8000, 36, 0),
        (8300, 60, 0),
        (8600, 36, 5),
        (9000, 4, 0),
        (9300, 27, 11),
    ] {
        show(&mut watcher, at, square, PieceCode(man));
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
    // The arbiter's word is told, though it is the same.
    do_it(&mut watcher, 13_000, Command::result(GameResult::WhiteWins));
    let told = drained(&mut watcher);
    assert!(
        matches!(&told[0].body, Body::GameEnded { reason, .. } if reason == "arbiter"),
        "{told:?}"
    );
}

#[test]
fn kings_that_contradict_a_mate_are_asked_about_once_and_the_mate_stands() {
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
    // On light squares: White wins, as he does.
    for (after, square, man) in [(0, 60, 0), (300, 36, 5), (600, 4, 0), (900, 27, 11)] {
        show(&mut watcher, 21_000 + after, square, PieceCode(man));
    }
    hear(&mut watcher, 26_000, stopped());
    assert_eq!(asked(&mut watcher), 0);
    // On dark ones: Black.
    for (after, square, man) in [(0, 36, 0), (300, 35, 5), (600, 27, 0), (900, 28, 11)] {
        show(&mut watcher, 27_000 + after, square, PieceCode(man));
    }
    for at in [32_000, 36_000, 40_000] {
        hear(&mut watcher, at, stopped());
    }
    assert_eq!(asked(&mut watcher), 1);
    assert_eq!(watcher.game().result, Some(GameResult::WhiteWins));
}

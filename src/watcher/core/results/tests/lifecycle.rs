//! Lifecycles of games in which several things go wrong, one after the other.

use super::*;

/// Plays 1.d4 d5 2.Nf3 Nc6 with the clock, from the initial position.
fn play_four(watcher: &mut Watcher, at: u64) {
    hear(watcher, at, clock(Lever::LeftHigh));
    play(watcher, at + 1000, (51, 35, 1), Lever::RightHigh);
    play(watcher, at + 4000, (11, 27, 7), Lever::LeftHigh);
    play(watcher, at + 7000, NF3, Lever::RightHigh);
    play(watcher, at + 10_000, (1, 18, 9), Lever::LeftHigh);
}

const FOUR: [&str; 4] = ["d2d4", "d7d5", "g1f3", "b8c6"];

fn of_game(number: u32, command: Command) -> Command {
    match command {
        Command::Result { result, reason, .. } => Command::Result {
            result,
            reason,
            game: Some(number),
        },
        Command::Resume { reason, .. } => Command::Resume {
            reason,
            game: Some(number),
        },
        Command::Correct(order) => Command::Correct(Correct {
            game: Some(number),
            ..order
        }),
        other => other,
    }
}

/// A watcher after a restart that has read the board and the clock as they stand.
fn restarted(watcher: &Watcher, settings: Settings, squares: &[PieceCode; 64], lever: Lever) -> Watcher {
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    let mut resumed = Watcher::new(settings, Some(serde_json::from_str(&text).unwrap()));
    resumed.handle_link_up(Millis(0), "port");
    hear(&mut resumed, 100, Message::Dump(squares));
    hear(&mut resumed, 1000, clock(lever));
    hear(&mut resumed, 3000, clock(lever));
    resumed
}

fn accused(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(event.body, Body::Irregularity(_)))
}

#[test]
fn a_game_that_has_not_begun_takes_no_command_but_a_forfeit() {
    let mut watcher = after_e4();
    let asked = [
        Command::Correct(correct(1, 1, &["d4"])),
        Command::result(GameResult::WhiteWins),
    ];
    for command in asked {
        assert_eq!(refused(&mut watcher, 6000, of_game(2, command)), "no_such_game");
    }
    do_it(&mut watcher, 6000, Command::result(GameResult::Draw));
    assert_eq!(refused(&mut watcher, 7000, of_game(2, resume())), "no_such_game");
    assert_eq!(watcher.game().result, Some(GameResult::Draw));
}

#[test]
fn taking_a_forfeit_back_leaves_the_game_before_alone() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    let forfeit = Command::result(GameResult::WhiteByForfeit);
    do_it(&mut watcher, 7000, of_game(2, forfeit));
    do_it(&mut watcher, 8000, resume());
    let game = watcher.game();
    assert_eq!((game.game, game.moves.len()), (Some(2), 0));
}

#[test]
fn half_moves_after_a_result_belong_to_the_game_with_that_result() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    // The pieces are set up while the clock runs, so the next game begins in the same review.
    hear(&mut watcher, 7000, clock(Lever::LeftHigh));
    show(&mut watcher, 8000, 36, PieceCode::EMPTY);
    show(&mut watcher, 8300, 52, PieceCode(1));
    hear(&mut watcher, 14_000, clock(Lever::LeftHigh));
    play(&mut watcher, 15_000, (51, 35, 1), Lever::RightHigh);
    assert_eq!(
        (watcher.game().game, uci(&watcher)),
        (Some(2), vec!["d2d4".to_owned()])
    );
    do_it(&mut watcher, 18_000, Command::result(GameResult::BlackWins));
    play(&mut watcher, 19_000, (11, 27, 7), Lever::LeftHigh);
    do_it(&mut watcher, 22_000, resume());
    assert_eq!(watcher.game().game, Some(2));
    assert_eq!(uci(&watcher), ["d2d4", "d7d5"]);
}

#[test]
fn a_person_puts_a_parked_game_right_while_the_next_one_is_played() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    hear(&mut watcher, 20_000, clock(Lever::LeftHigh));
    play(&mut watcher, 21_000, (51, 35, 1), Lever::RightHigh);
    do_it(&mut watcher, 23_500, Command::Correct(correct(2, 0, &["c5"])));
    assert_eq!(uci(&watcher), ["e2e4", "c7c5"]);
    play(&mut watcher, 24_000, (11, 27, 7), Lever::LeftHigh);
    drained(&mut watcher);
    do_it(&mut watcher, 28_000, Command::result(GameResult::Draw));
    assert_eq!(watcher.game().game, Some(2));
    assert_eq!(uci(&watcher), ["d2d4", "d7d5"]);
}

#[test]
fn the_pieces_are_set_up_twice_before_anybody_gives_a_result() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    // Players show some half-moves without a clock, and set the pieces up again.
    for (at, square, code) in [(20_000, 52, 0), (20_400, 36, 1), (24_000, 12, 0), (24_400, 28, 7)] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 35_000, stopped());
    for (at, square, code) in [(36_000, 36, 0), (36_400, 52, 1), (37_000, 28, 0), (37_400, 12, 7)] {
        show(&mut watcher, at, square, PieceCode(code));
    }
    hear(&mut watcher, 45_000, stopped());
    drained(&mut watcher);
    play_four(&mut watcher, 50_000);
    let events = drained(&mut watcher);
    assert!(!accused(&events), "{events:?}");
    assert_eq!(watcher.game().game, Some(2));
    assert_eq!(uci(&watcher), FOUR);
}

#[test]
fn the_pieces_were_set_up_anew_before_a_restart() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    let mut resumed = restarted(&watcher, named(), &initial_pieces(), Lever::LeftHigh);
    assert_eq!(
        (resumed.game().game, uci(&resumed)),
        (Some(1), vec!["e2e4".to_owned()])
    );
    drained(&mut resumed);
    play_four(&mut resumed, 5000);
    let events = drained(&mut resumed);
    assert!(!accused(&events), "{events:?}");
    assert_eq!(resumed.game().game, Some(2));
    assert_eq!(uci(&resumed), FOUR);
}

#[test]
fn a_wrong_result_costs_nothing_even_after_a_restart() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    let mut squares = initial_pieces();
    squares.swap(52, 36);
    let mut resumed = restarted(&watcher, Settings::default(), &squares, Lever::RightHigh);
    play(&mut resumed, 8000, E5, Lever::LeftHigh);
    play(&mut resumed, 12_000, NF3, Lever::RightHigh);
    drained(&mut resumed);
    do_it(&mut resumed, 20_000, resume());
    let events = drained(&mut resumed);
    assert_eq!(moves_of(&events), ["e7e5", "g1f3"]);
    let by_clock = |event: &&Event| matches!(&event.body, Body::Move(made) if made.completed_by == crate::event::CompletedBy::Clock);
    assert_eq!(events.iter().filter(by_clock).count(), 2, "{events:?}");
}

#[test]
fn a_correction_under_a_wrong_result_stays() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    do_it(&mut watcher, 7000, Command::Correct(correct(1, 1, &["d4"])));
    do_it(&mut watcher, 8000, resume());
    drained(&mut watcher);
    assert_eq!(watcher.game().start_fen, after_e4().game().start_fen);
    assert_eq!(uci(&watcher)[..1], ["d2d4"]);
}

#[test]
fn reports_and_closed_cases_under_a_wrong_result_stay() {
    let mut watcher = after_e4();
    let of = |kind| Command::Report(Report::of(kind, Some(Side::White)));
    do_it(&mut watcher, 5500, of(IrregularityKind::Disturbing));
    let before = watcher.game().open_irregularities[0].clone();
    do_it(&mut watcher, 6000, Command::result(GameResult::WhiteWins));
    let accept = Command::Accept {
        irregularity: before.clone(),
    };
    do_it(&mut watcher, 6500, accept);
    do_it(&mut watcher, 7000, of(IrregularityKind::ElectronicDevice));
    do_it(&mut watcher, 7100, of(IrregularityKind::TwoHands));
    let reported = watcher.game().open_irregularities;
    do_it(&mut watcher, 8000, resume());
    assert_eq!(watcher.game().open_irregularities, reported);
    drained(&mut watcher);
    // The next offence is the second one, and the closed case stays closed.
    do_it(&mut watcher, 9000, of(IrregularityKind::IllegalMove));
    let told = drained(&mut watcher);
    let Body::Irregularity(it) = &told[0].body else {
        panic!("{told:?}")
    };
    assert_eq!(it.offence_number, 2);
    let again = watcher.handle_command(Millis(9000), Command::Accept { irregularity: before });
    assert_eq!(again.unwrap_err().code(), "closed");
}

#[test]
fn a_correction_cannot_take_out_more_half_moves_than_there_are() {
    let mut watcher = after_e4();
    for delete in [2, u32::MAX] {
        let order = Command::Correct(correct(1, delete, &[]));
        assert_eq!(refused(&mut watcher, 6000, order), "refused");
    }
}

/// The board stands against the record that a person entered, and a restart looks for what was missed.
#[test]
fn a_restart_leaves_a_record_alone_that_the_board_contradicts() {
    let mut watcher = after_e4();
    do_it(
        &mut watcher,
        6000,
        Command::Correct(correct(1, 1, &["e3", "Nf6"])),
    );
    let entered = uci(&watcher);
    assert_eq!(entered, ["e2e3", "g8f6"]);
    let mut squares = initial_pieces();
    (squares[52], squares[36]) = (PieceCode::EMPTY, PieceCode(1));
    hear(&mut watcher, 9000, clock(Lever::RightHigh));
    assert_eq!(uci(&watcher), entered);
    let mut resumed = restarted(&watcher, Settings::default(), &squares, Lever::RightHigh);
    assert_eq!(uci(&resumed), entered);
    // The players set the position up, and play on.
    for (at, square, code) in [(4000, 36, 0), (4400, 44, 1), (4800, 6, 0), (5200, 21, 9)] {
        show(&mut resumed, at, square, PieceCode(code));
    }
    hear(&mut resumed, 8000, clock(Lever::LeftHigh));
    play(&mut resumed, 10_000, (51, 35, 1), Lever::RightHigh);
    assert_eq!(uci(&resumed), ["e2e3", "g8f6", "d2d4"]);
}

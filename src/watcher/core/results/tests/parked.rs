//! Boards whose pieces are set up anew without a result: a post-mortem, a mistake, or the next game.

use super::*;

#[test]
fn a_post_mortem_belongs_to_no_game_and_is_none() {
    let mut watcher = after_e4_under(named());
    drained(&mut watcher);
    set_up_anew(&mut watcher, 10_000);
    let events = drained(&mut watcher);
    let [asked] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(
        matches!(&asked.body, Body::Notice { code, .. } if code == notice::SET_UP_WITHOUT_RESULT),
        "{asked:?}"
    );
    // Players show some half-moves without a clock.
    for (at, (from, to, code)) in [(20_000, (52, 36, 1)), (24_000, E5)] {
        show(&mut watcher, at, from, PieceCode::EMPTY);
        show(&mut watcher, at + 400, to, PieceCode(code));
    }
    hear(&mut watcher, 40_000, Message::NoClock);
    assert_eq!(uci(&watcher), ["e2e4"], "the parked game does not change");
    do_it(&mut watcher, 50_000, Command::result(GameResult::BlackWins));
    let first = drained(&mut watcher);
    let ended = first
        .iter()
        .find(|event| matches!(event.body, Body::GameEnded { .. }));
    assert_eq!(ended.and_then(|event| event.game), Some(1), "{first:?}");
    let begun = |events: &[Event]| {
        let is_begun = |event: &Event| matches!(event.body, Body::GameStarted { .. });
        events.iter().any(is_begun)
    };
    assert!(!begun(&first), "an analysis is no game: {first:?}");
    // The analysis goes on, and is still no game. The next initial position begins one.
    show(&mut watcher, 52_000, 62, PieceCode::EMPTY);
    show(&mut watcher, 52_400, 45, PieceCode(3));
    hear(&mut watcher, 60_000, Message::NoClock);
    assert!(!begun(&drained(&mut watcher)));
    let squares = initial_pieces();
    hear(&mut watcher, 70_000, Message::Dump(&squares));
    hear(&mut watcher, 90_000, clock(Lever::LeftHigh));
    play(&mut watcher, 91_000, (51, 35, 1), Lever::RightHigh);
    assert_eq!(watcher.game().game, Some(2));
    assert_eq!(uci(&watcher), ["d2d4"]);
}

#[test]
fn a_game_that_is_played_with_the_clock_begins_without_a_command() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    drained(&mut watcher);
    hear(&mut watcher, 20_000, clock(Lever::LeftHigh));
    play(&mut watcher, 21_000, (52, 36, 1), Lever::RightHigh);
    play(&mut watcher, 24_000, E5, Lever::LeftHigh);
    play(&mut watcher, 27_000, NF3, Lever::RightHigh);
    play(&mut watcher, 30_000, (1, 18, 9), Lever::LeftHigh);
    let events = drained(&mut watcher);
    let ended = events
        .iter()
        .position(|event| matches!(event.body, Body::GameEnded { .. }));
    let begun = events
        .iter()
        .position(|event| matches!(event.body, Body::GameStarted { .. }));
    assert!(ended < begun && ended.is_some(), "{events:?}");
    assert_eq!(moves_of(&events), ["e2e4", "e7e5", "g1f3", "b8c6"]);
    assert_eq!(watcher.game().game, Some(2));
}

#[test]
fn a_game_goes_on_after_its_board_was_set_up_by_mistake() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    show(&mut watcher, 20_000, 52, PieceCode::EMPTY);
    show(&mut watcher, 20_300, 36, PieceCode(1));
    do_it(&mut watcher, 22_000, resume());
    hear(&mut watcher, 23_000, clock(Lever::RightHigh));
    drained(&mut watcher);
    play(&mut watcher, 24_000, E5, Lever::LeftHigh);
    assert_eq!(uci(&watcher), ["e2e4", "e7e5"]);
    assert_eq!(watcher.game().game, Some(1));
}

#[test]
fn the_next_game_on_a_parked_board_is_found_after_a_restart() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    let mut watcher = Watcher::new(named(), Some(watcher.snapshot()));
    watcher.handle_link_up(Millis(20_000), "port");
    let squares = initial_pieces();
    hear(&mut watcher, 20_100, Message::Dump(&squares));
    hear(&mut watcher, 22_000, clock(Lever::LeftHigh));
    play(&mut watcher, 24_000, (52, 36, 1), Lever::RightHigh);
    play(&mut watcher, 27_000, E5, Lever::LeftHigh);
    play(&mut watcher, 30_000, NF3, Lever::RightHigh);
    play(&mut watcher, 33_000, (1, 18, 9), Lever::LeftHigh);
    assert_eq!(watcher.game().game, Some(2));
    assert_eq!(uci(&watcher), ["e2e4", "e7e5", "g1f3", "b8c6"]);
}

#[test]
fn correcting_a_parked_game_costs_the_next_game_nothing() {
    let mut watcher = after_e4_under(named());
    set_up_anew(&mut watcher, 10_000);
    hear(&mut watcher, 20_000, clock(Lever::LeftHigh));
    play(&mut watcher, 21_000, (52, 36, 1), Lever::RightHigh);
    do_it(&mut watcher, 23_000, Command::Correct(correct(2, 0, &["c5"])));
    assert_eq!(uci(&watcher), ["e2e4", "c7c5"]);
    play(&mut watcher, 24_000, E5, Lever::LeftHigh);
    do_it(&mut watcher, 27_000, Command::NewGame);
    assert_eq!(watcher.game().game, Some(2));
    assert_eq!(uci(&watcher), ["e2e4", "e7e5"]);
}

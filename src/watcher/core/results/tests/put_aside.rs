//! A command that begins another game was meant for another board, or had a mistake in it.

use super::*;

/// 2...Nc6 and 3.Bb5 on the wire.
const NC6: (u8, u8, u8) = (1, 18, 9);
const BB5: (u8, u8, u8) = (61, 25, 4);

/// A watcher after 1.e4 e5, and what `begin` began by mistake, in which 2.Nf3 Nc6 were played.
fn begun_by_mistake(begin: Command) -> Watcher {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    do_it(&mut watcher, 9000, begin);
    assert_eq!(watcher.game().game, Some(2));
    play(&mut watcher, 10_000, NF3, Lever::RightHigh);
    play(&mut watcher, 13_000, NC6, Lever::LeftHigh);
    drained(&mut watcher);
    watcher
}

fn set(fen: &str) -> Command {
    Command::SetPosition { fen: fen.to_owned() }
}

fn resume_first() -> Command {
    Command::Resume {
        reason: None,
        game: Some(1),
    }
}

/// The first game has all half-moves, and goes on.
fn assert_goes_on(mut watcher: Watcher) {
    let all = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"];
    assert_eq!(
        (watcher.game().game, uci(&watcher)),
        (Some(1), all[..4].iter().map(|it| (*it).to_owned()).collect())
    );
    assert_eq!(watcher.game().result, Some(GameResult::Open));
    play(&mut watcher, 21_000, BB5, Lever::RightHigh);
    assert_eq!(uci(&watcher), all);
    // The number of the game that was none is not given again.
    do_it(&mut watcher, 25_000, Command::NewGame);
    assert_eq!(watcher.game().game, Some(3));
}

#[test]
fn a_new_game_on_the_wrong_board_is_taken_back_and_nothing_is_missed() {
    let mut watcher = begun_by_mistake(Command::NewGame);
    do_it(&mut watcher, 20_000, resume_first());
    let events = drained(&mut watcher);
    let told = |event: &Event| match &event.body {
        Body::GameEnded { result, reason, .. } => format!("{:?} ends {result:?} {reason}", event.game),
        Body::GameResumed { .. } => format!("{:?} goes on", event.game),
        Body::Move(made) => format!("{:?} {}", event.game, made.uci),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        events.iter().map(told).collect::<Vec<_>>(),
        [
            "Some(2) ends Open begun_by_mistake",
            "Some(1) goes on",
            "Some(1) g1f3",
            "Some(1) b8c6"
        ]
    );
    assert_goes_on(watcher);
}

#[test]
fn so_is_a_position_with_a_mistake_in_it() {
    let mistyped = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBN1 w Qkq - 0 2";
    let mut watcher = begun_by_mistake(set(mistyped));
    do_it(&mut watcher, 20_000, resume_first());
    assert_goes_on(watcher);
}

#[test]
fn the_right_position_of_the_game_that_was_put_aside_goes_on_with_that() {
    let mistyped = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBN1 w Qkq - 0 2";
    let mut watcher = begun_by_mistake(set(mistyped));
    let right = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
    do_it(&mut watcher, 20_000, set(right));
    assert_goes_on(watcher);
}

#[test]
fn two_mistakes_are_taken_back_at_once() {
    let mut watcher = begun_by_mistake(Command::NewGame);
    do_it(&mut watcher, 16_000, Command::NewGame);
    assert_eq!(watcher.game().game, Some(3));
    do_it(&mut watcher, 20_000, resume_first());
    assert_eq!((watcher.game().game, uci(&watcher).len()), (Some(1), 4));
}

#[test]
fn once_the_other_game_is_over_it_was_none_by_mistake() {
    let mut watcher = begun_by_mistake(Command::NewGame);
    do_it(&mut watcher, 16_000, Command::result(GameResult::Draw));
    let needed = watcher.needs(&resume_first());
    assert!(needed.is_some(), "an earlier game as any other");
    assert_eq!(watcher.game().game, Some(2));
}

#[test]
fn a_forfeit_of_the_next_game_that_is_taken_back_tells_nothing_of_the_old_position() {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, E5, Lever::LeftHigh);
    do_it(&mut watcher, 9000, Command::result(GameResult::Draw));
    let forfeit = Command::Result {
        result: GameResult::WhiteByForfeit,
        reason: None,
        game: Some(2),
    };
    do_it(&mut watcher, 10_000, forfeit);
    do_it(&mut watcher, 12_000, resume());
    drained(&mut watcher);
    hear(&mut watcher, 40_000, clock(Lever::LeftHigh));
    assert_eq!((watcher.game().game, uci(&watcher).len()), (Some(2), 0));
    assert_eq!(moves_of(&drained(&mut watcher)), [""; 0]);
}

/// What was put aside sets up the pieces and so is over for itself: its number is no other game's.
#[test]
fn a_game_put_aside_that_is_over_for_itself_does_not_go_on() {
    let mut watcher = begun_by_mistake(set("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBN1 w Qkq - 0 2"));
    hear(&mut watcher, 20_000, Message::Dump(&initial_pieces()));
    hear(&mut watcher, 30_000, clock(Lever::LeftHigh));
    let told = watcher.handle_command(Millis(40_000), resume_first());
    assert!(told.is_err() || watcher.game().game == Some(1), "{told:?}");
    let numbers: Vec<_> = drained(&mut watcher)
        .into_iter()
        .filter(|event| matches!(event.body, Body::GameStarted { .. }))
        .filter_map(|event| event.game)
        .collect();
    let mut once = numbers.clone();
    once.dedup();
    assert_eq!(numbers, once, "no number is given twice");
}

//! A person puts right how a game began, and what the clock showed.

use super::*;
use crate::watcher::command::ClockTimes;

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// After 1.e4 e5 2.Nf3 Nc6, which another board has heard.
const LATER: &str = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";

/// A game that goes on at another board, from the position in which it was interrupted.
fn resumed_elsewhere() -> Watcher {
    let mut watcher = after_e4();
    let fen = LATER.to_owned();
    do_it(&mut watcher, 6000, Command::SetPosition { fen });
    do_it(
        &mut watcher,
        7000,
        Command::Correct(correct(1, 0, &["Bb5", "a6"])),
    );
    drained(&mut watcher);
    watcher
}

fn beginning() -> Correct {
    Correct {
        fen: Some(INITIAL.into()),
        ..correct(1, 0, &["e4", "e5", "Nf3", "Nc6"])
    }
}

const WHOLE: [&str; 6] = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6"];

#[test]
fn a_game_that_was_taken_up_in_the_middle_gets_its_beginning() {
    let mut watcher = resumed_elsewhere();
    do_it(&mut watcher, 8000, Command::Correct(beginning()));
    let game = watcher.game();
    assert_eq!(
        (game.start_fen.as_deref(), &game.moves[..]),
        (Some(INITIAL), &WHOLE.map(str::to_owned)[..])
    );
    let pgn = watcher.pgn().unwrap();
    assert!(pgn.contains("3. Bb5 a6") && !pgn.contains("FEN"), "{pgn}");
    let told = drained(&mut watcher);
    let Body::MovesRetracted { to_ply: 0, fen, .. } = &told[0].body else {
        panic!("{told:?}")
    };
    assert_eq!((fen.as_deref(), told.len()), (Some(INITIAL), 1 + WHOLE.len()));
    // The same once more changes nothing.
    let again = Correct {
        fen: Some(INITIAL.into()),
        ..correct(1, 0, &[])
    };
    do_it(&mut watcher, 9000, Command::Correct(again));
    assert_eq!(drained(&mut watcher), []);
}

#[test]
fn so_does_one_that_is_over_for_long() {
    let mut watcher = resumed_elsewhere();
    let mut heard = Vec::new();
    let fen = INITIAL.to_owned();
    do_it(&mut watcher, 8000, Command::SetPosition { fen });
    heard.extend(drained(&mut watcher));
    let start = Body::GameStarted {
        fen: LATER.into(),
        chess960: false,
        white: None,
        black: None,
        event: None,
        round: None,
    };
    let mut past = heard[0].clone();
    (past.game, past.body) = (Some(2), start);
    let order = Order {
        past: Some(vec![past]),
        ..Command::Correct(Correct {
            game: Some(2),
            ..beginning()
        })
        .into()
    };
    let reply = watcher.handle_command(Millis(9000), order).unwrap();
    let game = reply.game.unwrap();
    assert_eq!(
        (game.start_fen.as_deref(), &game.moves[..]),
        (
            Some(INITIAL),
            &WHOLE[..4].iter().map(|uci| (*uci).to_owned()).collect::<Vec<_>>()[..]
        )
    );
}

#[test]
fn a_beginning_from_which_the_half_moves_cannot_be_played_is_refused() {
    let mut watcher = resumed_elsewhere();
    let from = |fen: &str| {
        Command::Correct(Correct {
            fen: Some(fen.into()),
            ..correct(1, 0, &[])
        })
    };
    assert_eq!(refused(&mut watcher, 8000, from(INITIAL)), "no_such_move");
    assert_eq!(refused(&mut watcher, 8000, from("nonsense")), "bad_fen");
    assert_eq!(
        refused(&mut watcher, 8000, from("8/8/8/8/8/8/8/8 w - - 0 1")),
        "bad_fen"
    );
}

#[test]
fn a_game_that_was_taken_for_chess960_is_one_of_standard_chess() {
    let mut watcher = after_e4();
    drained(&mut watcher);
    for (chess960, castles) in [(true, "e1h1"), (false, "e1g1")] {
        let order = Correct {
            chess960: Some(chess960),
            delete: watcher.game().moves.len() as u32,
            ..correct(1, 0, &["e4", "e5", "Nf3", "Nc6", "Bc4", "Nf6", "O-O"])
        };
        do_it(&mut watcher, 6000, Command::Correct(order));
        let game = watcher.game();
        assert_eq!(game.chess960, chess960);
        assert_eq!(game.moves.last().map(String::as_str), Some(castles));
        let told = drained(&mut watcher);
        assert!(
            matches!(&told[0].body, Body::MovesRetracted { fen: Some(_), chess960: told, .. } if *told == chess960),
            "{told:?}"
        );
    }
}

fn clocks(watcher: &mut Watcher) -> Vec<[u64; 2]> {
    let told = drained(watcher).into_iter();
    let clocks = told.filter_map(|event| match event.body {
        Body::Move(made) => made.clock.map(|clock| [clock.white_ms, clock.black_ms]),
        _ => None,
    });
    clocks.collect()
}

/// What the clock showed after half-move `ply`, or after the last one that is put in.
fn shows(ply: u32, insert: &[&str], white_ms: u32, black_ms: u32) -> Command {
    Command::Correct(Correct {
        clock: Some(ClockTimes { white_ms, black_ms }),
        ..correct(ply, 0, insert)
    })
}

#[test]
fn times_of_sides_that_were_taken_for_each_other_are_exchanged() {
    let mut watcher = after_e4();
    do_it(&mut watcher, 6000, shows(1, &[], 5_000, 6_000));
    do_it(&mut watcher, 6000, Command::Correct(correct(2, 0, &["e5"])));
    do_it(&mut watcher, 6000, shows(3, &["Nf3"], 4_000, 3_000));
    clocks(&mut watcher);
    let exchange = || {
        Command::Correct(Correct {
            exchange_clocks: true,
            ..correct(1, 0, &[])
        })
    };
    do_it(&mut watcher, 7000, exchange());
    assert_eq!(clocks(&mut watcher), [[6_000, 5_000], [3_000, 4_000]]);
    do_it(&mut watcher, 8000, exchange());
    assert_eq!(clocks(&mut watcher), [[5_000, 6_000], [4_000, 3_000]]);
}

#[test]
fn a_person_says_what_the_clock_showed() {
    let mut watcher = after_e4();
    drained(&mut watcher);
    do_it(&mut watcher, 6000, shows(1, &[], 5_000, 6_000));
    assert_eq!(clocks(&mut watcher), [[5_000, 6_000]]);
    do_it(&mut watcher, 7000, shows(2, &["e5"], 5_000, 4_000));
    assert_eq!(clocks(&mut watcher), [[5_000, 4_000]]);
    assert_eq!(refused(&mut watcher, 8000, shows(3, &[], 1, 1)), "refused");
}

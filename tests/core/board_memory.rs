//! What was played while nobody listened comes from the board's own log: a cable out, a daemon down. Boards that do
//! not tell it, or tell it badly, cost the half-moves and nothing else.
//!
//! A watcher and a simulated board talk over a line of 9600 baud, in a time of their own. Games are made up from seeds;
//! `DGT2MQTT_FULL=1` plays a hundred of each.

use dgt2mqtt::event::{Body, notice};
use fastrand::Rng;

use crate::absence::{Away, BEFORE, Game, Hall, Log, PLIES, play, play_faster};

fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap());
    let full = std::env::var_os("DGT2MQTT_FULL").is_some();
    first..first + if full { 100 } else { 5 }
}

/// The first half of them.
fn half_of_seeds() -> std::ops::Range<u64> {
    let all = seeds();
    all.start..all.start + (all.end - all.start).div_ceil(2)
}

fn nothing_is_lost(away: Away) {
    let mut longest: f64 = 0.0;
    for seed in seeds() {
        let game = Game::made_up(seed);
        let told = play(&game, away, Log::Told, seed);
        assert_eq!(told.moves, game.uci, "seed {seed}, {away:?}: {:?}", told.notices);
        assert_eq!(told.asked, 1, "seed {seed}");
        longest = longest.max(told.after);
    }
    println!(
        "{away:?}: {} games, nothing lost; the last {longest:.1} s after the return",
        seeds().count()
    );
    assert!(longest < 15.0);
}

#[test]
fn a_cable_out_for_twenty_plies_loses_no_move() {
    nothing_is_lost(Away::Cable(20));
}

#[test]
fn a_daemon_down_for_ten_minutes_loses_no_move() {
    nothing_is_lost(Away::Daemon(30));
}

/// Often before the board has answered, sometimes long after.
#[test]
fn a_daemon_that_is_killed_again_and_again_loses_no_move_and_accuses_nobody() {
    let mut kills = 0;
    for seed in half_of_seeds() {
        let game = Game::made_up(seed);
        let (mut hall, mut rng) = (
            Hall::new(game.capture.clone(), Log::Told, seed, 1.0),
            Rng::with_seed(seed),
        );
        // By USB.
        hall.byte = 10;
        let end = game.capture.end().0.min(200_000);
        while hall.now.0 < end {
            let lives = if rng.u8(0..4) == 0 { 4000 } else { 1200 };
            hall.run_until(hall.now.0 + rng.u64(20..lives));
            hall.restart(hall.now.0 + rng.u64(50..500));
            kills += 1;
        }
        hall.run_until(game.capture.end().0 + 60_000);
        let mut moves = Vec::new();
        for event in hall.events {
            match event.body {
                Body::Move(made) => moves.push(made.uci),
                Body::MovesRetracted { to_ply, .. } => moves.truncate(to_ply as usize),
                Body::Irregularity(said) => panic!("seed {seed}, {} s: {said:?}", event.t),
                // Hands hold pieces; every square is read.
                Body::Notice { code, .. } if code == notice::SQUARE_NOT_READ => {
                    panic!("seed {seed}, {} s: {code}", event.t)
                }
                _ => {}
            }
        }
        assert_eq!(moves, game.uci, "seed {seed}");
    }
    println!("{} games, {kills} kills, nothing lost", half_of_seeds().count());
}

#[test]
fn a_daemon_that_comes_after_the_first_half_move_has_the_whole_game() {
    for seed in seeds().take(20) {
        let game = Game::made_up(seed);
        let mut hall = Hall::new(game.capture.clone(), Log::Told, seed, 1.0);
        hall.restart(game.done[0] + 300);
        hall.run_until(game.capture.end().0 + 30_000);
        let moves = hall.events.iter().filter_map(|event| match &event.body {
            Body::Move(made) => Some(made.uci.clone()),
            Body::Irregularity(said) => panic!("seed {seed}: {said:?}"),
            _ => None,
        });
        assert_eq!(moves.collect::<Vec<_>>(), game.uci, "seed {seed}");
    }
}

#[test]
fn what_is_played_while_the_log_is_told_is_followed() {
    for seed in half_of_seeds() {
        let game = Game::made_up(seed);
        let told = play_faster(&game, Away::Cable(8), Log::Told, seed, 2.0);
        assert_eq!(told.moves, game.uci, "seed {seed}: {:?}", told.notices);
    }
}

#[test]
fn a_board_that_does_not_tell_its_log_costs_half_moves_and_no_more() {
    let mut taken_up = 0;
    for (log, away) in [
        (Log::Unanswered, Away::Cable(20)),
        (Log::Garbled, Away::Daemon(20)),
        (Log::Short, Away::Cable(20)),
    ] {
        for seed in half_of_seeds() {
            let game = Game::made_up(seed);
            let told = play(&game, away, log, seed);
            let said = |code: &str| told.notices.iter().any(|notice| notice == code);
            if said("gap_not_explained") {
                // Damage that is as legal as what was played cannot be told from it.
                assert!(
                    told.moves.len() == PLIES || told.taken_up || !said("board_log_useless"),
                    "{log:?}, seed {seed}: {:?}\n{:?}\n{:?}",
                    told.notices,
                    told.moves,
                    game.uci
                );
                taken_up += usize::from(told.taken_up);
            }
            // Whatever became of the missed ones, those after them are right.
            let rest = &game.uci[BEFORE + 24..];
            assert!(
                told.moves.ends_with(rest),
                "{log:?}, seed {seed}: {:?}\n{:?}\n{rest:?}",
                told.notices,
                told.moves
            );
            assert!(
                told.asked <= 1,
                "{log:?}, seed {seed}: asked {} times",
                told.asked
            );
        }
    }
    println!("{taken_up} games taken up from what stood on the board");
    assert!(taken_up > 0);
}

#[test]
fn no_tale_is_told_of_what_nobody_saw() {
    // Lines that grew from what stood there, with hands on some squares: sixteen half-moves, eleven, thirteen, all
    // invented, and accusations that came of them.
    for seed in [16, 41, 56, 101] {
        let game = Game::made_up(seed);
        let told = play(&game, Away::Cable(20), Log::Unanswered, seed);
        assert!(told.taken_up, "seed {seed}: {:?}", told.notices);
        assert!(game.uci.ends_with(&told.moves), "seed {seed}: {:?}", told.moves);
    }
}

#[test]
fn six_half_moves_are_bridged_without_a_log_where_only_one_order_explains_them() {
    // Each needs the one before it.
    let moves =
        "e2e4 e7e5 a2a3 a7a6 h2h3 h7h6 b2b3 b7b6 g2g3 g7g6 d2d4 e5d4 d1d4 b8c6 d4a4 c6e5 f1g2 f8g7 g1f3 g8f6";
    let moves: Vec<_> = moves.split_whitespace().collect();
    let game = Game::of(&moves, 1);
    let told = play(&game, Away::Cable(6), Log::Unanswered, 1);
    assert_eq!(told.moves, game.uci, "{:?}", told.notices);
    assert_eq!(told.recovered, 6);
    // The log would have been asked for; nothing waits for it.
    assert!(told.notices.is_empty() && told.after < 5.0, "{:?}", told.notices);
}

#[test]
fn pieces_that_move_and_come_back_while_nobody_listens_are_in_the_record() {
    let moves =
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f3g5 f6g8 g5f3 g8f6 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8";
    let moves: Vec<_> = moves.split_whitespace().collect();
    for seed in seeds().take(5) {
        let game = Game::of(&moves, seed);
        for away in [Away::Cable(4), Away::Daemon(4)] {
            let told = play(&game, away, Log::Told, seed);
            assert_eq!(told.moves, game.uci, "seed {seed}, {away:?}: {:?}", told.notices);
            assert_eq!((told.asked, told.recovered), (1, 4), "seed {seed}, {away:?}");
        }
        // Where nothing was played, nothing is asked.
        let told = play(&game, Away::Cable(0), Log::Told, seed);
        assert_eq!((told.moves, told.asked), (game.uci.clone(), 0), "seed {seed}");
    }
}

//! What was played while nobody listened comes from the board's own log: a cable out, a daemon down. Boards that do
//! not tell it, or tell it badly, cost the half-moves and nothing else.
//!
//! A watcher and a simulated board talk over a line of 9600 baud, in a time of their own. Games are made up from seeds;
//! `DGT2MQTT_FULL=1` plays a hundred of each.

use dgt2mqtt::{
    capture::{
        Act, Capture, Header, Record,
        replay::{replay, settings_of},
    },
    event::{Body, CompletedBy, Event, notice},
    sim::{
        board::SimulatedIdentity,
        games,
        player::{Pace, PlayedBoard},
        rehearsal::{LogFate, Rehearsal, WITHOUT_WAITING},
    },
    time::Millis,
    watcher::Watcher,
};
use fastrand::Rng;
use shakmaty::{CastlingMode, Chess, Move, Position, uci::UciMove};

use crate::seed::seed;

/// Nobody hears the board from some half-move on until so many have been played unheard.
#[derive(Clone, Copy, Debug)]
enum Away {
    Cable(usize),
    /// The daemon is down, the board has power.
    Daemon(usize),
}

/// Half-moves of a game.
const PLIES: usize = 44;
/// Half-moves that are heard before.
const BEFORE: usize = 10;

/// A game with its half-moves, and the times at which they were completed.
struct Game {
    capture: Capture,
    uci: Vec<String>,
    done: Vec<u64>,
}

impl Game {
    fn made_up(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        loop {
            let mut moves = games::made_up(&mut rng);
            moves.truncate(PLIES);
            if moves.len() == PLIES {
                return Self::played(&moves, seed);
            }
        }
    }

    fn of(uci: &str, seed: u64) -> Self {
        let mut position = Chess::default();
        let moves = uci.split_whitespace().map(|uci| {
            let mv = uci.parse::<UciMove>().unwrap().to_move(&position).unwrap();
            position.play_unchecked(mv);
            mv
        });
        Self::played(&moves.collect::<Vec<_>>(), seed)
    }

    fn played(moves: &[Move], seed: u64) -> Self {
        let capture = games::play(moves, Header::default(), seed).unwrap();
        let mut watcher = Watcher::new(settings_of(&capture.header, "1"), None);
        let mut done = Vec::new();
        let run = replay(&mut watcher, &capture, |event| {
            if let Body::Move(made) = &event.body {
                assert_eq!(made.completed_by, CompletedBy::Clock);
                done.push((event.at.unwrap_or(event.t) * 1000.0) as u64);
            }
            Ok::<(), ()>(())
        });
        assert!(
            run.is_ok() && done.len() == moves.len(),
            "seed {seed}: the game itself is read"
        );
        let uci = moves
            .iter()
            .map(|mv| mv.to_uci(CastlingMode::Standard).to_string());
        Self {
            uci: uci.collect(),
            capture,
            done,
        }
    }

    /// With a daemon that may be killed, and a board whose log comes as `log`.
    fn rehearsal(&self, capture: Capture, log: LogFate, seed: u64, pace: Pace) -> Rehearsal {
        let settings = settings_of(&self.capture.header, "1");
        let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), pace);
        Rehearsal::new(player, settings)
            .with_log(log, seed)
            .with_journal()
    }
}

/// What came of it.
#[derive(Default)]
struct Told {
    /// The record at the end.
    moves: Vec<String>,
    recovered: usize,
    notices: Vec<String>,
    /// Seconds from the return of the board to the last half-move recovered.
    after: f64,
    asked: usize,
    /// The game was taken up in the middle.
    taken_up: bool,
}

impl Told {
    /// All that is played is legal: nobody is accused, whatever is open.
    fn of(events: &[Event], back: u64, what: &str) -> Self {
        let mut told = Self::default();
        for (i, event) in events.iter().enumerate() {
            assert_eq!(event.seq, i as u64 + 1, "no gap in the numbers");
            match &event.body {
                Body::Move(made) => {
                    told.moves.push(made.uci.clone());
                    if made.completed_by == CompletedBy::Recovered {
                        told.recovered += 1;
                        told.after = event.t - back as f64 / 1000.0;
                    }
                }
                Body::MovesRetracted { to_ply, .. } => told.moves.truncate(*to_ply as usize),
                Body::GameStarted { .. } => {
                    told.taken_up = !told.moves.is_empty();
                    told.moves.clear();
                }
                Body::Notice { code, .. } => told.notices.push(code.clone()),
                Body::Irregularity(said) => {
                    let before = &events[i.saturating_sub(9)..=i];
                    panic!("{what}: {said:?}\n{before:?}");
                }
                _ => {}
            }
        }
        told
    }
}

fn play(game: &Game, away: Away, log: LogFate, seed: u64) -> Told {
    play_at(WITHOUT_WAITING, game, away, log, seed)
}

fn play_at(pace: Pace, game: &Game, away: Away, log: LogFate, seed: u64) -> Told {
    let (Away::Cable(n) | Away::Daemon(n)) = away;
    // Out when the last one that is heard has been said, back when the last unheard one is done.
    let out = game.done[BEFORE - 1] + 700;
    let back = (game.done[BEFORE + n - 1] + 300).max(out + 500);
    let mut capture = game.capture.clone();
    if let Away::Cable(_) = away {
        for (at, act) in [(back, Act::LinkUp), (out, Act::LinkDown)] {
            let place = capture.records.partition_point(|record| record.at.0 <= at);
            capture.records.insert(place, Record { at: Millis(at), act });
        }
    }
    let end = capture.end();
    let mut rehearsal = game.rehearsal(capture, log, seed, pace);
    if let Away::Daemon(_) = away {
        rehearsal.run_until(Millis(out));
        rehearsal.kill(Millis(back));
    }
    rehearsal.run_until(end + 30_000);
    let rehearsed = rehearsal.end();
    Told {
        asked: rehearsed.asked,
        ..Told::of(
            &rehearsed.events,
            back,
            &format!("{away:?}, {log:?}, seed {seed}, {:?}", game.uci),
        )
    }
}

fn seeds() -> std::ops::Range<u64> {
    let first = seed();
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
        let told = play(&game, away, LogFate::Told, seed);
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

/// What stands on the board after the gap seems to speak against the last half-move before it.
#[test]
fn what_was_whole_before_a_gap_waits_for_the_log() {
    let seed = 9;
    let game = Game::made_up(seed);
    let told = play(&game, Away::Daemon(30), LogFate::Told, seed);
    assert_eq!(told.moves, game.uci, "{:?}", told.notices);
}

/// No log tells what was missed, and half-moves are made quickly until the watcher gives it up: the next game has them.
#[test]
fn what_is_played_before_a_gap_is_given_up_is_in_the_next_game() {
    let seed = 13;
    let game = Game::made_up(seed);
    let told = play(&game, Away::Cable(20), LogFate::Unanswered, seed);
    assert!(told.taken_up, "{:?}", told.notices);
    assert!(told.moves.ends_with(&game.uci[BEFORE + 24..]), "{:?}", told.moves);
}

/// Often before the board has answered, sometimes long after.
#[test]
fn a_daemon_that_is_killed_again_and_again_loses_no_move_and_accuses_nobody() {
    let mut kills = 0;
    for seed in half_of_seeds() {
        let game = Game::made_up(seed);
        let mut rng = Rng::with_seed(seed);
        let played = game.rehearsal(game.capture.clone(), LogFate::Told, seed, WITHOUT_WAITING);
        let mut played = played.by_usb();
        let end = game.capture.end().0.min(200_000);
        while played.now().0 < end {
            let lives = if rng.u8(0..4) == 0 { 4000 } else { 1200 };
            played.run_until(played.now() + rng.u64(20..lives));
            played.kill(played.now() + rng.u64(50..500));
            kills += 1;
        }
        played.run_until(game.capture.end() + 60_000);
        let told = Told::of(&played.end().events, 0, &format!("seed {seed}"));
        // Hands hold pieces; every square is read.
        assert!(
            !told.notices.contains(&notice::SQUARE_NOT_READ.to_owned()),
            "seed {seed}"
        );
        let moves = told.moves;
        assert_eq!(moves, game.uci, "seed {seed}");
    }
    println!("{} games, {kills} kills, nothing lost", half_of_seeds().count());
}

#[test]
fn a_daemon_that_comes_after_the_first_half_move_has_the_whole_game() {
    for seed in seeds().take(20) {
        let game = Game::made_up(seed);
        let mut played = game.rehearsal(game.capture.clone(), LogFate::Told, seed, WITHOUT_WAITING);
        played.kill(Millis(game.done[0] + 300));
        played.run_until(game.capture.end() + 30_000);
        let told = Told::of(&played.end().events, 0, &format!("seed {seed}"));
        assert_eq!(told.moves, game.uci, "seed {seed}");
    }
}

#[test]
fn what_is_played_while_the_log_is_told_is_followed() {
    let twice = Pace {
        speed: 2.0,
        ..WITHOUT_WAITING
    };
    for seed in half_of_seeds() {
        let game = Game::made_up(seed);
        let told = play_at(twice, &game, Away::Cable(8), LogFate::Told, seed);
        assert_eq!(told.moves, game.uci, "seed {seed}: {:?}", told.notices);
    }
}

#[test]
fn a_board_that_does_not_tell_its_log_costs_half_moves_and_no_more() {
    let mut taken_up = 0;
    for (log, away) in [
        (LogFate::Unanswered, Away::Cable(20)),
        (LogFate::Garbled, Away::Daemon(20)),
        (LogFate::Short, Away::Cable(20)),
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
        let told = play(&game, Away::Cable(20), LogFate::Unanswered, seed);
        assert!(told.taken_up, "seed {seed}: {:?}", told.notices);
        assert!(game.uci.ends_with(&told.moves), "seed {seed}: {:?}", told.moves);
    }
}

#[test]
fn six_half_moves_are_bridged_without_a_log_where_only_one_order_explains_them() {
    // Each needs the one before it.
    let moves =
        "e2e4 e7e5 a2a3 a7a6 h2h3 h7h6 b2b3 b7b6 g2g3 g7g6 d2d4 e5d4 d1d4 b8c6 d4a4 c6e5 f1g2 f8g7 g1f3 g8f6";
    let game = Game::of(moves, 1);
    let told = play(&game, Away::Cable(6), LogFate::Unanswered, 1);
    assert_eq!(told.moves, game.uci, "{:?}", told.notices);
    assert_eq!(told.recovered, 6);
    // The log would have been asked for; nothing waits for it.
    assert!(told.notices.is_empty() && told.after < 5.0, "{:?}", told.notices);
}

#[test]
fn pieces_that_move_and_come_back_while_nobody_listens_are_in_the_record() {
    let moves =
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f3g5 f6g8 g5f3 g8f6 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8";
    for seed in seeds().take(5) {
        let game = Game::of(moves, seed);
        for away in [Away::Cable(4), Away::Daemon(4)] {
            let told = play(&game, away, LogFate::Told, seed);
            assert_eq!(told.moves, game.uci, "seed {seed}, {away:?}: {:?}", told.notices);
            assert_eq!((told.asked, told.recovered), (1, 4), "seed {seed}, {away:?}");
        }
        // Where nothing was played, nothing is asked.
        let told = play(&game, Away::Cable(0), LogFate::Told, seed);
        assert_eq!((told.moves, told.asked), (game.uci.clone(), 0), "seed {seed}");
    }
}

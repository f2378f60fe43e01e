//! Whole games on boards that feel only whether something stands on a square.

use std::{env, fs, path::Path};

use dgt2mqtt::sim::games::{from_pgn, made_up};
use fastrand::Rng;
use shakmaty::{CastlingMode, Move};

use crate::felt::{Habits, Hands, hear};

/// Half-moves: all, right, retracted on the way; and accusations.
#[derive(Debug, Default)]
struct Score {
    games: usize,
    exact: usize,
    plies: usize,
    right: usize,
    retracted: usize,
    accused: usize,
}

fn play(moves: &[Move], seed: u64, habits: Habits, score: &mut Score) {
    let mut hands = Hands::new(seed, habits);
    hands.wait(3000);
    let names: Vec<String> = moves
        .iter()
        .map(|mv| mv.to_uci(CastlingMode::Standard).to_string())
        .collect();
    for mv in moves {
        hands.play(*mv);
    }
    let capture = hands.into_capture(8000);
    let heard = hear(&capture);
    let right = names.iter().zip(&heard.moves).filter(|(a, b)| a == b).count();
    score.games += 1;
    score.plies += names.len();
    score.right += right;
    score.exact += usize::from(names == heard.moves);
    score.retracted += heard.retracted;
    score.accused += heard.irregularities.len();
    if names != heard.moves || !heard.irregularities.is_empty() {
        let at = names.iter().zip(&heard.moves).take_while(|(a, b)| a == b).count();
        eprintln!(
            "seed {seed}: {right} of {} right, heard {}, games {}, first wrong {} {:?}, not {:?}; {:?} {:?}",
            names.len(),
            heard.moves.len(),
            heard.games,
            at + 1,
            names.get(at),
            heard.moves.get(at),
            heard.irregularities,
            heard.notices
        );
        if let Ok(folder) = env::var("FELT_KEEP") {
            fs::write(
                Path::new(&folder).join(format!("{seed}.dgtcap")),
                capture.to_string(),
            )
            .unwrap();
        }
    }
}

#[test]
fn made_up_games_are_followed() {
    let mut score = Score::default();
    for seed in 0..20 {
        let moves = made_up(&mut Rng::with_seed(seed));
        play(&moves, seed, Habits::MESSY, &mut score);
    }
    eprintln!("{score:?}");
    assert!(score.right * 100 >= score.plies * 99, "{score:?}");
    assert_eq!(score.accused, 0, "{score:?}");
}

/// Games from the corpus; none when it is not there.
fn games(file: &str, many: usize) -> Vec<Vec<Move>> {
    let Ok(corpus) = env::var("DGT2MQTT_CORPUS") else {
        eprintln!("skipped: DGT2MQTT_CORPUS is not set");
        return Vec::new();
    };
    let many = env::var("FELT_GAMES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(many);
    let text = fs::read_to_string(Path::new(&corpus).join("games").join(file)).unwrap();
    let mut games = from_pgn(&text).unwrap();
    games.truncate(many);
    games
}

#[test]
fn games_of_masters_are_followed() {
    for (seed, file) in [(1000, "candidates2020.pgn"), (3000, "underpromotions-slice.pgn")] {
        let mut score = Score::default();
        for (seed, moves) in (seed..).zip(games(file, 4)) {
            play(&moves, seed, Habits::MESSY, &mut score);
        }
        eprintln!("{file}: {score:?}");
        assert!(score.right * 100 >= score.plies * 99, "{score:?}");
        assert_eq!(score.accused, 0, "{score:?}");
    }
}

#[test]
fn each_habit_alone_is_forgiven() {
    let none = Habits::default();
    let kinds = [
        ("tidy", none),
        (
            "slide_onto",
            Habits {
                slide_onto: 100,
                ..none
            },
        ),
        ("brush", Habits { brush: 100, ..none }),
        ("adjust", Habits { adjust: 100, ..none }),
        ("waver", Habits { waver: 100, ..none }),
        (
            "misplace",
            Habits {
                misplace: 100,
                ..none
            },
        ),
        (
            "take_back",
            Habits {
                take_back: 20,
                ..none
            },
        ),
        ("hurry", Habits { hurry: 100, ..none }),
        (
            "blitz",
            Habits {
                hurry: 100,
                slide_onto: 30,
                brush: 20,
                adjust: 3,
                misplace: 5,
                ..none
            },
        ),
    ];
    for (name, habits) in kinds {
        let mut score = Score::default();
        for (seed, moves) in (2000..).zip(games("candidates2022.pgn", 3)) {
            play(&moves, seed, habits, &mut score);
        }
        eprintln!("{name}: {score:?}");
        assert!(score.right * 100 >= score.plies * 97, "{name}: {score:?}");
        assert_eq!(score.accused, 0, "{name}: {score:?}");
    }
}

//! Can a side still mate: this crate against the solver alone, on positions where games end on time.
//!
//! `cargo bench --bench mate` prints median and p99 over the positions, then the timings by divan.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![allow(missing_docs, reason = "divan makes items of its own")]

use std::{
    hint::black_box,
    str::FromStr as _,
    time::{Duration, Instant},
};

use dgt2mqtt::mate::{Budget, can_mate, is_dead_quick};
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Position, fen::Fen};

/// Walls and nearly walls.
const WALLED: [&str; 8] = [
    "5b2/p7/Pp3k2/1Pp1pBp1/2P1P1P1/5K2/8/8 w - - 0 1",
    "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/4K3 w - - 0 1",
    "4kb2/8/1p1p1p1p/1P1P1P1P/8/8/3BK3/8 w - - 0 1",
    "8/3k4/1p1p1p2/1P1P1P1p/7P/3K4/8/8 b - - 0 1",
    "2b1k3/8/1p1p1p1p/1P1P1P1P/8/8/4K3/2B5 w - - 0 1",
    "8/8/4k3/p1p1p1p1/P1P1P1Pp/7P/4K3/8 w - - 0 1",
    "k7/8/8/8/8/8/8/K6R w - - 0 1",
    "8/8/4k3/8/8/3KN3/7p/8 b - - 0 1",
];

/// Ends of random games, and the walls.
fn positions() -> Vec<Chess> {
    let mut random = fastrand::Rng::with_seed(2026);
    let mut all: Vec<Chess> = WALLED
        .iter()
        .filter_map(|fen| {
            fen.parse::<Fen>()
                .ok()?
                .into_position(CastlingMode::Standard)
                .ok()
        })
        .collect();
    while all.len() < 500 {
        let mut position = Chess::default();
        for _ in 0..random.usize(40..300) {
            let moves = position.legal_moves();
            if moves.is_empty() || position.is_insufficient_material() {
                break;
            }
            position.play_unchecked(moves[random.usize(..moves.len())]);
        }
        all.push(position);
    }
    all
}

fn ours(position: &Chess) {
    for winner in Color::ALL {
        black_box(can_mate(position, winner, &Budget::default()));
    }
}

fn solver_alone(position: &Chess) {
    let fen = Fen::from_position(position, EnPassantMode::Legal).to_string();
    let Ok(board) = chess::Board::from_str(&fen) else {
        return;
    };
    for winner in [chess::Color::White, chess::Color::Black] {
        black_box(chasolver::winnability(&board, winner));
    }
}

fn dead_quick(position: &Chess) {
    black_box(is_dead_quick(position));
}

type Subject = (&'static str, fn(&Chess));

const SUBJECTS: [Subject; 3] = [
    ("can_mate, both sides", ours),
    ("chasolver alone, both sides", solver_alone),
    ("is_dead_quick", dead_quick),
];

fn main() {
    let positions = positions();
    for (name, subject) in SUBJECTS {
        let mut times: Vec<Duration> = positions
            .iter()
            .map(|position| {
                let start = Instant::now();
                subject(position);
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
        println!(
            "{name}: median {:?}, p99 {:?}, of {} positions",
            at(50),
            at(99),
            times.len()
        );
    }
    divan::main();
}

#[divan::bench(args = [0_usize, 1, 2])]
fn all_positions(bencher: divan::Bencher<'_, '_>, subject: usize) {
    let positions = positions();
    bencher.bench_local(|| positions.iter().for_each(SUBJECTS[subject].1));
}

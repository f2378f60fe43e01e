//! Weighs the weights of recognition: plays messy games whose truth is known, prints of what was said with probability
//! p how much was true, and fits a factor for each item of the bills. `docs/recognition-figures.md` says how to read it.

mod logit;
mod moments;
mod options;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use dgt2mqtt::sim::rehearsal::{kinds::GameKind, rehearse_and_weigh, reliability::Reliability};
use logit::{Fitted, Moment};
use options::Options;

/// What some games say.
#[derive(Default)]
struct Played {
    said: Reliability,
    moments: Vec<Moment>,
}

/// Plays `games` games of each of `kinds` from seed `first` on, on as many threads as there are processors.
fn play(kinds: &[GameKind], first: u64, games: usize) -> Played {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= games * kinds.len() {
                return;
            }
            let (kind, seed) = (
                &kinds[number % kinds.len()],
                first + (number / kinds.len()) as u64,
            );
            let played = play_one(kind, seed);
            all.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, played));
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(work);
        }
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A sum of fractions depends on their order.
    all.sort_by_key(|(number, _)| *number);
    let mut sum = Played::default();
    for (_, played) in all {
        sum.said += played.said;
        sum.moments.extend(played.moments);
    }
    sum
}

/// The work is the same on any number of threads.
#[allow(clippy::disallowed_methods)]
fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn play_one(kind: &GameKind, seed: u64) -> Played {
    let (_, game) = kind.game(seed);
    let rehearsal = rehearse_and_weigh(&game);
    let mut said = Reliability::of(&game.truth, &rehearsal);
    for wrong in &mut said.wrong {
        *wrong = format!("{} {seed}: {wrong}", kind.name);
    }
    Played {
        said,
        moments: moments::of(&game.truth, &rehearsal),
    }
}

fn main() -> Result<(), String> {
    let Some(options) = Options::read(std::env::args().skip(1))? else {
        println!("{}", options::HELP);
        return Ok(());
    };
    let (held, open) = options.kinds()?;
    let games = options.games;
    println!(
        "Fitted on seeds {} to {}; held out: seeds from {} on, and {}.\n",
        options.seed,
        options.seed + games as u64 - 1,
        options::HELD_FROM,
        options.hold
    );
    let learned = play(&open, options.seed, games);
    let seeds = play(&open, options.held_seed, games);
    let kinds = play(&held, options.held_seed, games);

    let fitted = Fitted::on(&learned.moments, options.tether);
    println!("{}", fitted.table(&seeds.moments, &kinds.moments));
    println!("| moments of | number | log-likelihood each, before | after |\n|---|---|---|---|");
    for (name, played) in [
        ("the fitted seeds", &learned),
        ("held-out seeds", &seeds),
        ("held-out kinds", &kinds),
    ] {
        println!("{}", fitted.row(name, &played.moments));
    }
    let mut said = seeds.said;
    said += kinds.said;
    println!("\nHeld-out seeds and kinds:\n\n{said}");
    Ok(())
}

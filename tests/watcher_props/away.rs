//! A daemon that is killed and away for seconds, once or again and again, accuses nobody of what it did not hear.

use dgt2mqtt::time::Millis;

use crate::{
    late::is_full,
    play::{Fixture, fixtures, play_killed},
    restarts::{AWAY_MS, besides},
};

/// A machine that starts slowly: half-moves and presses are missed, and nobody is accused of what came of it.
#[test]
fn nor_does_one_that_is_away_for_seconds() {
    away_accuses_nobody(if is_full() { 20 } else { 2 }, 1, |random, end| {
        let (at, away) = (random.u64(..end), random.u64(AWAY_MS..5000));
        (vec![Millis(at)], away)
    });
}

/// The same where it starts slowly again and again: what is heard is pieces of the game.
#[test]
fn nor_does_one_that_is_away_every_two_seconds() {
    const EVERY_MS: u64 = 2000;
    let (tries, step) = if is_full() { (5, 1) } else { (1, 6) };
    away_accuses_nobody(tries, step, |random, end| {
        let (first, away) = (random.u64(..EVERY_MS), random.u64(AWAY_MS..EVERY_MS));
        let moments = (first..end).step_by(EVERY_MS as usize).map(Millis);
        (moments.collect(), away)
    });
}

/// Kills the daemon at the moments that `killed` draws for a game that ends at a time, and has it away for as long as it says: so many
/// times in every `step`th game.
fn away_accuses_nobody(
    tries: u64,
    step: usize,
    killed: impl Fn(&mut fastrand::Rng, u64) -> (Vec<Millis>, u64),
) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for fixture in fixtures().iter().step_by(step) {
        let Fixture { name, capture, .. } = fixture;
        for seed in 1..=tries {
            let end = capture.end().0.max(1);
            let (moments, away) = killed(&mut fastrand::Rng::with_seed(seed ^ capture.end().0), end);
            let got = play_killed(capture, &moments, away);
            tried += 1;
            for one in besides(fixture, &got) {
                wrong.push(format!("{name}, killed at {moments:?} for {away} ms: {one:?}"));
            }
        }
    }
    println!("{tried} restarts");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}

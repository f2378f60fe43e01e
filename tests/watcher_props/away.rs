//! A daemon that is killed and away for seconds, once or again and again, accuses nobody of what it did not hear.

use dgt2mqtt::time::Millis;

use crate::{
    late::{held_back, is_full},
    play::{Fixture, TimeOfDay, fixtures, play_killed, play_killed_at, recorded},
    restarts::{AWAY_MS, besides},
    said::accused_besides,
};

/// A machine that starts slowly: half-moves and presses are missed, and nobody is accused of what came of it.
#[test]
fn nor_does_one_that_is_away_for_seconds() {
    away_accuses_nobody(0, if is_full() { 20 } else { 2 }, 1, |random, end| {
        let (at, away) = (random.u64(..end), random.u64(AWAY_MS..5000));
        (vec![Millis(at)], away, None)
    });
}

/// The same where what the board sends about then comes late: a machine that is busy as it starts.
#[test]
fn nor_does_one_whose_line_stands_still_as_it_comes_back() {
    away_accuses_nobody(
        usize::from(is_full()),
        if is_full() { 20 } else { 1 },
        1,
        |random, end| {
            let (at, away) = (random.u64(..end), random.u64(AWAY_MS..5000));
            let from = (at + away).saturating_sub(random.u64(..3000));
            let until = at + away + random.u64(..3000);
            (vec![Millis(at)], away, Some((Millis(from), Millis(until))))
        },
    );
}

/// An illegal move, whose press comes late to the daemon that is back, and is put back before it is judged. It was a press without a
/// move (`certain`).
#[test]
fn what_stood_at_a_press_that_comes_late_counts_and_not_what_was_put_back_since() {
    let fixture = recorded("illegal-king-left-in-check");
    for until in [8500, 8900, 9000] {
        let late = held_back(&fixture.capture, (Millis(6200), Millis(until)));
        for killed in [6050, 6150] {
            let got = play_killed(&late, &[Millis(killed)], 8292 - killed);
            assert!(besides(&fixture, &got).is_empty(), "{until}, {killed}");
            let untold = accused_besides(&fixture.whole().events, &got.events, false);
            assert_eq!(untold, [""; 0], "{until}, {killed}");
        }
    }
}

/// A daemon that starts slowly again and again: what is heard is pieces of the game.
#[test]
fn nor_does_one_that_is_away_every_two_seconds() {
    const EVERY_MS: u64 = 2000;
    let (tries, step) = if is_full() { (5, 1) } else { (1, 6) };
    away_accuses_nobody(0, tries, step, |random, end| {
        let (first, away) = (random.u64(..EVERY_MS), random.u64(AWAY_MS..EVERY_MS));
        let moments = (first..end).step_by(EVERY_MS as usize).map(Millis);
        (moments.collect(), away, None)
    });
}

/// When a daemon is killed, for how many milliseconds it is away, and the time in which the line stands still, if it does.
type Killed = (Vec<Millis>, u64, Option<(Millis, Millis)>);

/// Kills the daemon as `killed` draws it for a game that ends at a time: so many times in every `step`th game. Of a thousand games
/// somebody is accused in `most`.
fn away_accuses_nobody(
    most: usize,
    tries: u64,
    step: usize,
    killed: impl Fn(&mut fastrand::Rng, u64) -> Killed,
) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for fixture in fixtures().iter().step_by(step) {
        let Fixture { name, capture, .. } = fixture;
        for seed in 1..=tries {
            let end = capture.end().0.max(1);
            let (moments, away, still) = killed(&mut fastrand::Rng::with_seed(seed ^ capture.end().0), end);
            let late = still.map(|window| held_back(capture, window));
            let heard = late.as_ref().unwrap_or(capture);
            let time = match (seed ^ end) % 3 {
                0 => TimeOfDay::Known,
                1 => TimeOfDay::Unknown,
                _ => TimeOfDay::SetAhead,
            };
            let got = play_killed_at(heard, &moments, away, time);
            tried += 1;
            for one in besides(fixture, &got) {
                wrong.push(format!(
                    "{name}, killed at {moments:?} for {away} ms, still {still:?}, time of day {time:?}: {one:?}"
                ));
            }
        }
    }
    println!("{tried} restarts, {} wrong", wrong.len());
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.len() * 1000 <= tried * most, "{of}\n{}", wrong.join("\n"));
}

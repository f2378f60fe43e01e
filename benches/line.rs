//! What boards that share a line cost: `cargo bench --bench line`. The aim is a round of changes and clocks within 0.8 s for 12 boards,
//! 1.6 s for 24 and 2.7 s for 40, computed and as simulated blitz games have it; and twelve games at once are followed far
//! faster than they are played.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a benchmark measures time and stops at what it does not expect

use std::{ops::Range, time::Instant};

use dgt2mqtt::{
    dgt::{Command, Decoder, Message, line::budget},
    event::{Body, Event},
    sim::{
        line::Troubles,
        mess::{self, Fault, FaultRates, SimulatedGame},
        rehearsal::line::{LineRehearsal, SeatOfLine},
    },
    time::Millis,
};

/// Boards and milliseconds of a round.
const AIMS: [(u64, u64); 3] = [(12, 800), (24, 1600), (40, 2700)];
/// All play by then, and some minutes later they still do.
const PLAYING: [u64; 2] = [30_000, 120_000];

fn games(count: u64, faults: &FaultRates) -> Vec<SimulatedGame> {
    (0..count).map(|seed| mess::play(faults, seed)).collect()
}

/// How long the boards waited from the question for the whole board to its answer, where that was asked within a time (milliseconds each).
fn waits(hall: &LineRehearsal, asked: Range<u64>) -> Vec<u64> {
    let is_within = |at: &Millis| asked.contains(&at.0);
    let mut waits: Vec<u64> = hall
        .seats
        .iter()
        .flat_map(|seat| waits_of(seat, is_within))
        .collect();
    waits.sort_unstable();
    waits
}

fn waits_of(seat: &SeatOfLine, is_within: impl Fn(&Millis) -> bool) -> Vec<u64> {
    let mut decoder = Decoder::new();
    let mut dumps = Vec::new();
    for (at, bytes) in &seat.heard {
        decoder.push(*at, bytes, &mut |message| {
            if let Message::Dump(_) = message {
                dumps.push(*at);
            }
        });
    }
    let is_dump = |(_, words): &&(Millis, Vec<u8>)| words[..] == Command::Dump.bytes()[..];
    let (mut waits, mut answered) = (Vec::new(), Millis(0));
    for (asked, _) in seat.asked.iter().filter(is_dump) {
        // Asked again before the answer: the first has waited longest.
        if *asked < answered || !is_within(asked) {
            continue;
        }
        let Some(answer) = dumps.iter().find(|at| *at >= asked) else {
            continue;
        };
        answered = *answer;
        waits.push(answer.since(*asked));
    }
    waits
}

fn main() {
    // `cargo test --benches` asks whether it builds, not how fast it is.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("boards  computed  simulated  longest  aim, ms");
    let mut missed = false;
    for (boards, aim) in AIMS {
        let computed = budget::cycle_us(boards, true, budget::USUAL_ANSWER_MS) / 1000;
        let mut hall = LineRehearsal::of_games(
            &games(boards, &FaultRates::default().with(Fault::Blitz)),
            Troubles::default(),
            1,
        );
        hall.run(Millis(PLAYING[0]));
        hall.figures();
        hall.run(Millis(PLAYING[1]));
        let figures = hall.figures();
        let (cycle, longest) = (figures.cycle_ms, figures.longest_ms);
        println!("{boards:>6}  {computed:>8}  {cycle:>9}  {longest:>7}  {aim:>7}");
        missed |= computed > aim || cycle > aim;
        let waits = waits(&hall, PLAYING[0]..u64::MAX);
        let share =
            |percent: usize| waits.get((waits.len() * percent / 100).min(waits.len().saturating_sub(1)));
        println!(
            "        {} whole boards were asked for: after {:?} ms in the median, {:?} at p99, {:?} at the most",
            waits.len(),
            share(50).unwrap_or(&0),
            share(99).unwrap_or(&0),
            waits.last().unwrap_or(&0)
        );
    }
    let games = games(12, &FaultRates::default().with(Fault::Rapid));
    let mut hall = LineRehearsal::of_games(&games, Troubles::default(), 1);
    let start = Instant::now();
    hall.run(Millis(8 * 3_600_000));
    let took = start.elapsed();
    let is_move = |event: &&Event| matches!(event.body, Body::Move(_));
    let moves: usize = hall
        .seats
        .iter()
        .map(|seat| seat.events.iter().filter(is_move).count())
        .sum();
    println!(
        "12 games at once, {moves} half-moves in {:.0} s of play: {took:.1?}",
        hall.now.seconds()
    );
    assert!(!missed, "the aim is missed");
}

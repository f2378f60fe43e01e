//! The daemon is killed every few seconds, and greets the board as often. The board goes on meanwhile, and tells only what it is
//! asked for. Nobody is accused besides, and what was heard is said.

use dgt2mqtt::{
    capture::{Capture, replay::settings_of},
    event::{Body, Event},
    sim::{
        board::SimulatedIdentity,
        player::PlayedBoard,
        rehearsal::{Rehearsal, WITHOUT_WAITING},
    },
    time::Millis,
};

use crate::{
    late::is_full,
    play::{fixtures, recorded},
    said::{accused_besides, said},
};

/// The daemon listens when the game begins.
const LEAD: u64 = 5000;
/// Between two kills: hardly more than a greeting takes.
const EVERY: u64 = 2000;
/// Offences after which nobody touches the board for three seconds.
pub(crate) const OFFENCES: [&str; 6] = [
    "illegal-piece-cannot-move-so",
    "illegal-own-piece",
    "illegal-king-left-in-check",
    "illegal-castling",
    "illegal-opponents-piece",
    "illegal-capture",
];

/// When the daemon is killed, in milliseconds: first so long after the game begins, and every so often from there. It is away for a
/// while each time.
#[derive(Clone, Copy, Debug)]
struct Kills {
    first: u64,
    every: u64,
    away: u64,
}

impl Kills {
    fn any(random: &mut fastrand::Rng) -> Self {
        let every = random.u64(EVERY..5000);
        Self {
            first: random.u64(..every),
            every,
            away: random.u64(200..600),
        }
    }
}

/// What comes of a capture where the daemon is killed so.
fn killed(capture: &Capture, kills: Kills) -> Vec<Event> {
    let mut capture = capture.clone();
    for record in &mut capture.records {
        record.at = record.at + LEAD;
    }
    let end = capture.end();
    let settings = settings_of(&capture.header, "1");
    let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), WITHOUT_WAITING);
    let mut rehearsal = Rehearsal::new(player, settings).by_usb().with_journal();
    for at in (LEAD + kills.first..end.0).step_by(kills.every as usize) {
        rehearsal.run_until(Millis(at));
        rehearsal.restart(Millis(at + kills.away));
    }
    rehearsal.run_until(end + 10_000);
    rehearsal.end().events
}

#[test]
fn a_daemon_that_is_killed_every_few_seconds_accuses_nobody_besides() {
    let fixtures: Vec<_> = fixtures()
        .iter()
        .filter(|f| !f.name.starts_with("gathered"))
        .collect();
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut wrong) = (0, Vec::new());
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        for fixture in fixtures.iter().skip(seed as usize % step).step_by(step) {
            let kills = Kills::any(&mut random);
            let said = killed(&fixture.capture, kills);
            let name = &fixture.name;
            wrong.extend(
                accused_besides(&said, &fixture.whole().events, true)
                    .into_iter()
                    .map(|player| format!("{name}, {kills:?}: {player}")),
            );
            games += 1;
        }
    }
    println!(
        "{games} games killed every few seconds: {} accuse somebody besides",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn and_it_says_the_offences() {
    let (mut told, mut offences) = (0, 0);
    for name in OFFENCES {
        let fixture = recorded(name);
        for first in (0..EVERY).step_by(if is_full() { 50 } else { 250 }) {
            let kills = Kills {
                first,
                every: EVERY,
                away: 300,
            };
            let events = killed(&fixture.capture, kills);
            let is_offence = |event: &Event| matches!(event.body, Body::Irregularity(_));
            told += usize::from(events.iter().any(is_offence));
            offences += 1;
        }
    }
    println!("killed every two seconds: {told} of {offences} offences said or suspected");
    assert!(200 * (offences - told) <= offences);
}

/// Where the hand of an offence falls into the time in which nobody listens, it may be missed.
#[test]
fn and_nearly_all_of_them_whenever_it_is_killed() {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut offences, mut missed) = (0, Vec::new());
    for name in OFFENCES {
        let fixture = recorded(name);
        for _ in 0..if is_full() { 400 } else { 20 } {
            let kills = Kills::any(&mut random);
            let got = said(&killed(&fixture.capture, kills));
            for offence in said(&fixture.whole().events) {
                offences += 1;
                if !got.iter().any(|one| one.tells_of(&offence)) {
                    missed.push(format!("{name}, {kills:?}"));
                }
            }
        }
    }
    println!(
        "killed every few seconds: {} of {offences} offences neither said nor suspected",
        missed.len()
    );
    assert!(20 * missed.len() <= offences, "{}", missed.join("\n"));
}

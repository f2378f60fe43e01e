//! The daemon is killed every two seconds, and greets the board as often. The board goes on meanwhile, and tells only what it is
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
    said::accused_besides,
};

/// The daemon listens when the game begins.
const LEAD: u64 = 5000;
/// Between two kills.
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

/// What comes of a capture where the daemon is killed `first` milliseconds after the game begins and every two seconds from there,
/// and is away for `away` each time.
fn killed(capture: &Capture, first: u64, away: u64) -> Vec<Event> {
    let mut capture = capture.clone();
    for record in &mut capture.records {
        record.at = record.at + LEAD;
    }
    let end = capture.end();
    let settings = settings_of(&capture.header, "1");
    let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), WITHOUT_WAITING);
    let mut rehearsal = Rehearsal::new(player, settings).by_usb().with_journal();
    for at in (LEAD + first..end.0).step_by(EVERY as usize) {
        rehearsal.run_until(Millis(at));
        rehearsal.restart(Millis(at + away));
    }
    rehearsal.run_until(end + 10_000);
    rehearsal.end().events
}

#[test]
fn a_daemon_that_is_killed_every_two_seconds_accuses_nobody_besides() {
    let fixtures: Vec<_> = fixtures()
        .iter()
        .filter(|f| !f.name.starts_with("gathered"))
        .collect();
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut wrong) = (0, Vec::new());
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        for fixture in fixtures.iter().skip(seed as usize % step).step_by(step) {
            let (first, away) = (random.u64(..EVERY), random.u64(200..600));
            let said = killed(&fixture.capture, first, away);
            let name = &fixture.name;
            wrong.extend(
                accused_besides(&said, &fixture.whole().events, true)
                    .into_iter()
                    .map(|player| {
                        format!(
                            "{name}, killed {first} ms after the beginning, {away} ms each time: {player}"
                        )
                    }),
            );
            games += 1;
        }
    }
    println!(
        "{games} games killed every two seconds: {} accuse somebody besides",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn and_it_says_the_offences() {
    let (mut said, mut offences) = (0, 0);
    for name in OFFENCES {
        let fixture = recorded(name);
        for first in (0..EVERY).step_by(if is_full() { 50 } else { 250 }) {
            let events = killed(&fixture.capture, first, 300);
            let is_offence = |event: &Event| matches!(event.body, Body::Irregularity(_));
            said += usize::from(events.iter().any(is_offence));
            offences += 1;
        }
    }
    println!("killed every two seconds: {said} of {offences} offences said or suspected");
    assert_eq!(said, offences);
}

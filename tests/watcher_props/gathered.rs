//! Lines that gather what the board says for a while, all the time: nobody is accused on times that nobody measured.

use dgt2mqtt::{capture::Capture, sim::gathered::gathered};

use crate::{
    late::{instants_of, is_full},
    play::{Fixture, fixtures, play_whole, recorded},
    said::accused_besides,
};

/// The capture, `ms` milliseconds later.
fn later(capture: &Capture, ms: u64) -> Capture {
    let mut capture = capture.clone();
    for record in &mut capture.records {
        record.at = record.at + ms;
    }
    capture
}

/// What comes of all fixtures over a line that gathers.
#[derive(Default)]
struct Outcome {
    /// The games of which other half-moves are told.
    other: Vec<String>,
    /// Who is accused of what is not even suspected without the line.
    wrong: Vec<String>,
    /// Who is accused of what is suspected without the line.
    firmer: Vec<String>,
    /// So many accusations are missing.
    missing: usize,
    /// Who is accused without the line, and not even suspected with it.
    silent: Vec<String>,
}

/// Each fixture over a line that gathers for `ms`, which the watcher is told where `told`. When the first period begins comes from
/// `seed`.
fn gathers(fixtures: &[&Fixture], ms: u64, told: bool, seed: u64) -> Outcome {
    let mut out = Outcome::default();
    for fixture in fixtures {
        let begins = instants_of(&fixture.name, seed ^ ms).u64(..ms);
        let mut late = gathered(&later(&fixture.capture, begins), ms);
        if told {
            late.header.push("gathered", &format!("{ms} ms")).unwrap();
        }
        let (whole, late) = (fixture.whole(), play_whole(&late));
        let is_same = late.moves == whole.moves;
        let (late, whole) = (&late.events, &whole.events);
        out.missing += accused_besides(whole, late, false).len();
        let of = format!("{ms} ms from {begins}, {}", fixture.name);
        let name = |what: String| format!("{of}: {what}");
        let besides = accused_besides(late, whole, true);
        let mut firmer = accused_besides(late, whole, false);
        firmer.retain(|one| !besides.contains(one));
        out.firmer.extend(firmer.into_iter().map(name));
        out.wrong.extend(besides.into_iter().map(name));
        out.silent
            .extend(accused_besides(whole, late, true).into_iter().map(name));
        out.other.extend((!is_same).then_some(of));
    }
    let known = if told { "known" } else { "not known" };
    println!(
        "{ms} ms, {known}: {} of {} games the same, {} accusations besides, {} of what is suspected without it, {} missing, {} of them not even suspected",
        fixtures.len() - out.other.len(),
        fixtures.len(),
        out.wrong.len(),
        out.firmer.len(),
        out.missing,
        out.silent.len()
    );
    out
}

/// In these the player is accused of what he has done, and what is only suspected without the line.
const FIRMER: [&str; 2] = ["dead-chip-and-an-illegal-move", "fallen-in-blitz"];
/// Here a pawn is left on the last rank and taken half a second after the press. Nobody measures that on such a line, and the
/// accusation may be missing.
const AT_ONCE: &str = "promotion-not-replaced-and-taken-at-once";
/// Nobody is accused falsely, in all but a few games the half-moves are the same, and few accusations are missing.
#[test]
fn a_line_that_gathers_accuses_nobody() {
    let does_not = |fixture: &&Fixture| fixture.capture.header.gathered_ms().is_none();
    let all = fixtures().iter().filter(does_not);
    let (timed, fixtures): (Vec<_>, Vec<_>) = all.partition(|fixture| fixture.name == AT_ONCE);
    let accusations: usize = fixtures
        .iter()
        .map(|fixture| accused_besides(&fixture.whole().events, &[], true).len())
        .sum();
    let (periods, seeds): (&[u64], _) = if is_full() {
        (&[200, 500, 1000], 1..11)
    } else {
        (&[1000], 1..2)
    };
    let games = fixtures.len();
    let is_firmer = |one: &String| FIRMER.iter().any(|name| one.contains(&format!(" {name}: ")));
    let lines = [true, false].map(|told| periods.iter().map(move |ms| (told, *ms)));
    for (told, ms) in lines.into_iter().flatten() {
        for seed in seeds.clone() {
            let Outcome { wrong, firmer, .. } = gathers(&timed, ms, told, seed);
            assert!(wrong.is_empty() && firmer.is_empty(), "{wrong:#?} {firmer:#?}");
            let out = gathers(&fixtures, ms, told, seed);
            assert!(
                out.other.len() <= 4,
                "of {games} games other half-moves: {:#?}",
                out.other
            );
            assert!(out.firmer.iter().all(is_firmer), "{:#?}", out.firmer);
            assert!(out.wrong.is_empty(), "{:#?}", out.wrong);
            // Of a shorter period it takes longer to know: what is said before that is suspected.
            let missing = if ms == 1000 { out.missing } else { out.silent.len() };
            assert!(
                missing <= 11,
                "{missing} of {accusations} are missing: {}",
                out.silent.join("\n")
            );
        }
    }
}

/// The clock was stopped and started for the other side within a period.
#[test]
fn what_was_said_falsely_over_a_line_that_gathers_is_not_said() {
    for (name, ms, begins) in [
        ("clock-started-on-the-wrong-side-and-a-flag-falls", 1000, 700),
        ("clock-started-on-the-wrong-side-and-an-illegal-move", 1000, 700),
    ] {
        let fixture = recorded(name);
        let mut late = gathered(&later(&fixture.capture, begins), ms);
        late.header.push("gathered", &format!("{ms} ms")).unwrap();
        let besides = accused_besides(&play_whole(&late).events, &fixture.whole().events, true);
        assert_eq!(besides, [""; 0], "{name}");
    }
}

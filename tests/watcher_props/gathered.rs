//! Lines that gather what the board says for a while, all the time: nobody is accused on times that nobody measured.

use std::env;

use dgt2mqtt::sim::gathered::gathered;

use crate::{
    play::{Fixture, fixtures, play_whole},
    said::accused_besides,
};

/// What comes of all fixtures over a line that gathers.
#[derive(Default)]
struct Outcome {
    /// So many games come out the same.
    same: usize,
    /// Who is accused of what is not even suspected without the line.
    wrong: Vec<String>,
    /// So many are accused of what is suspected without the line.
    firmer: usize,
    /// So many accusations are missing.
    missing: usize,
    /// Who is accused without the line, and not even suspected with it.
    silent: Vec<String>,
}

/// Each fixture over a line that gathers for `ms`, which the watcher is told where `told`.
fn gathers(fixtures: &[&Fixture], ms: u64, told: bool) -> Outcome {
    let mut out = Outcome::default();
    for fixture in fixtures {
        let mut late = gathered(&fixture.capture, ms);
        if told {
            late.header.push("gathered", &format!("{ms} ms")).unwrap();
        }
        let (whole, late) = (fixture.whole(), play_whole(&late));
        out.same += usize::from(late.moves == whole.moves);
        let (late, whole) = (&late.events, &whole.events);
        out.firmer += accused_besides(late, whole, false).len();
        out.missing += accused_besides(whole, late, false).len();
        let name = |what: String| format!("{ms} ms, {}: {what}", fixture.name);
        out.wrong
            .extend(accused_besides(late, whole, true).into_iter().map(name));
        out.silent
            .extend(accused_besides(whole, late, true).into_iter().map(name));
    }
    out.firmer -= out.wrong.len();
    let known = if told { "known" } else { "not known" };
    println!(
        "{ms} ms, {known}: {} of {} games the same, {} accusations besides, {} of what is suspected without it, {} missing, {} of them not even suspected",
        out.same,
        fixtures.len(),
        out.wrong.len(),
        out.firmer,
        out.missing,
        out.silent.len()
    );
    out
}

/// So many of a thousand games come out the same, and so many accuse a player of what is suspected alone where the line does not
/// gather; and of the accusations so many are missing.
#[test]
fn a_line_that_gathers_accuses_nobody() {
    let does_not = |fixture: &&Fixture| fixture.capture.header.gathered_ms().is_none();
    let fixtures: Vec<_> = fixtures().iter().filter(does_not).collect();
    let accusations: usize = fixtures
        .iter()
        .map(|fixture| accused_besides(&fixture.whole().events, &[], true).len())
        .sum();
    let full = env::var_os("DGT2MQTT_FULL").is_some();
    let periods: &[u64] = if full { &[200, 500, 1000] } else { &[1000] };
    for told in [true, false] {
        for ms in periods {
            let out = gathers(&fixtures, *ms, told);
            let games = fixtures.len();
            assert!(out.same * 1000 >= games * 975, "{} of {games} the same", out.same);
            assert!(out.wrong.is_empty(), "{}", out.wrong.join("\n"));
            assert!(out.firmer * 1000 <= games * 5, "{}", out.firmer);
            // Of a shorter period it takes longer to know: what is said before that is suspected.
            let missing = if *ms == 1000 {
                out.missing
            } else {
                out.silent.len()
            };
            assert!(
                missing * 1000 <= accusations * 60,
                "{missing} of {accusations} are missing: {}",
                out.silent.join("\n")
            );
        }
    }
}

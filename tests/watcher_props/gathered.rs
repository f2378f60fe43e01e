//! Lines that gather what the board says for a while, all the time: nobody is accused on times that nobody measured.

use std::env;

use dgt2mqtt::{
    event::{Body, Event},
    sim::gathered::gathered,
};

use crate::{
    late::accusations,
    play::{Fixture, fixtures, play_whole},
};

/// True where a player, or nobody, is accused or suspected of anything.
fn is_suspected(events: &[Event], player: &str) -> bool {
    events.iter().any(|event| match &event.body {
        Body::Irregularity(irregularity) => format!("{:?}", irregularity.offender) == player,
        _ => false,
    })
}

/// What comes of all fixtures over a line that gathers.
#[derive(Default)]
struct Outcome {
    /// So many games come out the same.
    same: usize,
    /// Who is accused besides.
    wrong: Vec<String>,
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
        let mut said = accusations(&late.events);
        out.same += usize::from(late.moves == whole.moves);
        for (player, n) in &accusations(&whole.events) {
            let now = said.remove(player).unwrap_or_default();
            out.missing += n.saturating_sub(now);
            if now == 0 && !is_suspected(&late.events, player) {
                out.silent.push(format!("{ms} ms, {}: {player}", fixture.name));
            }
            if now > *n {
                said.insert(player.clone(), now - n);
            }
        }
        let name = |player: &String| format!("{ms} ms, {}: {player}", fixture.name);
        out.wrong.extend(said.keys().map(name));
    }
    let known = if told { "known" } else { "not known" };
    println!(
        "{ms} ms, {known}: {} of {} games the same, {} accusations besides, {} missing, {} of them not even suspected",
        out.same,
        fixtures.len(),
        out.wrong.len(),
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
        .flat_map(|fixture| accusations(&fixture.whole().events).into_values())
        .sum();
    let full = env::var_os("DGT2MQTT_FULL").is_some();
    let periods: &[u64] = if full { &[200, 500, 1000] } else { &[1000] };
    for told in [true, false] {
        for ms in periods {
            let out = gathers(&fixtures, *ms, told);
            let games = fixtures.len();
            assert!(out.same * 1000 >= games * 975, "{} of {games} the same", out.same);
            assert!(out.wrong.len() * 1000 <= games * 5, "{}", out.wrong.join("\n"));
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

//! Lines that gather what the board says for a while, all the time: nobody is accused on times that nobody measured.

use std::{collections::BTreeMap, env};

use dgt2mqtt::{capture::Capture, sim::gathered::gathered};

use crate::{late::accusations, restarts};

/// A fixture and what comes of it on a line that does not gather.
struct Fixture {
    name: String,
    capture: Capture,
    moves: Vec<String>,
    accusations: BTreeMap<String, usize>,
}

/// The half-moves on record, and how often each player was accused.
fn play(capture: &Capture) -> (Vec<String>, BTreeMap<String, usize>) {
    let (watcher, events) = restarts::play_killed(capture, &[], 0);
    (watcher.game().moves, accusations(&events))
}

fn fixtures() -> Vec<Fixture> {
    let mut captures = restarts::fixtures();
    captures.retain(|(_, capture)| capture.header.gathered_ms().is_none());
    let fixture = |(name, capture): (String, Capture)| {
        let (moves, accusations) = play(&capture);
        Fixture {
            name,
            capture,
            moves,
            accusations,
        }
    };
    captures.into_iter().map(fixture).collect()
}

/// Each fixture over a line that gathers for `ms`, which the watcher is told where `told`. Returns how many games come out the
/// same, who is accused besides, and how many accusations are missing.
fn gathers(fixtures: &[Fixture], ms: u64, told: bool) -> (usize, Vec<String>, usize) {
    let (mut same, mut wrong, mut missing) = (0, Vec::new(), 0);
    for fixture in fixtures {
        let mut late = gathered(&fixture.capture, ms);
        if told {
            late.header.push("gathered", &format!("{ms} ms")).unwrap();
        }
        let (moves, mut said) = play(&late);
        same += usize::from(moves == fixture.moves);
        for (player, n) in &fixture.accusations {
            let now = said.remove(player).unwrap_or_default();
            missing += n.saturating_sub(now);
            if now > *n {
                said.insert(player.clone(), now - n);
            }
        }
        wrong.extend(
            said.keys()
                .map(|player| format!("{ms} ms, {}: {player}", fixture.name)),
        );
    }
    let known = if told { "known" } else { "not known" };
    println!(
        "{ms} ms, {known}: {same} of {} games the same, {} accusations besides, {missing} missing",
        fixtures.len(),
        wrong.len()
    );
    (same, wrong, missing)
}

/// So many of a thousand games come out the same, and so many accuse a player of nothing; and of the accusations so many are missing.
#[test]
fn a_line_that_gathers_accuses_nobody() {
    let fixtures = fixtures();
    let accusations: usize = fixtures
        .iter()
        .flat_map(|fixture| fixture.accusations.values())
        .sum();
    let full = env::var_os("DGT2MQTT_FULL").is_some();
    let periods: &[u64] = if full { &[200, 500, 1000] } else { &[1000] };
    for (told, most_wrong) in [(true, 5), (false, 15)] {
        for ms in periods {
            let (same, wrong, missing) = gathers(&fixtures, *ms, told);
            let games = fixtures.len();
            assert!(same * 1000 >= games * 975, "{same} of {games} the same");
            assert!(wrong.len() * 1000 <= games * most_wrong, "{}", wrong.join("\n"));
            assert!(
                missing * 1000 <= accusations * 60,
                "{missing} of {accusations} are missing"
            );
        }
    }
}

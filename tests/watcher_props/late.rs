//! Bytes that come late but whole: what waited is not read as if it had been played in one instant.

use std::collections::BTreeMap;

use dgt2mqtt::{
    capture::{Act, Capture},
    event::{Body, Certainty, Event},
    time::Millis,
};

use crate::restarts;

/// The same with everything from the board held back in `window`, until its end.
fn held_back(capture: &Capture, window: (Millis, Millis)) -> Capture {
    let mut late = capture.clone();
    for record in &mut late.records {
        if matches!(record.act, Act::FromBoard(_)) && window.0 <= record.at && record.at < window.1 {
            record.at = window.1;
        }
    }
    late.records.sort_by_key(|record| record.at);
    late
}

/// How often each player was accused.
pub(crate) fn accusations(events: &[Event]) -> BTreeMap<String, usize> {
    let mut said = BTreeMap::new();
    for event in events {
        if let Body::Irregularity(irregularity) = &event.body
            && irregularity.certainty != Certainty::Suspected
        {
            *said.entry(format!("{:?}", irregularity.offender)).or_default() += 1;
        }
    }
    said
}

/// Holds the line back for `ms` at a random instant of each fixture. Returns how many games came out the same, and who was
/// accused of nothing.
fn stands_still(ms: u64, seed: u64) -> (usize, usize, Vec<String>) {
    let mut random = fastrand::Rng::with_seed(seed ^ ms);
    let (mut games, mut same, mut wrong) = (0, 0, Vec::new());
    for (name, capture) in restarts::fixtures() {
        let end = capture.end().0;
        let from = Millis(random.u64(3000..end.max(3001)));
        let late = held_back(&capture, (from, from + ms));
        let (watcher, events) = restarts::play_killed(&capture, &[], 0);
        let (late_watcher, late_events) = restarts::play_killed(&late, &[], 0);
        games += 1;
        same += usize::from(watcher.game().moves == late_watcher.game().moves);
        let wanted = accusations(&events);
        for (player, n) in accusations(&late_events) {
            if n > wanted.get(&player).copied().unwrap_or_default() {
                wrong.push(format!("{ms} ms, {name} from {from:?}: {player}"));
            }
        }
    }
    println!(
        "{ms} ms: {same} of {games} games the same, {} accusations",
        wrong.len()
    );
    (games, same, wrong)
}

/// A network that hangs, a machine that sleeps: while a clock runs nobody is accused of what he is not accused of where bytes come as they are
/// said, and so many of a thousand games come out the same. Read as if all had happened in one instant, 921 came out the same.
#[test]
fn a_line_that_stands_still_accuses_nobody() {
    let full = std::env::var_os("DGT2MQTT_FULL").is_some();
    let (windows, seeds): (&[u64], _) = if full {
        (&[1000, 2000, 5000, 10_000, 20_000, 60_000], 1..21)
    } else {
        (&[2000, 5000, 10_000, 20_000], 1..2)
    };
    let (mut games, mut same, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        for ms in windows {
            let count = stands_still(*ms, seed);
            games += count.0;
            same += count.1;
            wrong.extend(count.2);
        }
    }
    println!("{same} of {games} the same, {} accusations", wrong.len());
    // At some instants of the full run no clock ran that could tell that the line stood still.
    let most_wrong = if full { games * 3 / 1000 } else { 0 };
    assert!(wrong.len() <= most_wrong, "of {games}:\n{}", wrong.join("\n"));
    assert!(same * 1000 >= games * 975, "{same} of {games} the same");
}

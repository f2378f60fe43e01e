//! What a daemon told, held against what `replay` tells.
#![allow(dead_code)] // shared by several test programs.

use std::path::Path;

use serde_json::Value;

use crate::hall::{comparable, difference, replay};

/// Asserts that `events` tell of the play what `replay` tells of the capture at `path`: [`difference_from_replay`].
pub fn assert_as_replayed(events: &[Value], path: &Path, exactly: bool) {
    if let Some(difference) = difference_from_replay(events, path, exactly) {
        panic!("not as `replay` says: {difference}");
    }
}

/// Where `events` tell something else of the play than `replay` tells of the capture at `path`: half-moves, irregularities, what
/// became of them, results. Notices are of the machine. Where not `exactly`, as over a line for many boards, how certain it is and
/// what the clock showed may differ.
pub fn difference_from_replay(events: &[Value], path: &Path, exactly: bool) -> Option<String> {
    let meant = of_play(&replay(path, "1"), exactly);
    difference(&meant, &of_play(events, exactly))
}

fn of_play(events: &[Value], exactly: bool) -> Vec<Value> {
    const SAME: [&str; 9] = [
        "type",
        "kind",
        "offender",
        "ply",
        "uci",
        "how",
        "irregularity",
        "result",
        "to_ply",
    ];
    let mut events = comparable(events);
    let machine = ["notice", "board_connected", "clock_connected"];
    events.retain(|event| machine.iter().all(|kind| event["type"] != *kind));
    for event in events.iter_mut().filter(|_| !exactly) {
        let fields = event.as_object_mut().unwrap();
        fields.retain(|key, _| SAME.contains(&key.as_str()));
    }
    events
}

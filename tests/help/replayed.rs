//! What a daemon told, held against what `replay` tells.
#![allow(dead_code)] // shared by several test programs.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use dgt2mqtt::link::file::read_capture;
use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{PATIENCE, Subscriber, all_heard, heard},
    hall::{are_numbered, comparable, difference, fixture, journal, replay},
};

/// Short games with an offence, of which a daemon tells in real time exactly what `replay` tells.
const GAMES: [&str; 6] = [
    "castling-and-a-pawn-knocked-over",
    "illegal-capture",
    "illegal-castling",
    "illegal-own-piece",
    "illegal-while-the-opponent-lifts",
    "pieces-displaced",
];

/// A game that a board plays in real time while something goes wrong.
pub struct Played {
    /// The capture.
    pub path: PathBuf,
    lasts: Duration,
    /// What `replay` tells of its play.
    meant: usize,
}

impl Played {
    /// One of the games.
    pub fn by_chance(random: &mut Rng) -> Self {
        let path = fixture(random.choice(GAMES).unwrap());
        let lasts = Duration::from_millis(read_capture(&path).unwrap().end().0);
        let meant = of_play(&replay(&path, "1"), true).len();
        Self { path, lasts, meant }
    }

    /// Waits for an instant of the game at `board`. The board begins when the daemon listens to it.
    pub async fn some_instant(&self, subscriber: &Subscriber, board: &str, random: &mut Rng) {
        let begun = format!("/board/{board}/event/board_connected");
        subscriber.wait(&begun, |got| got.topic.ends_with(&begun)).await;
        let instant = self.lasts.mul_f64(random.f64());
        println!(
            "{} {:.1} s after its begin",
            self.path.display(),
            instant.as_secs_f64()
        );
        tokio::time::sleep(instant).await;
    }

    /// Waits until so many events tell of the play at `board` as `replay` has.
    pub async fn is_over(&self, subscriber: &Subscriber, board: &str) {
        let deadline = Instant::now() + self.lasts + PATIENCE;
        loop {
            let told = of_play(&heard(subscriber, board).events, true).len();
            if told >= self.meant {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{told} of {} events of {} are told",
                self.meant,
                self.path.display()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Asserts that `subscriber` has heard of `board` what the journal has, each event once and in order, and that both tell of
    /// the play what `replay` tells ([`assert_as_replayed`]). The daemon has ended before.
    pub async fn is_whole(&self, config: &Path, subscriber: &Subscriber, board: &str, exactly: bool) {
        let kept = journal(config, board);
        are_numbered(&kept);
        let events = all_heard(subscriber, board, kept.len()).await;
        assert_eq!(events, kept);
        assert_as_replayed(&events, &self.path, exactly);
        println!("{} events of board {board} compared", events.len());
    }
}

/// Asserts that `events` tell of the play what `replay` tells of the capture at `path`. Where not `exactly`, as over a line for many
/// boards, how certain it is and what the clock showed may differ.
pub fn assert_as_replayed(events: &[Value], path: &Path, exactly: bool) {
    let meant = of_play(&replay(path, "1"), exactly);
    if let Some(difference) = difference(&meant, &of_play(events, exactly)) {
        panic!("not as `replay` says of {}: {difference}", path.display());
    }
}

/// What tells of the play: half-moves, irregularities, what became of them, results. The rest tells of the machine.
fn of_play(events: &[Value], exactly: bool) -> Vec<Value> {
    const MACHINE: [&str; 5] = [
        "notice",
        "board_connected",
        "board_disconnected",
        "clock_connected",
        "clock_disconnected",
    ];
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
    events.retain(|event| MACHINE.iter().all(|kind| event["type"] != *kind));
    for event in &mut events {
        let fields = event.as_object_mut().unwrap();
        // A daemon has it from its configuration.
        fields.remove("round");
        if !exactly {
            fields.retain(|key, _| SAME.contains(&key.as_str()));
        }
    }
    events
}

/// What the players are accused of, without what is only suspected.
pub fn accusations(events: &[Value]) -> Vec<String> {
    let accused = |event: &&Value| event["type"] == "irregularity" && event["certainty"] != "suspected";
    let accused = events.iter().filter(accused);
    accused
        .map(|event| format!("{} by {} at {}", event["kind"], event["offender"], event["ply"]))
        .collect()
}

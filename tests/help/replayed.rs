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
    hall::{are_numbered, as_published, comparable, difference, fixture, journal, moves, replay},
};

/// Short games with an offence.
const GAMES: [&str; 5] = [
    "castling-and-a-pawn-knocked-over",
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
    /// What `replay` tells of it.
    meant: Vec<Value>,
}

impl Played {
    /// One of the games.
    pub fn by_chance(random: &mut Rng) -> Self {
        Self::of(fixture(random.choice(GAMES).unwrap()))
    }

    /// The game of a capture.
    pub fn of(path: PathBuf) -> Self {
        let lasts = Duration::from_millis(read_capture(&path).unwrap().end().0);
        let meant = replay(&path, "1");
        Self { path, lasts, meant }
    }

    /// The half-moves of it.
    pub fn moves(&self) -> Vec<String> {
        moves(&self.meant)
    }

    /// What stands on the board in the end, as in a FEN.
    pub fn last_placement(&self) -> &str {
        let fen = self.meant.last().unwrap()["fen"].as_str().unwrap();
        fen.split(' ').next().unwrap()
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

    /// What is missing of the half-moves and the offences that `replay` tells. On a busy machine bytes come in lumps, and what is
    /// certain there may only be suspected.
    pub fn missing(&self, events: &[Value]) -> Option<String> {
        let (had, all) = (moves(events), self.moves());
        if had != all {
            return Some(format!("half-moves {had:?} of {all:?}"));
        }
        let said: Vec<_> = events.iter().filter_map(offence).collect();
        let mut offences = self.meant.iter().filter_map(offence);
        offences.find(|offence| !said.contains(offence))
    }

    /// Waits until all of it is told of `board`.
    pub async fn is_over(&self, subscriber: &Subscriber, board: &str) {
        let deadline = Instant::now() + self.lasts + PATIENCE;
        while let Some(missing) = self.missing(&heard(subscriber, board).events) {
            assert!(
                Instant::now() < deadline,
                "{} at board {board}: {missing}",
                self.path.display()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Asserts that `subscriber` has heard of `board` what the journal has, each event once and in order, and that it has all
    /// half-moves and offences that `replay` tells, and no other accusation. The daemon has ended before.
    pub async fn is_whole(&self, config: &Path, subscriber: &Subscriber, board: &str) {
        let events = told(config, subscriber, board).await;
        assert_eq!(self.missing(&events), None, "{}", self.path.display());
        self.accuses_nobody_besides(&events);
        println!("{} events of board {board} compared", events.len());
    }

    /// Asserts that nobody is accused whom `replay` does not name.
    pub fn accuses_nobody_besides(&self, events: &[Value]) {
        let meant: Vec<_> = self.meant.iter().filter_map(offence).collect();
        for event in events.iter().filter(|event| event["certainty"] != "suspected") {
            let is_meant = offence(event).is_none_or(|offence| meant.contains(&offence));
            assert!(is_meant, "not in {meant:?} of {}: {event}", self.path.display());
        }
    }
}

/// What is told of a board: what its journal has, each event once and in order.
pub async fn told(config: &Path, subscriber: &Subscriber, board: &str) -> Vec<Value> {
    let kept = journal(config, board);
    are_numbered(&kept);
    let heard = all_heard(subscriber, board, kept.len()).await;
    assert_eq!(as_published(heard), as_published(kept.clone()));
    kept
}

/// What an event says of an offence, if it speaks of one.
fn offence(event: &Value) -> Option<String> {
    let is_one = event["type"] == "irregularity";
    is_one.then(|| format!("{} by {} at {}", event["kind"], event["offender"], event["ply"]))
}

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

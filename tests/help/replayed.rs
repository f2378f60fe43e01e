//! What a daemon told, held against what `replay` tells.
#![allow(dead_code)] // shared by several test programs.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use dgt2mqtt::{event::Certainty, link::file::read_capture, time::Millis};
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

    /// In which second the press came of each half-move.
    pub fn pressed(&self) -> Vec<f64> {
        let mut pressed = Vec::new();
        for event in &self.meant {
            match event["type"].as_str().unwrap() {
                "game_started" => pressed.clear(),
                "move" => pressed.push(event["at"].as_f64().or_else(|| event["t"].as_f64()).unwrap()),
                "moves_retracted" => pressed.truncate(event["to_ply"].as_u64().unwrap() as usize),
                _ => {}
            }
        }
        pressed
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
        let said = standing(events);
        standing(&self.meant).into_iter().find_map(|(offence, meant)| {
            let said = said.get(&offence).map_or(0, Vec::len);
            (said < meant.len()).then(|| format!("{offence}, said {said} times of {}", meant.len()))
        })
    }

    /// Waits until all of it is told of `board`.
    pub async fn is_over(&self, subscriber: &Subscriber, board: &str) {
        let missing = self.missing_in_the_end(subscriber, board).await;
        assert_eq!(missing, None, "{} at board {board}", self.path.display());
    }

    /// Waits until all of it is told of `board`, and no longer than such a game can take: what is missing then.
    pub async fn missing_in_the_end(&self, subscriber: &Subscriber, board: &str) -> Option<String> {
        let deadline = Instant::now() + self.lasts + PATIENCE;
        loop {
            let missing = self.missing(&heard(subscriber, board).events);
            if missing.is_none() || Instant::now() >= deadline {
                return missing;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Asserts that `subscriber` has heard of `board` what the journal has, each event once and in order, and that it has the
    /// half-moves and offences that `replay` tells, each as often, and no other accusation. An offence may be less certain than there
    /// only where the machine was busy: if [`taped`], what is told is to the letter what `replay` tells of what the daemon heard.
    /// The daemon has ended before.
    pub async fn is_whole(&self, config: &Path, subscriber: &Subscriber, board: &str) {
        let events = told(config, subscriber, board).await;
        self.is_whole_in(&events, config, board);
    }

    /// The same of `events`.
    pub fn is_whole_in(&self, events: &[Value], config: &Path, board: &str) {
        assert_eq!(self.missing(events), None, "{}", self.path.display());
        assert_eq!(acts(events), acts(&self.meant), "{}", self.path.display());
        self.accuses_nobody_besides(events);
        let tape = tape(config, board);
        if tape.exists() {
            assert_as_replayed(events, &tape, true);
        }
        println!(
            "{} events of board {board} compared, {} offences less certain; {}",
            events.len(),
            self.less_certain(events),
            if tape.exists() {
                "all as it was heard"
            } else {
                "no tape"
            }
        );
    }

    /// How many seconds later than in `replay` an event is decided, at the most, from that on which is least late. The events are
    /// those that `replay` tells.
    pub fn lateness(&self, events: &[Value]) -> f64 {
        let of_play = |events: &[Value]| -> Vec<f64> {
            let is_of_play = |event: &&Value| event["type"] == "move" || event["type"] == "irregularity";
            let events = events.iter().filter(is_of_play);
            events.map(|event| event["t"].as_f64().unwrap()).collect()
        };
        let late = of_play(events).into_iter().zip(of_play(&self.meant));
        let late: Vec<_> = late.map(|(told, meant)| told - meant).collect();
        let least = late.iter().copied().fold(f64::INFINITY, f64::min);
        late.into_iter().map(|late| late - least).fold(0.0, f64::max)
    }

    /// How many offences are told less certainly than `replay` tells them.
    fn less_certain(&self, events: &[Value]) -> usize {
        let (said, meant) = (standing(events), standing(&self.meant));
        let pairs = meant.iter().flat_map(|(offence, meant)| {
            let said = said.get(offence).into_iter().flatten();
            said.zip(meant)
        });
        pairs.filter(|(said, meant)| said < meant).count()
    }

    /// Asserts that nobody is accused whom `replay` does not name, that nothing is said twice that `replay` says once, and that
    /// nothing is more certain than there.
    pub fn accuses_nobody_besides(&self, events: &[Value]) {
        let (all, meant_all) = (offences(events), offences(&self.meant));
        for (offence, said) in &all {
            let meant = meant_all.get(offence).map_or(&[][..], Vec::as_slice);
            let most = meant
                .iter()
                .copied()
                .chain(std::iter::repeat(Certainty::Suspected));
            assert!(
                said.iter().zip(most).all(|(said, most)| *said <= most),
                "{offence} is {said:?}, and {meant:?} in {}",
                self.path.display()
            );
        }
        let (said, meant) = (standing(events), standing(&self.meant));
        for (offence, meant) in meant {
            let said = said.get(&offence).map_or(0, Vec::len);
            assert!(
                said <= meant.len(),
                "{offence} is said {said} times, and {} times in {}",
                meant.len(),
                self.path.display()
            );
        }
    }

    /// The offences that `replay` tells and `events` neither tell nor suspect, of those that `is_asked` of the second in which the
    /// press came and of that in which it is told.
    pub fn untold(&self, events: &[Value], is_asked: impl Fn(f64, f64) -> bool) -> Vec<String> {
        let said = offences(events);
        let asked = self.meant.iter().filter(|event| {
            let told = event["t"].as_f64().unwrap();
            is_asked(event["at"].as_f64().unwrap_or(told), told)
        });
        let asked = asked.filter_map(offence);
        asked.filter(|offence| !said.contains_key(offence)).collect()
    }
}

/// Has the daemon keep what its boards tell it, byte for byte.
pub fn taped(config: &Path) {
    let text = fs::read_to_string(config).unwrap();
    fs::write(config, with_tape(&text)).unwrap();
}

/// The same for the text of a configuration.
pub fn with_tape(config: &str) -> String {
    assert!(config.contains("[journal]\n"));
    config.replacen("[journal]\n", "[journal]\ncaptures = true\n", 1)
}

/// What a daemon that is [`taped`] heard of a board in its last run.
pub fn tape(config: &Path, board: &str) -> PathBuf {
    config
        .with_file_name("captures")
        .join(board)
        .with_extension("dgtcap")
}

/// How certain an offence is each time that it is said, the most certain first.
type Said = BTreeMap<String, Vec<Certainty>>;

fn offences<'a>(events: impl IntoIterator<Item = &'a Value>) -> Said {
    let mut said = Said::new();
    for event in events {
        if let Some(offence) = offence(event) {
            let certainty = serde_json::from_value(event["certainty"].clone()).unwrap();
            said.entry(offence).or_default().push(certainty);
        }
    }
    for certainties in said.values_mut() {
        certainties.sort_unstable_by_key(|certainty| Reverse(*certainty));
    }
    said
}

/// The same of those that nothing else has taken the place of.
fn standing(events: &[Value]) -> Said {
    let is_superseded = |event: &&Value| {
        events
            .iter()
            .any(|other| other["how"] == "superseded" && other["irregularity"] == event["id"])
    };
    offences(events.iter().filter(|event| !is_superseded(event)))
}

/// Games and half-moves, each time that they are told, taken back or ended.
fn acts(events: &[Value]) -> Vec<String> {
    let kinds = ["game_started", "move", "moves_retracted", "game_ended"];
    let acts = events
        .iter()
        .filter(|event| kinds.iter().any(|kind| event["type"] == *kind));
    let said = |event: &Value| {
        let fields = ["type", "ply", "uci", "to_ply", "result"];
        let said = fields.iter().filter_map(|field| event.get(field));
        said.map(Value::to_string).collect::<Vec<_>>().join(" ")
    };
    acts.map(said).collect()
}

/// The half-moves that stand in the end, as a PGN has them: it begins after the last illegal one.
pub fn sans(events: &[Value]) -> Vec<String> {
    let mut all: Vec<Option<String>> = Vec::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "move" => all.push(event["san"].as_str().map(str::to_owned)),
            "moves_retracted" => all.truncate(event["to_ply"].as_u64().unwrap() as usize),
            _ => {}
        }
    }
    let from = all
        .iter()
        .rposition(Option::is_none)
        .map_or(0, |illegal| illegal + 1);
    all.split_off(from).into_iter().flatten().collect()
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
    let (mut meant, mut told) = (of_play(&replay(path, "1"), exactly), of_play(events, exactly));
    if !exactly {
        // What is only suspected is not always settled, though it is where it is surer.
        let names = |events: &[Value]| -> Vec<String> {
            let suspected = events.iter().filter(|event| event["certainty"] == "suspected");
            let name = |event: &Value| format!("{} at {}", event["kind"], event["ply"]);
            suspected.map(name).collect()
        };
        let there = names(&replay(path, "1"));
        let mut suspected = names(events);
        suspected.retain(|name| !there.contains(name));
        let is_settled = |event: &Value| {
            event["type"] == "irregularity_resolved"
                && suspected
                    .iter()
                    .any(|name| event["irregularity"] == name.as_str())
        };
        for events in [&mut meant, &mut told] {
            events.retain(|event| !is_settled(event));
        }
    }
    difference(&meant, &told)
}

/// The same, exactly, of a daemon that was stopped while the board still lay there. The capture ends with what it heard last, and then
/// `replay` decides what a board that nobody touches any more leaves open: the daemon may not have come to that.
pub fn difference_up_to_the_stop(events: &[Value], path: &Path) -> Option<String> {
    let end = read_capture(path).unwrap().end().seconds();
    let (heard, rest): (Vec<_>, Vec<_>) = replay(path, "1")
        .into_iter()
        .partition(|event| event["t"].as_f64().unwrap() < end);
    let (mut meant, rest, told) = (of_play(&heard, true), of_play(&rest, true), of_play(events, true));
    let come_to = told.len().saturating_sub(meant.len());
    meant.extend(rest.into_iter().take(come_to));
    difference(&meant, &told)
}

/// The same of a daemon that had run for a while before it found the board, and was stopped at `stopped`, long after the board had said
/// something last: `replay` begins as late, and waits as long.
pub fn difference_up_to_the_stop_at(events: &[Value], path: &Path, stopped: SystemTime) -> Option<String> {
    let found = |events: &[Value]| {
        let found = events.iter().find(|event| event["type"] == "board_connected");
        found.unwrap()["t"].as_f64().unwrap()
    };
    let later = found(events) - found(&replay(path, "1"));
    let heard = read_capture(path).unwrap();
    let stopped = stopped
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    let stopped = Millis((stopped - heard.header.epoch_ms().unwrap()) as u64).max(heard.end());
    // What the host says changes nothing.
    let text = format!(
        "{}{:.3} > 40\n",
        fs::read_to_string(path).unwrap(),
        stopped.seconds()
    );
    let moved = |second: &str| format!("{:.3}", second.parse::<f64>().unwrap() + later);
    let lines = text
        .lines()
        .map(|line| match line.strip_prefix("# stood-still: ") {
            Some(times) => {
                let times: Vec<_> = times.split(' ').map(moved).collect();
                format!("# stood-still: {}\n", times.join(" "))
            }
            None if line.starts_with('#') => format!("{line}\n"),
            None => {
                let (at, said) = line.split_once(' ').unwrap();
                format!("{} {said}\n", moved(at))
            }
        });
    let waits = path.with_extension("until-the-stop.dgtcap");
    fs::write(&waits, lines.collect::<String>()).unwrap();
    difference_up_to_the_stop(events, &waits)
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
    for event in &mut events {
        // The number of a round is of the gateway.
        event.as_object_mut().unwrap().remove("round");
        if event["type"] == "board_disconnected" {
            // A capture says that the link went down, not why.
            event.as_object_mut().unwrap().remove("reason");
        }
    }
    for event in events.iter_mut().filter(|_| !exactly) {
        let fields = event.as_object_mut().unwrap();
        fields.retain(|key, _| SAME.contains(&key.as_str()));
    }
    events
}

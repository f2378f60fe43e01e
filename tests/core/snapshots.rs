//! What a restart finds: snapshots of former versions, and damaged ones. Nothing panics, the numbers of events go on, and
//! what is not taken up is told.

use std::{fs, path::Path};

use dgt2mqtt::{
    capture::{Act, Capture, Record, replay::settings_of},
    event::{Body, Event, notice},
    sim::shown::ShownBoard,
    time::Millis,
    watcher::{Command, Snapshot, Watcher},
};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    seed::seed,
    told::{played, scripts},
};

/// A capture, and what the board would show if it were asked.
struct Board<'a> {
    records: &'a [Record],
    shown: ShownBoard,
}

impl<'a> Board<'a> {
    fn new(capture: &'a Capture) -> Self {
        Self {
            records: &capture.records,
            shown: ShownBoard::default(),
        }
    }

    fn next(&mut self) -> Option<&'a Record> {
        let (record, rest) = self.records.split_first()?;
        self.records = rest;
        if let Act::FromBoard(bytes) = &record.act {
            self.shown.hear(record.at, bytes);
        }
        Some(record)
    }
}

/// Takes what a watcher has to say; its events have the numbers that follow.
fn drain(watcher: &mut Watcher, last: &mut u64, seen: &mut Vec<Event>) {
    while watcher.poll_transmit().is_some() {}
    while watcher.poll_wish().is_some() {}
    while watcher.poll_question().is_some() {}
    while let Some(event) = watcher.poll_event() {
        *last += 1;
        assert_eq!(event.seq, *last, "{event:?}");
        seen.push(event);
    }
}

fn hear(watcher: &mut Watcher, record: &Record) {
    let mut again = 0;
    while let Some(due) = watcher.poll_timeout().filter(|due| *due <= record.at) {
        again += 1;
        assert!(again < 100_000, "the deadline {due:?} does not move on");
        watcher.handle_timeout(due);
    }
    match &record.act {
        Act::FromBoard(bytes) => watcher.handle_bytes(record.at, bytes),
        Act::LinkUp => watcher.handle_link_up(record.at, "port"),
        Act::LinkDown => watcher.handle_link_down(record.at, "cable"),
        Act::ToBoard(_) => {}
    }
}

/// Plays the rest of a capture to a watcher that goes on from `kept`. Returns what it said.
fn play_on(capture: &Capture, board: &Board<'_>, at: Millis, kept: &str, seq: u64) -> (Watcher, Vec<Event>) {
    let snapshot = Snapshot::kept(Some(kept), seq);
    let lost = snapshot.lost().to_vec();
    let mut watcher = Watcher::new(settings_of(&capture.header, "1"), Some(snapshot));
    let (mut last, mut seen) = (seq, Vec::new());
    watcher.handle_link_up(at, "port");
    watcher.handle_bytes(at + 1, &board.shown.answers());
    drain(&mut watcher, &mut last, &mut seen);
    let told: Vec<_> = seen.iter().filter_map(set_aside).collect();
    assert_eq!(told, lost, "what is lost is told first");
    for record in board.records {
        hear(&mut watcher, record);
        drain(&mut watcher, &mut last, &mut seen);
    }
    let end = watcher.handle_end(capture.end());
    drain(&mut watcher, &mut last, &mut seen);
    let (to_ply, mut open) = (0, watcher.game().open_irregularities);
    let mut commands: Vec<_> = open
        .drain(..)
        .map(|irregularity| Command::Accept { irregularity })
        .collect();
    commands.push(Command::Retract { to_ply });
    for command in commands {
        let _ = watcher.handle_command(end, command);
        drain(&mut watcher, &mut last, &mut seen);
        let _ = (
            watcher.pgn(),
            watcher.game(),
            watcher.position(),
            watcher.account(end),
        );
    }
    (watcher, seen)
}

fn set_aside(event: &Event) -> Option<String> {
    match &event.body {
        Body::Notice { code, message } if code == notice::SNAPSHOT_SET_ASIDE => Some(message.clone()),
        _ => None,
    }
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn fixture(name: &str) -> Capture {
    let path = folder().join(format!("fixtures/{name}.dgtcap"));
    Capture::parse(&fs::read(path).unwrap()).unwrap()
}

/// Written by the program that knew no versions, in `vienna-1910`: the game goes on as if it had never ended.
#[test]
fn a_snapshot_without_a_version_is_taken_up() {
    let capture = fixture("vienna-1910");
    let whole = {
        let mut watcher = Watcher::new(settings_of(&capture.header, "1"), None);
        let (mut seen, mut last) = (Vec::new(), 0);
        watcher.handle_link_up(Millis(0), "port");
        for record in &capture.records {
            hear(&mut watcher, record);
            drain(&mut watcher, &mut last, &mut seen);
        }
        watcher.handle_end(capture.end());
        watcher
    };
    for (name, open, offences) in [
        ("half-move-under-way", "replay/demo/18", [1, 0]),
        ("illegal-move", "replay/demo/20", [1, 1]),
    ] {
        let kept =
            fs::read_to_string(folder().join(format!("tests/snapshots/version-0-{name}.json"))).unwrap();
        let saved: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(saved.get("version"), None);
        let (at, seq) = (saved["at"].as_u64().unwrap(), saved["seq"].as_u64().unwrap());

        let taken_up = Watcher::new(
            settings_of(&capture.header, "1"),
            Some(Snapshot::kept(Some(&kept), seq)),
        );
        assert_eq!(taken_up.game().moves.len(), 12, "{name}");
        assert_eq!(taken_up.game().open_irregularities, [open], "{name}");
        let again = serde_json::to_value(taken_up.snapshot()).unwrap();
        assert_eq!(again["version"], 1, "{name}");
        assert_eq!(again["game"]["offences"], json!(offences), "{name}");

        let mut board = Board::new(&capture);
        while board.records.first().is_some_and(|record| record.at.0 <= at) {
            board.next();
        }
        let snapshot = Snapshot::kept(Some(&kept), seq);
        assert_eq!(snapshot.lost(), [""; 0], "{name}");
        let mut watcher = Watcher::new(settings_of(&capture.header, "1"), Some(snapshot));
        watcher.handle_link_up(Millis(at), "port");
        watcher.handle_bytes(Millis(at + 1), &board.shown.answers());
        while let Some(record) = board.next() {
            hear(&mut watcher, record);
        }
        watcher.handle_end(capture.end());
        let kept = |watcher: &Watcher| (watcher.game().moves, watcher.game().result);
        assert_eq!(kept(&watcher), kept(&whole), "{name}");
    }
}

/// All values within `value`, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(values) => {
            for (i, value) in values.iter().enumerate() {
                places(value, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// A number at the edge of something.
fn number(rng: &mut Rng) -> Value {
    let edges = [
        0,
        1,
        2,
        63,
        64,
        65,
        128,
        255,
        256,
        65_536,
        1_000_000,
        1_000_001,
        u64::from(u32::MAX) - 1,
        u64::from(u32::MAX),
        u64::from(u32::MAX) + 1,
        1 << 53,
        i64::MAX as u64,
        u64::MAX,
    ];
    match rng.u8(0..12) {
        0 => json!(-1),
        1 => json!(0.5),
        2 => json!(1e300),
        3..6 => json!(rng.u64(0..80)),
        _ => json!(*rng.choice(edges).as_ref().unwrap()),
    }
}

/// A text that is nearly `text`.
fn garbled(text: &str, rng: &mut Rng) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.usize(1..4) {
        let place = rng.usize(..=chars.len());
        match rng.u8(0..6) {
            0 => chars.truncate(place),
            1 => chars.insert(
                place,
                *rng.choice(&['0', '9', '/', ' ', 'é', '\0', '+', 'K', 'q', 'f'])
                    .unwrap(),
            ),
            2 if place < chars.len() => drop(chars.remove(place)),
            3 => chars.extend_from_within(place..),
            // The counters of a FEN, above all.
            4 => {
                return format!(
                    "{}4294967295",
                    text.trim_end_matches(|c: char| c.is_ascii_digit())
                );
            }
            _ => {
                let other = rng.usize(..=chars.len());
                if place < chars.len() && other < chars.len() {
                    chars.swap(place, other);
                }
            }
        }
    }
    chars.into_iter().collect()
}

/// Something else in the place of `value`, or a part of it; none: it is gone.
fn damaged(value: &Value, whole: &Value, places: &[String], rng: &mut Rng) -> Option<Value> {
    match (rng.u8(0..10), value) {
        (0, _) => None,
        (1, _) => Some(
            rng.choice([json!(null), json!(true), json!([]), json!({}), json!("")])
                .unwrap(),
        ),
        (2, _) => Some(number(rng)),
        // What stands elsewhere in it.
        (3, _) => whole.pointer(rng.choice(places).unwrap()).cloned(),
        (_, Value::Number(_)) => Some(number(rng)),
        (_, Value::Bool(value)) => Some(json!(!value)),
        (_, Value::String(text)) => Some(garbled(text, rng).into()),
        (_, Value::Null) => Some(
            rng.choice([json!(0), json!("white"), json!("e2e4"), json!([0, 64])])
                .unwrap(),
        ),
        (_, Value::Array(values)) => {
            let mut values = values.clone();
            let place = rng.usize(..=values.len());
            match rng.u8(0..3) {
                0 => values.truncate(place),
                1 => values.extend_from_within(place..),
                _ => values.reverse(),
            }
            Some(values.into())
        }
        (_, value) => Some(value.clone()),
    }
}

/// Damages one or two places of a snapshot.
fn damage(kept: &Value, rng: &mut Rng) -> Value {
    let mut saved = kept.clone();
    for _ in 0..rng.usize(1..3) {
        let mut found = Vec::new();
        places(&saved, "", &mut found);
        let place = rng.choice(&found[1..]).unwrap().clone();
        let other = damaged(saved.pointer(&place).unwrap(), &saved, &found, rng);
        let (folder, name) = place.rsplit_once('/').unwrap();
        match (saved.pointer_mut(folder).unwrap(), other) {
            (Value::Object(fields), None) => drop(fields.remove(name)),
            (Value::Array(values), None) => drop(values.remove(name.parse().unwrap())),
            (Value::Object(fields), Some(other)) => drop(fields.insert(name.to_owned(), other)),
            (Value::Array(values), Some(other)) => values[name.parse::<usize>().unwrap()] = other,
            _ => unreachable!("a place is within an array or an object"),
        }
        if found.len() < 8 {
            break;
        }
    }
    saved
}

/// `DGT2MQTT_FULL=1`: fifty times as many; `DGT2MQTT_SEED`: others.
#[test]
fn a_damaged_snapshot_never_panics() {
    let seed = seed();
    let full = std::env::var_os("DGT2MQTT_FULL").is_some();
    let rounds = if full { 100_000 } else { 2_000 };
    let mut captures = vec![fixture("vienna-1910"), fixture("famous-heidenfeld-kerins-1973")];
    for script in scripts() {
        captures.push(played(&script));
    }
    let mut rng = Rng::with_seed(seed);
    let (mut round, mut aside) = (0, 0);
    while round < rounds {
        let capture = rng.choice(&captures).unwrap();
        let stop = rng.usize(..=capture.records.len());
        let mut board = Board::new(capture);
        let mut watcher = Watcher::new(settings_of(&capture.header, "1"), None);
        let (mut last, mut seen) = (0, Vec::new());
        watcher.handle_link_up(Millis(0), "port");
        let mut at = Millis(0);
        for _ in 0..stop {
            let record = board.next().unwrap();
            at = record.at;
            hear(&mut watcher, record);
            drain(&mut watcher, &mut last, &mut seen);
        }
        let kept = serde_json::to_value(watcher.snapshot()).unwrap();
        // Before the pieces stand there is little to damage.
        let is_bare = kept["game"].is_null() && kept["setup"].is_null();
        for _ in 0..if is_bare { 1 } else { 10 } {
            let saved = damage(&kept, &mut rng).to_string();
            let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let (watcher, seen) = play_on(capture, &board, at, &saved, last);
                let again = serde_json::to_string(&watcher.snapshot()).unwrap();
                let read = Snapshot::kept(Some(&again), watcher.snapshot().seq);
                assert_eq!(read.lost(), [""; 0], "what it keeps is taken up: {again}");
                seen.iter().any(|event| set_aside(event).is_some())
            }));
            assert!(held.is_ok(), "round {round} of seed {seed}: {saved}");
            aside += usize::from(held.unwrap_or_default());
            round += 1;
        }
    }
    println!("{rounds} damaged snapshots, {aside} of them set aside as a whole or in part");
    assert!(
        aside > rounds / 4 && aside < rounds,
        "{aside} of {rounds} were set aside"
    );
}

//! The whole chain as it runs in a hall says what `replay` says: `simulate` on pseudo terminals and
//! over TCP, `run`, a real broker, a subscriber.
//!
//! Real captures are shortened to end in two minutes; `DGT2MQTT_E2E=full` plays them as they were,
//! which takes a quarter of an hour.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Capture, Header},
    link::file::read_capture,
    sim::games,
};
use serde_json::Value;

use crate::{
    broker::{Got, Mosquitto, Subscriber},
    hall::{
        self, Daemon, Seat, Simulator, comparable, configure, difference, real_captures, replay, save,
        shortened, stopped,
    },
    replayed::Played,
};

/// What a game of which nothing is left out still shows of thinking.
const THINKING_MS: u64 = 5000;
/// The shortened captures end here.
const END_MS: u64 = 110_000;
/// What the board still owes when its capture is over: a decision by stillness.
const PATIENCE: Duration = Duration::from_secs(120);

/// A made-up game of some twenty half-moves on a board of its own.
fn made_up(seed: u64) -> Capture {
    let mut moves = games::made_up(&mut fastrand::Rng::with_seed(seed));
    moves.truncate(12);
    let mut header = Header::default();
    header.push("time-control", "rapid").unwrap();
    games::play(&moves, header, seed).unwrap()
}

/// The captures to play, by the id of their board.
fn captures(folder: &Path) -> Vec<(String, PathBuf)> {
    let full = std::env::var("DGT2MQTT_E2E").is_ok_and(|value| value == "full");
    let mut captures = vec![("vienna".to_owned(), hall::vienna())];
    for seed in 1..=2 {
        let name = format!("made-up-{seed}");
        let path = save(folder, &name, &made_up(seed));
        captures.push((name, path));
    }
    for (number, path) in (1..).zip(real_captures()) {
        let name = format!("real-{number}");
        let played = if full {
            stopped(read_capture(&path).unwrap())
        } else {
            shortened(&path, THINKING_MS, 2 * END_MS, 2)
        };
        captures.push((name.clone(), save(folder, &name, &played)));
    }
    captures
}

fn of_board(subscriber: &Subscriber, board: &str) -> Vec<Value> {
    let place = format!("/board/{board}/event/");
    let mut events: Vec<Value> = Vec::new();
    for got in subscriber.all() {
        if got.topic.contains(&place) {
            let event = got.json();
            assert!(
                got.topic.ends_with(event["type"].as_str().unwrap()),
                "{}",
                got.topic
            );
            if events
                .last()
                .is_none_or(|last| last["seq"].as_u64() < event["seq"].as_u64())
            {
                events.push(event);
            }
        }
    }
    events
}

#[tokio::test]
async fn run_says_what_replay_says() {
    let folder = tempfile::tempdir().unwrap();
    let played = captures(folder.path());
    let paths: Vec<_> = played.iter().map(|(_, path)| path.clone()).collect();
    let read: Vec<_> = paths.iter().map(|path| read_capture(path).unwrap()).collect();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/+/event/#").await;
    let flags = Subscriber::of_flags(mosquitto.port, "dgt2mqtt/gw/#").await;
    let link = folder.path().join("board");
    let terminals = Simulator::start(&["--link", link.to_str().unwrap()], &paths);
    let sockets = Simulator::start(&["--listen", "127.0.0.1:0"], &paths);

    let mut seats = Vec::new();
    let mut expected = Vec::new();
    for (kind, simulator) in [("pty", &terminals), ("tcp", &sockets)] {
        for (((name, path), capture), port) in played.iter().zip(&read).zip(&simulator.ports) {
            let id = format!("{name}-{kind}");
            expected.push((
                id.clone(),
                Played::of(path.clone()),
                comparable(&replay(path, &id)),
            ));
            seats.push(Seat { id, port, capture });
        }
    }
    let config = configure(folder.path(), mosquitto.port, &seats);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("[journal]", "[journal]\ncaptures = true")).unwrap();
    let mut daemon = Daemon::start(&config);

    let longest = read.iter().map(|capture| capture.end().0).max().unwrap();
    let deadline = Instant::now() + Duration::from_millis(longest) + PATIENCE;
    let missing = || {
        let short = |(id, _, expected): &&(String, Played, Vec<Value>)| {
            of_board(&subscriber, id).len() < expected.len()
        };
        expected.iter().filter(short).count()
    };
    while Instant::now() < deadline && missing() > 0 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    for command in ["cmd/ping", "board/vienna-pty/cmd/resync"] {
        let topic = format!("dgt2mqtt/gw/{command}");
        subscriber.publish(&topic, false, r#"{"ref":1}"#, None).await;
    }
    // Anything said beyond what is expected would come now.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(daemon.lives());
    assert!(daemon.stop(), "a stop that was asked for is no failure");
    let mut wrong = Vec::new();
    let mut count = 0;
    for (id, played, expected) in &expected {
        let said = of_board(&subscriber, id);
        let got = comparable(&said);
        println!("{id}: {} events of {}", got.len(), expected.len());
        count += got.len();
        let tape = folder.path().join(format!("captures/{id}.dgtcap"));
        if let Some(difference) = difference(&comparable(&replay(&tape, id)), &got) {
            wrong.push(format!("{id}, by the daemon's own capture: {difference}"));
        }
        let Some(difference) = difference(expected, &got) else {
            continue;
        };
        // A busy machine reads several readings at once. What stood on the board between them it cannot tell.
        println!("{id}: {difference}");
        played.accuses_nobody_besides(&said);
        if let Some(missing) = played.missing(&said) {
            wrong.push(format!("{id}: {missing} is missing; {difference}"));
        }
    }
    println!("{count} events of {} boards compared", seats.len());
    if !wrong.is_empty() {
        let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
        panic!("{}\n\n{log}", wrong.join("\n"));
    }
    as_documented(&flags.all());
}

/// Each topic of the README's table came, and whatever came was sent as the table says.
fn as_documented(messages: &[Got]) {
    let readme = include_str!("../../README.md");
    let mut seen = BTreeMap::new();
    for line in readme.lines().filter(|line| line.starts_with("| `dgt2mqtt/GW/")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let topic = cells[1].trim_matches('`');
        // The table names where commands come in; what we send is the answers, sent alike.
        let is_command = topic.contains("/cmd/");
        let topic = topic.replace("/cmd/", "/reply/").replace("GW", "gw");
        let qos: u8 = cells[3].parse().unwrap();
        let flags = (cells[2].starts_with("yes"), qos, cells[2].contains("expires"));
        assert!(!is_command || flags == (false, 1, false), "{line}");
        seen.insert(topic, (flags, 0_u32));
    }
    assert_eq!(seen.len(), 15, "the README's table of topics");
    for got in messages.iter().filter(|got| !got.topic.contains("/cmd/")) {
        let fits = |(pattern, _): &(&String, &mut _)| {
            let same = |(a, b): (&str, &str)| a == b || ["ID", "TYPE", "VERB"].contains(&a);
            pattern.split('/').count() == got.topic.split('/').count()
                && pattern.split('/').zip(got.topic.split('/')).all(same)
        };
        let (pattern, (flags, count)) = seen
            .iter_mut()
            .find(fits)
            .unwrap_or_else(|| panic!("{} is not in the table", got.topic));
        let as_sent = (got.retain, got.qos, got.expiry.is_some());
        assert_eq!(as_sent, *flags, "{} against {pattern}", got.topic);
        *count += 1;
    }
    // Only while no disk can be written, or another gateway has the name.
    seen.remove("dgt2mqtt/gw/board/ID/numbers");
    seen.remove("dgt2mqtt/gw/claim");
    let missing: Vec<_> = seen.iter().filter(|(_, (_, count))| *count == 0).collect();
    assert!(missing.is_empty(), "never sent: {missing:?}");
}

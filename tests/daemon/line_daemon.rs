//! A line of boards as it runs in a hall: `simulate --line` on a pseudo terminal, `run`, a real broker, a subscriber. The daemon is
//! killed in the middle of the games, and goes on. Besides its boards there is one that nobody has configured.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Capture, Header},
    sim::games,
};
use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, Subscriber},
    hall::{Daemon, Simulator, are_numbered, program, replay, save, until},
};

/// What a made-up game takes, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// Damaged answers, and one board that is late.
const TROUBLES: [&str; 7] = ["--line", "--noise", "0.01", "--late", "30", "--speed", "2"];

/// A made-up game of a few half-moves, each board another one.
fn made_up(seed: u64) -> Capture {
    let mut moves = games::made_up(&mut fastrand::Rng::with_seed(seed));
    moves.truncate(4);
    let mut header = Header::default();
    header.push("time-control", "rapid").unwrap();
    games::play(&moves, header, seed).unwrap()
}

/// The half-moves that stand at the end of these events, and what somebody is accused of. What a busy machine does not hear in time
/// may be suspected.
fn told<'a>(events: impl IntoIterator<Item = &'a Value>) -> (Vec<String>, Vec<String>) {
    let (mut moves, mut accused) = (Vec::new(), Vec::new());
    for event in events {
        match event["type"].as_str().unwrap() {
            "move" => moves.push(event["uci"].as_str().unwrap().to_owned()),
            "moves_retracted" => moves.truncate(event["to_ply"].as_u64().unwrap() as usize),
            "irregularity" if event["certainty"] != "suspected" => {
                accused.push(event["kind"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
    }
    (moves, accused)
}

fn of_board(subscriber: &Subscriber, board: &str) -> Vec<Value> {
    let place = format!("/board/{board}/event/");
    let all = subscriber.all();
    let mut events: Vec<Value> = all
        .iter()
        .filter(|got| got.topic.contains(&place))
        .map(broker::Got::json)
        .collect();
    // After a crash what was not acknowledged is sent again.
    events.sort_by_key(|event| event["seq"].as_u64());
    events.dedup_by_key(|event| event["seq"].as_u64());
    events
}

fn configure(folder: &Path, broker: u16, ports: &[String]) -> (PathBuf, Vec<String>) {
    let (serials, line): (Vec<_>, Vec<_>) = ports
        .iter()
        .map(|port| port.strip_prefix("bus:").unwrap().split_once('@').unwrap())
        .unzip();
    let (first, others) = serials.split_first().unwrap();
    let text = format!(
        "[gateway]\nname = \"gw\"\n[event]\ntime_control = \"rapid\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\n\
         [journal]\npath = \"journal.sqlite\"\n[limits]\nhealth_interval_s = 5\n\
         [[line]]\nname = \"hall\"\nport = \"{}\"\nboards = {others:?}\ndiscover = true\n\
         [[board]]\nid = \"top\"\nline = \"hall\"\nserial = \"{first}\"\n",
        line[0]
    );
    let path = folder.join("dgt2mqtt.toml");
    fs::write(&path, text).unwrap();
    let ids = std::iter::once("top").chain(others.iter().copied());
    (path, ids.map(str::to_owned).collect())
}

#[tokio::test]
async fn boards_on_one_line_say_what_replay_says() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (1..=5)
        .map(|seed| save(folder.path(), &format!("game-{seed}"), &made_up(seed)))
        .collect();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulator = Simulator::start(&TROUBLES, &paths);
    let (known, stranger) = simulator.ports.split_at(4);
    let (config, ids) = configure(folder.path(), mosquitto.port, known);
    let stranger: u64 = stranger[0][4..].split('@').next().unwrap().parse().unwrap();
    let stranger = json!([stranger & 0x3fff]);
    let expected: Vec<_> = paths[..4].iter().map(|path| told(&replay(path, "1"))).collect();
    assert!(
        expected
            .iter()
            .all(|(moves, accused)| moves.len() == 4 && accused.is_empty())
    );

    let checked = program()
        .args(["check", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let words = String::from_utf8(checked.stdout).unwrap();
    assert!(words.contains("on the line at"), "{words}");

    let daemon = Daemon::start(&config);
    let deadline = Instant::now() + PATIENCE;
    let moves = |id: &str| told(&of_board(&subscriber, id)).0.len();
    while Instant::now() < deadline && moves("top") < 2 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    daemon.kill();
    let daemon = Daemon::start(&config);
    while Instant::now() < deadline && ids.iter().any(|id| moves(id) < 4) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let log = || fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    for (id, expected) in ids.iter().zip(&expected) {
        let events = of_board(&subscriber, id);
        assert_eq!(told(&events), *expected, "board {id}\n{}", log());
        are_numbered(&events);
    }
    let is_health = |got: &broker::Got| got.topic.ends_with("/health");
    let lines = |health: &Value| health["lines"][0].clone();
    let deadline = Instant::now() + PATIENCE;
    let all = loop {
        let line = subscriber
            .all()
            .iter()
            .rfind(|got| is_health(got))
            .map(|got| lines(&got.json()));
        match line {
            Some(line) if line["answering"] == 4 && line["unlisted"] == stranger => break line,
            _ => assert!(Instant::now() < deadline, "no health of the line\n{}", log()),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(
        all["boards"] == 4 && all["cycle_ms"].as_u64().unwrap() > 0,
        "{all}"
    );
    assert!(daemon.stop(), "a stop that was asked for is no failure");
}

/// The configuration of a line with these boards, and of a board with a port of its own.
fn hall(broker: u16, line: &str, serials: &[&str], own: &str) -> String {
    let line = match serials {
        [] => String::new(),
        serials => format!("[[line]]\nport = \"{line}\"\nboards = {serials:?}\n"),
    };
    format!(
        "[gateway]\nname = \"gw\"\n[event]\ntime_control = \"rapid\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\n\
         [journal]\npath = \"journal.sqlite\"\n{line}[[board]]\nid = \"own\"\nport = \"{own}\"\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_comes_changes_and_goes_while_games_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (1..=3)
        .map(|seed| save(folder.path(), &format!("game-{seed}"), &made_up(seed)))
        .collect();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulator = Simulator::start(&["--line", "--speed", "2"], &paths);
    let own = Simulator::start(&["--speed", "2"], &paths[..1]);
    let places = simulator
        .ports
        .iter()
        .map(|port| port.strip_prefix("bus:").unwrap().split_once('@').unwrap());
    let (serials, lines): (Vec<_>, Vec<_>) = places.unzip();
    let config = folder.path().join("dgt2mqtt.toml");
    let write = |serials: &[&str]| {
        fs::write(&config, hall(mosquitto.port, lines[0], serials, &own.ports[0])).unwrap();
    };
    write(&serials[..2]);
    let daemon = Daemon::start(&config);
    let log = || fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    let answers = |id: &str| log().matches(&format!("board {id}: it answers")).count();
    let reload = |serials: &[&str], says: &str| {
        write(serials);
        let (before, pid) = (log().len(), daemon.id().to_string());
        let sent = std::process::Command::new("kill").args(["-HUP", &pid]).status();
        assert!(sent.unwrap().success());
        let fresh = || log()[before..].to_owned();
        until(says, PATIENCE, || {
            fresh().contains("the configuration was read again").then_some(())
        });
        assert!(
            fresh().contains(says) && !fresh().contains("wants a restart"),
            "{}",
            fresh()
        );
    };
    let moves = |id: &str| told(&of_board(&subscriber, id)).0.len();
    let play = |ids: &[&str], count: usize| {
        let is_there = || ids.iter().all(|id| moves(id) >= count).then_some(());
        until(&format!("{count} half-moves of {ids:?}"), PATIENCE, is_there);
    };

    // In the middle of two games a third board comes to their line.
    play(&serials[..2], 1);
    let line = format!("line {}", lines[0]);
    reload(
        &serials,
        &format!("taken over: {line}, board {} is new", serials[2]),
    );
    until("the boards again", PATIENCE, || {
        (answers(serials[0]) == 2 && answers(serials[1]) == 2 && answers(serials[2]) == 1).then_some(())
    });
    play(&serials, 4);
    // Nothing has changed: nobody is let go of.
    reload(&serials, "nothing has changed");
    // The line goes, and comes back: its port is free, and its games are there.
    reload(&[], &format!("taken over: {line} is gone"));
    let status = format!("dgt2mqtt/gw/board/{}/status", serials[0]);
    let is_gone = |got: &broker::Got| got.topic == status && got.text().is_empty();
    subscriber.wait("the board's states to go", is_gone).await;
    reload(&serials, &format!("taken over: {line} is new"));
    until("the boards after the line", PATIENCE, || {
        (answers(serials[0]) == 3).then_some(())
    });
    play(&["own"], 4);
    for (id, path) in serials.iter().zip(&paths).chain([(&"own", &paths[0])]) {
        let events = of_board(&subscriber, id);
        assert_eq!(told(&events), told(&replay(path, "1")), "board {id}\n{}", log());
        let begun = events.iter().filter(|event| event["type"] == "game_started");
        assert_eq!(begun.count(), 1, "board {id}: its game goes on");
    }
    assert_eq!(answers("own"), 1, "what is on no line was not let go of");
    assert!(!log().contains("line_lost"), "no cable was pulled: {}", log());
    assert!(daemon.stop());
}

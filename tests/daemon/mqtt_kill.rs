//! The program itself: killed and started again, told to stop, started twice.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    broker::{Mosquitto, Subscriber},
    seed,
    wiring::{Restless, Wiring},
};

/// Writes the configuration for these boards; returns its path.
fn prepare(folder: &Path, mosquitto: &Mosquitto, boards: &Restless) -> PathBuf {
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"{}\"\n{}",
        mosquitto.port,
        folder.join("journal.sqlite").display(),
        boards.tables
    );
    let path = folder.join("dgt2mqtt.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn start(config: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .arg("run")
        .arg("--config")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn events(subscriber: &Subscriber) -> usize {
    subscriber
        .all()
        .iter()
        .filter(|got| got.topic.contains("/event/"))
        .count()
}

#[tokio::test]
async fn kills_leave_no_gap_and_no_number_twice() {
    is_killed_again_and_again(Wiring::Alone).await;
}

#[tokio::test]
async fn nor_do_kills_over_a_line_of_many_boards() {
    is_killed_again_and_again(Wiring::Line).await;
}

async fn is_killed_again_and_again(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::of_flags(mosquitto.port, "dgt2mqtt/#").await;
    let boards = wiring.restless(folder.path());
    let config = prepare(folder.path(), &mosquitto, &boards);
    let mut rng = seed::rng();
    for round in 0..5 {
        let mut daemon = start(&config);
        tokio::time::sleep(Duration::from_millis(rng.u64(150..900))).await;
        if round == 4 {
            // One that was never there leaves no will.
            subscriber.wait("online", |got| got.text() == "online").await;
        }
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
    let will = subscriber
        .wait("the will", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "offline"
        })
        .await;
    assert_eq!((will.retain, will.qos, will.expiry), (true, 1, None));
    let before = events(&subscriber);
    let mut daemon = start(&config);
    subscriber
        .until("an event after the kills", || events(&subscriber) >= before + 2)
        .await;
    let has_told = |id: &String| !subscriber.numbers(id).is_empty();
    subscriber
        .until("an event of each board", || boards.ids.iter().all(has_told))
        .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let offline = || {
        let words = subscriber.all().into_iter();
        words
            .filter(|got| got.topic == "dgt2mqtt/gw/status" && got.text() == "offline")
            .count()
    };
    let wills = offline();
    let stopped = Command::new("kill").arg(daemon.id().to_string()).status();
    assert!(stopped.unwrap().success());
    subscriber.until("offline", || offline() > wills).await;
    assert!(
        daemon.wait().unwrap().success(),
        "a stop that was asked for is no failure"
    );
    let mut bodies: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for got in subscriber.all() {
        if got.topic.contains("/event/") {
            let id = got.json()["id"].as_str().unwrap().to_owned();
            let former = bodies.insert(id.clone(), got.payload.clone());
            assert!(
                former.is_none_or(|former| former == got.payload),
                "two events with the id {id}"
            );
        }
    }
    for id in &boards.ids {
        let numbers = subscriber.numbers(id);
        assert!(!numbers.is_empty(), "board {id} says nothing");
        assert_eq!(
            numbers,
            (1..=numbers.len() as u64).collect::<Vec<_>>(),
            "no gap, in order"
        );
    }
}

#[tokio::test]
async fn a_second_daemon_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let boards = Wiring::Alone.restless(folder.path());
    let config = prepare(folder.path(), &mosquitto, &boards);
    let mut first = start(&config);
    subscriber.wait("online", |got| got.text() == "online").await;
    let second = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .args(["run", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("in use by process"), "{said}");
    assert!(second.stdout.is_empty());
}

//! The program itself: killed and started again, told to stop, started twice.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::broker::{Mosquitto, Subscriber};

/// A board and a clock that show themselves at once, and stay.
const CAPTURE: &str = "# dgtcap 1\n\
    0.000 > 4d\n0.012 < 93 00 05 01 08\n0.020 > 42\n\
    0.090 < 86 00 43 02 01 00 00 00 00 07 08 03 01 00 00 00 00 07 09 04 01 00 00 00 00 07 0a 06 01 00 00 00 00 07 0c 05 01 00 00 00 00 07 0b 04 01 00 00 00 00 07 0a 03 01 00 00 00 00 07 09 02 01 00 00 00 00 07 08\n\
    0.150 > 4b\n0.200 < 8d 00 0a 21 30 00 21 30 00 08\n60.000 < 8d 00 0a 21 30 00 21 30 00 08\n";

/// Writes capture and configuration; returns the configuration's path.
fn prepare(folder: &Path, mosquitto: &Mosquitto) -> PathBuf {
    let capture = folder.join("board.dgtcap");
    std::fs::write(&capture, CAPTURE).unwrap();
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"{}\"\n[[board]]\nid = \"7\"\nport = \"capture:{}\"\n",
        mosquitto.port,
        folder.join("journal.sqlite").display(),
        capture.display()
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
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::of_flags(mosquitto.port, "dgt2mqtt/#").await;
    let config = prepare(folder.path(), &mosquitto);
    let seed = std::env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap());
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
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
        .wait("an event after the kills", |_| events(&subscriber) >= before + 2)
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
    subscriber.wait("offline", |_| offline() > wills).await;
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
    let numbers = subscriber.numbers("7");
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "no gap, in order"
    );
}

#[tokio::test]
async fn a_second_daemon_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let config = prepare(folder.path(), &mosquitto);
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

//! Bad input while a game is played: noise on other ports, commands that are no commands, names with
//! the characters of paths and topics. The game goes on as if nothing had been.
//!
//! Elsewhere: brokers that refuse, never answer or cut in mid-packet (`mqtt_faults.rs`), commands at
//! the door of the publisher (`mqtt_commands.rs`), configuration errors (`config_file.rs`), bad lines of
//! captures (`cli_replay.rs`), bytes without sense at the decoder (`core/wire.rs`, `fuzz/`).

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::Capture,
    link::file::read_capture,
    sim::port::{Plug, Socket},
};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, Subscriber, large_sender},
    hall::{self, Daemon, Seat, Simulator, comparable, configure, difference, program, replay},
    seed,
};

/// What a port may say that is no board: anything, and what begins like a message and is none.
fn noise(rng: &mut Rng) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..rng.usize(1..200)).map(|_| rng.u8(..)).collect();
    if rng.bool() {
        // Headers with lengths that do not fit, and one message of the longest length there is.
        let head = [rng.u8(0x80..), rng.u8(..), rng.u8(..)];
        let place = rng.usize(..bytes.len());
        bytes.splice(place..place, head);
    }
    bytes
}

/// A port that is open and silent, as of a board that is switched off behind its adapter: said once,
/// whatever the number of attempts.
#[test]
fn a_silent_board_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("tcp://{}", listener.local_addr().unwrap());
    let seat = Seat {
        id: "7".into(),
        port: &port,
        capture: &Capture::default(),
    };
    let config = configure(folder.path(), broker.port, &[seat]);
    let daemon = Daemon::start(&config);
    // Two silent links are enough to see whether each is told.
    let links: Vec<_> = (0..3).map(|_| listener.accept().unwrap()).collect();
    daemon.kill();
    drop(links);
    let text = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    let about: Vec<_> = text
        .lines()
        .filter(|line| line.contains("but no board answers"))
        .collect();
    assert_eq!(about.len(), 1, "{text}");
    assert!(!text.contains("link lost"), "nothing was linked: {text}");
    assert!(!text.contains('\u{1b}'), "no colours in a file: {text}");
}

/// A port that says nothing but noise, to whoever listens.
async fn talk_nonsense(mut port: Plug, mut rng: Rng) {
    let mut sink = [0; 256];
    loop {
        let bytes = noise(&mut rng);
        tokio::select! {
            written = port.write(&bytes) => if written.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            },
            read = port.read(&mut sink) => if !matches!(read, Ok(1..)) {
                let _ = port.connect().await;
            },
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(1..30))).await;
    }
}

/// Commands that must each get an error, by topic and payload, with the code.
fn bad_commands() -> Vec<(String, Vec<u8>, &'static str)> {
    let board = |verb: &str| format!("dgt2mqtt/gw/board/7/cmd/{verb}");
    let other = |id: &str| format!("dgt2mqtt/gw/board/{id}/cmd/resync");
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        (board("new_game"), text("{"), "bad_json"),
        (board("new_game"), text("[]"), "bad_json"),
        (board("new_game"), b"\xff\xfe\x00".to_vec(), "bad_json"),
        (board("result"), vec![b'['; 10_000], "bad_json"),
        (board("retract"), text(r#"{"to_ply":-1}"#), "bad_fields"),
        (
            board("set_position"),
            text(r#"{"fen":"../../etc/passwd"}"#),
            "bad_fen",
        ),
        (
            board("dismiss"),
            text(r#"{"irregularity":"gw/+/#"}"#),
            "unknown_irregularity",
        ),
        (
            board("dismiss"),
            text(r#"{"irregularity":"../../7/1"}"#),
            "unknown_irregularity",
        ),
        (board(".."), text("{}"), "unknown_verb"),
        (other(".."), text("{}"), "unknown_board"),
        (other("7%2f8"), text("{}"), "unknown_board"),
        (other("7'; DROP TABLE event;--"), text("{}"), "unknown_board"),
        (other("\u{202e}7"), text("{}"), "unknown_board"),
    ]
}

fn of_board_7(subscriber: &Subscriber) -> Vec<Value> {
    let all = subscriber.all().into_iter();
    let events = all.filter(|got| got.topic.starts_with("dgt2mqtt/gw/board/7/event/"));
    events.map(|got| got.json()).collect()
}

/// Sends a command that is to be refused; returns the code of the answer.
async fn refusal(subscriber: &Subscriber, number: usize, topic: &str, payload: Vec<u8>) -> String {
    let data = format!("bad-{number}");
    subscriber
        .publish(topic, false, payload, Some(("arbiter/inbox", &data)))
        .await;
    let answer = |got: &broker::Got| {
        got.topic == "arbiter/inbox" && got.correlation.as_deref() == Some(data.as_bytes())
    };
    let got = subscriber.wait(&format!("the answer to {topic}"), answer).await;
    let answer = got.json();
    assert_eq!(answer["ok"], false, "{topic}: {answer}");
    answer["error"]["code"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

/// Each refusal is in the log, and what came as far as the board is in the journal with its answer.
fn refusals_are_on_record(config: &Path, log: &Path) {
    let log = fs::read_to_string(log).unwrap();
    for (topic, _, code) in bad_commands() {
        let said = |line: &&str| {
            line.contains(" INFO ")
                && line.contains(&format!("{topic:?}"))
                && line.contains("answered to \"arbiter/inbox\"")
                && line.contains(&format!("code=\"{code}\""))
        };
        assert!(log.lines().any(|line| said(&line)), "{topic}: {code}\n{log}");
    }
    let kept = hall::commands(config, "7");
    let codes: Vec<_> = kept.iter().map(|it| &it["reply"]["error"]["code"]).collect();
    assert_eq!(
        codes,
        ["bad_fen", "unknown_irregularity", "unknown_irregularity"],
        "{kept:?}"
    );
    assert_eq!(kept[0]["verb"], "set_position");
    assert_eq!(kept[0]["fields"]["fen"], "../../etc/passwd");
    assert!(kept[0]["time"].as_str().unwrap().ends_with('Z'), "{kept:?}");
}

async fn ping(subscriber: &Subscriber, name: &str) {
    let payload = json!({ "ref": name }).to_string();
    // A response topic that would overwrite a state is not used.
    let answer = Some(("dgt2mqtt/gw/status", name));
    subscriber
        .publish("dgt2mqtt/gw/cmd/ping", false, payload, answer)
        .await;
    let is_pong = |got: &broker::Got| got.topic == "dgt2mqtt/gw/reply/ping" && got.json()["ref"] == name;
    subscriber.wait("pong", is_pong).await;
}

#[tokio::test]
async fn a_game_goes_on_beside_noise_and_nonsense() {
    let mut rng = seed::rng();
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let path = hall::vienna();
    let capture = read_capture(&path).unwrap();
    let simulator = Simulator::start(&[], std::slice::from_ref(&path));
    let noisy = [Socket::Pty(None), Socket::Tcp("127.0.0.1:0".parse().unwrap())];
    let mut ports = vec![("7".to_owned(), simulator.ports[0].clone())];
    for (mut place, id) in noisy.into_iter().zip(["noise-1", "noise-2"]) {
        let port = Plug::plug(&mut place).await.unwrap();
        ports.push((id.to_owned(), port.name()));
        tokio::spawn(talk_nonsense(port, rng.fork()));
    }
    let seats: Vec<_> = ports
        .iter()
        .map(|(id, port)| Seat {
            id: id.clone(),
            port,
            capture: &capture,
        })
        .collect();
    let config = configure(folder.path(), mosquitto.port, &seats);
    let mut daemon = Daemon::start(&config);
    subscriber
        .wait("online", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "online"
        })
        .await;

    ping(&subscriber, "before").await;
    subscriber
        .wait("a move", |got| got.topic == "dgt2mqtt/gw/board/7/event/move")
        .await;
    let mut wrong = Vec::new();
    for (number, (topic, payload, code)) in bad_commands().into_iter().enumerate() {
        let said = refusal(&subscriber, number, &topic, payload).await;
        if said != code {
            wrong.push(format!("{topic}: {said} instead of {code}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    refusals_are_on_record(&config, &folder.path().join("daemon.log"));
    let large = large_sender(mosquitto.port).await;
    for _ in 0..2 {
        let topic = "dgt2mqtt/gw/board/7/cmd/set_position";
        large.publish(topic, false, vec![b'{'; 10 << 20], None).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    ping(&subscriber, "after").await;

    let expected = comparable(&replay(&path, "7"));
    let deadline = Instant::now() + Duration::from_millis(capture.end().0) + broker::PATIENCE;
    while Instant::now() < deadline && of_board_7(&subscriber).len() < expected.len() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    if let Some(difference) = difference(&expected, &comparable(&of_board_7(&subscriber))) {
        panic!(
            "{difference}\n{}",
            fs::read_to_string(folder.path().join("daemon.log")).unwrap()
        );
    }
    let told = |kind: &str| {
        subscriber
            .all()
            .iter()
            .filter(|got| got.topic.contains("/noise-") && got.topic.ends_with(kind))
            .count()
    };
    assert_eq!(told("/event/move"), 0, "moves in noise");
    assert_eq!(told("/event/irregularity"), 0, "accusations in noise");
    let status = subscriber
        .all()
        .into_iter()
        .filter(|got| got.topic == "dgt2mqtt/gw/status")
        .map(|got| got.text());
    assert!(
        status.into_iter().all(|word| word == "online"),
        "the connection to the broker broke"
    );
    assert!(daemon.lives());
    assert!(daemon.stop(), "a stop that was asked for is no failure");
}

#[test]
fn names_that_would_be_paths_or_wildcards_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for id in [
        "+",
        "#",
        "..",
        "a/b",
        "../x",
        "A",
        "",
        "a b",
        "é",
        "a\\u0000",
        "x123456789012345678901234567890123",
    ] {
        for (gateway, board) in [("gw", id), (id, "7")] {
            let path = folder.path().join("dgt2mqtt.toml");
            let text = format!(
                "[gateway]\nname = \"{gateway}\"\n[journal]\npath = \"j.sqlite\"\n[[board]]\nid = \"{board}\"\nport = \"/dev/null\"\n"
            );
            fs::write(&path, text).unwrap();
            let output = program().args(["run", "--config"]).arg(&path).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(78), "{gateway:?} {board:?}: {said}");
            assert!(said.contains("dgt2mqtt.toml"), "{said}");
        }
        if !id.contains('\\') {
            let capture = hall::vienna();
            let output = program()
                .arg("replay")
                .arg(capture)
                .arg(format!("--board={id}"))
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "--board {id:?}");
        }
    }
    assert!(!folder.path().join("j.sqlite").exists(), "nothing was begun");
    let capture = folder.path().join("bad.dgtcap");
    fs::write(&capture, "# dgtcap 1\n# board: ../x\n0.000 < 00\n").unwrap();
    let output = program().arg("replay").arg(&capture).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("line 2"));
}

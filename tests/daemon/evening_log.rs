//! Who reads the log knows that a game was played, and what an arbiter did.

use std::{fs, net::TcpListener, process::Command};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, Seat, Simulator, configure, fixture, until},
};

async fn answered(subscriber: &Subscriber, topic: &str, verb: &str, payload: &Value) -> Value {
    let text = payload.to_string();
    subscriber
        .publish(&format!("dgt2mqtt/gw/{topic}cmd/{verb}"), false, text, None)
        .await;
    let reply = format!("dgt2mqtt/gw/{topic}reply/{verb}");
    let is_answer = |got: &Got| got.topic == reply && got.json()["ref"] == payload["ref"];
    subscriber.wait(&reply, is_answer).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_tells_the_evening() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let path = fixture("illegal-stands-rapid");
    let capture = read_capture(&path).unwrap();
    let link = folder.path().join("board");
    let link = link.display().to_string();
    let play = || Simulator::start(&["--speed", "4", "--link", &link], std::slice::from_ref(&path));
    let simulator = play();
    let seat = Seat {
        id: "7".into(),
        port: &link,
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text + "table = { white = \"Moss, M\", black = \"Tufteland, V\" }\n",
    )
    .unwrap();
    let daemon = Daemon::start(&config);
    let case = subscriber
        .wait("the irregularity", |got| {
            got.topic.ends_with("/7/event/irregularity")
        })
        .await
        .json();
    subscriber.played("7", 5).await;
    let by = |reference: u32, more: Value| {
        let mut payload = json!({ "ref": reference, "sender": "Anna" });
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        payload
    };
    let id = &case["id"];
    for (reference, verb, more) in [
        (1, "reopen", json!({ "irregularity": id })),
        (2, "dismiss", json!({ "irregularity": id })),
        (3, "result", json!({ "result": "1-0" })),
        (4, "resume", json!({})),
    ] {
        let answer = answered(&subscriber, "board/7/", verb, &by(reference, more)).await;
        assert_eq!(answer["ok"], true, "{verb}: {answer}");
    }
    let log = || fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    let wanted = [
        "INFO dgt2mqtt::gateway::board: board 7: it answers".to_owned(),
        "board 7: game 1 began: Moss, M - Tufteland, V".to_owned(),
        format!("board 7: half-move {}: ", case["ply"]),
        "command reopen of Anna was carried out".to_owned(),
        format!(
            "board 7: half-move {}: illegal_move: open again (by Anna)",
            case["ply"]
        ),
        format!(
            "board 7: half-move {}: illegal_move: dismissed (by Anna)",
            case["ply"]
        ),
        "board 7: game 1 ended 1-0 (".to_owned(),
        "board 7: game 1 goes on, its result was taken back: Moss, M - Tufteland, V (by Anna)".to_owned(),
    ];
    let said = log();
    let mut from = 0;
    for line in &wanted {
        let found = said[from..].find(line.as_str());
        from += found.unwrap_or_else(|| panic!("after line {from}: no {line:?} in\n{said}"));
    }
    for field in [
        "white=\"Moss, M\"",
        "kind=\"illegal_move\"",
        "by=\"Anna\"",
        "game=1",
        "ply=",
    ] {
        assert!(said.contains(field), "{field}: {said}");
    }
    assert_eq!(said.matches("game 1 began").count(), 1);

    // More, for as long as somebody wants it.
    assert!(!said.contains(" DEBUG "));
    let answer = answered(
        &subscriber,
        "",
        "log",
        &by(5, json!({ "filter": "dgt2mqtt=debug" })),
    )
    .await;
    assert_eq!(answer["state"]["filter"], "dgt2mqtt=debug", "{answer}");
    let comes_back = |simulator: Simulator| {
        let before = log().len();
        drop(simulator);
        let simulator = play();
        until("the board again", PATIENCE, || {
            log()[before..].contains("it answers").then_some(())
        });
        let fresh = log()[before..].to_owned();
        assert_eq!(fresh.matches("board 7: link lost on ").count(), 1, "{fresh}");
        (simulator, fresh)
    };
    let (simulator, fresh) = comes_back(simulator);
    assert!(
        fresh.contains("DEBUG dgt2mqtt::gateway::board::line: port open"),
        "{fresh}"
    );
    let signal = |name: &str, says: &str| {
        let count = log().matches(says).count();
        let pid = daemon.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
        until(says, PATIENCE, || {
            (log().matches(says).count() > count).then_some(())
        });
    };
    signal("-USR2", "the log has `info,rumqttc=warn`");
    let (simulator, fresh) = comes_back(simulator);
    assert!(!fresh.contains(" DEBUG "), "{fresh}");
    signal("-USR1", "the log has `info,dgt2mqtt=debug,rumqttc=warn`");
    let (_simulator, fresh) = comes_back(simulator);
    assert!(fresh.contains(" DEBUG "), "{fresh}");
    let answer = answered(
        &subscriber,
        "",
        "log",
        &by(6, json!({ "filter": "dgt2mqtt=louder" })),
    )
    .await;
    assert_eq!(answer["error"]["code"], "bad_filter", "{answer}");
    // Taken for a target, a level with a typo would silence the log.
    let answer = answered(&subscriber, "", "log", &by(8, json!({ "filter": "infos" }))).await;
    let said = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        said.contains("\"infos\" is no level; levels are off, error, warn"),
        "{answer}"
    );
    assert!(
        log().contains("command \"dgt2mqtt/gw/cmd/log\" of Anna (ref 8, "),
        "{}",
        log()
    );
    // Read as an expression, this would take all memory that there is: filters have none.
    let filter = format!("[{{f=.*a{}}}]", ".".repeat(60));
    let answer = answered(&subscriber, "", "log", &by(7, json!({ "filter": filter }))).await;
    assert_eq!(answer["error"]["code"], "bad_filter", "{answer}");

    // A broker that goes is told once for each reason, whatever was tried meanwhile, and its coming back once.
    let before = log().len();
    mosquitto.stop();
    let door = TcpListener::bind(("127.0.0.1", mosquitto.port)).unwrap();
    for _ in 0..4 {
        drop(door.accept().unwrap());
    }
    drop(door);
    mosquitto.resume();
    let fresh = until("the broker again", PATIENCE, || {
        let fresh = log()[before..].to_owned();
        fresh.contains("connected to the broker").then_some(fresh)
    });
    let reason = |line: &str| Some(line.split_once("no broker at ")?.1.split(';').next()?.to_owned());
    let mut told: Vec<_> = fresh.lines().filter_map(reason).collect();
    let count = told.len();
    told.sort_unstable();
    told.dedup();
    assert!(count > 0 && told.len() == count, "{fresh}");
    assert_eq!(fresh.matches("connected to the broker").count(), 1, "{fresh}");
    assert!(daemon.stop());
}

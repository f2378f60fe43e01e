//! The record as a person puts it right: every change is in the journal once, whenever the daemon is killed, and reaches
//! all who read the game.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, Simulator, fixture, journal, playing, program, until},
};

/// How long a killed daemon had time for a command, at most.
const MOST_MS: u64 = 60;

struct Evening {
    folder: tempfile::TempDir,
    config: PathBuf,
    subscriber: Subscriber,
    _mosquitto: Mosquitto,
    _simulator: Simulator,
}

/// A board whose game has five half-moves, with names, and a public folder.
async fn evening() -> (Evening, Daemon) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let path = fixture("illegal-stands-rapid");
    let (simulator, config) = playing(folder.path(), mosquitto.port, "7", &path, &["--speed", "4"]);
    let mut text = fs::read_to_string(&config).unwrap();
    text.push_str(
        "table = { white = \"Moss, M\", black = \"Tufteland, V\" }\n[broadcast]\nfolder = \"public\"\n",
    );
    fs::write(&config, text).unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    let daemon = Daemon::start(&config);
    subscriber.played("7", 5).await;
    let evening = Evening {
        folder,
        config,
        subscriber,
        _mosquitto: mosquitto,
        _simulator: simulator,
    };
    (evening, daemon)
}

impl Evening {
    fn births(&self) -> usize {
        let is_birth = |got: &&broker::Got| got.topic == "dgt2mqtt/gw/status" && got.text() == "online";
        self.subscriber.all().iter().filter(is_birth).count()
    }

    async fn start(&self) -> Daemon {
        let before = self.births();
        let daemon = Daemon::start(&self.config);
        let listens = async {
            while self.births() == before {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, listens).await.unwrap();
        daemon
    }

    async fn send(&self, verb: &str, payload: &Value) {
        let topic = format!("dgt2mqtt/gw/board/7/cmd/{verb}");
        self.subscriber
            .publish(&topic, false, payload.to_string(), None)
            .await;
    }

    /// The answer to the command with this `ref`.
    async fn answer(&self, verb: &str, payload: &Value) -> Value {
        let topic = format!("dgt2mqtt/gw/board/7/reply/{verb}");
        let is_answer = |got: &broker::Got| got.topic == topic && got.json()["ref"] == payload["ref"];
        let what = format!("the answer to {payload}");
        self.subscriber.wait(&what, is_answer).await.json()
    }

    /// Sends a command and kills the daemon at some instant after it; then sends it again until it is answered.
    async fn through_a_kill(&self, daemon: Daemon, verb: &str, payload: Value) -> (Daemon, Value) {
        self.send(verb, &payload).await;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..MOST_MS))).await;
        daemon.kill();
        let daemon = self.start().await;
        self.send(verb, &payload).await;
        let answer = self.answer(verb, &payload).await;
        (daemon, answer)
    }

    /// The half-moves and the result of a game, as a subscriber puts them together.
    fn heard(&self, game: u64) -> (Vec<String>, String) {
        let mut events: Vec<Value> = Vec::new();
        for got in self.subscriber.all() {
            if got.topic.contains("/7/event/") {
                events.push(got.json());
            }
        }
        events.sort_by_key(|event| event["seq"].as_u64());
        events.dedup_by_key(|event| event["seq"].as_u64());
        folded(&events, game)
    }

    /// The same as the program tells it from its journal.
    fn printed(&self, game: u64) -> String {
        let out = program()
            .args(["pgn", "--config"])
            .arg(&self.config)
            .args(["--game", &game.to_string()])
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    }

    fn public(&self) -> String {
        fs::read_to_string(self.folder.path().join("public/round-1/game-1.pgn")).unwrap_or_default()
    }
}

/// Half-moves and result of a game by its events.
fn folded(events: &[Value], game: u64) -> (Vec<String>, String) {
    let (mut moves, mut result): (Vec<String>, _) = (Vec::new(), "*".to_owned());
    for event in events.iter().filter(|event| event["game"] == game) {
        match event["type"].as_str().unwrap() {
            "move" => {
                moves.truncate(event["ply"].as_u64().unwrap() as usize - 1);
                moves.push(event["uci"].as_str().unwrap().to_owned());
            }
            "moves_retracted" => moves.truncate(event["to_ply"].as_u64().unwrap() as usize),
            "game_ended" => event["result"].as_str().unwrap().clone_into(&mut result),
            "game_resumed" => "*".clone_into(&mut result),
            _ => {}
        }
    }
    (moves, result)
}

#[tokio::test]
async fn every_change_is_kept_once_whenever_the_daemon_is_killed() {
    let (evening, mut daemon) = evening().await;
    let before = journal(&evening.config, "7");
    let (moves, _) = folded(&before, 1);
    assert_eq!(moves.len(), 5);
    let case = before
        .iter()
        .find(|event| event["type"] == "irregularity")
        .map(|event| event["id"].clone())
        .unwrap();

    let steps = [
        ("result", json!({ "result": "1-0", "reason": "the wrong board" })),
        ("resume", json!({ "reason": "it was the wrong board" })),
        // The last half-move is another one, and one was forgotten.
        (
            "correct",
            json!({ "ply": 5, "delete": 1, "insert": ["d2d3", "g8f6"] }),
        ),
        (
            "note",
            json!({ "irregularity": case, "penalty": { "kind": "time", "seconds": 60, "to": "white" } }),
        ),
        (
            "note",
            json!({ "irregularity": case, "penalty": { "kind": "none", "seconds": 0, "to": null }, "note": "taken back" }),
        ),
        ("result", json!({ "result": "0-1" })),
    ];
    for (n, (verb, mut payload)) in steps.into_iter().enumerate() {
        payload["ref"] = json!(format!("step-{n}"));
        let answer;
        (daemon, answer) = evening.through_a_kill(daemon, verb, payload.clone()).await;
        assert_eq!(answer["ok"], true, "{verb} {payload}: {answer}");
    }

    // The next game begins, and the first is put right once more.
    let forfeit = json!({ "ref": "next", "result": "+/-", "game": 2 });
    let answer;
    (daemon, answer) = evening.through_a_kill(daemon, "result", forfeit).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let late = [
        (
            "result",
            json!({ "ref": "late-1", "result": "1/2-1/2", "game": 1 }),
        ),
        (
            "correct",
            json!({ "ref": "late-2", "game": 1, "ply": 7, "insert": ["Nc3"] }),
        ),
        ("reopen", json!({ "ref": "late-3", "irregularity": case })),
        ("dismiss", json!({ "ref": "late-4", "irregularity": case })),
    ];
    for (verb, payload) in late {
        let answer;
        (daemon, answer) = evening.through_a_kill(daemon, verb, payload.clone()).await;
        let told = journal(&evening.config, "7");
        assert_eq!(answer["ok"], true, "{verb} {payload}: {answer}: {told:#?}");
        assert_eq!(answer["state"]["game"]["game"], 1, "{answer}");
    }

    let events = journal(&evening.config, "7");
    let count = |kind: &str| {
        let of = |event: &&Value| event["type"] == kind && event["source"] == "arbiter";
        events.iter().filter(of).count()
    };
    assert_eq!(count("game_ended"), 4, "two of the first, a forfeit, a late one");
    assert_eq!((count("game_resumed"), count("case_noted")), (1, 2));
    assert_eq!(
        (count("irregularity_reopened"), count("irregularity_resolved")),
        (1, 1)
    );
    let (right, result) = folded(&events, 1);
    assert_eq!(right[..4], moves[..4]);
    assert_eq!(right[4..], ["d2d3", "g8f6", "b1c3"]);
    assert_eq!(result, "1/2-1/2");

    // All who read the game read the same.
    let last = events.len() as u64;
    until("all events are heard", Duration::from_secs(20), || {
        let seqs = evening.subscriber.numbers("7");
        seqs.contains(&last).then_some(())
    });
    assert_eq!(evening.heard(1), (right, result));
    let printed = evening.printed(1);
    for text in ["Moss, M", "Nf6", "Nc3", "1/2-1/2", "illegal"] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    let moves_of = |pgn: &str| pgn.split_once("\n\n").map(|(_, moves)| words(moves));
    until("the public has it", Duration::from_secs(20), || {
        (moves_of(&evening.public()) == moves_of(&printed)).then_some(())
    });
    assert!(daemon.stop());
}

/// The move text without line breaks and times of use.
fn words(moves: &str) -> Vec<String> {
    let joined = moves.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.split(" {[%").map(str::to_owned).collect()
}

//! An update in mid-game: the journal that version 0.1.0 left when it was killed is taken up by the program of today, and the
//! game goes on as if nothing had happened.
//!
//! `upgrade/journal-0.1.0.tar.gz` is that journal, with nothing delivered yet and an illegal move not settled:
//! the first 27 seconds of `fixtures/vienna-1910.dgtcap`. `upgrade/rest.dgtcap` is what the board says after them.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{
    broker::{Mosquitto, Subscriber},
    wiring::Wiring,
};

/// Events in the journal of 0.1.0.
const BEFORE: usize = 20;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
}

/// A process that is ended with the value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The board as it stood when 0.1.0 was killed, and its port.
fn board(wiring: Wiring) -> (Process, String) {
    let mut child = program()
        .args(["simulate", "--keep"])
        .args(wiring.options())
        .arg(file("tests/upgrade/rest.dgtcap"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    (Process(child), port.trim().to_owned())
}

/// The journal, as the program of today prints it.
fn journal(config: &Path) -> Vec<String> {
    let output = program()
        .args(["journal", "--config"])
        .arg(config)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// What is told of the game, without what depends on when and where it was seen.
fn story(events: &[Value]) -> Vec<String> {
    let told = |event: &&Value| {
        ![
            "board_connected",
            "board_disconnected",
            "clock_connected",
            "clock_disconnected",
        ]
        .contains(&event["type"].as_str().unwrap())
    };
    let words = |event: &Value| {
        let words = ["type", "ply", "san", "kind", "offender", "how", "result", "game"]
            .map(|field| event[field].to_string());
        words.join(" ")
    };
    events.iter().filter(told).map(words).collect()
}

#[tokio::test]
async fn a_game_goes_on_with_the_journal_of_0_1_0() {
    an_older_journal_is_taken_up(Wiring::Alone).await;
}

#[tokio::test]
async fn so_it_does_where_the_board_hangs_on_a_line_by_now() {
    an_older_journal_is_taken_up(Wiring::Line).await;
}

async fn an_older_journal_is_taken_up(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar")
        .arg("-xzf")
        .arg(file("tests/upgrade/journal-0.1.0.tar.gz"))
        .arg("-C")
        .arg(folder.path())
        .status();
    assert!(unpacked.unwrap().success());
    let broker = Mosquitto::start(folder.path(), "");
    let (_board, port) = board(wiring);
    let config = folder.path().join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"hall\"\n[[board]]\nid = \"demo\"\nport = \"{port}\"\n\
         [broker]\nurls = [\"{}\"]\n[journal]\npath = \"journal.sqlite\"\nmax_age_days = 36500\n",
        broker.url()
    );
    fs::write(&config, text).unwrap();
    let before = journal(&config);
    assert_eq!(before.len(), BEFORE);

    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/hall/board/demo/event/#").await;
    let daemon = program()
        .args(["run", "--config"])
        .arg(&config)
        .stderr(Stdio::null())
        .spawn();
    let daemon = Process(daemon.unwrap());
    let ended = subscriber
        .wait("the end of the game", |got| got.topic.ends_with("/game_ended"))
        .await;
    drop(daemon);

    // Every number once, from the first of 0.1.0 to the last of today.
    let last = ended.json()["seq"].as_u64().unwrap();
    assert_eq!(subscriber.numbers("demo"), (1..=last).collect::<Vec<_>>());
    let after = journal(&config);
    assert_eq!(after[..BEFORE], before[..], "what was kept is what it was");
    let events: Vec<Value> = after
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let restored = events
        .iter()
        .find(|event| event["irregularity"] == "hall/demo/20");
    assert_eq!(
        restored.unwrap()["how"],
        "restored",
        "what was open is settled under its number"
    );

    let whole = fs::read_to_string(file("fixtures/vienna-1910.jsonl")).unwrap();
    let whole: Vec<Value> = whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        story(&events),
        story(&whole),
        "the same game as without the update"
    );
}

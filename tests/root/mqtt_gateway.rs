//! The daemon in this process: a board on TCP, a real broker, commands, a stop within its bound.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::{Config, Env},
    gateway::{self, GatewayError},
    journal::{
        Entry, Journal, JournalSettings,
        query::{Filter, each_event},
    },
};
use serde_json::Value;
use tokio::{io::AsyncReadExt, net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    broker::{self, Mosquitto, PATIENCE, Subscriber},
    disk::{ImageDisk, SmallDisk},
    station,
    wiring::Wiring,
};

/// A port behind which a silent board sits; counts connections, and hangs up on the first ones.
async fn silent_board(hang_ups: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if seen.fetch_add(1, Ordering::Relaxed) >= hang_ups {
                tokio::spawn(async move {
                    let mut sink = [0; 64];
                    while stream.read(&mut sink).await.is_ok_and(|count| count > 0) {}
                });
            }
        }
    });
    (address, count)
}

fn config(folder: &Path, mosquitto: &Mosquitto, boards: &[(&str, &str)]) -> Config {
    with_broker_at(folder, mosquitto.port, boards, Wiring::Alone)
}

/// On a line, the first board's device answers for all of them.
fn with_broker_at(folder: &Path, port: u16, boards: &[(&str, &str)], wiring: Wiring) -> Config {
    let mut text = format!(
        "[gateway]\nname = \"gw\"\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"{}\"\n[limits]\nshutdown_timeout_s = 5\n",
        port,
        folder.join("journal.sqlite").display()
    );
    for (n, (id, address)) in (0..).zip(boards) {
        let port = match wiring {
            Wiring::Alone => wiring.port(n, address),
            Wiring::Line => wiring.port(n, boards[0].1),
        };
        text.push_str(&format!("[[board]]\nid = \"{id}\"\nport = \"{port}\"\n"));
    }
    let mut config = Config::from_text(&text, &folder.join("dgt2mqtt.toml"), &Env::default()).unwrap();
    config.limits.health_interval = Duration::from_secs(1);
    config
}

/// Stops a daemon that has five seconds for it; what holds it up would do so for ever.
async fn stopped_in_time(stop: &CancellationToken, daemon: JoinHandle<Result<(), GatewayError>>) {
    let asked = Instant::now();
    stop.cancel();
    daemon.await.unwrap().unwrap();
    // Half of them are the machine's.
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn it_says_what_it_is_answers_and_stops_in_time() {
    it_answers_and_stops(Wiring::Alone).await;
}

#[tokio::test]
async fn it_does_so_with_a_silent_line_of_boards() {
    it_answers_and_stops(Wiring::Line).await;
}

async fn it_answers_and_stops(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let (seven, connections) = silent_board(2).await;
    let (eight, _) = silent_board(0).await;
    let boards = [("7", &seven[..]), ("8", &eight[..])];
    let config = with_broker_at(folder.path(), mosquitto.port, &boards, wiring);
    let stop = CancellationToken::new();
    let daemon = tokio::spawn(gateway::run(config, stop.clone()));
    subscriber
        .wait("online", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "online"
        })
        .await;
    let info = subscriber
        .wait("info", |got| got.topic == "dgt2mqtt/gw/info")
        .await
        .json();
    assert_eq!(info["boards"], serde_json::json!(["7", "8"]));
    assert_eq!(info["schema_version"], 1);
    let health = subscriber
        .wait("health", |got| {
            got.topic == "dgt2mqtt/gw/health" && got.json()["uptime_s"].as_f64() > Some(0.9)
        })
        .await
        .json();
    assert!(health["outbox_depth"].is_u64(), "{health}");
    subscriber
        .publish("dgt2mqtt/gw/cmd/ping", false, r#"{"ref":"p"}"#, None)
        .await;
    let pong = subscriber
        .wait("pong", |got| got.topic == "dgt2mqtt/gw/reply/ping")
        .await
        .json();
    assert_eq!((&pong["ref"], &pong["ok"]), (&"p".into(), &true.into()));
    assert_eq!(pong["state"]["boot_id"], info["boot_id"]);
    subscriber
        .publish("dgt2mqtt/gw/cmd/republish", false, r#"{"ref":"q"}"#, None)
        .await;
    let reply = subscriber
        .wait("the reply", |got| got.topic == "dgt2mqtt/gw/reply/republish")
        .await
        .json();
    assert!(reply["state"]["topics"].as_u64() > Some(2), "{reply}");
    subscriber
        .publish("dgt2mqtt/gw/board/8/cmd/resync", false, r#"{"ref":"r"}"#, None)
        .await;
    let reply = subscriber
        .wait("the reply", |got| got.topic == "dgt2mqtt/gw/board/8/reply/resync")
        .await
        .json();
    assert!(reply["ref"] == "r" && reply["ok"].is_boolean(), "{reply}");
    let deadline = Instant::now() + PATIENCE;
    while connections.load(Ordering::Relaxed) < 3 {
        assert!(Instant::now() < deadline, "board 7 is not opened again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stopped_in_time(&stop, daemon).await;
    subscriber
        .wait("offline", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "offline"
        })
        .await;
    subscriber
        .wait("offline", |got| {
            got.topic == "dgt2mqtt/gw/board/8/status" && got.text() == "offline"
        })
        .await;
}

#[tokio::test]
async fn it_stops_in_time_without_a_broker() {
    it_stops_without_a_broker(Wiring::Alone).await;
}

#[tokio::test]
async fn so_it_does_with_a_silent_line_of_boards() {
    it_stops_without_a_broker(Wiring::Line).await;
}

async fn it_stops_without_a_broker(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    mosquitto.stop();
    let (seven, _) = silent_board(0).await;
    let config = with_broker_at(folder.path(), mosquitto.port, &[("7", &seven)], wiring);
    let stop = CancellationToken::new();
    let daemon = tokio::spawn(gateway::run(config, stop.clone()));
    tokio::time::sleep(Duration::from_millis(500)).await;
    stopped_in_time(&stop, daemon).await;
}

#[tokio::test]
async fn a_second_daemon_on_the_same_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let (seven, _) = silent_board(0).await;
    let config = config(folder.path(), &mosquitto, &[("7", &seven)]);
    let stop = CancellationToken::new();
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/status").await;
    let first = tokio::spawn(gateway::run(config.clone(), stop.clone()));
    subscriber.wait("online", |got| got.text() == "online").await;
    let refused = gateway::run(config, stop.clone()).await.unwrap_err();
    assert!(matches!(refused, GatewayError::Journal(_)), "{refused}");
    stop.cancel();
    first.await.unwrap().unwrap();
}

/// The notices of a board in the journal, as number and code.
fn notices(folder: &Path, board: &str) -> Vec<(u64, String)> {
    let filter = Filter {
        board: Some(board.to_owned()),
        kind: Some("notice".to_owned()),
        ..Filter::default()
    };
    let mut found = Vec::new();
    each_event(&folder.join("journal.sqlite"), &filter, |kept| {
        let json = kept.json;
        let event: Value = serde_json::from_str(json).unwrap();
        found.push((
            event["seq"].as_u64().unwrap(),
            event["code"].as_str().unwrap().to_owned(),
        ));
        true
    })
    .unwrap();
    found
}

#[tokio::test]
async fn a_full_disk_is_an_event_of_every_board_once_at_its_start_and_at_its_end() {
    a_disk_is_full(Wiring::Alone).await;
}

#[tokio::test]
async fn a_full_disk_is_an_event_of_every_board_of_a_line() {
    a_disk_is_full(Wiring::Line).await;
}

async fn a_disk_is_full(wiring: Wiring) {
    let (here, small) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(disk) = SmallDisk::mount(small.path()) else {
        return;
    };
    let mosquitto = Mosquitto::start(here.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let ((seven, _), (eight, _)) = (silent_board(0).await, silent_board(0).await);
    let boards = [("7", &seven[..]), ("8", &eight[..])];
    let config = with_broker_at(small.path(), mosquitto.port, &boards, wiring);
    let stop = CancellationToken::new();
    let daemon = tokio::spawn(gateway::run(config, stop.clone()));
    subscriber
        .wait("online", |got| got.topic == "dgt2mqtt/gw/status")
        .await;
    disk.fill();
    // Commands are journalled: these find the disk full.
    for reference in 0..10 {
        let payload = format!(r#"{{"ref":{reference}}}"#);
        subscriber
            .publish("dgt2mqtt/gw/board/8/cmd/resync", false, payload, None)
            .await;
    }
    for board in ["7", "8"] {
        let event = said_by(&subscriber, board, "disk_full").await;
        // No disk has its number, so no later run may come to it.
        assert!(event["seq"].as_u64() > Some(1_000_000_000), "{event}");
        assert_eq!(event["id"], format!("gw/{board}/{}", event["seq"]));
    }
    disk.grow();
    for board in ["7", "8"] {
        said_by(&subscriber, board, "journal_recovered").await;
    }
    stop.cancel();
    daemon.await.unwrap().unwrap();
    for board in ["7", "8"] {
        let (seqs, mut codes): (Vec<_>, Vec<_>) = notices(small.path(), board).into_iter().unzip();
        assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1), "{seqs:?}");
        assert_eq!(codes.last().map(String::as_str), Some("journal_recovered"));
        codes.sort();
        assert_eq!(codes, ["disk_full", "journal_recovered", "journal_unsecured"]);
    }
}

/// Whoever configures that board again needs its numbers, and a journal in memory does not keep them.
#[tokio::test]
async fn what_the_broker_has_of_other_boards_stays_where_no_disk_keeps_their_numbers() {
    let (here, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    disk.set_read_only(true);
    let mosquitto = Mosquitto::start(here.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/7/#").await;
    let former = "dgt2mqtt/gw/board/9/game";
    let game = r#"{"last_seq":5,"game":1}"#.to_owned();
    subscriber.publish(former, true, game, None).await;
    let (seven, _) = silent_board(0).await;
    let config = with_broker_at(&at("disk"), mosquitto.port, &[("7", &seven[..])], Wiring::Alone);
    let stop = CancellationToken::new();
    let daemon = tokio::spawn(gateway::run(config, stop.clone()));
    said_by(&subscriber, "7", "journal_failing").await;
    stopped_in_time(&stop, daemon).await;
    let later = Subscriber::new(mosquitto.port, former).await;
    later.wait("the game of board 9", |got| got.retain).await;
    drop(disk);
}

/// Waits until a board says it in an event, and returns that.
async fn said_by(subscriber: &Subscriber, board: &str, code: &str) -> Value {
    let topic = format!("dgt2mqtt/gw/board/{board}/event/notice");
    let got = subscriber
        .wait(code, |got| got.topic == topic && got.json()["code"] == code)
        .await;
    got.json()
}

#[tokio::test]
async fn a_journal_that_was_set_aside_is_the_first_event_of_every_board() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let (seven, _) = silent_board(0).await;
    std::fs::write(folder.path().join("journal.sqlite"), vec![0xa5; 8192]).unwrap();
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/status").await;
    for start in 1..=2 {
        let config = config(folder.path(), &mosquitto, &[("7", &seven)]);
        let stop = CancellationToken::new();
        let daemon = tokio::spawn(gateway::run(config, stop.clone()));
        let births = |_: &broker::Got| {
            let said = subscriber.all();
            said.iter().filter(|got| got.text() == "online").count() >= start
        };
        subscriber.wait("online", births).await;
        if start == 1 {
            let deadline = Instant::now() + PATIENCE;
            while notices(folder.path(), "7").is_empty() {
                assert!(Instant::now() < deadline, "nothing is said of the journal");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } else {
            // It would say it at its start.
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        stop.cancel();
        daemon.await.unwrap().unwrap();
    }
    let said = notices(folder.path(), "7");
    assert_eq!(said.len(), 1, "the second start found nothing: {said:?}");
    assert_eq!(said[0].1, "journal_damaged");
    assert!(said[0].0 > 1_000_000, "its number shows the jump: {said:?}");
}

/// Nothing of the journal is lost for it, and the numbers go on. The notice waits for no board and no broker.
#[tokio::test]
async fn a_snapshot_that_cannot_be_used_is_the_first_event_of_its_board() {
    a_snapshot_cannot_be_used(Wiring::Alone).await;
}

#[tokio::test]
async fn so_it_is_of_each_board_of_a_line() {
    a_snapshot_cannot_be_used(Wiring::Line).await;
}

async fn a_snapshot_cannot_be_used(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let damages = [
        ("7", r#"{"seq":2,"game":{}}"#, "it cannot be read: missing field"),
        ("8", r#"{"version":9,"seq":2}"#, "it has version 9"),
    ];
    {
        let (journal, _) = Journal::open(JournalSettings::at(&path), "gw").unwrap();
        for (board, snapshot, _) in damages {
            let entry = Entry {
                board: board.to_owned(),
                events: (1..=2).map(|seq| station::event(board, seq)).collect(),
                snapshot: Some(snapshot.to_owned()),
                command: None,
            };
            journal.append(entry).await.await.unwrap();
        }
        journal.close().await;
    }
    let nobody = [(); 2].map(|()| format!("127.0.0.1:{}", broker::free_port()));
    let boards = [("7", nobody[0].as_str()), ("8", nobody[1].as_str())];
    // The second start finds what the first one kept.
    for _ in 1..=2 {
        let config = with_broker_at(folder.path(), broker::free_port(), &boards, wiring);
        let stop = CancellationToken::new();
        let daemon = tokio::spawn(gateway::run(config, stop.clone()));
        let deadline = Instant::now() + PATIENCE;
        while damages
            .iter()
            .any(|(board, ..)| notices(folder.path(), board).len() < 3)
        {
            assert!(Instant::now() < deadline, "nothing is said of the snapshots");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stopped_in_time(&stop, daemon).await;
    }
    for (board, _, why) in damages {
        let mut kept = Vec::new();
        let filter = Filter {
            board: Some(board.to_owned()),
            ..Filter::default()
        };
        each_event(&path, &filter, |event| {
            kept.push(serde_json::from_str::<Value>(event.json).unwrap());
            true
        })
        .unwrap();
        let seqs: Vec<_> = kept.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, [1, 2, 3], "board {board}");
        assert_eq!(kept[2]["code"], "snapshot_set_aside");
        let message = kept[2]["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
    }
}

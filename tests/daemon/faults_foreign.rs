//! Somebody else writes, and much of it, where only gateways write: neither memory nor the log pays for it, and nothing of it stays.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::journal::{Entry, Journal, JournalSettings};
use serde_json::json;

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, one_board},
    station::{Station, broker as plain},
};

const BOARDS: usize = 1_000;
/// A service has 256 MiB, in which boards want room as well.
const MOST_KIB: u64 = 120 << 10;

/// The most memory that the process has had, in KiB.
fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn log(config: &Path) -> String {
    fs::read_to_string(config.with_file_name("daemon.log")).unwrap()
}

/// Retains a game of 100 kB at each board that nobody configured.
async fn write_games(writer: &Subscriber) {
    for n in 0..BOARDS {
        let game = json!({ "last_seq": 5, "game": 1, "moves": vec!["e2e4"; 14_300] }).to_string();
        assert!(game.len() > 100_000);
        let topic = format!("dgt2mqtt/gw/board/x{n}/game");
        writer.publish(&topic, true, game, None).await;
    }
}

/// How many such games the broker retains.
async fn retained(port: u16) -> usize {
    let subscriber = Subscriber::new(port, "dgt2mqtt/gw/board/+/game").await;
    // Its own board is there: what is retained has come.
    subscriber
        .wait("the game of our own", |got| got.topic.ends_with("/1/game"))
        .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let all = subscriber.all();
    all.iter().filter(|got| got.topic.contains("/board/x")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_retain_at_boards_that_nobody_configured_costs_no_memory_and_is_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let events = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    write_games(&events).await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let daemon = Daemon::start(&config);
    events
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let deadline = Instant::now() + PATIENCE;
    let mut left = BOARDS;
    while left > 0 {
        assert!(Instant::now() < deadline, "{left} are left");
        left = retained(mosquitto.port).await;
    }
    let at_start = peak_kib(daemon.id());
    // The same while it runs.
    write_games(&events).await;
    events
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    let peak = peak_kib(daemon.id());
    let log = log(&config);
    let lines = log.lines().filter(|line| line.contains("x1")).count();
    println!(
        "{at_start} KiB at the start, {peak} KiB later, {} lines, {lines} of such boards",
        log.lines().count()
    );
    assert!(peak < MOST_KIB, "{at_start} KiB at the start, {peak} KiB later");
    assert!(lines < 50 && log.lines().count() < 200, "{log}");
    assert!(daemon.stop());
}

/// A journal that knows as many boards as it takes up of those that nobody configured.
async fn fill_journal(folder: &Path) {
    let settings = JournalSettings::at(folder.join("journal.sqlite"));
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let mut last = None;
    for n in 0..4_000 {
        let entry = Entry {
            board: format!("k{n}"),
            snapshot: Some("{}".to_owned()),
            ..Entry::default()
        };
        last = Some(journal.append(entry).await);
    }
    last.unwrap().await.unwrap();
    journal.close().await;
}

/// Only the broker knows the numbers of boards that the journal has left out.
#[tokio::test]
async fn what_the_journal_has_no_room_for_stays_with_the_broker() {
    let folder = tempfile::tempdir().unwrap();
    fill_journal(folder.path()).await;
    let mosquitto = Mosquitto::start(folder.path(), "");
    let writer = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    for (board, last_seq) in [("k1", 0), ("x1", 5), ("x2", 5)] {
        let game = json!({ "last_seq": last_seq, "game": 0 }).to_string();
        let topic = format!("dgt2mqtt/gw/board/{board}/game");
        writer.publish(&topic, true, game, None).await;
    }
    let numbers = json!({ "ceiling": 64 }).to_string();
    writer
        .publish("dgt2mqtt/gw/board/x2/numbers", true, numbers, None)
        .await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    let is_cleared = |got: &Got| got.payload.is_empty() && got.topic.contains("/board/");
    writer
        .wait("what is taken away", |got| {
            is_cleared(got) && got.topic.ends_with("/k1/game")
        })
        .await;
    station.feed("7", 1..=1).await;
    station.delivered().await;
    station.shut_down().await;
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/#").await;
    subscriber
        .wait("a ceiling", |got| got.topic.ends_with("/x2/numbers"))
        .await;
    for board in ["x1", "x2"] {
        subscriber
            .wait("a game", |got| got.topic.ends_with(&format!("/{board}/game")))
            .await;
    }
    assert!(
        writer
            .all()
            .iter()
            .all(|got| !is_cleared(got) || got.topic.contains("/k1/"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_words_about_the_name_fills_no_log_and_has_few_answers() {
    const WORDS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let claims = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/claim").await;
    let events = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let daemon = Daemon::start(&config);
    events
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let begun = Instant::now();
    for n in 0..WORDS {
        let word = json!({ "boot": format!("z-{n}"), "host": "stranger", "holds": false }).to_string();
        claims.publish("dgt2mqtt/gw/claim", false, word, None).await;
    }
    let answers = || {
        let all = claims.all().into_iter();
        all.filter(|got| got.json()["holds"] == true).collect::<Vec<_>>()
    };
    claims
        .wait("the last word", |got| {
            got.json()["boot"] == format!("z-{}", WORDS - 1)
        })
        .await;
    claims.wait("an answer", |got| got.json()["holds"] == true).await;
    events
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    let (count, seconds) = (answers().len(), begun.elapsed().as_secs() as usize);
    assert!(count <= 2 * seconds + 3, "{count} answers in {seconds} s");
    assert!(answers().iter().all(|got| got.json()["journal"].is_string()));
    let log = log(&config);
    let lines = log.lines().filter(|line| line.contains("of our name")).count();
    println!("{count} answers in {seconds} s, {lines} lines");
    assert!((1..=20).contains(&lines), "{lines} lines");
    assert!(daemon.stop());
}

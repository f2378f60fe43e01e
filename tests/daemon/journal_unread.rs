//! The journal is there, and cannot be read while the daemon begins: a network folder whose server has forgotten the file. Later it can.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    broker::{Got, Mosquitto, Subscriber},
    hall::{Daemon, journal},
    seated::Players,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_can_be_read_later_does_not_mix_with_what_was_told_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (library, sign) = (at("unreadable.so"), at("unreadable"));
    build("unreadable.c", &library);
    let broker = Mosquitto::start(folder.path(), "");
    let players = Players::sit_down(1);
    let config = players.configure(folder.path(), &broker.url());
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
    let start = || {
        Daemon::start_with(&config, |command| {
            command.env("LD_PRELOAD", &library).env("UNREADABLE_WHILE", &sign);
        })
    };
    let daemon = start();
    let begun = |got: &Got| got.topic.ends_with("/event/board_connected");
    subscriber.wait("the board", begun).await;
    players.play("e2e4 e7e5");
    subscriber.played("1", 2).await;
    daemon.kill();

    fs::write(&sign, "").unwrap();
    let daemon = start();
    players.play("g1f3");
    subscriber.played("1", 3).await;
    fs::remove_file(&sign).unwrap();
    let is_mended = |got: &Got| {
        let text = got.text();
        got.topic.ends_with("/gw/health") && text.contains("journal_unread") && text.contains(".unread-")
    };
    subscriber.wait("that it is set aside", is_mended).await;
    players.play("b8c6");
    subscriber.played("1", 4).await;
    daemon.kill();
    let daemon = start();
    players.play("f1b5");
    subscriber.played("1", 5).await;
    assert!(daemon.stop());

    let events = subscriber.all().into_iter();
    let events: Vec<Value> = events
        .filter(|got| got.topic.contains("/board/1/event/"))
        .map(|got| got.json())
        .collect();
    assert_is_in_order(&events);
    assert!(
        events.iter().any(|event| event["code"] == "journal_unread"),
        "the board says why numbers jump"
    );
    assert!(!journal(&config, "1").is_empty());
}

/// After a clean end the file is alone. A quota of files, or of descriptors, keeps SQLite from making what it needs beside it.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_where_no_file_can_be_made_works_from_memory_until_one_can() {
    const QUOTA: (i32, &str) = (122, "quota");
    const DESCRIPTORS: (i32, &str) = (24, "LimitNOFILE");
    for (errno, remedy) in [QUOTA, DESCRIPTORS] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (library, sign) = (at("refusing.so"), at("refusing"));
        build("refusing.c", &library);
        let broker = Mosquitto::start(folder.path(), "");
        let players = Players::sit_down(1);
        let config = players.configure(folder.path(), &broker.url());
        let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
        let start = || {
            Daemon::start_with(&config, |command| {
                command.env("LD_PRELOAD", &library).env("REFUSING_WHILE", &sign);
            })
        };
        let daemon = start();
        let begun = |got: &Got| got.topic.ends_with("/event/board_connected");
        subscriber.wait("the board", begun).await;
        players.play("e2e4 e7e5");
        subscriber.played("1", 2).await;
        assert!(daemon.stop());

        fs::write(&sign, errno.to_string()).unwrap();
        let daemon = start();
        players.play("g1f3");
        subscriber.played("1", 3).await;
        let is_told = |got: &Got| {
            let text = got.text();
            got.topic.ends_with("/gw/health") && text.contains("journal_failing") && text.contains(remedy)
        };
        subscriber.wait("the cause and the remedy", is_told).await;
        fs::remove_file(&sign).unwrap();
        let is_mended =
            |got: &Got| got.topic.ends_with("/event/notice") && got.json()["code"] == "journal_recovered";
        subscriber.wait("that it is written again", is_mended).await;
        assert!(daemon.stop());
        let kept = journal(&config, "1");
        assert!(kept.iter().any(|event| event["ply"] == 3));
        let events = subscriber.all().into_iter();
        let events: Vec<Value> = events
            .filter(|got| got.topic.contains("/board/1/event/"))
            .map(|got| got.json())
            .collect();
        assert_is_in_order(&events);
    }
}

/// Asserts that no number has two contents, and that what comes again is all that comes out of order.
fn assert_is_in_order(events: &[Value]) {
    let mut told: BTreeMap<u64, &Value> = BTreeMap::new();
    for event in events {
        let seq = event["seq"].as_u64().unwrap();
        let last = told.keys().next_back().copied().unwrap_or(0);
        match told.get(&seq) {
            Some(before) => assert_eq!(*before, event),
            None => assert!(seq > last, "{seq} comes after {last}"),
        }
        told.insert(seq, event);
    }
}

fn build(source: &str, library: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/help")
        .join(source);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(source)
        .arg("-ldl");
    assert!(cc.status().unwrap().success(), "a C compiler is needed");
}

//! A broker that does not let a gateway read what it published.

use std::{collections::BTreeSet, fs, time::Duration};

use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, one_board},
    numbered::numbered,
    proxy::{Fault, Proxy},
    station::{Station, broker as plain},
};

fn events(subscriber: &Subscriber) -> Vec<Value> {
    let got = subscriber.all().into_iter();
    got.filter(|got| got.topic.contains("/event/"))
        .map(|got| got.json())
        .collect()
}

/// The notices of numbers that begin far up. One may come again after a kill, and is the same.
fn jumps(subscriber: &Subscriber) -> BTreeSet<String> {
    let told = events(subscriber).into_iter();
    told.filter(|event| event["code"] == "numbers_unknown")
        .map(|event| event["id"].to_string())
        .collect()
}

/// Neither the disk nor the broker tells which numbers were given out: a new journal begins in a range of its own.
#[tokio::test(flavor = "multi_thread")]
async fn where_it_lets_nobody_read_a_lost_journal_gives_no_number_twice() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("acl");
    fs::write(
        &rules,
        "topic readwrite dgt2mqtt/gw/board/+/event/#\ntopic write dgt2mqtt/#\n",
    )
    .unwrap();
    let access = format!("allow_anonymous true\nacl_file {}", rules.display());
    let broker = Mosquitto::start(folder.path(), &access);
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
    let (_simulator, config) = one_board(folder.path(), broker.port);
    let journal = folder.path().join("journal.sqlite");
    // It is lost after the first run, and not after the second.
    for (is_lost, said) in [(true, 1), (false, 2), (false, 2)] {
        let before = events(&subscriber).len();
        let daemon = Daemon::start(&config);
        subscriber
            .until("events", || {
                events(&subscriber).len() > before + 4 && jumps(&subscriber).len() >= said
            })
            .await;
        daemon.kill();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(jumps(&subscriber).len(), said);
        if is_lost {
            for suffix in ["", "-wal", "-shm", ".lock"] {
                let mut name = journal.clone().into_os_string();
                name.push(suffix);
                let _ = fs::remove_file(name);
            }
            assert!(!journal.exists());
        }
    }
    let told = numbered(&events(&subscriber), "1").unwrap();
    assert!(told[0]["seq"].as_u64() > Some(1_000_000_000), "{}", told[0]);
}

/// Retains that the boards of a station, and `others`, were told up to number 100.
async fn told_up_to_100(subscriber: &Subscriber, others: usize) {
    let others = (0..others).map(|n| format!("other-{n}"));
    for board in others.chain(["7".to_owned(), "8".to_owned()]) {
        let topic = format!("dgt2mqtt/gw/board/{board}/game");
        let game = r#"{"last_seq":100,"game":1}"#;
        subscriber.publish(&topic, true, game, None).await;
    }
    subscriber
        .wait("the last of them", |got| got.topic.ends_with("/8/game"))
        .await;
}

/// The journal of the station is behind what the broker knows: nothing may go out under its numbers.
async fn finds_that_it_is_behind(station: Station, subscriber: &Subscriber) {
    let mut disputed = station.journal.disputed();
    let found = tokio::time::timeout(PATIENCE, disputed.wait_for(|is| *is)).await;
    found.expect("it sends what it has").unwrap();
    assert!(events(subscriber).is_empty());
    station.shut_down().await;
}

/// A broker hands out so many retained messages, and the others as those are acknowledged.
#[tokio::test]
async fn where_our_own_message_is_refused_the_broker_is_heard_out_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("acl");
    let rights = "topic read dgt2mqtt/#\ntopic write dgt2mqtt/gw/board/#\ntopic write dgt2mqtt/gw/status\n";
    fs::write(&rules, rights).unwrap();
    let quiet = Mosquitto::start(folder.path(), "");
    let filler = Subscriber::new(quiet.port, "dgt2mqtt/#").await;
    told_up_to_100(&filler, 300).await;
    let saved = quiet.saved();
    drop(quiet);
    let access = format!("allow_anonymous true\nacl_file {}", rules.display());
    let mut broker = Mosquitto::start_refusing(folder.path(), &access);
    broker.crash(Some(&saved));
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
    let station = Station::start(folder.path(), plain(vec![broker.url()]));
    station.feed("7", 1..=3).await;
    station.feed("8", 1..=3).await;
    finds_that_it_is_behind(station, &subscriber).await;
}

/// A connection that breaks off at the first answer tells nothing of our own message.
#[tokio::test]
async fn a_line_that_breaks_off_and_then_stands_still_hides_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
    told_up_to_100(&subscriber, 0).await;
    let faults = [
        Fault::CutAtMessage,
        Fault::StillAfterGrant(Duration::from_secs(5)),
    ];
    let proxy = Proxy::before(broker.port, &faults, Fault::None).await;
    let station = Station::start(folder.path(), plain(vec![proxy.url.clone()]));
    station.feed("7", 1..=3).await;
    finds_that_it_is_behind(station, &subscriber).await;
}

//! Events of a board leave in order whatever the broker refuses: one kind of event for a while, or what is above its limit.

use std::{path::Path, process::Command, time::Duration};

use dgt2mqtt::{
    event::{Body, Event},
    journal::Entry,
};
use fastrand::Rng;

use crate::{
    broker::{Mosquitto, Subscriber},
    seed::{in_rounds, rng, rounds},
    station::{self, Station, broker as plain},
};

/// An event of one of two types.
fn event(board: &str, seq: u64, is_offence: bool, size: usize) -> Event {
    let body = if is_offence {
        Body::Notice {
            code: "test".to_owned(),
            message: "x".repeat(size),
        }
    } else {
        Body::BoardDisconnected {
            reason: format!("event {seq}"),
        }
    };
    Event {
        body,
        ..station::event(board, seq)
    }
}

async fn feed(station: &Station, board: &str, events: impl IntoIterator<Item = Event>) {
    for event in events {
        let entry = Entry {
            board: board.to_owned(),
            events: vec![event],
            ..Entry::default()
        };
        station.journal.append(entry).await.await.unwrap();
    }
}

/// Who may write what; taken over by a broker that runs.
fn allow(folder: &Path, notices: bool) {
    let kind = if notices { "+" } else { "board_disconnected" };
    let rules = format!(
        "topic read #\ntopic write dgt2mqtt/gw/+\ntopic write dgt2mqtt/gw/board/+/+\ntopic write dgt2mqtt/gw/board/+/event/{kind}\n"
    );
    std::fs::write(folder.join("acl"), rules).unwrap();
}

#[tokio::test]
async fn one_kind_of_event_that_is_refused_for_a_while_is_waited_for() {
    let mut rng = rng();
    for round in 0..rounds() {
        let folder = tempfile::tempdir().unwrap();
        allow(folder.path(), false);
        let access = format!(
            "allow_anonymous true\nacl_file {}",
            folder.path().join("acl").display()
        );
        let mosquitto = Mosquitto::start_with(folder.path(), &access, "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
        let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
        let offences: Vec<u64> = (0..3).map(|_| rng.u64(2..20)).collect();
        for board in ["7", "8"] {
            let events = (1..=20).map(|seq| event(board, seq, board == "7" && offences.contains(&seq), 50));
            feed(&station, board, events).await;
        }
        subscriber
            .wait("all of board 8", |got| {
                got.topic.contains("/8/event/") && got.json()["seq"] == 20
            })
            .await;
        tokio::time::sleep(Duration::from_millis(rng.u64(0..3000))).await;
        let first = *offences.iter().min().unwrap();
        assert!(subscriber.numbers("7").len() < usize::try_from(first).unwrap());
        allow(folder.path(), true);
        let id = mosquitto.process().to_string();
        assert!(
            Command::new("kill")
                .args(["-HUP", &id])
                .status()
                .unwrap()
                .success()
        );
        station.delivered().await;
        subscriber
            .wait("all of board 7", |got| {
                got.topic.contains("/7/event/") && got.json()["seq"] == 20
            })
            .await;
        assert_eq!(
            subscriber.numbers("7"),
            (1..=20).collect::<Vec<_>>(),
            "round {round}"
        );
        station.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_above_the_brokers_limit_goes_in_a_short_form_in_its_turn() {
    in_rounds(some_are_above_the_limit).await;
}

async fn some_are_above_the_limit(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start_with(folder.path(), "allow_anonymous true\nmax_packet_size 700", "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    let large: Vec<u64> = (0..5).map(|_| random.u64(1..=20)).collect();
    let events = (1..=20).map(|seq| event("7", seq, large.contains(&seq), 900));
    feed(&station, "7", events).await;
    station.delivered().await;
    subscriber
        .wait("the last", |got| {
            got.topic.contains("/7/event/") && got.json()["seq"] == 20
        })
        .await;
    assert_eq!(subscriber.numbers("7"), (1..=20).collect::<Vec<_>>());
    let short = subscriber
        .all()
        .into_iter()
        .filter(|got| got.topic.ends_with("/event/notice"));
    for got in short {
        let event = got.json();
        assert_eq!(
            (&event["code"], &event["abridged"]),
            (&"event_abridged".into(), &true.into())
        );
        assert!(event["message"].as_str().unwrap().contains("history"), "{event}");
    }
    station.shut_down().await;
}

//! Commands through a real broker: what reaches the gateway, what is refused at the door.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, dead_code)] // a test, with tasks of its own.

mod broker;

use std::time::Duration;

use broker::{Mosquitto, Station, Subscriber, broker as plain};
use dgt2mqtt::mqtt::Target;

#[tokio::test]
async fn a_command_arrives_and_its_answer_goes_where_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let mut station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    subscriber.wait("online", |got| got.text() == "online").await;
    let answer = Some(("arbiter/inbox", "c-1"));
    subscriber
        .publish(
            "dgt2mqtt/gw/board/7/cmd/new_game",
            false,
            r#"{"ref":"r1"}"#,
            answer,
        )
        .await;
    let request = station.requests.recv().await.unwrap();
    assert!(matches!(&request.target, Target::Board { board, .. } if board == "7"));
    station
        .handle
        .reply(request.answer.done(serde_json::json!({ "game": null })));
    let got = subscriber
        .wait("the reply", |got| got.topic == "arbiter/inbox")
        .await;
    assert_eq!(
        got.json(),
        serde_json::json!({ "ref": "r1", "ok": true, "state": { "game": null } })
    );
    assert_eq!(got.correlation.as_deref(), Some("c-1".as_bytes()));
    station.shut_down().await;
}

#[tokio::test]
async fn bad_commands_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let mut station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    subscriber.wait("online", |got| got.text() == "online").await;
    let large = vec![b' '; 100_000];
    let cases: [(&str, &[u8], bool, &str); 6] = [
        ("board/7/cmd/new_game", b"{", false, "bad_json"),
        ("board/7/cmd/set_position", &large, false, "too_large"),
        ("board/7/cmd/explode", b"{}", false, "unknown_verb"),
        ("board/99/cmd/resync", b"{}", false, "unknown_board"),
        ("board/7/cmd/retract", br#"{"to_ply":"x"}"#, false, "bad_fields"),
        ("cmd/ping", b"{}", true, "retained"),
    ];
    for (topic, payload, retain, code) in cases {
        subscriber
            .publish(&format!("dgt2mqtt/gw/{topic}"), retain, payload, None)
            .await;
        let reply = format!("dgt2mqtt/gw/{}", topic.replace("cmd/", "reply/"));
        let got = subscriber.wait(code, |got| got.topic == reply).await;
        assert_eq!(got.json()["ok"], false);
        assert_eq!(got.json()["error"]["code"], code, "{topic}");
    }
    assert!(station.requests.try_recv().is_err(), "nothing passed the door");
    station.shut_down().await;
}

#[tokio::test]
async fn a_command_that_lay_on_the_broker_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/+/reply/#").await;
    let topic = "dgt2mqtt/gw/board/7/cmd/new_game";
    subscriber.publish(topic, true, r#"{"ref":1}"#, None).await;
    let mut station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    let got = subscriber.wait("the refusal", |_| true).await;
    assert_eq!(got.json()["error"]["code"], "retained");
    assert_eq!(got.json()["ref"], 1);
    assert!(station.requests.try_recv().is_err());
    station.shut_down().await;
}

#[tokio::test]
async fn ten_megabytes_retained_on_a_command_topic_do_not_stop_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/+/event/#").await;
    let topic = "dgt2mqtt/gw/board/7/cmd/new_game";
    let sender = broker::large_sender(mosquitto.port).await;
    sender.publish(topic, true, vec![b'x'; 10 << 20], None).await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    station.connected().await;
    sender.publish(topic, false, vec![b'x'; 10 << 20], None).await;
    station.feed("7", 1..=5).await;
    subscriber
        .wait("the last event", |got| got.json()["seq"] == 5)
        .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(station.handle.figures().connected);
    assert!(
        station.handle.figures().connects <= 3,
        "{:?}",
        station.handle.figures()
    );
    station.shut_down().await;
}

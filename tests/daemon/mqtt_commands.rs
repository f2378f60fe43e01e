//! Commands through a real broker: what reaches the gateway, what is refused at the door.

use std::time::Duration;

use dgt2mqtt::mqtt::Target;
use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, fixture, playing},
    station::{Station, broker as plain},
};

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

/// Sends a command to board 7; returns its answer.
async fn asked(subscriber: &Subscriber, verb: &str, payload: Value) -> Value {
    // A name for this exchange: the same `ref` may be sent twice.
    let exchange = format!("x-{}", fastrand::u64(..));
    let topic = format!("dgt2mqtt/gw/board/7/cmd/{verb}");
    let answer = Some(("arbiter/inbox", exchange.as_str()));
    subscriber
        .publish(&topic, false, payload.to_string(), answer)
        .await;
    let answers = |got: &broker::Got| {
        got.topic == "arbiter/inbox" && got.correlation.as_deref() == Some(exchange.as_bytes())
    };
    let got = subscriber.wait(&format!("the answer to {verb}"), answers).await;
    assert_eq!(got.json()["ref"], payload["ref"]);
    got.json()
}

/// Events of a type that board 7 has sent so far, each once.
fn told(subscriber: &Subscriber, kind: &str) -> Vec<Value> {
    let topic = format!("dgt2mqtt/gw/board/7/event/{kind}");
    let mut events: Vec<Value> = Vec::new();
    for got in subscriber.all().iter().filter(|got| got.topic == topic) {
        let event = got.json();
        if !events.iter().any(|known| known["id"] == event["id"]) {
            events.push(event);
        }
    }
    events
}

/// Rapid with too few arbiters: a person reports two hands, says who raised it, asks twice, the
/// daemon is killed in between, and in the end it was nothing.
#[tokio::test]
async fn what_an_arbiter_reports_is_ruled_on_once_also_across_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let path = fixture("illegal-stands-rapid");
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "7", &path, &[]);
    let daemon = Daemon::start(&config);
    subscriber.played("7", 5).await;
    let found = told(&subscriber, "irregularity").len();

    let report = json!({ "ref": "r-1", "kind": "two_hands", "offender": "white" });
    let first = asked(&subscriber, "report", report.clone()).await;
    assert_eq!(first["ok"], true, "{first}");
    let is_report =
        |got: &broker::Got| got.topic.ends_with("/irregularity") && got.json()["kind"] == "two_hands";
    let said = subscriber
        .wait("the ruling on the report", is_report)
        .await
        .json();
    assert_eq!((&said["offender"], &said["ply"]), (&json!("white"), &json!(5)));
    assert_eq!(said["ruling"]["penalty"]["kind"], "time");
    assert_eq!(said["ruling"]["penalty"]["to"], "black");
    let id = &said["id"];
    assert_eq!(first["state"]["game"]["open_irregularities"], json!([id]));

    for (n, (by, kind)) in [("nobody", "none"), ("opponent", "time")].into_iter().enumerate() {
        let command = json!({ "ref": format!("by-{n}"), "irregularity": id, "by": by });
        assert_eq!(asked(&subscriber, "raised_by", command).await["ok"], true);
        let amended = |got: &broker::Got| {
            got.topic.ends_with("/ruling_amended")
                && got.json()["irregularity"] == *id
                && got.json()["ruling"]["penalty"]["kind"] == kind
        };
        subscriber
            .wait(&format!("the ruling raised by {by}"), amended)
            .await;
    }

    let mut repeated = first.clone();
    repeated["repeated"] = true.into();
    assert_eq!(
        asked(&subscriber, "report", report.clone()).await,
        repeated,
        "asked twice"
    );
    let is_birth = |got: &&broker::Got| got.topic == "dgt2mqtt/gw/status" && got.text() == "online";
    let births = || subscriber.all().iter().filter(is_birth).count();
    let before = births();
    daemon.kill();
    let daemon = Daemon::start(&config);
    // A command that is sent while nobody listens is lost.
    let listens = async {
        while births() == before {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, listens).await.unwrap();
    let again = asked(&subscriber, "report", report).await;
    assert_eq!(again, repeated, "asked again after a kill");
    assert_eq!(told(&subscriber, "irregularity").len(), found + 1);

    let unknown = json!({ "ref": "r-3", "kind": "two_hands", "by_whom": "white" });
    let refused = asked(&subscriber, "report", unknown).await;
    assert_eq!(refused["error"]["code"], "bad_fields", "{refused}");
    let without = json!({ "ref": "r-2", "kind": "flag_fall" });
    let refused = asked(&subscriber, "report", without).await;
    assert_eq!(refused["error"]["code"], "refused", "{refused}");
    let elsewhere = json!({ "ref": "r-4", "irregularity": "gw/8/5" });
    let refused = asked(&subscriber, "dismiss", elsewhere).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        refused["error"]["code"] == "unknown_irregularity" && message.contains("board 8 of the gateway gw"),
        "{refused}"
    );
    let dismiss = |n: u32| json!({ "ref": format!("d-{n}"), "irregularity": id });
    assert_eq!(asked(&subscriber, "dismiss", dismiss(1)).await["ok"], true);
    let refused = asked(&subscriber, "dismiss", dismiss(2)).await;
    assert_eq!(refused["error"]["code"], "closed", "{refused}");
    let resolved = subscriber
        .wait("the dismissal", |got| {
            got.topic.ends_with("/7/event/irregularity_resolved") && got.json()["irregularity"] == *id
        })
        .await;
    assert_eq!(resolved.json()["how"], "dismissed");
    assert!(daemon.stop(), "a stop that was asked for is no failure");
}

//! The daemon reads boards of other makers: what they are and what is played on them reaches the broker.

use std::fs;

use dgt2mqtt::families::{FAMILIES, Family, Protocol};
use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, Subscriber},
    hall::{Daemon, Simulator, vienna},
};

/// What a simulated board tells of itself besides squares.
fn said_of_itself(protocol: Protocol) -> (&'static str, Value) {
    match protocol {
        Protocol::Chesslink => ("firmware", json!("1.4")),
        Protocol::Chessnut => ("battery", json!({ "percent": 87, "charging": false })),
        Protocol::Dgt | Protocol::Occ1 => panic!("{protocol:?} has tests of its own"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_of_other_makers_tell_their_games_and_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let mut text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"journal.sqlite\"\n[limits]\nhealth_interval_s = 5\n",
        broker.port
    );
    let families: Vec<_> = FAMILIES.iter().filter(|family| family.knows_pieces).collect();
    let start =
        |family: &&Family| Simulator::start(&["--protocol", family.name, "--speed", "3"], &[vienna()]);
    let simulators: Vec<_> = families.iter().map(start).collect();
    for (Family { name: family, .. }, simulator) in families.iter().zip(&simulators) {
        let port = &simulator.ports[0];
        text += &format!("[[board]]\nid = \"{family}\"\nport = \"{port}\"\nprotocol = \"{family}\"\n");
    }
    let config = folder.path().join("dgt2mqtt.toml");
    fs::write(&config, text).unwrap();
    let subscriber = Subscriber::new(broker.port, "#").await;
    let daemon = Daemon::start(&config);
    for Family {
        name: family,
        protocol,
        ..
    } in families
    {
        let (key, value) = said_of_itself(*protocol);
        let topic = format!("dgt2mqtt/gw/board/{family}/info");
        let known = subscriber
            .wait(&topic, |got| got.topic == topic && got.json()[key] == value)
            .await;
        assert_eq!(known.json()["model"], *family);
        let events = format!("dgt2mqtt/gw/board/{family}/event/");
        let moved = |uci: &'static str| {
            let events = events.clone();
            move |got: &broker::Got| {
                got.topic.starts_with(&events) && got.json()["type"] == "move" && got.json()["uci"] == uci
            }
        };
        for uci in ["e2e4", "c7c6", "d2d4"] {
            subscriber.wait(uci, moved(uci)).await;
        }
    }
    let tells = |got: &broker::Got| {
        got.topic == "dgt2mqtt/gw/health" && got.json()["hardware"]["chessnut"]["battery"]["percent"] == 87
    };
    subscriber.wait("the battery in health", tells).await;
    assert!(daemon.stop());
}

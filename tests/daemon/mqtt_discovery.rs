//! Entities for Home Assistant lie retained on a real broker, and what they follow is published.

use std::fs;

use dgt2mqtt::link::file::read_capture;

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, Seat, Simulator, configure, one_board, vienna},
};

const ENTITIES: [(&str, &str); 7] = [
    ("binary_sensor", "link"),
    ("sensor", "game"),
    ("sensor", "open"),
    ("sensor", "white_time"),
    ("sensor", "black_time"),
    ("sensor", "battery"),
    ("binary_sensor", "clock_battery"),
];

/// Where an entity of a board lies.
fn place((platform, entity): (&str, &str), board: &str) -> String {
    format!("homeassistant/{platform}/dgt2mqtt_gw_{board}/{entity}/config")
}

#[tokio::test(flavor = "multi_thread")]
async fn entities_are_found_and_follow_topics_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let capture = read_capture(&vienna()).unwrap();
    let simulator = Simulator::start(&[], &[vienna()]);
    let seats = [Seat {
        id: "1".into(),
        port: &simulator.ports[0],
        capture: &capture,
    }];
    let config = configure(folder.path(), broker.port, &seats);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[home_assistant]\n")).unwrap();
    let _daemon = Daemon::start(&config);
    let subscriber = Subscriber::new(broker.port, "#").await;
    for entity in ENTITIES {
        let topic = place(entity, "1");
        let found = subscriber.wait(&topic, |got| got.topic == topic).await;
        let found = found.json();
        let mut follows = vec![found["state_topic"].as_str().unwrap().to_owned()];
        for availability in found["availability"].as_array().unwrap() {
            follows.push(availability["topic"].as_str().unwrap().to_owned());
        }
        for topic in follows {
            subscriber.wait(&topic, |got| got.topic == topic).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entities_of_a_board_that_was_renamed_are_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[home_assistant]\n")).unwrap();
    let subscriber = Subscriber::new(broker.port, "#").await;
    let lies = |entity, board: &str| {
        let place = place(entity, board);
        let all = subscriber.all().into_iter().rev();
        all.filter(|got| got.topic == place)
            .map(|got| !got.payload.is_empty())
            .next()
    };
    let lie = |board| ENTITIES.map(|entity| lies(entity, board));
    let daemon = Daemon::start(&config);
    subscriber
        .until("the entities", || lie("1") == [Some(true); 7])
        .await;
    subscriber
        .wait("the game", |got| got.topic == "dgt2mqtt/gw/board/1/game")
        .await;
    assert!(daemon.stop());
    let renamed = fs::read_to_string(&config)
        .unwrap()
        .replace("id = \"1\"", "id = \"2\"");
    fs::write(&config, renamed).unwrap();
    let daemon = Daemon::start(&config);
    subscriber
        .until("their end", || lie("1") == [Some(false); 7])
        .await;
    subscriber
        .until("the new ones", || lie("2") == [Some(true); 7])
        .await;
    assert!(daemon.stop());
}

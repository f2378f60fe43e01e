//! Entities for Home Assistant lie retained on a real broker, and what they follow is published.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, dead_code)] // a test, with processes of its own.

mod broker;
mod hall;

use std::fs;

use dgt2mqtt::link::file::read_capture;

use broker::{Mosquitto, Subscriber};
use hall::{Daemon, Seat, Simulator, configure, vienna};

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
    for (platform, entity) in [
        ("binary_sensor", "link"),
        ("sensor", "game"),
        ("sensor", "open"),
        ("sensor", "white_time"),
        ("sensor", "black_time"),
    ] {
        let topic = format!("homeassistant/{platform}/dgt2mqtt_gw_1/{entity}/config");
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

//! A broker that loses words of a gateway, as a cluster does where one of its nodes comes back: the page learns from the
//! gateway's health that it lacks something, and asks for it. Nobody need make a half-move first.

use std::{thread, time::Instant};

use rumqttc::v5::{
    Client, Event, MqttOptions,
    mqttbytes::{QoS, v5::Packet},
};
use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    page::Server,
    setups::shown,
};

/// A gateway by hand, with one board. It answers `history` with what it was given.
fn gateway(port: u16, answers: Value) -> Client {
    let (client, mut connection) = Client::new(MqttOptions::new("gateway", "127.0.0.1", port), 64);
    client
        .subscribe("dgt2mqtt/gw/cmd/history", QoS::AtLeastOnce)
        .unwrap();
    let teller = client.clone();
    thread::spawn(move || {
        for event in connection.iter().map_while(Result::ok) {
            let Event::Incoming(Packet::Publish(publish)) = event else {
                continue;
            };
            let asked: Value = serde_json::from_slice(&publish.payload).unwrap();
            let reply = json!({ "ref": asked["ref"], "ok": true, "state": answers });
            let topic = "dgt2mqtt/gw/reply/history";
            let _ = teller.publish(topic, QoS::AtLeastOnce, false, reply.to_string());
        }
    });
    client
}

fn game(moves: &[&str], last_seq: u64) -> Value {
    let san = vec![Value::Null; moves.len()];
    json!({ "game": 1, "start_fen": null, "chess960": false, "moves": moves, "san": san, "fen": null, "to_move": null,
        "result": "*", "open_irregularities": [], "last_seq": last_seq })
}

fn notice(seq: u64) -> Value {
    json!({ "v": 1, "id": format!("gw/1/{seq}"), "seq": seq, "board": "1", "game": 1, "t": 1.0, "time": null,
        "type": "notice", "code": "gap_ambiguous", "message": "a test" })
}

/// Waits until the page shows of the board whether its gateway is online, and how many half-moves.
fn until_shown(port: u16, online: bool, plies: u64) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let boards = shown(port);
        let board = boards.get(&("gw".to_owned(), "1".to_owned()));
        if board.is_some_and(|board| board["gateway_online"] == online && board["plies"] == plies) {
            return;
        }
        assert!(Instant::now() < deadline, "{board:?}");
        thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn the_page_learns_from_health_what_the_broker_lost() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let later = json!({ "events": [notice(2)], "more": false, "game": game(&["e2e4", "e7e5"], 2) });
    let client = gateway(broker.port, later);
    let tell = |topic: &str, retain, payload: String| {
        let topic = format!("dgt2mqtt/gw/{topic}");
        client.publish(topic, QoS::AtLeastOnce, retain, payload).unwrap();
    };
    let info = json!({ "version": "0", "commands": true, "boards": ["1"] });
    tell("info", true, info.to_string());
    tell("status", true, "online".to_owned());
    tell("board/1/status", true, "online".to_owned());
    tell("board/1/game", true, game(&["e2e4"], 1).to_string());
    until_shown(server.port, true, 1);
    tell("board/1/event/notice", false, notice(1).to_string());
    // The gateway comes back, and its birth, its second event and the game after it get lost.
    tell("status", true, "offline".to_owned());
    until_shown(server.port, false, 1);
    let health = |uptime: f64| json!({ "uptime_s": uptime, "last_seq": { "1": 2 } }).to_string();
    tell("health", true, health(10.0));
    // A bridge says the last one again when it comes back: that is no sign of life.
    tell("health", true, health(10.0));
    thread::sleep(std::time::Duration::from_millis(500));
    until_shown(server.port, false, 1);
    tell("health", true, health(12.0));
    until_shown(server.port, true, 2);
}

/// The event comes and the state of its game does not.
#[test]
fn a_game_that_lags_behind_its_events_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let later = json!({ "events": [], "more": false, "game": game(&["e2e4", "e7e5"], 2) });
    let client = gateway(broker.port, later);
    let tell = |topic: &str, retain, payload: String| {
        let topic = format!("dgt2mqtt/gw/{topic}");
        client.publish(topic, QoS::AtLeastOnce, retain, payload).unwrap();
    };
    tell("status", true, "online".to_owned());
    tell("board/1/game", true, game(&["e2e4"], 1).to_string());
    until_shown(server.port, true, 1);
    tell("board/1/event/notice", false, notice(1).to_string());
    tell("board/1/event/notice", false, notice(2).to_string());
    until_shown(server.port, true, 2);
}

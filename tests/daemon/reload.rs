//! Another configuration is taken over while games go on: boards come and go, brokers change, and no game notices.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber, free_port},
    hall::{self, Daemon, Simulator, until, vienna},
    wiring::Wiring,
};

/// What a configuration has besides the boards.
struct Settings {
    name: &'static str,
    broker: u16,
    more: String,
    boards: Vec<String>,
}

struct Hall {
    folder: tempfile::TempDir,
    daemon: Daemon,
}

impl Hall {
    fn start(settings: &Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dgt2mqtt.toml");
        fs::write(&path, settings.text()).unwrap();
        let daemon = Daemon::start(&path);
        Self { folder, daemon }
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("dgt2mqtt.toml")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("daemon.log")).unwrap()
    }

    fn write(&self, settings: &Settings) {
        fs::write(self.config(), settings.text()).unwrap();
    }

    /// SIGHUP, and what the log then says.
    fn reload(&self, says: &str) -> String {
        let before = self.log().len();
        let pid = self.daemon.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-HUP", &pid])
                .status()
                .unwrap()
                .success()
        );
        until(says, PATIENCE, || {
            let fresh = self.log()[before..].to_owned();
            fresh.contains(says).then_some(fresh)
        })
    }
}

impl Settings {
    fn text(&self) -> String {
        format!(
            "[gateway]\nname = \"{}\"\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\nkeep_alive = 5\n[journal]\npath = \"journal.sqlite\"\n{}\n{}",
            self.name,
            self.broker,
            self.more,
            self.boards.concat()
        )
    }
}

fn board(id: &str, port: &str, more: &str) -> String {
    format!("[[board]]\nid = \"{id}\"\nport = \"{port}\"\n{more}\n")
}

/// The last value at a topic.
fn state(subscriber: &Subscriber, topic: &str) -> Option<Got> {
    subscriber.all().into_iter().rev().find(|got| got.topic == topic)
}

async fn becomes(subscriber: &Subscriber, topic: &str, word: &str) {
    subscriber
        .until(&format!("{topic} {word}"), || {
            state(subscriber, topic).is_some_and(|got| got.text() == word)
        })
        .await;
}

async fn ply(subscriber: &Subscriber, ply: u64) {
    subscriber
        .wait(&format!("half-move {ply}"), |got| {
            got.topic.ends_with("/board/1/event/move") && got.json()["ply"].as_u64() >= Some(ply)
        })
        .await;
}

fn events(subscriber: &Subscriber, kept: &mut BTreeMap<u64, Value>) {
    for got in subscriber.all() {
        if got.topic.contains("/board/1/event/") {
            let event = got.json();
            let former = kept.insert(event["seq"].as_u64().unwrap(), event.clone());
            assert!(former.is_none_or(|former| former == event), "{event}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_configuration_is_taken_over_and_the_game_goes_on() {
    let brokers = tempfile::tempdir().unwrap();
    let places = ["one", "two"].map(|name| brokers.path().join(name));
    for place in &places {
        fs::create_dir(place).unwrap();
    }
    let [first, second] = places.each_ref().map(|place| Mosquitto::start(place, ""));
    let (here, there) = (
        Subscriber::new(first.port, "#").await,
        Subscriber::new(second.port, "#").await,
    );
    let simulator = Simulator::start(&["--speed", "1.5"], &[vienna(), vienna()]);
    let mut settings = Settings {
        name: "gw",
        broker: first.port,
        more: String::new(),
        boards: vec![board("1", &simulator.ports[0], "")],
    };
    let hall = Hall::start(&settings);
    ply(&here, 1).await;

    // A bad file changes nothing.
    fs::write(
        hall.config(),
        settings.text().replace("commands = true", "commands = maybe"),
    )
    .unwrap();
    hall.reload("is not taken over");
    settings.boards.push(board("2", &simulator.ports[0], ""));
    hall.write(&settings);
    let said = hall.reload("is not taken over");
    assert!(said.contains("two boards are on the port"), "{said}");

    // A board, names, figures.
    let metrics = free_port();
    settings.more = format!(
        "[[alert]]\nform = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n[metrics]\nlisten = \"127.0.0.1:{metrics}\"\n[limits]\nclock_interval_ms = 999\n"
    );
    settings.boards = vec![
        board("1", &simulator.ports[0], "table = { white = \"Anna\" }"),
        board("2", &simulator.ports[1], ""),
    ];
    hall.write(&settings);
    let said = hall.reload("the configuration was read again");
    for word in [
        "board 2 is new",
        "names of board 1",
        "[metrics]",
        "[[alert]]",
        "restart: limits.clock_interval_ms",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    becomes(&here, "dgt2mqtt/gw/board/2/status", "online").await;
    let info = state(&here, "dgt2mqtt/gw/info").unwrap().json();
    assert_eq!(info["boards"], json!(["1", "2"]));
    let mut figures = String::new();
    let mut stream = TcpStream::connect(("127.0.0.1", metrics)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    stream.read_to_string(&mut figures).unwrap();
    assert!(figures.contains("dgt2mqtt_boards 2"), "{figures}");
    here.publish("dgt2mqtt/gw/board/2/cmd/resync", false, "{\"ref\":\"new\"}", None)
        .await;
    let answer = here
        .wait("an answer of the new board", |got| {
            got.topic.ends_with("/board/2/reply/resync")
        })
        .await;
    assert_eq!(answer.json()["ok"], true);

    // The board goes, by a command.
    settings.boards.pop();
    settings.more.clear();
    hall.write(&settings);
    here.publish("dgt2mqtt/gw/cmd/reload", false, "{\"ref\":1}", None)
        .await;
    let answer = here
        .wait("the answer", |got| got.topic == "dgt2mqtt/gw/reply/reload")
        .await
        .json();
    assert_eq!(answer["ok"], true, "{answer}");
    let taken = answer["state"]["taken_over"].to_string();
    assert!(
        taken.contains("board 2 is gone") && taken.contains("[metrics]"),
        "{taken}"
    );
    for name in ["status", "info", "position", "game", "clock", "pgn"] {
        let topic = format!("dgt2mqtt/gw/board/2/{name}");
        if state(&here, &topic).is_some() {
            becomes(&here, &topic, "").await;
        }
    }
    assert!(TcpStream::connect(("127.0.0.1", metrics)).is_err());
    fs::write(hall.config(), "[gateway]").unwrap();
    here.publish("dgt2mqtt/gw/cmd/reload", false, "{\"ref\":2}", None)
        .await;
    let is_refusal = |got: &Got| got.topic == "dgt2mqtt/gw/reply/reload" && got.json()["ref"] == 2;
    let answer = here.wait("the refusal", is_refusal).await.json();
    assert_eq!(answer["error"]["code"], "configuration_wrong", "{answer}");

    // Another broker; the name stays until a restart.
    settings.broker = second.port;
    settings.name = "other";
    hall.write(&settings);
    let said = hall.reload("the configuration was read again");
    assert!(
        said.contains("taken over: [broker]") && said.contains("restart: gateway.name"),
        "{said}"
    );
    becomes(&here, "dgt2mqtt/gw/status", "offline").await;
    becomes(&there, "dgt2mqtt/gw/status", "online").await;
    let reached = here
        .all()
        .iter()
        .filter(|got| got.topic.ends_with("/1/event/move"))
        .count() as u64;
    ply(&there, reached + 2).await;
    let game = state(&there, "dgt2mqtt/gw/board/1/game").unwrap().json();
    assert!(game["moves"].as_array().unwrap().len() as u64 > reached, "{game}");
    let mut told = BTreeMap::new();
    events(&here, &mut told);
    events(&there, &mut told);
    let numbers: Vec<u64> = told.keys().copied().collect();
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "nothing is missing"
    );
    let links = told
        .values()
        .filter(|event| event["type"].as_str().unwrap().starts_with("board_"));
    assert_eq!(links.count(), 1, "the board was not let go of");
    assert!(hall.daemon.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn other_rules_wait_for_the_end_of_the_game_and_another_port_does_not() {
    other_rules_and_another_port_come(Wiring::Alone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_with_a_board_on_a_line() {
    other_rules_and_another_port_come(Wiring::Line).await;
}

async fn other_rules_and_another_port_come(wiring: Wiring) {
    let place = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(place.path(), "");
    let here = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let options = [&["--speed", "3"], wiring.options()].concat();
    let simulator = Simulator::start(&options, &[vienna()]);
    let link = place.path().join("board");
    let another = wiring.linked(&simulator.ports[0], &link);
    let mut settings = Settings {
        name: "gw",
        broker: mosquitto.port,
        more: String::new(),
        boards: vec![board("1", &simulator.ports[0], "")],
    };
    let hall = Hall::start(&settings);
    ply(&here, 1).await;
    // Another name of the same board, or of its line: its task begins anew, and the game goes on.
    settings.boards = vec![board("1", &another, "")];
    hall.write(&settings);
    hall.reload(match wiring {
        Wiring::Alone => "taken over: board 1",
        Wiring::Line => " is new",
    });
    let answers = || hall.log().matches("board 1: it answers").count();
    until("the board again", PATIENCE, || (answers() == 2).then_some(()));
    let more = "laws = \"2014\"\ntable = { white = \"Anna\" }";
    settings.boards = vec![board("1", &another, more)];
    hall.write(&settings);
    hall.reload("taken over: names of board 1, rules of board 1, from its next game on");
    here.wait("the end of the game", |got| {
        let is_end = got.topic.ends_with("/1/event/game_ended");
        assert!(is_end || answers() == 2 || here.all().iter().any(|got| got.topic.ends_with("game_ended")));
        is_end
    })
    .await;
    let is_notice = |got: &Got| got.topic.ends_with("/1/event/notice") && got.json()["code"] == "rules_wait";
    assert_eq!(here.all().iter().filter(|got| is_notice(got)).count(), 1);
    // Who reads nothing but the log hears of it, too.
    let log = hall.log();
    let line = log.lines().find(|line| line.contains("(rules_wait)"));
    assert!(
        line.is_some_and(|line| line.contains(" WARN ") && line.contains("board 1: ")),
        "{log}"
    );
    assert_eq!(answers(), 2, "other rules need no other task");
    let games = here
        .all()
        .iter()
        .filter(|got| got.topic.ends_with("/1/event/game_started"))
        .count();
    assert_eq!(games, 1);
    assert!(hall.daemon.stop());
}

/// What an irregularity of `kind` in game `game` gives the opponent.
async fn seconds(subscriber: &Subscriber, game: u64, kind: &str) -> Value {
    let told = subscriber
        .wait(&format!("{kind} in game {game}"), |got| {
            got.topic.ends_with("/1/event/irregularity")
                && got.json()["kind"] == kind
                && got.json()["game"] == game
        })
        .await;
    told.json()["ruling"]["penalty"]["seconds"].clone()
}

/// A game goes on by the rules under which it began, also where the daemon is killed and finds others. The arbiter may say
/// otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn other_rules_wait_over_a_kill_until_an_arbiter_says_otherwise() {
    let place = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(place.path(), "");
    let here = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulator = Simulator::start(&["--speed", "1.5"], &[vienna()]);
    let mut settings = Settings {
        name: "gw",
        broker: mosquitto.port,
        more: String::new(),
        boards: vec![board("1", &simulator.ports[0], "laws = \"2018\"")],
    };
    let hall = Hall::start(&settings);
    ply(&here, 1).await;
    settings.boards = vec![board("1", &simulator.ports[0], "time_control = \"blitz\"")];
    hall.write(&settings);
    let Hall { folder, daemon } = hall;
    daemon.kill();
    let daemon = Daemon::start(&folder.path().join("dgt2mqtt.toml"));
    let hall = Hall { folder, daemon };
    let is_notice = |code: &'static str| {
        move |got: &Got| got.topic.ends_with("/1/event/notice") && got.json()["code"] == code
    };
    let notice = here.wait("the notice", is_notice("rules_wait")).await.json();
    assert!(
        notice["message"].as_str().unwrap().contains("Laws of 2018"),
        "{notice}"
    );
    let is_illegal =
        |got: &Got| got.topic.ends_with("/1/event/irregularity") && got.json()["kind"] == "illegal_move";
    let ruling = here.wait("the offence", is_illegal).await.json()["ruling"].clone();
    assert_eq!(
        (
            &ruling["laws"],
            &ruling["time_control"],
            &ruling["penalty"]["seconds"]
        ),
        (&json!("2018"), &json!("standard"), &json!(120)),
        "{ruling}"
    );
    let topic = "dgt2mqtt/gw/board/1/cmd/rules";
    here.publish(topic, false, "{\"ref\":1,\"sender\":\"Anna\"}", None)
        .await;
    let is_answer = |got: &Got| got.topic.ends_with("/1/reply/rules");
    let answer = here.wait("the answer", is_answer).await.json();
    assert_eq!(answer["ok"], true, "{answer}");
    let taken = here.wait("the notice", is_notice("rules_taken")).await.json();
    assert_eq!(taken["by"], "Anna");
    assert!(hall.daemon.stop());
}

/// The capture that the daemon keeps tells that the rules changed, so `replay` of it tells what the daemon told.
#[tokio::test(flavor = "multi_thread")]
async fn a_capture_has_the_rules_that_change_while_it_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(place.path(), "");
    let here = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulator = Simulator::start(&["--speed", "1.5"], &[vienna()]);
    let mut settings = Settings {
        name: "gw",
        broker: mosquitto.port,
        more: "captures = true\n".to_owned(),
        boards: vec![board("1", &simulator.ports[0], "laws = \"2018\"")],
    };
    let hall = Hall::start(&settings);
    ply(&here, 1).await;
    settings.boards = vec![board("1", &simulator.ports[0], "time_control = \"blitz\"")];
    hall.write(&settings);
    hall.reload("rules of board 1, from its next game on");
    let topic = "dgt2mqtt/gw/board/1/cmd/rules";
    here.publish(topic, false, "{\"ref\":1}", None).await;
    here.wait("an offence", |got| got.topic.ends_with("/1/event/irregularity"))
        .await;
    let config = hall.config();
    assert!(hall.daemon.stop());

    // Of each event what depends on the rules, or tells of them.
    let gist = |events: Vec<Value>| -> Vec<Value> {
        let gist = |event: &Value| match event["type"].as_str().unwrap() {
            "irregularity" | "ruling_amended" => Some(json!([
                event["type"],
                event["ruling"]["laws"],
                event["ruling"]["time_control"],
                event["ruling"]["penalty"]
            ])),
            "notice" if event["code"].as_str().unwrap().starts_with("rules_") => {
                Some(json!([event["code"], event["message"]]))
            }
            "move" => Some(json!([event["ply"]])),
            _ => None,
        };
        events.iter().filter_map(gist).collect()
    };
    let told = gist(hall::journal(&config, "1"));
    assert!(
        told.iter().any(|told| told[1] == "2023" && told[2] == "blitz"),
        "{told:?}"
    );
    let capture = hall.folder.path().join("captures/1.dgtcap");
    let replayed = gist(hall::events_of(hall::program().arg("replay").arg(&capture)));
    // The daemon was stopped in mid-game, and a capture has nothing of the command's sender.
    let common = told.len().min(replayed.len());
    assert_eq!(told[..common], replayed[..common], "{told:?}\n{replayed:?}");
    assert!(common + 1 >= told.len(), "{told:?}\n{replayed:?}");
    // Whoever names rules has those.
    let named = hall::program()
        .args(["replay", "--laws", "2014", "--time-control", "rapid"])
        .arg(&capture)
        .output()
        .unwrap();
    let named = String::from_utf8(named.stdout).unwrap();
    assert!(
        named.contains("\"laws\":\"2014\"") && !named.contains("\"time_control\":\"blitz\""),
        "{named}"
    );
}

/// Rules that change together with the port wait all the same, also while the task begins anew once more.
#[tokio::test(flavor = "multi_thread")]
async fn other_rules_beside_another_port_wait_for_the_next_game() {
    let place = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(place.path(), "");
    let here = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulator = Simulator::start(&["--speed", "1.5"], &[vienna(), vienna()]);
    let names = ["one", "two"].map(|name| place.path().join(name));
    for name in &names {
        std::os::unix::fs::symlink(&simulator.ports[0], name).unwrap();
    }
    let blitz = |port: &str| vec![board("1", port, "time_control = \"blitz\"")];
    let mut settings = Settings {
        name: "gw",
        broker: mosquitto.port,
        more: String::new(),
        boards: vec![board("1", &simulator.ports[0], "")],
    };
    let hall = Hall::start(&settings);
    ply(&here, 1).await;
    settings.boards = blitz(&names[0].display().to_string());
    hall.write(&settings);
    hall.reload("taken over: board 1, rules of board 1, from its next game on");
    settings.boards = blitz(&names[1].display().to_string());
    hall.write(&settings);
    hall.reload("taken over: board 1\n");
    // Two minutes, as when the game began.
    assert_eq!(seconds(&here, 1, "illegal_move").await, 120);
    here.publish(
        "dgt2mqtt/gw/board/1/cmd/result",
        false,
        "{\"ref\":1,\"result\":\"1/2-1/2\"}",
        None,
    )
    .await;
    let is_answer = |got: &Got| got.topic.ends_with("/1/reply/result");
    let answer = here.wait("the answer", is_answer).await.json();
    assert_eq!(answer["ok"], true, "{answer}");
    settings.boards = blitz(&simulator.ports[1]);
    hall.write(&settings);
    hall.reload("taken over: board 1\n");
    assert_eq!(seconds(&here, 2, "press_without_move").await, 60);
    assert!(hall.daemon.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_knows_later_numbers_is_gone_on_above() {
    the_next_broker_knows_later_numbers(Wiring::Alone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_with_the_numbers_of_a_board_on_a_line() {
    the_next_broker_knows_later_numbers(Wiring::Line).await;
}

async fn the_next_broker_knows_later_numbers(wiring: Wiring) {
    const KNOWN: u64 = 5_000;
    let brokers = tempfile::tempdir().unwrap();
    let places = ["one", "two"].map(|name| brokers.path().join(name));
    for place in &places {
        fs::create_dir(place).unwrap();
    }
    let [first, second] = places.each_ref().map(|place| Mosquitto::start(place, ""));
    let (here, there) = (
        Subscriber::new(first.port, "#").await,
        Subscriber::new(second.port, "#").await,
    );
    let known = json!({ "last_seq": KNOWN }).to_string();
    there.publish("dgt2mqtt/gw/board/1/game", true, known, None).await;
    let options = [&["--speed", "2"], wiring.options()].concat();
    let simulator = Simulator::start(&options, &[vienna()]);
    let mut settings = Settings {
        name: "gw",
        broker: first.port,
        more: String::new(),
        boards: vec![board("1", &simulator.ports[0], "")],
    };
    let hall = Hall::start(&settings);
    ply(&here, 2).await;
    settings.broker = second.port;
    hall.write(&settings);
    hall.reload("taken over: [broker]");
    there
        .wait("the notice", |got| {
            got.topic.ends_with("/1/event/notice") && got.json()["code"] == "journal_behind"
        })
        .await;
    ply(&there, 4).await;
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    events(&here, &mut before);
    events(&there, &mut after);
    // What the first broker has stays as it was; whatever the second one gets is new to it.
    assert!(after.keys().all(|seq| *seq > KNOWN), "{:?}", after.keys());
    let kept = hall::journal(&hall.config(), "1");
    for event in before.values() {
        assert!(kept.contains(event), "{event} has another number now");
    }
    assert!(hall.daemon.stop());
}

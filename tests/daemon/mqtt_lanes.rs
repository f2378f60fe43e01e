//! The two lanes against a real broker: order, outages, stops, refusals.

use std::time::{Duration, Instant};

use dgt2mqtt::mqtt::{BoardState, StateKey};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, free_port},
    proxy::{Fault, Proxy},
    station::{Station, broker as plain},
};

#[tokio::test]
async fn every_event_arrives_in_order_over_five_outages() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    station.connected().await;
    let mut next = 1;
    for _ in 0..5 {
        station.feed("7", next..=next + 39).await;
        mosquitto.stop();
        station.feed("7", next + 40..=next + 49).await;
        station.feed("8", next..=next + 49).await;
        mosquitto.resume();
        next += 50;
    }
    station.delivered().await;
    subscriber
        .wait("the last event", |got| {
            got.topic.contains("/board/8/event/") && got.json()["seq"] == 250
        })
        .await;
    subscriber
        .wait("the last event", |got| {
            got.topic.contains("/board/7/event/") && got.json()["seq"] == 250
        })
        .await;
    let wanted: Vec<u64> = (1..=250).collect();
    assert_eq!(subscriber.numbers("7"), wanted);
    assert_eq!(subscriber.numbers("8"), wanted);
    assert!(
        subscriber
            .all()
            .iter()
            .all(|got| !got.topic.contains("/event/") || !got.retain)
    );
    station.shut_down().await;
}

#[tokio::test]
async fn what_was_acknowledged_before_a_restart_is_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    station.feed("7", 1..=20).await;
    station.delivered().await;
    station.shut_down().await;
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/+/event/#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    station.feed("7", 21..=22).await;
    station.delivered().await;
    subscriber.wait("event 22", |got| got.json()["seq"] == 22).await;
    assert_eq!(subscriber.numbers("7"), [21, 22]);
    station.shut_down().await;
}

#[tokio::test]
async fn birth_states_and_offline_before_a_clean_stop() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    let board = "7".parse().unwrap();
    for count in 0..100 {
        station.handle.states.set(
            StateKey::board(&station.topics, &board, BoardState::Game),
            format!("{count}"),
        );
    }
    station
        .handle
        .states
        .set(StateKey::health(&station.topics, 30), "{}");
    subscriber
        .wait("online", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "online"
        })
        .await;
    subscriber
        .wait("the game", |got| {
            got.topic == "dgt2mqtt/gw/board/7/game" && got.text() == "99"
        })
        .await;
    subscriber
        .wait("health", |got| got.topic == "dgt2mqtt/gw/health")
        .await;
    let games = subscriber
        .all()
        .into_iter()
        .filter(|got| got.topic.ends_with("/game"))
        .count();
    assert!(games < 100, "only newest values are sent, not {games}");
    station.shut_down().await;
    subscriber
        .wait("offline", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "offline"
        })
        .await;
    let late = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let status = late
        .wait("the retained status", |got| got.topic == "dgt2mqtt/gw/status")
        .await;
    assert!(status.retain && status.text() == "offline");
    assert!(
        late.wait("the retained game", |got| got.topic.ends_with("/game"))
            .await
            .retain
    );
}

#[tokio::test]
async fn states_come_back_after_the_broker_lost_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    let board = "7".parse().unwrap();
    station.handle.states.set(
        StateKey::board(&station.topics, &board, BoardState::Position),
        "e4",
    );
    station.connected().await;
    mosquitto.stop();
    std::fs::remove_file(folder.path().join("mosquitto.db")).unwrap();
    mosquitto.resume();
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    subscriber
        .wait("the position", |got| {
            got.topic.ends_with("/position") && got.text() == "e4"
        })
        .await;
    subscriber
        .wait("online", |got| {
            got.topic.ends_with("gw/status") && got.text() == "online"
        })
        .await;
    station.shut_down().await;
}

#[tokio::test]
async fn a_board_that_is_not_configured_any_more_leaves_nothing_with_the_broker() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let before = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    for (board, state) in [
        ("7", "game"),
        ("old", "game"),
        ("old", "status"),
        ("old", "clock"),
    ] {
        let topic = format!("dgt2mqtt/gw/board/{board}/{state}");
        before.publish(&topic, true, r#"{"last_seq":0}"#, None).await;
    }
    before
        .publish("dgt2mqtt/other/board/old/game", true, "{}", None)
        .await;
    before
        .wait("all of it", |got| got.topic.contains("/other/"))
        .await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    before
        .wait("the last of them", |got| {
            got.topic == "dgt2mqtt/gw/board/old/clock" && got.payload.is_empty()
        })
        .await;
    station.shut_down().await;
    let after = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    after.wait("another's", |got| got.topic.contains("/other/")).await;
    after
        .wait("ours", |got| got.topic == "dgt2mqtt/gw/board/7/game")
        .await;
    let left = after
        .all()
        .into_iter()
        .filter(|got| got.topic.contains("gw/board/old"));
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn a_second_address_is_tried_when_the_first_is_dead() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let dead = format!("mqtt://127.0.0.1:{}", free_port()).parse().unwrap();
    let station = Station::start(folder.path(), plain(vec![dead, mosquitto.url()]));
    station.connected().await;
    assert_eq!(station.handle.figures().broker, Some(mosquitto.url().to_string()));
    station.shut_down().await;
}

#[tokio::test]
async fn an_event_the_broker_forbids_is_kept_and_other_boards_go_on() {
    board_7_is_forbidden("topic readwrite dgt2mqtt/gw/echo\n").await;
}

#[tokio::test]
async fn nor_do_other_boards_wait_where_the_echo_is_forbidden_too() {
    board_7_is_forbidden("").await;
}

/// With mosquitto's `max_queued_messages 0` it hangs up on what it refuses; whether we read the refusal is chance.
async fn board_7_is_forbidden(more_rights: &str) {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("acl");
    let rights =
        "topic readwrite dgt2mqtt/gw/status\ntopic readwrite dgt2mqtt/gw/board/8/#\ntopic read dgt2mqtt/#\n";
    std::fs::write(&rules, format!("{more_rights}{rights}")).unwrap();
    let access = format!("allow_anonymous true\nacl_file {}", rules.display());
    let mosquitto = Mosquitto::start_with(folder.path(), &access, "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    station.feed("7", 1..=3).await;
    station.feed("8", 1..=40).await;
    subscriber
        .wait("board 8", |got| {
            got.topic.contains("board/8/event") && got.json()["seq"] == 40
        })
        .await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(subscriber.numbers("7"), [0; 0]);
    assert_eq!(station.journal.tick().await.depth, 3, "kept");
    let connects = station.handle.figures().connects;
    assert!((1..=6).contains(&connects), "no hot loop: {connects} connections");
    station.shut_down().await;
}

/// Each topic that is forbidden costs some connections and seconds, until it is known, and no more than that.
#[tokio::test]
async fn a_broker_that_hangs_up_without_a_word_delays_other_boards_by_seconds() {
    const FORBIDDEN: &[&str] = &["/gw/echo", "/board/7/event/", "/gw/info", "/gw/health"];
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::HangsUpOn(FORBIDDEN)).await;
    let station = Station::start(folder.path(), plain(vec![proxy.url.clone()]));
    let (topics, states, seven) = (&station.topics, &station.handle.states, "7".parse().unwrap());
    states.set(StateKey::info(topics), "{}");
    states.set(StateKey::health(topics, 90), "{}");
    for state in [BoardState::Game, BoardState::Pgn] {
        states.set(StateKey::board(topics, &seven, state), "newest");
    }
    station.feed("7", 1..=3).await;
    let (begun, mut seq, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    // In full: beyond rests of board 7.
    let minutes = Duration::from_secs(std::env::var_os("DGT2MQTT_FULL").map_or(0, |_| 180));
    while station.handle.figures().refused < 3 || begun.elapsed() < minutes {
        assert!(
            begun.elapsed() < PATIENCE + minutes,
            "not all is found: {:?}",
            station.handle.figures()
        );
        seq += 1;
        let fed = Instant::now();
        station.feed("8", seq..=seq).await;
        subscriber
            .wait("board 8", |got| {
                got.topic.contains("/8/event/") && got.json()["seq"] == seq
            })
            .await;
        slowest = slowest.max(fed.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let connects = station.handle.figures().connects;
    println!("{seq} events, the slowest after {slowest:?}; {connects} connections");
    assert!(
        slowest < Duration::from_secs(20),
        "an event was late by {slowest:?}"
    );
    subscriber
        .wait("what is allowed", |got| got.topic.ends_with("/7/pgn"))
        .await;
    // Three topics, four ends each, and some at which others were suspected too.
    assert!(!minutes.is_zero() || connects <= 30, "{connects} connections");
    assert_eq!(subscriber.numbers("7"), [0; 0]);
    station.shut_down().await;
}

#[tokio::test]
async fn a_birth_on_which_the_broker_hangs_up_keeps_no_event_back() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::HangsUpOn(&["/gw/status"])).await;
    let station = Station::start(folder.path(), plain(vec![proxy.url.clone()]));
    station.feed("8", 1..=3).await;
    station.delivered().await;
    subscriber
        .wait("board 8", |got| {
            got.topic.contains("/8/event/") && got.json()["seq"] == 3
        })
        .await;
    let connects = station.handle.figures().connects;
    assert!(connects <= 9, "{connects} connections");
    station.shut_down().await;
}

fn figures(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{name}: median {median:?}, p99 {p99:?} of {}", times.len());
}

#[tokio::test]
#[ignore = "a measurement: cargo test --release --test daemon mqtt_lanes:: -- --ignored --nocapture"]
async fn latency_of_journal_and_publisher_against_a_bare_publish() {
    const COUNT: u64 = 300;
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    station.connected().await;
    let mut given = Vec::new();
    for seq in 1..=COUNT {
        given.push(Instant::now());
        station.feed("7", seq..=seq).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    station.delivered().await;
    let bare = Subscriber::new(mosquitto.port, "nothing").await;
    let mut bare_given = Vec::new();
    for _ in 0..COUNT {
        bare_given.push(Instant::now());
        bare.publish("bare", false, vec![b'x'; 200], None).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    subscriber
        .wait("the last bare message", |got| got.topic == "bare")
        .await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let arrived = |part: &str| {
        let got = subscriber
            .all()
            .into_iter()
            .filter(|got| got.topic.contains(part));
        got.map(|got| got.at).collect::<Vec<_>>()
    };
    let times = |given: &[Instant], arrived: &[Instant]| {
        given.iter().zip(arrived).map(|(from, to)| *to - *from).collect()
    };
    figures(
        "journal, publisher, broker, subscriber",
        times(&given, &arrived("/event/")),
    );
    figures(
        "bare publish, broker, subscriber",
        times(&bare_given, &arrived("bare")),
    );
    station.shut_down().await;
}

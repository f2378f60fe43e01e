//! A real broker behind a proxy that spoils the connection in every way we know, and one that is restarted with and
//! without what it kept: every event comes through once, in order, and the states are right at the end.
//!
//! `DGT2MQTT_SEED` sets another seed. `DGT2MQTT_FULL=1` makes slow things as slow as they are said to be:
//! acknowledgements a minute late, and ten times as many events.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use dgt2mqtt::mqtt::{BoardState, StateKey};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::Daemon,
    proxy::{Fault, Proxy},
    seed::seed,
    station::{Station, broker as plain},
};

fn full() -> bool {
    std::env::var_os("DGT2MQTT_FULL").is_some()
}

/// Events of each board.
fn many() -> u64 {
    if full() { 1000 } else { 60 }
}

/// How long an acknowledgement is waited for at first.
fn patience() -> Duration {
    Duration::from_secs(if full() { 30 } else { 2 })
}

/// Many times in a row only connections that held for five seconds are made again at once.
async fn held() {
    if full() {
        tokio::time::sleep(Duration::from_millis(5500)).await;
    }
}

/// Two boards with events and states through `proxy`; at the end all must have come.
async fn comes_through(name: &str, first: &[Fault], then: Fault, events: u64) {
    let start = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let proxy = Proxy::before(mosquitto.port, first, then).await;
    let station = Station::start_patient(folder.path(), plain(vec![proxy.url.clone()]), patience());
    for (from, to) in [(1, events / 2), (events / 2 + 1, events)] {
        station.feed("7", from..=to).await;
        station.feed("8", from..=to).await;
        state(&station, "7", to);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    settled(&station, Duration::from_secs(if full() { 1200 } else { 240 })).await;
    let wanted: Vec<u64> = (1..=events).collect();
    for board in ["7", "8"] {
        subscriber
            .wait("the last event", |got| {
                got.topic.contains(&format!("/board/{board}/event/")) && got.json()["seq"] == events
            })
            .await;
        assert_eq!(subscriber.numbers(board), wanted, "{name}");
    }
    right_state(&mosquitto, events).await;
    let arrived = subscriber
        .all()
        .iter()
        .filter(|got| got.topic.contains("/event/"))
        .count();
    println!(
        "{name}: {} connections spoiled of {}, {} events compared, 0 lost, {} repeated, {:.1} s",
        proxy.injected.load(Ordering::Relaxed),
        station.handle.figures().connects,
        2 * events,
        arrived - 2 * events as usize,
        start.elapsed().as_secs_f64()
    );
    station.shut_down().await;
}

fn state(station: &Station, board: &str, value: u64) {
    let key = StateKey::board(&station.topics, &board.parse().unwrap(), BoardState::Game);
    station.handle.states.set(key, format!("{value}"));
}

/// Waits until nothing is left to be delivered.
async fn settled(station: &Station, patience: Duration) {
    let deadline = Instant::now() + patience;
    while station.journal.tick().await.depth > 0 {
        assert!(
            Instant::now() < deadline,
            "the outbox does not empty: {:?}",
            station.handle.figures()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whoever comes now finds the newest state on the broker.
async fn right_state(mosquitto: &Mosquitto, value: u64) {
    let late = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/7/game").await;
    late.wait("the newest state", |got| got.text() == value.to_string())
        .await;
}

#[tokio::test]
async fn refused_mute_and_silent_in_mid_stream() {
    let mut rng = fastrand::Rng::with_seed(seed());
    let mut silent = || Fault::SilentAfter(rng.usize(100..9000));
    let faults = [
        Fault::Refuse,
        Fault::Mute,
        silent(),
        Fault::Refuse,
        silent(),
        silent(),
    ];
    comes_through("refusing, mute, silent", &faults, Fault::None, many()).await;
}

#[tokio::test]
async fn cut_within_packets() {
    let mut rng = fastrand::Rng::with_seed(seed());
    let cuts: Vec<_> = (0..if full() { 25 } else { 5 })
        .map(|i| {
            Fault::CutAfter(if i % 3 == 0 {
                rng.usize(1..300)
            } else {
                rng.usize(300..8000)
            })
        })
        .collect();
    comes_through("cuts", &cuts, Fault::None, many()).await;
}

#[tokio::test]
async fn one_byte_a_second() {
    // Slow from the first byte, and fast enough for the greeting but not for the acknowledgements.
    comes_through(
        "slow",
        &[Fault::Slow(1), Fault::Slow(150), Fault::Slow(1)],
        Fault::None,
        many(),
    )
    .await;
}

#[tokio::test]
async fn acknowledgements_that_come_a_minute_late() {
    // For good: twice as late as they are waited for at first. One event of a board is under way at a time, so each takes as long.
    let late = Fault::LateAcks(patience() * 2);
    comes_through("late acknowledgements", &[], late, 12).await;
}

#[tokio::test]
async fn refusals_that_pass() {
    // Quota exceeded, then not authorised: both are tried again, and the order stays.
    let faults = [Fault::Reason(5, 0x97), Fault::Reason(3, 0x87)];
    comes_through("refusals", &faults, Fault::None, many()).await;
}

/// Kept state or none, the broker comes back and gets everything that it had not acknowledged.
async fn restarts(keeps: bool) {
    let start = Instant::now();
    let mut rng = fastrand::Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::None).await;
    let station = Station::start_patient(folder.path(), plain(vec![proxy.url.clone()]), patience());
    let rounds = if full() { 40 } else { 4 };
    for round in 1..=rounds {
        let first = (round - 1) * 50 + 1;
        station.feed("7", first..=first + 29).await;
        if !keeps && round > 1 {
            // What it acknowledges may still lie there when it goes: what came while it was away must not.
            subscriber
                .wait("the last event of the round before", |got| {
                    got.topic.contains("/event/") && got.json()["seq"] == first - 1
                })
                .await;
            held().await;
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(0..300))).await;
        if !keeps {
            proxy.then(Fault::Refuse);
        }
        mosquitto.stop();
        if !keeps {
            std::fs::remove_file(folder.path().join("mosquitto.db")).unwrap();
        }
        station.feed("7", first + 30..=first + 49).await;
        state(&station, "7", round * 50);
        let grants = subscriber.grants();
        mosquitto.resume();
        if !keeps {
            // A broker that has forgotten who subscribed acknowledges what nobody gets: whoever listens comes first.
            subscriber.granted_again(grants).await;
            proxy.then(Fault::None);
        }
    }
    settled(&station, Duration::from_secs(240)).await;
    let events = rounds * 50;
    subscriber
        .wait("the last event", |got| {
            got.topic.contains("/event/") && got.json()["seq"] == events
        })
        .await;
    let numbers = subscriber.numbers("7");
    if keeps {
        assert_eq!(numbers, (1..=events).collect::<Vec<_>>());
    } else {
        // What it acknowledged and then forgot is the broker's; the order holds, and what came while it was away is there.
        assert!(numbers.is_sorted());
        let while_away = (1..=events).filter(|number| (number - 1) % 50 >= 30);
        let missing: Vec<_> = while_away.filter(|number| !numbers.contains(number)).collect();
        assert!(missing.is_empty(), "{missing:?} did not come");
    }
    right_state(&mosquitto, events).await;
    println!(
        "broker restarted, keeps {keeps}: {rounds} restarts, {} of {events} events heard, {:.1} s",
        numbers.len(),
        start.elapsed().as_secs_f64()
    );
    station.shut_down().await;
}

#[tokio::test]
async fn a_broker_restarted_with_what_it_kept() {
    restarts(true).await;
}

#[tokio::test]
async fn a_broker_restarted_with_nothing() {
    restarts(false).await;
}

#[tokio::test]
async fn a_second_client_of_the_same_name_takes_the_session_over() {
    let start = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let station = Station::start_patient(folder.path(), plain(vec![mosquitto.url()]), patience());
    station.connected().await;
    let rounds = if full() { 20 } else { 4 };
    for round in 0..rounds {
        station.connected().await;
        let connects = station.handle.figures().connects;
        station.feed("7", round * 20 + 1..=round * 20 + 20).await;
        // It comes, is taken for us, and goes without a word.
        let mut thief = tokio::net::TcpStream::connect(("127.0.0.1", mosquitto.port))
            .await
            .unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut thief, &connect_as("dgt2mqtt-gw"))
            .await
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        while station.handle.figures().connects == connects {
            assert!(Instant::now() < deadline, "the session is not taken back");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        held().await;
    }
    state(&station, "7", 99);
    settled(&station, Duration::from_secs(240)).await;
    let events = rounds * 20;
    subscriber
        .wait("the last event", |got| {
            got.topic.contains("/event/") && got.json()["seq"] == events
        })
        .await;
    assert_eq!(subscriber.numbers("7"), (1..=events).collect::<Vec<_>>());
    right_state(&mosquitto, 99).await;
    let connects = station.handle.figures().connects;
    assert!(
        connects > rounds,
        "the session was taken over: {connects} connections"
    );
    // Nobody turns two daemons of one name into a storm.
    assert!(connects <= 2 * rounds + 2, "{connects} connections");
    println!(
        "taken over {rounds} times: {connects} connections, {events} events compared, 0 lost, {:.1} s",
        start.elapsed().as_secs_f64()
    );
    station.shut_down().await;
}

/// CONNECT of MQTT 5 with a clean start.
fn connect_as(client: &str) -> Vec<u8> {
    let mut packet = vec![
        0x10,
        (13 + client.len()) as u8,
        0,
        4,
        b'M',
        b'Q',
        b'T',
        b'T',
        5,
        2,
        0,
        60,
        0,
    ];
    packet.extend([0, client.len() as u8]);
    packet.extend(client.bytes());
    packet
}

/// Somebody tidies the broker up and removes what it retains, while games go on: who comes later is to find the boards.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_removes_from_the_broker_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let config = folder.path().join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"journal.sqlite\"\n\
         [limits]\nhealth_interval_s = 5\n[[board]]\nid = \"1\"\nport = \"tcp://127.0.0.1:9\"\n",
        mosquitto.port
    );
    std::fs::write(&config, text).unwrap();
    let daemon = Daemon::start(&config);
    let states = ["dgt2mqtt/gw/info", "dgt2mqtt/gw/board/1/status"];
    let tidy = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    for topic in states {
        tidy.wait(topic, |got| got.topic == topic && !got.payload.is_empty())
            .await;
        tidy.publish(topic, true, "", None).await;
        tidy.wait("its end", |got| got.topic == topic && got.payload.is_empty())
            .await;
    }
    let removed = Instant::now();
    for topic in states {
        let again =
            |got: &crate::broker::Got| got.topic == topic && !got.payload.is_empty() && got.at > removed;
        tidy.wait(topic, again).await;
    }
    assert!(daemon.stop());
}

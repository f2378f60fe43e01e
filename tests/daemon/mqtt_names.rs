//! Who has a name, asked for over lines and at brokers that make the question hard.

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::{BrokerConfig, BrokerUrl},
    mqtt::StateKey,
};

use crate::{
    broker::{self, Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, one_board},
    proxy::{Fault, Proxy},
    station::{Station, broker as plain},
};

/// Waits until `is_so`.
async fn until(what: &str, station: &Station, is_so: impl Fn(&Station) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so(station) {
        assert!(
            Instant::now() < deadline,
            "{what}: {:?}",
            station.handle.figures()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A gateway that holds the name, and that is right with the broker.
async fn holder(folder: &Path, mosquitto: &Mosquitto, subscriber: &Subscriber) -> Station {
    holder_at(folder, mosquitto.url(), Duration::from_secs(5), subscriber).await
}

async fn holder_at(folder: &Path, url: BrokerUrl, keep_alive: Duration, subscriber: &Subscriber) -> Station {
    let broker = BrokerConfig {
        client_id: "dgt2mqtt-the-holder".to_owned(),
        keep_alive,
        ..plain(vec![url])
    };
    let station = Station::start(folder, broker);
    let info = format!(
        r#"{{"boot_id":"{}","keep_alive_s":{}}}"#,
        station.boot_id,
        keep_alive.as_secs()
    );
    station.handle.states.set(StateKey::info(&station.topics), info);
    subscriber
        .wait("its info", |got| got.topic.ends_with("/gw/info"))
        .await;
    station
}

/// Retains what a gateway left that was killed together with the broker.
async fn leave_online(subscriber: &Subscriber) {
    let (status, info) = ("dgt2mqtt/gw/status", "dgt2mqtt/gw/info");
    subscriber.publish(status, true, "online", None).await;
    subscriber
        .publish(
            info,
            true,
            r#"{"boot_id":"gone","host":"lost-one","keep_alive_s":5}"#,
            None,
        )
        .await;
    subscriber.wait("what it left", |got| got.topic == info).await;
}

/// How often a gateway of the name said that it is online.
fn births(subscriber: &Subscriber) -> usize {
    let all = subscriber.all();
    let births = all
        .iter()
        .filter(|got| got.topic == "dgt2mqtt/gw/status" && got.text() == "online");
    births.count()
}

/// The question takes longer to the broker than a holder may take to answer.
#[tokio::test]
async fn on_a_slow_line_a_name_is_not_taken_before_its_holder_could_answer() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mosquitto = Mosquitto::start(ours.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let holder = holder(ours.path(), &mosquitto, &subscriber).await;
    let late = Fault::Late("/gw/claim", Duration::from_secs(5));
    let proxy = Proxy::before(mosquitto.port, &[], late).await;
    let station = Station::start(theirs.path(), plain(vec![proxy.url.clone()]));
    station.feed("8", 1..=1).await;
    until("the answer", &station, |station| {
        station.handle.figures().rival.is_some()
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(births(&subscriber), 1, "both had the name");
    assert_eq!(station.journal.tick().await.depth, 1, "kept");
    station.shut_down().await;
    holder.shut_down().await;
}

/// A connection that breaks off at the first answer tells nothing of who has the name.
#[tokio::test]
async fn a_line_that_breaks_off_and_then_stands_still_hides_no_holder() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mosquitto = Mosquitto::start(ours.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let holder = holder(ours.path(), &mosquitto, &subscriber).await;
    let faults = [
        Fault::CutAtMessage,
        Fault::StillAfterGrant(Duration::from_secs(5)),
    ];
    let proxy = Proxy::before(mosquitto.port, &faults, Fault::None).await;
    let station = Station::start(theirs.path(), plain(vec![proxy.url.clone()]));
    station.feed("8", 1..=1).await;
    until("the answer", &station, |station| {
        station.handle.figures().rival.is_some()
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(subscriber.numbers("8"), [0; 0], "both had the name");
    assert_eq!(station.journal.tick().await.depth, 1, "kept");
    station.shut_down().await;
    holder.shut_down().await;
}

/// Without an acknowledgement nobody knows whether anybody was asked: the connection is given up, and the next one asks again.
#[tokio::test]
async fn a_question_that_nobody_acknowledges_is_asked_again_and_the_reason_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    leave_online(&subscriber).await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::HeldAcks).await;
    // Longer than a holder may take to answer.
    let patience = Duration::from_secs(5);
    let station = Station::start_patient(folder.path(), plain(vec![proxy.url.clone()]), patience);
    until("a second connection", &station, |station| {
        station.handle.figures().connects >= 2
    })
    .await;
    assert_eq!(births(&subscriber), 1, "it took the name");
    let reason = station.handle.figures().last_error.unwrap();
    assert!(reason.contains("acknowledges nothing"), "{reason}");
    proxy.release();
    station.feed("7", 1..=1).await;
    station.delivered().await;
    station.shut_down().await;
}

/// The holder cannot answer for so long, and neither it nor the broker gives its connection up.
const STANDS_STILL: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_holder_whose_link_stands_still_for_a_while_keeps_the_name() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mosquitto = Mosquitto::start(ours.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::None).await;
    let keep_alive = Duration::from_secs(10);
    let holder = holder_at(ours.path(), proxy.url.clone(), keep_alive, &subscriber).await;
    proxy.stand_still(true);
    holder.feed("8", 1..=1).await;
    let station = Station::start(theirs.path(), plain(vec![mosquitto.url()]));
    station.feed("8", 1..=2).await;
    station.connected().await;
    tokio::time::sleep(STANDS_STILL).await;
    assert_eq!(births(&subscriber), 1, "both had the name");
    assert_eq!(
        station.handle.figures().awaited.as_deref(),
        Some("a machine that it does not tell")
    );
    proxy.stand_still(false);
    until("the answer", &station, |station| {
        station.handle.figures().rival.is_some()
    })
    .await;
    holder.delivered().await;
    assert_eq!(subscriber.numbers("8"), [1]);
    assert_eq!(station.journal.tick().await.depth, 2, "kept");
    assert_eq!(holder.handle.figures().connects, 1, "the link did not break");
    station.shut_down().await;
    holder.shut_down().await;
}

/// The boot ids that `info` had.
fn boots(subscriber: &Subscriber) -> BTreeSet<String> {
    let all = subscriber.all().into_iter();
    let infos = all.filter(|got| got.topic == "dgt2mqtt/gw/info");
    infos.map(|got| got.json()["boot_id"].to_string()).collect()
}

/// A gateway that waits for the name is killed, and started again, while the link of the holder stands still.
#[tokio::test(flavor = "multi_thread")]
async fn the_will_of_one_that_waits_is_not_taken_for_the_holders() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mosquitto = Mosquitto::start(ours.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::None).await;
    let keep_alive = Duration::from_secs(20);
    let holder = holder_at(ours.path(), proxy.url.clone(), keep_alive, &subscriber).await;
    proxy.stand_still(true);
    let (_simulator, config) = one_board(theirs.path(), mosquitto.port);
    let daemon = Daemon::start(&config);
    says(&config, "does not answer").await;
    daemon.kill();
    subscriber
        .wait("its will", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "offline"
        })
        .await;
    std::fs::remove_file(config.with_file_name("daemon.log")).unwrap();
    let daemon = Daemon::start(&config);
    says(&config, "does not answer").await;
    proxy.stand_still(false);
    says(&config, "another gateway has our name").await;
    assert_eq!(boots(&subscriber).len(), 1, "both had the name");
    assert!(daemon.stop());
    holder.shut_down().await;
}

/// As where daemon and broker were killed together, and the broker has kept what it retained.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_had_our_lock_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let daemon = Daemon::start(&config);
    subscriber
        .wait("info", |got| got.topic == "dgt2mqtt/gw/info")
        .await;
    daemon.kill();
    let status = "dgt2mqtt/gw/status";
    subscriber
        .wait("its will", |got| got.topic == status && got.text() == "offline")
        .await;
    let before = births(&subscriber);
    subscriber.publish(status, true, "online", None).await;
    subscriber
        .until("what it left", || births(&subscriber) > before)
        .await;
    let daemon = Daemon::start(&config);
    let deadline = Instant::now() + PATIENCE;
    while boots(&subscriber).len() < 2 {
        assert!(Instant::now() < deadline, "it does not take the name");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let log = std::fs::read_to_string(config.with_file_name("daemon.log")).unwrap();
    assert!(!log.contains("does not answer"), "{log}");
    assert!(daemon.stop());
}

/// The log of a daemon, once it says this.
async fn says(config: &Path, what: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let log = std::fs::read_to_string(config.with_file_name("daemon.log")).unwrap();
        if log.contains(what) {
            return log;
        }
        assert!(Instant::now() < deadline, "{what:?} is not said: {log}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A configuration of `one_board` that tells its health often.
fn hurry(config: &Path) {
    let text = std::fs::read_to_string(config).unwrap();
    let text = format!("{text}[limits]\nhealth_interval_s = 5\n");
    std::fs::write(config, text).unwrap();
}

/// What a power cut leaves with a broker on another machine, or on the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_whose_holder_lost_its_power_is_taken_when_the_broker_would_have_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    leave_online(&subscriber).await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    hurry(&config);
    let start = Instant::now();
    let daemon = Daemon::start(&config);
    says(&config, "online, on lost-one, and that one does not answer").await;
    assert_eq!(births(&subscriber), 1, "it took the name");
    let log = says(
        &config,
        "the gateway of our name on lost-one gave no sign of life",
    )
    .await;
    assert_eq!(log.matches("does not answer").count(), 1, "{log}");
    // Two keep-alives of the holder, and five seconds.
    assert!(start.elapsed() > Duration::from_secs(15));
    subscriber
        .wait("an event", |got| got.topic.contains("/event/"))
        .await;
    assert!(daemon.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_broker_refuses_the_question_it_is_told_and_the_second_stays_away() {
    let [first, second, of_broker] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let rules = of_broker.path().join("acl");
    let places = ["status", "info", "health", "echo", "board/#"]
        .map(|place| format!("topic write dgt2mqtt/gw/{place}\n"));
    std::fs::write(&rules, format!("topic read #\n{}", places.concat())).unwrap();
    let access = format!("allow_anonymous true\nacl_file {}", rules.display());
    let mosquitto = Mosquitto::start_refusing(of_broker.path(), &access);
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let (_simulator, config) = one_board(first.path(), mosquitto.port);
    hurry(&config);
    let holder = Daemon::start(&config);
    subscriber
        .wait("the holder", |got| got.topic == "dgt2mqtt/gw/health")
        .await;
    let (_simulator, config) = one_board(second.path(), mosquitto.port);
    hurry(&config);
    let other = Daemon::start(&config);
    says(&config, "on dgt2mqtt/gw/claim (NotAuthorized: may we publish there? Until then gateways of our name cannot agree on who publishes)").await;
    says(&config, "another gateway has our name").await;
    // Longer than a holder may be silent.
    tokio::time::sleep(Duration::from_secs(14)).await;
    assert_eq!(births(&subscriber), 1, "both had the name");
    assert!(holder.stop());
    let told = |got: &broker::Got| {
        got.topic == "dgt2mqtt/gw/health" && got.json()["broker"]["refused"].as_u64() > Some(0)
    };
    subscriber.wait("what was refused", told).await;
    assert!(other.stop());
}

const REMEDY: &str = "it hangs up on our messages on dgt2mqtt/gw/claim: may we publish there?";
/// How long the question rests there, at the least, as far as the tests look.
const RESTS: Duration = Duration::from_secs(8);

/// The name has a holder, so that whoever may not ask for it finds it held at each connection.
#[tokio::test]
async fn a_broker_that_hangs_up_on_the_question_is_asked_rarely_and_the_reason_is_told() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mosquitto = Mosquitto::start(ours.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let holder = holder(ours.path(), &mosquitto, &subscriber).await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::HangsUpOn(&["/gw/claim"])).await;
    let station = Station::start(theirs.path(), plain(vec![proxy.url.clone()]));
    station.feed("8", 1..=1).await;
    until("the reason", &station, |station| {
        let error = station.handle.figures().last_error;
        error.is_some_and(|error| error.contains(REMEDY))
    })
    .await;
    assert_eq!(station.handle.figures().refused, 1);
    let connects = station.handle.figures().connects;
    tokio::time::sleep(RESTS).await;
    assert!(station.handle.figures().connects <= connects + 1, "it rests");
    assert_eq!(station.journal.tick().await.depth, 1, "kept");
    station.shut_down().await;
    holder.shut_down().await;
}

#[tokio::test]
async fn and_the_log_has_it_once() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mosquitto = Mosquitto::start(ours.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let holder = holder(ours.path(), &mosquitto, &subscriber).await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::HangsUpOn(&["/gw/claim"])).await;
    let (_simulator, config) = one_board(theirs.path(), proxy.url.port);
    let daemon = Daemon::start(&config);
    let told =
        "does not take our messages on dgt2mqtt/gw/claim (the broker hangs up on it: may we publish there?";
    let log = || std::fs::read_to_string(config.with_file_name("daemon.log")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !log().contains(told) {
        assert!(Instant::now() < deadline, "{}", log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(RESTS).await;
    assert_eq!(log().matches(told).count(), 1, "{}", log());
    assert_eq!(log().matches(REMEDY).count(), 1, "{}", log());
    assert!(daemon.stop());
    holder.shut_down().await;
}

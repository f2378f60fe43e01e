//! Who may do what: rights on the broker as `docs/mosquitto.acl` gives them, commands only where they are asked for, TLS
//! that refuses whom it should, secrets that are nowhere to be read, and no door that anybody could come in by.

use std::{
    fs,
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::{BrokerConfig, Login, Secret, Tls},
    mqtt::{BoardState, StateKey},
};
use rumqttc::v5::{
    AsyncClient, ConnectionError, Event, MqttOptions, StateError,
    mqttbytes::{
        QoS,
        v5::{Packet, PubAckReason},
    },
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, free_port},
    certificates::certificates,
    hall::{self, Daemon, program},
    station::{Station, broker as plain},
};

const STATES: [BoardState; 6] = [
    BoardState::Status,
    BoardState::Info,
    BoardState::Position,
    BoardState::Game,
    BoardState::Clock,
    BoardState::Pgn,
];

const PASSWORD: &str = "correct-horse-battery-staple";

/// mosquitto with the users of the documentation and their rights; the gateway is called `gw` here.
fn guarded(folder: &Path) -> Mosquitto {
    let passwords = folder.join("passwords");
    for (i, user) in ["dgt2mqtt", "arbiter", "screen"].iter().enumerate() {
        let mut command = Command::new("mosquitto_passwd");
        command.arg("-b").args((i == 0).then_some("-c")).arg(&passwords);
        assert!(command.args([user, PASSWORD]).status().unwrap().success());
    }
    let documented = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mosquitto.acl");
    let acl = fs::read_to_string(documented).unwrap();
    let path = folder.join("acl");
    fs::write(&path, acl.replace("/hall/", "/gw/")).unwrap();
    let access = format!(
        "allow_anonymous false\npassword_file {}\nacl_file {}",
        passwords.display(),
        path.display()
    );
    Mosquitto::start_with(folder, &access, "")
}

fn login(user: &str) -> Option<Login> {
    Some(Login {
        username: user.to_owned(),
        password: Some(Secret::new(PASSWORD)),
    })
}

/// What the broker answers when `user` publishes on `topic`.
async fn publish(mosquitto: &Mosquitto, user: &str, topic: &str, payload: &str) -> PubAckReason {
    let mut options = MqttOptions::new(
        format!("{user}-{}", fastrand::u32(..)),
        "127.0.0.1",
        mosquitto.port,
    );
    options.set_credentials(user, PASSWORD);
    let (client, mut events) = AsyncClient::new(options, 8);
    client
        .publish(topic, QoS::AtLeastOnce, false, payload.to_owned())
        .await
        .unwrap();
    let answer = async {
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::PubAck(ack))) => return ack.reason,
                Ok(_) => {}
                // This broker hangs up on what it does not allow.
                Err(ConnectionError::MqttState(StateError::ConnectionAborted)) => {
                    return PubAckReason::NotAuthorized;
                }
                Err(error) => panic!("{user} at {topic}: {error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, answer).await.unwrap()
}

fn is_taken(reason: PubAckReason) -> bool {
    assert!(
        [
            PubAckReason::Success,
            PubAckReason::NoMatchingSubscribers,
            PubAckReason::NotAuthorized
        ]
        .contains(&reason),
        "{reason:?}"
    );
    reason != PubAckReason::NotAuthorized
}

#[tokio::test]
async fn the_rights_of_the_documentation_are_enough_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = guarded(folder.path());
    let screen = Subscriber::with_login(mosquitto.port, "dgt2mqtt/#", ("screen", PASSWORD)).await;
    let mut station = Station::start(
        folder.path(),
        BrokerConfig {
            login: login("dgt2mqtt"),
            ..plain(vec![mosquitto.url()])
        },
    );
    station.connected().await;
    // What the daemon has to say, it may.
    station.feed("7", 1..=5).await;
    station.delivered().await;
    screen
        .wait("the last event", |got| {
            got.topic.contains("/event/") && got.json()["seq"] == 5
        })
        .await;
    screen
        .wait("online", |got| {
            got.topic == "dgt2mqtt/gw/status" && got.text() == "online"
        })
        .await;
    for state in STATES {
        let key = StateKey::board(&station.topics, &"7".parse().unwrap(), state);
        station.handle.states.set(key, "here");
    }
    let said = |count: usize| {
        let states = screen
            .all()
            .into_iter()
            .filter(|got| got.payload == b"here")
            .count();
        states >= count
    };
    screen.until("all states", || said(STATES.len())).await;
    assert_eq!(
        station.handle.figures().refused,
        0,
        "{:?}",
        station.handle.figures()
    );
    // Neither another gateway's topics, nor what is said to it.
    for topic in [
        "dgt2mqtt/other/status",
        "dgt2mqtt/other/board/1/event/move",
        "dgt2mqtt/gw/cmd/ping",
        "dgt2mqtt/gw/board/7/cmd/result",
        "elsewhere",
    ] {
        assert!(
            !is_taken(publish(&mosquitto, "dgt2mqtt", topic, "{}").await),
            "{topic}"
        );
    }
    // An arbiter may command, and may not tell what happened.
    let dismiss = r#"{"ref":"1","result":"1-0"}"#;
    assert!(is_taken(
        publish(&mosquitto, "arbiter", "dgt2mqtt/gw/board/7/cmd/result", dismiss).await
    ));
    let request = tokio::time::timeout(PATIENCE, station.requests.recv()).await;
    assert!(request.unwrap().is_some(), "the command arrives");
    for topic in [
        "dgt2mqtt/gw/board/7/event/move",
        "dgt2mqtt/gw/board/7/game",
        "dgt2mqtt/gw/status",
    ] {
        assert!(
            !is_taken(publish(&mosquitto, "arbiter", topic, "{}").await),
            "{topic}"
        );
    }
    // A dashboard reads.
    for topic in [
        "dgt2mqtt/gw/board/7/cmd/result",
        "dgt2mqtt/gw/cmd/republish",
        "dgt2mqtt/gw/board/7/game",
    ] {
        assert!(
            !is_taken(publish(&mosquitto, "screen", topic, dismiss).await),
            "{topic}"
        );
    }
    assert!(station.requests.try_recv().is_err(), "nothing else arrived");
    station.shut_down().await;
}

#[test]
fn the_documentation_shows_the_rights_that_are_tested() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let acl = fs::read_to_string(docs.join("mosquitto.acl")).unwrap();
    let page = fs::read_to_string(docs.join("operations.md")).unwrap();
    assert!(
        page.contains(acl.trim()),
        "docs/operations.md shows another file than docs/mosquitto.acl"
    );
}

fn encrypted(folder: &Path, port: u16, ca: &str) -> BrokerConfig {
    BrokerConfig {
        tls: Some(Tls {
            ca_file: folder.join(ca),
            client: None,
        }),
        ..plain(vec![format!("mqtts://localhost:{port}").parse().unwrap()])
    }
}

fn server(folder: &Path, certificate: &str, more: &str) -> Mosquitto {
    let at = |name: String| folder.join(name).display().to_string();
    let own = folder.join(format!("broker-{certificate}-{}", fastrand::u32(..)));
    fs::create_dir(&own).unwrap();
    let listener = format!(
        "cafile {}\ncertfile {}\nkeyfile {}\n{more}",
        at("ca.pem".into()),
        at(format!("{certificate}.pem")),
        at(format!("{certificate}.key"))
    );
    Mosquitto::start(&own, &listener)
}

/// Why the first attempt failed.
async fn refusal(folder: &Path, port: u16, ca: &str) -> String {
    let own = tempfile::tempdir_in(folder).unwrap();
    let station = Station::start(own.path(), encrypted(folder, port, ca));
    let deadline = Instant::now() + PATIENCE;
    while station.handle.figures().last_error.is_none() {
        assert!(
            Instant::now() < deadline && !station.handle.figures().connected,
            "it connects"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let figures = station.handle.figures();
    assert_eq!(figures.connects, 0);
    station.shut_down().await;
    figures.last_error.unwrap()
}

#[tokio::test]
async fn a_certificate_of_a_stranger_for_another_or_of_yesterday_is_refused_and_said() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let (good, elsewhere, over) = (
        server(folder.path(), "good", ""),
        server(folder.path(), "elsewhere", ""),
        server(folder.path(), "over", ""),
    );
    for (port, ca, wanted) in [
        (good.port, "stranger.pem", "was not signed by"),
        (elsewhere.port, "ca.pem", "is made out for another name"),
        (over.port, "ca.pem", "has expired"),
    ] {
        let said = refusal(folder.path(), port, ca).await;
        println!("{said}");
        assert!(said.contains(wanted), "{said}");
    }
    // Where all is well it connects, with the two versions that there are.
    for version in ["tlsv1.2", "tlsv1.3"] {
        let broker = server(folder.path(), "good", &format!("tls_version {version}"));
        let own = tempfile::tempdir_in(folder.path()).unwrap();
        let station = Station::start(own.path(), encrypted(folder.path(), broker.port, "ca.pem"));
        station.connected().await;
        station.shut_down().await;
    }
}

/// `openssl s_server` that speaks one old version only.
struct Old(Child);

impl Drop for Old {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn old_versions_of_tls_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    for version in ["-tls1", "-tls1_1"] {
        let port = free_port();
        let mut command = Command::new("openssl");
        command.args(["s_server", "-quiet", version, "-cipher", "ALL:@SECLEVEL=0"]);
        command.args([
            "-accept",
            &format!("127.0.0.1:{port}"),
            "-cert",
            "good.pem",
            "-key",
            "good.key",
        ]);
        let old = command
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let _old = Old(old.unwrap());
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "openssl does not listen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let said = refusal(folder.path(), port, "ca.pem").await;
        println!("{version}: {said}");
        assert!(said.contains("version"), "{version}: {said}");
    }
}

/// Everything below a folder that is the daemon's, as bytes.
fn written(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| {
            (
                entry.path().display().to_string(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes
        .windows(secret.len())
        .any(|window| window == secret.as_bytes())
}

/// The daemon at its most talkative, with a password that is wrong and one that is right.
#[tokio::test]
async fn secrets_are_in_no_log_journal_or_message() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = guarded(folder.path());
    let everything = Subscriber::with_login(mosquitto.port, "dgt2mqtt/#", ("screen", PASSWORD)).await;
    let own = folder.path().join("daemon");
    fs::create_dir(&own).unwrap();
    let capture = own.join("board.dgtcap");
    fs::copy(hall::vienna(), &capture).unwrap();
    let config = own.join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"gw\"\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\nusername = \"dgt2mqtt\"\n\
         [journal]\npath = \"journal.sqlite\"\n[limits]\nhealth_interval_s = 5\n[[board]]\nid = \"1\"\nport = \"capture:{}\"\n",
        mosquitto.port,
        capture.display()
    );
    fs::write(&config, &text).unwrap();
    let wrong = "tr0ub4dor-and-3-and-wrong";
    for password in [wrong, PASSWORD] {
        let daemon = Daemon::start_with(&config, |command| {
            command.env("RUST_LOG", "trace").env("DGT2MQTT_LOG", "trace");
            command.env("DGT2MQTT__BROKER__PASSWORD", password);
        });
        if password == PASSWORD {
            everything
                .wait("an event", |got| got.topic.contains("/event/"))
                .await;
            everything
                .wait("info", |got| got.topic == "dgt2mqtt/gw/info")
                .await;
            everything
                .wait("health", |got| got.topic == "dgt2mqtt/gw/health")
                .await;
        } else {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        // SIGABRT would write a core where the unit does not forbid it; killed in mid-work it leaves its files.
        daemon.kill();
    }
    let checked = program()
        .args(["check", "--connect", "--config"])
        .arg(&config)
        .env("DGT2MQTT__BROKER__PASSWORD", wrong)
        .output()
        .unwrap();
    let mut read = written(&own);
    read.push(("check, standard output".into(), checked.stdout));
    read.push(("check, standard error".into(), checked.stderr));
    read.extend(everything.all().into_iter().map(|got| (got.topic, got.payload)));
    assert!(
        read.iter()
            .any(|(name, bytes)| name.ends_with("daemon.log") && bytes.len() > 1000)
    );
    for (name, bytes) in &read {
        for secret in [wrong, PASSWORD] {
            assert!(!holds(bytes, secret), "{name} holds a password");
        }
    }
    println!("{} files and messages read, no secret in them", read.len());
    let unit =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/dgt2mqtt.service")).unwrap();
    assert!(unit.contains("LimitCORE=0"), "the unit allows no core");
}

/// Sockets on which a process listens, as the kernel lists them.
fn listening(pid: u32) -> Vec<String> {
    let mut sockets = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        if let Ok(target) = fs::read_link(entry.path())
            && let Some(inode) = target.to_string_lossy().strip_prefix("socket:[")
        {
            sockets.push(inode.trim_end_matches(']').to_owned());
        }
    }
    let mut found = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<_> = line.split_whitespace().collect();
            let waits = words[3] == "0A" || table.starts_with("udp");
            if waits && sockets.iter().any(|inode| inode == words[9]) {
                found.push(format!("{table} {}", words[1]));
            }
        }
    }
    found
}

#[tokio::test]
async fn nothing_listens_and_no_command_is_taken_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let config = folder.path().join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"journal.sqlite\"\n[[board]]\nid = \"1\"\nport = \"capture:{}\"\n",
        mosquitto.port,
        hall::vienna().display()
    );
    fs::write(&config, text).unwrap();
    let daemon = Daemon::start(&config);
    subscriber
        .wait("an event", |got| got.topic.contains("/event/"))
        .await;
    assert_eq!(listening(daemon.id()), [""; 0]);
    for topic in ["dgt2mqtt/gw/cmd/ping", "dgt2mqtt/gw/board/1/cmd/resync"] {
        subscriber.publish(topic, false, r#"{"ref":"1"}"#, None).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!subscriber.all().iter().any(|got| got.topic.contains("/reply/")));
    assert!(daemon.stop());
}

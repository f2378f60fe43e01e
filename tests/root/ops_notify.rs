//! What a service manager hears of the daemon, by the socket that it gives: no systemd is needed for that.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::Receiver,
    },
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker, disk, hall, lichess,
    replayed::{Played, taped, told},
    seed::{in_rounds, is_full},
    wiring::Wiring,
};

/// How often the service manager wants a sign of life: short, so that the test is, and long beside what a busy machine
/// may be late.
const WATCHDOG: Duration = Duration::from_secs(3);

/// The service manager's end of a daemon, which has neither board nor broker.
struct Service {
    daemon: Child,
    socket: UnixDatagram,
    _folder: tempfile::TempDir,
}

impl Service {
    fn start(watchdog: Option<Duration>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
        command.args(["run", "--config"]).arg(config(folder.path()));
        command
            .env("NOTIFY_SOCKET", &path)
            .env_remove("WATCHDOG_PID")
            .env_remove("WATCHDOG_USEC");
        if let Some(watchdog) = watchdog {
            command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        }
        let daemon = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            daemon,
            socket,
            _folder: folder,
        }
    }

    /// The next message, as `KEY=VALUE`.
    fn hear(&self) -> String {
        let mut buffer = [0; 256];
        let count = self.socket.recv(&mut buffer).expect("the daemon says something");
        String::from_utf8(buffer[..count].to_vec())
            .unwrap()
            .trim()
            .to_owned()
    }

    /// SIGTERM.
    fn stop(&self) {
        let pid = self.daemon.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn config(folder: &Path) -> std::path::PathBuf {
    // Nothing listens there.
    let nobody = "127.0.0.1:1";
    let path = folder.join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://{nobody}\"]\n[journal]\npath = \"journal.sqlite\"\n\
         [limits]\nshutdown_timeout_s = 2\n[[board]]\nid = \"1\"\nport = \"tcp://{nobody}\"\n"
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn ready_then_a_sign_of_life_in_each_third_of_the_watchdog_then_stopping() {
    let mut service = Service::start(Some(WATCHDOG));
    assert_eq!(service.hear(), "READY=1");
    let start = Instant::now();
    for _ in 0..6 {
        assert_eq!(service.hear(), "WATCHDOG=1");
    }
    // The first comes at once, then three in each period: five thirds have passed.
    let took = start.elapsed();
    assert!(
        took >= WATCHDOG,
        "{took:?}: the working loop feeds it, not a busy one"
    );
    assert!(took < WATCHDOG * 3, "{took:?}: a slow one would be killed");
    service.stop();
    let last = std::iter::repeat_with(|| service.hear()).find(|said| said != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    assert!(service.daemon.wait().unwrap().success());
}

#[test]
fn a_service_manager_without_a_watchdog_hears_when_it_starts_and_stops() {
    let mut service = Service::start(None);
    assert_eq!(service.hear(), "READY=1");
    std::thread::sleep(Duration::from_millis(1500));
    service.stop();
    assert_eq!(service.hear(), "STOPPING=1");
    assert!(service.daemon.wait().unwrap().success());
}

#[test]
fn a_service_manager_that_does_not_listen_keeps_nobody_waiting() {
    let mut service = Service::start(Some(Duration::from_millis(300)));
    // Until there is no room for another word.
    let words = UnixDatagram::unbound().unwrap();
    words.set_nonblocking(true).unwrap();
    let path = service._folder.path().join("notify");
    while words.send_to(b"X=1", &path).is_ok() {}
    std::thread::sleep(Duration::from_secs(2));
    service.stop();
    let deadline = Instant::now() + broker::PATIENCE;
    let ended = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(50));
        service.daemon.try_wait().unwrap()
    });
    let ended = ended
        .take_while(|_| Instant::now() < deadline)
        .find_map(|ended| ended);
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
}

/// A file system on which every write waits, until this is dropped.
pub(super) struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    pub(super) fn new(at: &'a Path) -> Option<Self> {
        let status = Command::new("fsfreeze").arg("-f").arg(at).status();
        status.is_ok_and(|status| status.success()).then_some(Self(at))
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_does_not_end_the_daemon() {
    in_rounds(|random| a_disk_hangs(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_where_a_line_of_many_boards_is_played_on() {
    if is_full() {
        in_rounds(|random| a_disk_hangs(Wiring::Line, random)).await;
    }
}

async fn a_disk_hangs(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("disk");
    let Some(_disk) = disk::ImageDisk::make(&folder.path().join("image"), &at) else {
        return;
    };
    let mosquitto = broker::Mosquitto::start(folder.path(), "");
    let subscriber = broker::Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let game = Played::of(hall::vienna());
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &game.path, &[]);
    let (phone, phoned) = lichess::server(vec!["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"], None);
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace("\"journal.sqlite\"", "\"disk/journal.sqlite\"");
    let alert = format!(
        "[[alert]]\nform = \"webhook\"\nurl = \"http://127.0.0.1:{phone}/\"\ncertainty = \"suspected\"\n"
    );
    fs::write(&config, text + &alert).unwrap();
    taped(&config);
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let signs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&signs);
    std::thread::spawn(move || {
        while socket.recv(&mut [0; 256]).is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let daemon = hall::Daemon::start_with(&config, |command| {
        command
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string())
            .env_remove("WATCHDOG_PID");
    });
    let first = random.u64(1..=10);
    subscriber
        .wait("a move", |got| {
            got.topic.ends_with("/1/event/move") && got.json()["ply"] == first
        })
        .await;
    let Some(frozen) = Frozen::new(&at) else {
        skipped!("fsfreeze is needed");
        return;
    };
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = signs.load(Ordering::Relaxed);
    // Longer than a task may take without being called stuck; in full as long as the worst disk that was met.
    let hung_s = if is_full() { random.u64(12..=40) } else { 20 };
    tokio::time::sleep(Duration::from_secs(hung_s)).await;
    let signs = signs.load(Ordering::Relaxed) - before;
    drop(frozen);
    assert!(
        signs >= hung_s as usize / 4,
        "{signs} signs of life in {hung_s} s: the watchdog would end it"
    );
    subscriber
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    let said = |words: &str| {
        let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
        log.contains(words).then_some(())
    };
    for words in ["journal_slow", "answers again"] {
        hall::until(words, Duration::from_secs(30), || said(words));
    }
    let events = hall::journal(&config, "1");
    let irregularities: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "irregularity")
        .collect();
    // A phone hears of all of them what the journal has, and how certain each is.
    for irregularity in &irregularities {
        let message = phoned_of(&phoned, "irregularity");
        assert_eq!(message["event"], **irregularity);
        assert_eq!(message["certainty"], irregularity["certainty"]);
    }
    assert!(daemon.stop());
    let events = told(&config, &subscriber, "1").await;
    // What is told of a board does not wait for the disk: neither does it come in lumps, nor is it less certain for that. On a busy
    // machine it may be, and is what `replay` tells of what the daemon heard.
    game.is_whole_in(&events, &at.join("dgt2mqtt.toml"), "1");
    let late = game.lateness(&events);
    println!(
        "hung for {hung_s} s from half-move {first} on: {} irregularities, decided {late:.1} s late at the most",
        irregularities.len()
    );
    assert!(late < LATE_S, "{late} s late: the disk held up what a board says");
}

/// How much later than otherwise an event may be decided on a busy machine. The disk hangs for longer than that.
const LATE_S: f64 = 8.0;

/// The next message to a phone that speaks of an event of this type.
fn phoned_of(phoned: &Receiver<lichess::Got>, kind: &str) -> Value {
    loop {
        let got = phoned.recv_timeout(broker::PATIENCE).unwrap();
        let message: Value = serde_json::from_str(&got.body).unwrap();
        if message["event"]["type"] == kind {
            return message;
        }
    }
}

/// The connection goes on, and a new one can be made, while nothing can be read or written: pings, commands, states.
#[tokio::test(flavor = "multi_thread")]
async fn while_a_disk_hangs_the_broker_is_spoken_to() {
    in_rounds(|random| a_disk_hangs_beside_the_broker(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_while_a_line_of_many_boards_is_played_on() {
    if is_full() {
        in_rounds(|random| a_disk_hangs_beside_the_broker(Wiring::Line, random)).await;
    }
}

async fn a_disk_hangs_beside_the_broker(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("disk");
    let Some(_disk) = disk::ImageDisk::make(&folder.path().join("image"), &at) else {
        return;
    };
    let mut mosquitto = broker::Mosquitto::start(folder.path(), "");
    let subscriber = broker::Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.one_board(folder.path(), mosquitto.port);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace("\"journal.sqlite\"", "\"disk/journal.sqlite\""),
    )
    .unwrap();
    let daemon = hall::Daemon::start(&config);
    let count = |topic: &str, holds: &str| {
        let all = subscriber.all();
        all.iter()
            .filter(|got| got.topic == topic && got.text().contains(holds))
            .count()
    };
    let status = |word| count("dgt2mqtt/gw/status", word);
    let answers = || count("dgt2mqtt/gw/reply/ping", "");
    let more = async |what: &str, before: usize, now: &dyn Fn() -> usize| {
        let deadline = Instant::now() + broker::PATIENCE;
        while now() <= before {
            assert!(Instant::now() < deadline, "{what} while the disk hangs");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let first = random.u64(1..=6);
    subscriber
        .wait("a move", |got| {
            got.topic.ends_with("/1/event/move") && got.json()["ply"] == first
        })
        .await;
    let Some(frozen) = Frozen::new(&at) else {
        skipped!("fsfreeze is needed");
        return;
    };
    more("a word of it", 0, &|| count("dgt2mqtt/gw/health", "journal_slow")).await;
    let online = status("online");
    mosquitto.stop();
    mosquitto.resume();
    more("the birth", online, &|| status("online")).await;
    let offline = status("offline");
    // Longer than the broker waits for a ping, which is told every 5 s.
    for _ in 0..4 {
        let before = answers();
        subscriber
            .publish("dgt2mqtt/gw/cmd/ping", false, "{}", None)
            .await;
        more("an answer", before, &answers).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    assert_eq!(status("offline"), offline, "the connection was lost");
    drop(frozen);
    subscriber
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
    assert!(daemon.stop());
    // Nothing is lost or told in another order.
    told(&config, &subscriber, "1").await;
}

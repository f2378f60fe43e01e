//! What the computer itself does to the daemon: its wall clock is set, somebody starts a second daemon, it runs for days.
//! `DGT2MQTT_FULL=1` makes the days three.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::Header,
    capture::{Act, Capture},
    event::Body,
    journal::{Entry, Journal, JournalSettings},
    sim::games,
    time::Millis,
    watcher::{Settings, Watcher},
};
use fastrand::Rng;
use serde_json::Value;
use shakmaty::CastlingMode;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, all_heard, free_port, heard},
    hall::{Daemon, Seat, Simulator, configure, journal, moves, one_board, playing, save, until, vienna},
};

/// Where Debian puts the library that lies about the time; `DGT2MQTT_FAKETIME` says where else it is.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// A daemon whose wall clock is off by what stands in the file `stamp`; none, with a message, where that cannot be had.
fn with_wall_clock(config: &Path, stamp: &Path) -> Option<Daemon> {
    let library = std::env::var_os("DGT2MQTT_FAKETIME").unwrap_or_else(|| FAKETIME.into());
    if !Path::new(&library).exists() {
        eprintln!("skipped: needs libfaketime (apt-get install libfaketime)");
        return None;
    }
    Some(Daemon::start_with(config, |command| {
        command
            .env("LD_PRELOAD", &library)
            .env("FAKETIME_TIMESTAMP_FILE", stamp)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }))
}

fn game(seed: u64, plies: usize) -> (Capture, Vec<String>) {
    let mut made = games::made_up(&mut Rng::with_seed(seed));
    made.truncate(plies);
    let uci = made
        .iter()
        .map(|mv| mv.to_uci(CastlingMode::Standard).to_string());
    (
        games::play(&made, Header::default(), seed).unwrap(),
        uci.collect(),
    )
}

/// A small computer gets the time late, then somebody sets it wrong, then right again: an hour forward, two back.
#[tokio::test]
async fn a_wall_clock_that_is_set_changes_labels_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, uci) = game(11, 8);
    let path = save(folder.path(), "game", &capture);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let simulator = Simulator::start(&["--listen", "127.0.0.1:0"], &[path]);
    let seat = Seat {
        id: "1".into(),
        port: &simulator.ports[0],
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let stamp = folder.path().join("time");
    let set = |offset: &str| fs::write(&stamp, offset).unwrap();
    // Nobody has set it: decades ago.
    set("-30y");
    let Some(mut daemon) = with_wall_clock(&config, &stamp) else {
        return;
    };
    let moved = |n: usize| {
        let events = heard(&subscriber, "1").events;
        events.iter().filter(|event| event["type"] == "move").count() >= n
    };
    let deadline = Instant::now() + Duration::from_millis(capture.end().0) + PATIENCE;
    for (n, offset) in [(2, "+0"), (4, "+1h"), (6, "-1h")] {
        while !moved(n) {
            assert!(Instant::now() < deadline, "half-move {n} does not come");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        set(offset);
        // The daemon looks at it every two seconds.
        tokio::time::sleep(Duration::from_millis(2500)).await;
    }
    while !moved(uci.len()) {
        assert!(Instant::now() < deadline, "the last half-move does not come");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(daemon.lives());
    assert!(daemon.stop());
    let kept = journal(&config, "1");
    let events = all_heard(&subscriber, "1", kept.len()).await;
    assert_eq!(events, kept);
    assert_eq!(moves(&events), uci);
    let seconds: Vec<f64> = events.iter().map(|event| event["t"].as_f64().unwrap()).collect();
    assert!(seconds.is_sorted(), "{seconds:?}");
    let labels: Vec<_> = events.iter().map(|event| event["time"].clone()).collect();
    assert!(
        labels[0].is_null(),
        "a clock that was never set labels nothing: {labels:?}"
    );
    assert!(
        labels.iter().filter(|label| label.is_string()).count() > 3,
        "{labels:?}"
    );
    println!(
        "wall clock set 3 times: {} events compared, 0 lost, 0 repeated in another order",
        events.len()
    );
}

/// The year is another for some seconds, in both directions, while events may be a day old at the most.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_jumps_takes_nothing_from_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "1", &vienna(), &[]);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace("[journal]\n", "[journal]\nmax_age_days = 1\n"),
    )
    .unwrap();
    let stamp = folder.path().join("time");
    let set = |offset: &str| fs::write(&stamp, offset).unwrap();
    set("+0");
    let Some(daemon) = with_wall_clock(&config, &stamp) else {
        return;
    };
    let year = |event: &Value| event["time"].as_str().map(|time| time[..4].to_owned());
    let years = || {
        let events = heard(&subscriber, "1").events;
        events.iter().filter_map(year).collect::<Vec<_>>()
    };
    let now = jiff::Timestamp::now().to_string()[..4].to_owned();
    for (offset, is_there) in [
        ("+0", true),
        ("+20y", false),
        ("-10y", false),
        ("-60y", false),
        ("+0", true),
    ] {
        let before = heard(&subscriber, "1").events.len();
        set(offset);
        // Years that no computer has shown are not written on anything.
        until("an event", PATIENCE, || {
            let events = heard(&subscriber, "1").events;
            let fresh = events.get(before..).unwrap_or_default();
            fresh
                .iter()
                .any(|event| (year(event) == Some(now.clone())) == is_there)
                .then_some(())
        });
        // The journal looks after itself every second.
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    println!("years: {:?}", years());
    assert!(daemon.stop());
    let kept = journal(&config, "1");
    assert_eq!(all_heard(&subscriber, "1", kept.len()).await, kept);
    let numbers: Vec<_> = kept.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let pgn = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .args(["pgn", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    assert!(
        String::from_utf8(pgn.stdout).unwrap().contains("1. "),
        "the game is kept"
    );
}

/// The figure of a name that the daemon tells at `port`.
fn figure(port: u16, name: &str) -> Option<f64> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value?.trim().parse().ok()
}

/// A command that is repeated is not carried out again, and what waits for the broker is no older, whatever somebody sets
/// the wall clock to meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_jumps_makes_nothing_older() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let port = free_port();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{text}[metrics]\nlisten = \"127.0.0.1:{port}\"\n"),
    )
    .unwrap();
    let stamp = folder.path().join("time");
    fs::write(&stamp, "+0").unwrap();
    let Some(daemon) = with_wall_clock(&config, &stamp) else {
        return;
    };
    subscriber
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    let report = r#"{"ref":"once","kind":"clock_setting_wrong"}"#;
    let replies = || {
        let all = subscriber.all().into_iter();
        all.filter(|got| got.topic.ends_with("/1/reply/report"))
            .collect::<Vec<_>>()
    };
    for (n, offset) in ["+20d", "-20d", "+0"].into_iter().enumerate() {
        subscriber
            .publish("dgt2mqtt/gw/board/1/cmd/report", false, report, None)
            .await;
        subscriber.wait("the reply", |_| replies().len() > n).await;
        assert_eq!(replies()[n].json()["ok"], true, "{}", replies()[n].text());
        assert_eq!(replies()[n].text(), replies()[0].text());
        fs::write(&stamp, offset).unwrap();
    }
    mosquitto.stop();
    until("an event that waits", PATIENCE, || {
        figure(port, "dgt2mqtt_outbox_depth").filter(|depth| *depth > 0.0)
    });
    for offset in ["+20d", "-20d", "+0"] {
        fs::write(&stamp, offset).unwrap();
        // The figures are of the last second.
        let uptime = || figure(port, "dgt2mqtt_uptime_seconds");
        let since = until("figures", PATIENCE, uptime);
        until("newer figures", PATIENCE, || {
            uptime().filter(|now| *now > since + 2.0)
        });
        let age = figure(port, "dgt2mqtt_outbox_oldest_seconds").unwrap();
        assert!((0.5..600.0).contains(&age), "{age} s at {offset}");
    }
    assert!(daemon.stop());
    let reported = journal(&config, "1");
    let reported = reported
        .iter()
        .filter(|event| event["kind"] == "clock_setting_wrong");
    assert_eq!(reported.count(), 1);
}

/// Two daemons, each with a name and a journal of its own, on one port: one has it, the other says who is to be
/// corrected, and takes over when the first is gone.
#[tokio::test]
async fn of_two_daemons_one_has_the_board() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, _) = game(12, 30);
    let path = save(folder.path(), "game", &capture);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let link = folder.path().join("board");
    let simulator = Simulator::start(&["--link", link.to_str().unwrap()], &[path]);
    let mut configs = Vec::new();
    for name in ["gw", "other"] {
        let own = folder.path().join(name);
        fs::create_dir(&own).unwrap();
        let seat = Seat {
            id: "1".into(),
            port: &simulator.ports[0],
            capture: &capture,
        };
        let config = configure(&own, mosquitto.port, &[seat]);
        let text = fs::read_to_string(&config).unwrap();
        fs::write(
            &config,
            text.replace("name = \"gw\"", &format!("name = \"{name}\"")),
        )
        .unwrap();
        configs.push(config);
    }
    let online = |name: &str| {
        let topic = format!("dgt2mqtt/{name}/board/1/status");
        subscriber
            .all()
            .iter()
            .rev()
            .find(|got| got.topic == topic)
            .is_some_and(|got| got.text() == "online")
    };
    let until = async |what: &str, is_so: &dyn Fn() -> bool| {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let first = Daemon::start(&configs[0]);
    until("the first daemon has the board", &|| online("gw")).await;
    let mut second = Daemon::start(&configs[1]);
    let log = configs[1].with_file_name("daemon.log");
    let said = || fs::read_to_string(&log).unwrap_or_default();
    until("the second says that the port is taken", &|| {
        said().contains("board 1:")
    })
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(second.lives() && online("gw") && !online("other"), "{}", said());
    first.kill();
    until("the second takes over", &|| online("other")).await;
    println!(
        "second daemon: {}",
        said()
            .lines()
            .find(|line| line.contains("board 1:"))
            .unwrap_or("")
    );
    assert!(second.stop());
}

/// Whether the first dump has White's pieces where Black's are.
fn is_turned(capture: &Capture) -> bool {
    let Some(Act::FromBoard(dump)) = capture.records.first().map(|record| &record.act) else {
        return false;
    };
    // Black's rook is the first square that the board tells.
    dump[3] != 8
}

/// Resident memory of this process, in KiB, and open descriptors.
fn usage() -> (u64, usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    let kib = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (kib, fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Days of a board in minutes: game after game through one watcher and one journal. Neither grows beyond its limits.
#[tokio::test]
async fn days_at_a_board_grow_nothing() {
    const LIMIT: u64 = 1 << 20;
    let hours = if std::env::var_os("DGT2MQTT_FULL").is_some() {
        72
    } else {
        8
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let mut settings = JournalSettings::at(&path);
    settings.max_bytes = LIMIT;
    let (kept, _) = Journal::open(settings, "gw").unwrap();
    let mut watcher = Watcher::new(
        Settings {
            gateway: "gw".into(),
            board: "1".into(),
            ..Settings::default()
        },
        None,
    );
    watcher.handle_link_up(Millis(0), "days");
    let start = Instant::now();
    let (mut origin, mut seed, mut count, mut events, mut plies, mut played) = (0, 1, 0, 0u64, 0u64, 0u64);
    let mut early = None;
    let mut largest = 0;
    while origin < hours * 3_600_000 {
        let (capture, uci) = game(seed, 80);
        seed += 1;
        // Nobody turns the board round between two games.
        if is_turned(&capture) {
            continue;
        }
        played += uci.len() as u64;
        for (i, record) in capture.records.iter().enumerate() {
            // The pieces stand there for a while before the game.
            let set_up = if i == 0 { 0 } else { 8000 };
            let now = Millis(origin + set_up + record.at.0);
            while let Some(due) = watcher.poll_timeout().filter(|due| *due <= now) {
                watcher.handle_timeout(due);
            }
            if let Act::FromBoard(bytes) = &record.act {
                watcher.handle_bytes(now, bytes);
            }
            while watcher.poll_transmit().is_some() {}
            while watcher.poll_wish().is_some() {}
            while watcher.poll_question().is_some() {}
            let fresh: Vec<_> = std::iter::from_fn(|| watcher.poll_event()).collect();
            if fresh.is_empty() {
                continue;
            }
            events += fresh.len() as u64;
            plies += fresh
                .iter()
                .filter(|event| matches!(event.body, Body::Move(_)))
                .count() as u64;
            assert_eq!(fresh.last().unwrap().seq, events, "no gap in the numbers");
            let snapshot = serde_json::to_string(&watcher.snapshot()).unwrap();
            largest = largest.max(snapshot.len());
            let entry = Entry {
                board: "1".into(),
                events: fresh,
                snapshot: Some(snapshot),
                command: None,
            };
            kept.append(entry).await.await.unwrap();
        }
        // Between two games the pieces are set up again, which takes a while.
        origin += capture.end().0 + 60_000;
        count += 1;
        let rows = kept.unacked(0, 100_000).await;
        kept.acked(rows.iter().map(|row| row.n).collect()).await;
        kept.tick().await;
        if count == 12 {
            early = Some(usage());
        }
    }
    let stats = kept.tick().await;
    kept.close().await;
    let (early, late) = (early.unwrap(), usage());
    let size: u64 = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    println!(
        "{hours} h of {} games in {:.0} s: {plies} of {played} half-moves, {events} events; memory {} then {} KiB, \
         descriptors {} then {}, journal {size} bytes ({stats:?}), snapshot at most {largest} bytes",
        count,
        start.elapsed().as_secs_f64(),
        early.0,
        late.0,
        early.1,
        late.1
    );
    assert!(plies * 1000 >= played * 998, "the games are still read");
    assert!(
        late.0 < early.0 + 8 * 1024,
        "memory grew from {} to {} KiB",
        early.0,
        late.0
    );
    // Other tests of this program run beside it.
    assert!(late.1 < early.1 + 20, "descriptors");
    assert!(size < LIMIT + LIMIT / 4, "{size} bytes");
    assert!(largest < 200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_as_configuration_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = one_board(folder.path(), mosquitto.port);
    let daemon = Daemon::start(&config);
    subscriber
        .wait("a move", |got| got.topic.ends_with("/1/event/move"))
        .await;
    fs::remove_file(&config).unwrap();
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    let hangup = Command::new("kill")
        .args(["-HUP", &daemon.id().to_string()])
        .status();
    assert!(hangup.unwrap().success());
    let log = config.with_file_name("daemon.log");
    until("a word of the pipe", PATIENCE, || {
        fs::read_to_string(&log)
            .unwrap()
            .contains("no plain file")
            .then_some(())
    });
    // It answers, and the game goes on.
    subscriber
        .publish("dgt2mqtt/gw/cmd/ping", false, "{}", None)
        .await;
    subscriber
        .wait("an answer", |got| got.topic == "dgt2mqtt/gw/reply/ping")
        .await;
    subscriber
        .wait("the end", |got| got.topic.ends_with("/1/event/game_ended"))
        .await;
    assert!(daemon.stop());
}

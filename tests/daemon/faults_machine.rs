//! What the computer itself does to the daemon: somebody starts a second one, it runs for days, its configuration is a pipe.
//! `DGT2MQTT_FULL=1` makes the days three.

use std::{
    fs,
    io::Write,
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
use shakmaty::CastlingMode;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, Seat, Simulator, configure, save, until},
    replayed::{Played, taped},
    seed::{in_rounds, is_full},
    wiring::Wiring,
};

/// A made-up game, and its half-moves.
pub fn game(seed: u64, plies: usize) -> (Capture, Vec<String>) {
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

/// Two daemons, each with a name and a journal of its own, on one port: one has it, the other says who is to be
/// corrected, and takes over when the first is gone.
#[tokio::test]
async fn of_two_daemons_one_has_the_board() {
    two_daemons_want_the_board(Wiring::Alone).await;
}

#[tokio::test]
async fn of_two_daemons_one_has_the_line() {
    two_daemons_want_the_board(Wiring::Line).await;
}

async fn two_daemons_want_the_board(wiring: Wiring) {
    let folder = tempfile::tempdir().unwrap();
    let (capture, _) = game(12, 30);
    let path = save(folder.path(), "game", &capture);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/#").await;
    let link = folder.path().join("board");
    let own = ["--link", link.to_str().unwrap()];
    let simulator = Simulator::start(&[&own[..], wiring.options()].concat(), &[path]);
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

/// Set in the process that runs one test alone.
const ALONE: &str = "DGT2MQTT_TEST_ALONE";

/// Days of a board in minutes: game after game through one watcher and one journal. Neither grows beyond its limits. Tests that run
/// beside it have memory of their own, so it has a process to itself.
#[tokio::test]
async fn days_at_a_board_grow_nothing() {
    if std::env::var_os(ALONE).is_some() {
        return days_grow_nothing().await;
    }
    let alone = Command::new(std::env::current_exe().unwrap())
        .args([
            "faults_machine::days_at_a_board_grow_nothing",
            "--exact",
            "--nocapture",
        ])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&alone.stdout);
    println!("{said}");
    assert!(alone.status.success() && said.contains("test result: ok. 1 passed"));
}

async fn days_grow_nothing() {
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
    assert!(
        late.1 <= early.1,
        "descriptors grew from {} to {}",
        early.1,
        late.1
    );
    assert!(size < LIMIT + LIMIT / 4, "{size} bytes");
    assert!(largest < 200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_as_configuration_stops_nothing() {
    in_rounds(|random| the_configuration_is_a_pipe(Wiring::Alone, random)).await;
}

/// With `DGT2MQTT_FULL=1`.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_it_stop_a_line_of_many_boards() {
    if is_full() {
        in_rounds(|random| the_configuration_is_a_pipe(Wiring::Line, random)).await;
    }
}

async fn the_configuration_is_a_pipe(wiring: Wiring, mut random: Rng) {
    let game = Played::by_chance(&mut random);
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &game.path, &[]);
    taped(&config);
    let daemon = Daemon::start(&config);
    game.some_instant(&subscriber, "1", &mut random).await;
    let text = fs::read_to_string(&config).unwrap();
    fs::remove_file(&config).unwrap();
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    daemon.signal("HUP");
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
    game.is_over(&subscriber, "1").await;
    assert!(daemon.stop());
    fs::remove_file(&config).unwrap();
    fs::write(&config, text).unwrap();
    game.is_whole(&config, &subscriber, "1").await;
}

/// Somebody copies a configuration while the signal comes, and for a moment it ends before the table of the board.
#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_being_written_is_read_when_it_is_whole() {
    in_rounds(the_configuration_is_being_written).await;
}

async fn the_configuration_is_being_written(mut random: Rng) {
    let game = Played::by_chance(&mut random);
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = Wiring::Alone.playing(folder.path(), mosquitto.port, &game.path, &[]);
    taped(&config);
    let text = fs::read_to_string(&config).unwrap();
    let (head, table) = text.split_once("[[board]]").unwrap();
    let idle = folder.path().join("idle.dgtcap");
    fs::write(&idle, "# dgtcap 1\n").unwrap();
    let cut = format!(
        "{head}[[board]]\nid = \"9\"\nport = \"capture:{}\"\n",
        idle.display()
    );
    let whole = format!("{cut}[[board]]{table}");
    fs::write(&config, &whole).unwrap();
    let daemon = Daemon::start(&config);
    game.some_instant(&subscriber, "1", &mut random).await;
    fs::write(&config, cut).unwrap();
    let (rest, copied) = (format!("[[board]]{table}"), config.clone());
    let copying = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        let mut file = fs::File::options().append(true).open(copied).unwrap();
        file.write_all(rest.as_bytes()).unwrap();
    });
    daemon.signal("HUP");
    copying.join().unwrap();
    let log = config.with_file_name("daemon.log");
    let said = until("that it was read", PATIENCE, || {
        let log = fs::read_to_string(&log).unwrap();
        log.contains("the configuration was read again").then_some(log)
    });
    assert!(said.contains("nothing has changed"), "{said}");
    game.is_over(&subscriber, "1").await;
    assert!(daemon.stop());
    game.is_whole(&config, &subscriber, "1").await;
}

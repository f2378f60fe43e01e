//! Many boards with full backlogs reconnect: the states are right within seconds, the backlog drains in order at the
//! broker's pace, live events of other boards are not starved, and memory stays bounded. The figures of it are to be had by
//! Prometheus. `DGT2MQTT_FULL=1`: a thousand boards with ten thousand events each.

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::{Id, Language},
    journal::{Entry, Journal, JournalSettings},
    mqtt::{BoardState, Publisher, PublisherSettings, StateKey, Topics, rumqtt::RumqttDial},
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, free_port},
    hall::{self, Daemon},
    proxy::{Fault, Proxy},
    station::{Station, broker as plain, event},
};

/// So many messages are under way to the broker at a time, each of another board.
const WINDOW: u64 = 16;

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Writes down what arrives, and no more than that: a subscriber that keeps ten million messages would be what is measured.
#[derive(Default)]
struct Count {
    last: BTreeMap<String, u64>,
    events: u64,
    repeated: u64,
    /// How many events of others came before the first of the board of which nothing waited.
    before_quiet: Option<u64>,
    /// How many events of others came at the most between two of that board.
    between_quiet: u64,
    /// How many events there were at the last of that board.
    at_quiet: u64,
}

impl Count {
    fn event(&mut self, board: &str, seq: u64) {
        let last = self.last.entry(board.to_owned()).or_default();
        assert!(seq <= *last + 1, "board {board}: {seq} came after {last}");
        if board == "quiet" {
            match self.before_quiet {
                Some(_) => self.between_quiet = self.between_quiet.max(self.events - self.at_quiet - 1),
                None => self.before_quiet = Some(self.events),
            }
            self.at_quiet = self.events;
        }
        if seq == *last + 1 {
            *last = seq;
            self.events += 1;
        } else {
            self.repeated += 1;
        }
    }
}

/// When a board's first state came, and after how many events.
#[derive(Clone, Copy)]
struct First {
    at: Instant,
    events: u64,
}

/// Counts events, and notes when each board's newest state came.
async fn count(
    port: u16,
    count: Arc<std::sync::Mutex<Count>>,
    states: Arc<std::sync::Mutex<BTreeMap<String, First>>>,
) {
    use rumqttc::v5::{
        AsyncClient, Event, MqttOptions,
        mqttbytes::{QoS, v5::Packet},
    };
    let mut options = MqttOptions::new("counter", "127.0.0.1", port);
    options.set_max_packet_size(Some(1 << 24));
    let (client, mut events) = AsyncClient::new(options, 64);
    client
        .subscribe("dgt2mqtt/gw/board/#", QoS::AtLeastOnce)
        .await
        .unwrap();
    loop {
        let Event::Incoming(Packet::Publish(publish)) = events.poll().await.unwrap() else {
            continue;
        };
        let topic = String::from_utf8(publish.topic.to_vec()).unwrap();
        let levels: Vec<_> = topic.split('/').collect();
        if levels[4] == "event" {
            let event: serde_json::Value = serde_json::from_slice(&publish.payload).unwrap();
            count
                .lock()
                .unwrap()
                .event(levels[3], event["seq"].as_u64().unwrap());
        } else if publish.payload.as_ref() == b"newest" {
            let first = First {
                at: Instant::now(),
                events: count.lock().unwrap().events,
            };
            states
                .lock()
                .unwrap()
                .entry(levels[3].to_owned())
                .or_insert(first);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_boards_with_full_backlogs_reconnect() {
    let full = std::env::var_os("DGT2MQTT_FULL").is_some();
    let (boards, backlog) = if full {
        let backlog = std::env::var("DGT2MQTT_BACKLOG").map_or(10_000, |text| text.parse().unwrap());
        (1000, backlog)
    } else {
        (200, 25)
    };
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let mut settings = JournalSettings::at(folder.path().join("journal.sqlite"));
    settings.max_bytes = 64 << 30;
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let ids: Vec<Id> = (0..boards).map(|n| format!("b{n}").parse().unwrap()).collect();
    // The broker was away while all boards went on.
    let filled = Instant::now();
    for first in (1..=backlog).step_by(500) {
        let mut waiting = Vec::new();
        for id in &ids {
            let seqs = first..=(first + 499).min(backlog);
            waiting.push(
                journal
                    .append(Entry {
                        board: id.to_string(),
                        events: seqs.map(|seq| event(id.as_str(), seq)).collect(),
                        ..Entry::default()
                    })
                    .await,
            );
        }
        for committed in waiting {
            committed.await.unwrap();
        }
    }
    let filled = filled.elapsed();
    let before = resident_kib();
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let (sender, _requests) = tokio::sync::mpsc::channel(8);
    // A small backlog might be through before a live event is written: until then nothing is acknowledged.
    let proxy = Proxy::before(mosquitto.port, &[], Fault::HeldAcks).await;
    let url = if full { mosquitto.url() } else { proxy.url.clone() };
    let (publisher, handle) = Publisher::new(
        RumqttDial::new(plain(vec![url.clone()]), topics.status(), Duration::from_secs(2)),
        PublisherSettings {
            boot_id: "boot".to_owned(),
            journal_at: None,
            keep_alive: Duration::from_secs(15),
            urls: vec![url],
            commands: false,
            languages: Language::ALL.to_vec(),
            ack_timeout: Duration::from_secs(30),
            stop_bound: Duration::from_secs(2),
        },
        topics.clone(),
        ids.iter().cloned().chain(["quiet".parse().unwrap()]).collect(),
        journal.clone(),
        sender,
        Arc::new(|| {}),
    );
    for id in &ids {
        for state in [BoardState::Game, BoardState::Position, BoardState::Status] {
            handle.states.set(StateKey::board(&topics, id, state), "newest");
        }
    }
    let counted: Arc<std::sync::Mutex<Count>> = Arc::default();
    let states: Arc<std::sync::Mutex<BTreeMap<String, First>>> = Arc::default();
    let counter = tokio::spawn(count(mosquitto.port, Arc::clone(&counted), Arc::clone(&states)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let start = Instant::now();
    let stop = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(publisher.run(stop.clone()));
    // One board goes on meanwhile: its events come behind its own backlog, its states at once. Another begins, of which
    // nothing waits.
    let live = async {
        while counted.lock().unwrap().events == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for seq in 1..=20 {
            for (board, seq) in [("b0", backlog + seq), ("quiet", seq)] {
                let entry = Entry {
                    board: board.into(),
                    events: vec![event(board, seq)],
                    ..Entry::default()
                };
                journal.append(entry).await.await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    live.await;
    proxy.release();
    let total = boards * backlog + 40;
    let mut largest = 0;
    let mut ticked = Instant::now();
    let deadline = start + Duration::from_secs(if full { 7200 } else { 400 });
    while counted.lock().unwrap().events < total {
        assert!(
            Instant::now() < deadline,
            "{:?} of {total}",
            counted.lock().unwrap().events
        );
        largest = largest.max(resident_kib());
        // As the daemon does.
        if ticked.elapsed() >= Duration::from_secs(1) {
            ticked = Instant::now();
            journal.tick().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let drained = start.elapsed();
    let last_state = {
        let states = states.lock().unwrap();
        assert_eq!(states.len(), boards as usize, "every board's state came");
        *states.values().max_by_key(|first| first.at).unwrap()
    };
    let (repeated, before_quiet, between_quiet) = {
        let counted = counted.lock().unwrap();
        let before = counted.before_quiet.unwrap();
        (counted.repeated, before, counted.between_quiet)
    };
    println!(
        "{boards} boards, {total} events (written in {:.1} s): states right after {:.2} s and {} of them, all delivered after {:.1} s \
         ({:.0} a second), 0 lost, {} repeated; the board without a backlog after {before_quiet} of them and {between_quiet} at the most between two of its own; memory {before} then at most {largest} KiB",
        filled.as_secs_f64(),
        last_state.at.duration_since(start).as_secs_f64(),
        last_state.events,
        drained.as_secs_f64(),
        total as f64 / drained.as_secs_f64(),
        repeated
    );
    // One event goes for each state, however many wait.
    let all_states = 3 * boards;
    assert!(
        last_state.events <= all_states + WINDOW,
        "{all_states} states wait for {} of {total} events",
        last_state.events
    );
    // Only what is under way goes before the board of which nothing waited, and before each event of it. In full its events are
    // written while others go out, and a disk takes its time for that.
    let (most_before, most_between) = match full {
        true => (total / 1000, total / 1000),
        false => (2 * WINDOW, 2 * WINDOW),
    };
    assert!(
        before_quiet <= most_before && between_quiet <= most_between,
        "a live event waited for {before_quiet} of {total}, another for {between_quiet}"
    );
    // The backlog stays on the disk.
    assert!(
        largest < before + 64 * 1024,
        "memory grew from {before} to {largest} KiB"
    );
    counter.abort();
    stop.cancel();
    tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
    journal.close().await;
}

/// How fast the backlog of one board drains, of which one event is under way at a time.
#[tokio::test]
#[ignore = "a measurement: cargo test --release --test daemon pressure:: -- --ignored --nocapture"]
async fn one_board_with_a_backlog() {
    for (backlog, delay) in [(10_000, 0), (500, 50)] {
        let folder = tempfile::tempdir().unwrap();
        let mosquitto = Mosquitto::start(folder.path(), "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/7/event/#").await;
        let fault = match delay {
            0 => Fault::None,
            delay => Fault::LateAcks(Duration::from_millis(delay)),
        };
        let proxy = Proxy::before(mosquitto.port, &[], fault).await;
        let url = if delay == 0 {
            mosquitto.url()
        } else {
            proxy.url.clone()
        };
        let (journal, _) =
            Journal::open(JournalSettings::at(folder.path().join("journal.sqlite")), "gw").unwrap();
        let entry = Entry {
            board: "7".into(),
            events: (1..=backlog).map(|seq| event("7", seq)).collect(),
            ..Entry::default()
        };
        journal.append(entry).await.await.unwrap();
        journal.close().await;
        let start = Instant::now();
        let station = Station::start(folder.path(), plain(vec![url]));
        subscriber
            .wait("the first", |got| got.topic.contains("/event/"))
            .await;
        let first = start.elapsed();
        while (subscriber.all().len() as u64) < backlog {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let took = start.elapsed() - first;
        println!(
            "{backlog} events of one board, acknowledged {delay} ms late: {:.1} s, {:.0} a second",
            took.as_secs_f64(),
            backlog as f64 / took.as_secs_f64()
        );
        station.shut_down().await;
    }
}

/// What a program gets that asks for `path`.
fn ask(port: u16, question: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(question.as_bytes()).unwrap();
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        // Who asks too much is hung up on, whatever is still under way.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        read => drop(read.unwrap()),
    }
    answer
}

fn figure(answer: &str, name: &str) -> f64 {
    let line = answer
        .lines()
        .find(|line| line.starts_with(&format!("dgt2mqtt_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {answer}"))
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn depth_age_and_drops_can_be_had_by_prometheus() {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let port = free_port();
    let config = folder.path().join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"journal.sqlite\"\n\
         [metrics]\nlisten = \"127.0.0.1:{port}\"\n[[board]]\nid = \"1\"\nport = \"capture:{}\"\n",
        mosquitto.port,
        hall::vienna().display()
    );
    fs::write(&config, text).unwrap();
    mosquitto.stop();
    let daemon = Daemon::start(&config);
    let metrics = || ask(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let until = async |what: &str, is_so: &dyn Fn(&str) -> bool| {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                let answer = metrics();
                if answer.contains("dgt2mqtt_boards") && is_so(&answer) {
                    return answer;
                }
                assert!(Instant::now() < deadline, "{what}: {answer}");
            }
            assert!(Instant::now() < deadline, "{what}: nothing listens");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let answer = until("events wait", &|answer| figure(answer, "outbox_depth") >= 2.0).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4"),
        "{answer}"
    );
    until("they get older", &|answer| {
        figure(answer, "outbox_oldest_seconds") >= 2.0
    })
    .await;
    assert_eq!(figure(&answer, "events_lost_total"), 0.0);
    assert_eq!(figure(&answer, "broker_connected"), 0.0);
    mosquitto.resume();
    let _subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let answer = until("they are delivered", &|answer| {
        figure(answer, "outbox_depth") == 0.0
    })
    .await;
    assert!(figure(&answer, "events_acknowledged_total") >= 2.0);
    // Each figure is explained, and whatever is asked is answered in a bounded way.
    let manual = include_str!("../../docs/reliability.md");
    let (body, mut explained) = (answer.split("\r\n\r\n").nth(1).unwrap(), 0);
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split([' ', '{']).next().unwrap();
        assert!(
            body.contains(&format!("# HELP {name} ")) && body.contains(&format!("# TYPE {name} ")),
            "{name}"
        );
        assert!(
            manual.contains(&format!("`{name}`")),
            "{name} is not in docs/reliability.md"
        );
        explained += 1;
    }
    assert!(explained >= 15);
    assert!(ask(port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask(port, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    let long = ask(port, &format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(40_000)));
    assert!(long.starts_with("HTTP/1.1 4"), "{long}");
    // Six that say nothing hold nobody up for longer than their time.
    let silent: Vec<_> = (0..6)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap())
        .collect();
    // They would be silent for ever.
    assert!(metrics().contains("dgt2mqtt_boards 1"));
    drop(silent);
    assert!(daemon.stop());
}

//! What many boards cost, and how long a move is on its way: `cargo bench --bench boards`.
//!
//! A hundred simulated boards on pseudo terminals play at the speed of people; one daemon watches
//! them and publishes to a real mosquitto. Printed are the daemon's share of a core, its memory, what it writes to the disk, and
//! the time from the last byte of a press to a subscriber, which is held against a bare publish
//! through the same broker. `BOARDS` and `SECONDS` in the environment set the size.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a benchmark measures time and stops at what it does not expect

use std::{
    collections::HashMap,
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use dgt2mqtt::{
    capture::Header,
    dgt::{ClockReading, Decoder, Message},
    sim::{
        board::SimulatedIdentity,
        games,
        player::{Output, Pace, PlayedBoard},
        port::{Plug, Socket},
    },
    time::Millis,
};
use rumqttc::{
    NetworkOptions,
    v5::{
        AsyncClient, Event, MqttOptions,
        mqttbytes::{QoS, v5::Packet},
    },
};
use serde_json::Value;

/// The aims: a quarter of a core, half a core for a hall of more than a hundred boards; 100 MB.
const CPU_AIM: f64 = 0.25;
const HALL_CPU_AIM: f64 = 0.5;
const MEMORY_AIM: f64 = 100.0;
/// Handshakes and first moves are not counted.
const WARM_UP: Duration = Duration::from_secs(15);
/// Messages of the comparison.
const BARE: u64 = 500;

/// When a press left the board, on both clocks.
#[derive(Clone, Copy)]
struct Pressed {
    at: Instant,
    wall_ms: f64,
}

/// Presses by board and half-move.
type Presses = Arc<Mutex<HashMap<(String, u64), Pressed>>>;

/// What a subscriber got: topic, payload, when.
type Got = Arc<Mutex<Vec<(String, Vec<u8>, Instant, f64)>>>;

fn main() {
    // `cargo test --benches` asks whether it builds, not how fast it is.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(measure());
}

async fn measure() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (boards, seconds) = (number("BOARDS", 100) as u16, number("SECONDS", 60));
    let folder = tempfile::tempdir().unwrap();
    let (_broker, port) = mosquitto(folder.path());
    let (client, got) = subscriber(port).await;
    let presses = Presses::default();
    let mut config = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{port}\"]\n[journal]\npath = \"journal.sqlite\"\n[event]\ntime_control = \"rapid\"\n"
    );
    for board in 1..=boards {
        let terminal = Plug::plug(&mut Socket::Pty(None)).await.unwrap();
        config.push_str(&format!(
            "[[board]]\nid = \"{board}\"\nport = \"{}\"\n",
            terminal.name()
        ));
        tokio::spawn(play(board, terminal, presses.clone()));
    }
    let path = folder.path().join("dgt2mqtt.toml");
    fs::write(&path, config).unwrap();
    let daemon = daemon(&path);

    tokio::time::sleep(WARM_UP).await;
    let (cpu, disk, start) = (cpu_seconds(daemon.id()), written(daemon.id()), Instant::now());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let share = (cpu_seconds(daemon.id()) - cpu) / start.elapsed().as_secs_f64();
    let (disk, took) = (written(daemon.id()) - disk, start.elapsed().as_secs_f64());
    let (resident, peak) = (memory_mb(daemon.id(), "VmRSS"), memory_mb(daemon.id(), "VmHWM"));
    let aim = if boards <= 100 { CPU_AIM } else { HALL_CPU_AIM };
    println!("{boards} boards for {seconds} s after {WARM_UP:?}");
    println!(
        "  share of one core   {:6.1} %   (aim: {:.0} %)",
        100.0 * share,
        100.0 * aim
    );
    println!("  resident memory     {resident:6.1} MB, at most {peak:.1} MB   (aim: {MEMORY_AIM} MB)");

    let arrivals = got.lock().unwrap().clone();
    let is_move = |topic: &str| topic.ends_with("/event/move");
    let moves = arrivals
        .iter()
        .filter(|(topic, _, at, _)| is_move(topic) && *at >= start)
        .count();
    println!(
        "  written to the disk {:6.1} KiB/s, {:.1} KiB for each of {moves} half-moves",
        disk / took / 1024.0,
        disk / moves as f64 / 1024.0
    );
    let (whole, decided, carried) = latencies(&arrivals, &presses.lock().unwrap());
    println!(
        "from the last byte of a press to the subscriber, {} moves",
        whole.len()
    );
    show("until decided", decided);
    show("from there to the subscriber", carried);
    show("together", whole);
    drop(daemon);
    let size = arrivals
        .iter()
        .map(|(_, payload, ..)| payload.len())
        .max()
        .unwrap_or(0);
    show(
        &format!("a bare publish of {size} bytes"),
        bare(&client, &got, size).await,
    );
    assert!(share < aim && peak < MEMORY_AIM, "an aim is missed");
}

/// For each move that a press completed: all the time, that until the decision, that after it (ms).
fn latencies(
    arrivals: &[(String, Vec<u8>, Instant, f64)],
    presses: &HashMap<(String, u64), Pressed>,
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut whole, mut decided, mut carried) = (Vec::new(), Vec::new(), Vec::new());
    for (topic, payload, at, wall_ms) in arrivals {
        if !topic.ends_with("/event/move") {
            continue;
        }
        let event: Value = serde_json::from_slice(payload).unwrap();
        let key = (
            event["board"].as_str().unwrap().to_owned(),
            event["ply"].as_u64().unwrap(),
        );
        let Some(press) = presses.get(&key).filter(|_| event["completed_by"] == "clock") else {
            continue;
        };
        // The daemon's wall clock is ours: it runs on this machine.
        let time: jiff::Timestamp = event["time"].as_str().unwrap().parse().unwrap();
        let decision = time.as_millisecond() as f64;
        whole.push(at.duration_since(press.at).as_secs_f64() * 1000.0);
        decided.push(decision - press.wall_ms);
        carried.push(wall_ms - decision);
    }
    (whole, decided, carried)
}

fn show(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        times
            .get(((times.len() - 1) as f64 * share).round() as usize)
            .copied()
    };
    match (times.is_empty(), times.last()) {
        (false, Some(longest)) => println!(
            "  {what:<32} median {:8.2} ms   p99 {:8.2} ms   longest {longest:8.2} ms",
            at(0.5).unwrap(),
            at(0.99).unwrap()
        ),
        _ => println!("  {what:<32} nothing measured"),
    }
}

/// One board with its hands, for as long as the program runs; until its game is over.
async fn play(board: u16, mut terminal: Plug, presses: Presses) {
    let seed = u64::from(board);
    let moves = games::made_up(&mut fastrand::Rng::with_seed(seed));
    let capture = games::play(&moves, Header::default(), seed).unwrap();
    let mut player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(board), Pace::default());
    let (origin, mut buffer) = (Instant::now(), [0; 256]);
    let now = || Millis(origin.elapsed().as_millis() as u64);
    let (mut decoder, mut clock, mut plies) = (Decoder::new(), None::<ClockReading>, 0);
    let mut heard = false;
    loop {
        while let Some(output) = player.poll_output() {
            let Output::Send(bytes) = output else { continue };
            if !heard {
                continue; // nobody may be there yet
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let Ok(count) = terminal.write(rest).await else {
                    return;
                };
                rest = &rest[count..];
            }
            let pressed = Pressed {
                at: Instant::now(),
                wall_ms: wall_ms(),
            };
            decoder.push(now(), &bytes, &mut |message| {
                let Message::Clock(reading) = message else { return };
                let before = clock.replace(reading);
                if before
                    .is_some_and(|before| before.running && reading.running && before.lever != reading.lever)
                {
                    plies += 1;
                    presses
                        .lock()
                        .unwrap()
                        .insert((board.to_string(), plies), pressed);
                }
            });
        }
        let due = player.poll_timeout().map_or(Duration::MAX, |due| {
            Duration::from_millis(due.0.saturating_sub(now().0))
        });
        tokio::select! {
            read = terminal.read(&mut buffer) => match read.unwrap() {
                0 => { terminal.connect().await.map(|early| player.handle_bytes(now(), &early)).unwrap(); }
                count => {
                    heard = true;
                    player.handle_bytes(now(), &buffer[..count]);
                }
            },
            () = tokio::time::sleep(due) => player.handle_timeout(now()),
        }
    }
}

/// The same broker without us: a client publishes, the subscriber gets it.
async fn bare(client: &AsyncClient, got: &Got, size: usize) -> Vec<f64> {
    got.lock().unwrap().clear();
    let mut sent = Vec::new();
    for number in 0..BARE {
        sent.push(Instant::now());
        let payload = vec![b'x'; size];
        client
            .publish(
                format!("dgt2mqtt/bare/{number}"),
                QoS::AtLeastOnce,
                false,
                payload,
            )
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let arrivals = got.lock().unwrap().clone();
    let number = |topic: &str| {
        topic
            .strip_prefix("dgt2mqtt/bare/")
            .and_then(|number| number.parse::<usize>().ok())
    };
    let took = |at: &Instant, number: usize| at.duration_since(sent[number]).as_secs_f64() * 1000.0;
    arrivals
        .iter()
        .filter_map(|(topic, _, at, _)| Some(took(at, number(topic)?)))
        .collect()
}

/// A process that ends with the value.
struct Process(Child);

impl Process {
    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn mosquitto(folder: &Path) -> (Process, u16) {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let config = folder.join("mosquitto.conf");
    fs::write(
        &config,
        format!("listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"),
    )
    .unwrap();
    let start = |program| {
        Command::new(program)
            .arg("-c")
            .arg(&config)
            .stderr(Stdio::null())
            .spawn()
            .ok()
    };
    let broker = ["/usr/sbin/mosquitto", "mosquitto"].into_iter().find_map(start);
    let broker = Process(broker.expect("this needs mosquitto: apt-get install mosquitto"));
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    (broker, port)
}

fn daemon(config: &Path) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
    command
        .args(["run", "--config"])
        .arg(config)
        .stderr(Stdio::null());
    Process(command.spawn().unwrap())
}

async fn subscriber(port: u16) -> (AsyncClient, Got) {
    let mut options = MqttOptions::new("subscriber", "127.0.0.1", port);
    // Else small messages wait for acknowledgements of the network, which would hide what we add.
    let mut network = NetworkOptions::new();
    network.set_tcp_nodelay(true);
    options
        .set_max_packet_size(Some(1 << 20))
        .set_network_options(network);
    let (client, mut events) = AsyncClient::new(options, 64);
    client.subscribe("dgt2mqtt/#", QoS::AtLeastOnce).await.unwrap();
    let got = Got::default();
    let sink = got.clone();
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let mut ready = Some(ready);
    tokio::spawn(async move {
        loop {
            match events.poll().await.unwrap() {
                Event::Incoming(Packet::SubAck(_)) => drop(ready.take().map(|ready| ready.send(()))),
                Event::Incoming(Packet::Publish(publish)) => {
                    let topic = String::from_utf8(publish.topic.to_vec()).unwrap();
                    if topic.contains("/event/") || topic.contains("/bare/") {
                        let payload = publish.payload.to_vec();
                        sink.lock()
                            .unwrap()
                            .push((topic, payload, Instant::now(), wall_ms()));
                    }
                }
                _ => {}
            }
        }
    });
    is_ready.await.unwrap();
    (client, got)
}

fn wall_ms() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
        * 1000.0
}

/// Processor time of a process so far (proc(5), fields 14 and 15, in hundredths of a second).
fn cpu_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
    (ticks(14) + ticks(15)) / 100.0
}

/// Bytes that a process has had written to disks so far (proc(5)).
fn written(process: u32) -> f64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    bytes.unwrap().parse().unwrap()
}

fn memory_mb(process: u32, what: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

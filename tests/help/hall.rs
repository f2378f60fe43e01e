//! A playing hall for tests: simulated boards, the daemon as a process, and what both say.
#![allow(dead_code)] // shared by several test programs.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    dgt::{Decoder, Lever, Message},
    link::file::read_capture,
    time::Millis,
};
use serde_json::Value;

/// The program under test.
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
}

/// Waits until there is something to be found.
pub fn until<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Captures of real boards; empty, with a message, where they are not at hand.
pub fn real_captures() -> Vec<PathBuf> {
    let corpus = std::env::var_os("DGT2MQTT_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    let folder = corpus.join("real");
    let Ok(entries) = fs::read_dir(&folder) else {
        skipped!("no real captures in {}", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dgtcap"))
        .collect();
    paths.sort();
    paths
}

/// A capture of our own.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{name}.dgtcap"))
}

/// The capture of the demo's game.
pub fn vienna() -> PathBuf {
    fixture("vienna-1910")
}

/// A board that plays the demo's game three times as fast, and the configuration of a daemon for it.
pub fn one_board(folder: &Path, broker: u16) -> (Simulator, PathBuf) {
    playing(folder, broker, "1", &vienna(), &["--speed", "3"])
}

/// A board that plays a capture, and the configuration of a daemon for it; `options` are the simulator's.
pub fn playing(folder: &Path, broker: u16, id: &str, path: &Path, options: &[&str]) -> (Simulator, PathBuf) {
    let simulator = Simulator::start(options, &[path.to_owned()]);
    let seats = [Seat {
        id: id.into(),
        port: &simulator.ports[0],
        capture: &read_capture(path).unwrap(),
    }];
    let config = configure(folder, broker, &seats);
    (simulator, config)
}

/// Boards as a process: their ports in the order of the captures.
pub struct Simulator {
    child: Child,
    pub ports: Vec<String>,
}

impl Simulator {
    /// `options` go before the captures; the boards answer until this is dropped.
    pub fn start(options: &[&str], captures: &[PathBuf]) -> Self {
        let mut command = program();
        command.arg("simulate").args(options).arg("--keep").args(captures);
        Self::of(command, captures.len())
    }

    /// Boards with games that are made up.
    pub fn made_up(options: &[&str], boards: usize) -> Self {
        let mut command = program();
        command.args(["simulate", "--keep", "--boards", &boards.to_string()]);
        command.args(options);
        Self::of(command, boards)
    }

    fn of(mut command: Command, boards: usize) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ports: Vec<_> = lines.take(boards).map(Result::unwrap).collect();
        assert_eq!(
            ports.len(),
            boards,
            "the simulator did not say where its boards are"
        );
        Self { child, ports }
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A board of the configuration: its id, its port, and the capture whose header says the rest.
pub struct Seat<'a> {
    pub id: String,
    pub port: &'a str,
    pub capture: &'a Capture,
}

/// Writes a configuration and returns its path.
pub fn configure(folder: &Path, broker: u16, seats: &[Seat<'_>]) -> PathBuf {
    let mut text = format!(
        "[gateway]\nname = \"gw\"\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\nkeep_alive = 5\n[journal]\npath = \"journal.sqlite\"\n"
    );
    for Seat { id, port, capture } in seats {
        text.push_str(&format!("[[board]]\nid = \"{id}\"\nport = \"{port}\"\n"));
        for (key, value) in capture.header.lines() {
            if ["laws", "time-control", "supervision"].contains(&key.as_str()) {
                text.push_str(&format!("{} = \"{value}\"\n", key.replace('-', "_")));
            }
        }
    }
    let path = folder.join("dgt2mqtt.toml");
    fs::write(&path, text).unwrap();
    path
}

/// The daemon as a process; what it says goes to `daemon.log` beside its configuration.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    pub fn start(config: &Path) -> Self {
        Self::start_with(config, |_| {})
    }

    /// The same, in another environment.
    pub fn start_with(config: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(config.with_file_name("daemon.log"))
            .unwrap();
        let mut command = program();
        command.args(["run", "--config"]).arg(config);
        change(&mut command);
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self { child }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it the signal of this name.
    pub fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        kill.args(["-s", name, &self.child.id().to_string()]);
        assert!(kill.status().unwrap().success());
    }

    /// SIGTERM; whether it ended well, in the ten seconds that it has and those that a busy machine takes.
    pub fn stop(mut self) -> bool {
        self.signal("TERM");
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn events_of(command: &mut Command) -> Vec<Value> {
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What `replay` says of a capture.
pub fn replay(capture: &Path, board: &str) -> Vec<Value> {
    events_of(program().arg("replay").arg(capture).args(["--board", board]))
}

/// What the journal beside `config` has of a board.
pub fn journal(config: &Path, board: &str) -> Vec<Value> {
    events_of(
        program()
            .args(["journal", "--config"])
            .arg(config)
            .args(["--board", board]),
    )
}

/// Whom these events accuse. What a busy machine does not hear in time may be suspected, which is no accusation.
pub fn accusations(events: &[Value]) -> Vec<&Value> {
    let is_one = |event: &&Value| event["type"] == "irregularity" && event["certainty"] != "suspected";
    events.iter().filter(is_one).collect()
}

/// The numbers of a board's events begin with 1, and none is left out.
pub fn are_numbered(events: &[Value]) {
    let numbers: Vec<_> = events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    let all: Vec<_> = (1..=events.len() as u64).collect();
    assert_eq!(numbers, all, "board {}", events[0]["board"]);
}

/// What the journal beside `config` has of commands to a board.
pub fn commands(config: &Path, board: &str) -> Vec<Value> {
    events_of(
        program()
            .args(["journal", "--commands", "--config"])
            .arg(config)
            .args(["--board", board]),
    )
}

/// Leaves of an irregularity what is published of it however long it is. `short/brief.rs` has tests of the rest.
fn shorten(event: &mut serde_json::Map<String, Value>) {
    event.remove("whole");
    let ruling = event["ruling"].as_object_mut().unwrap();
    for field in ["clock_working", "time_control", "laws"] {
        ruling.remove(field);
    }
    for words in event["text"].as_object_mut().unwrap().values_mut() {
        words.as_object_mut().unwrap().remove("advice");
    }
}

/// The events of a journal as they are published, and those that were published: an irregularity, and its ruling that was amended, say
/// there only what fits.
pub fn as_published(mut events: Vec<Value>) -> Vec<Value> {
    let is_short = |event: &&mut Value| {
        ["irregularity", "ruling_amended"]
            .iter()
            .any(|kind| event["type"] == **kind)
    };
    let rulings = events.iter_mut().filter(is_short);
    rulings.for_each(|event| shorten(event.as_object_mut().unwrap()));
    events
}

/// Events without what differs from one run to the next: numbers, times, who the board said it was.
/// References to other events become what those events were.
pub fn comparable(events: &[Value]) -> Vec<Value> {
    let mut accused: BTreeMap<String, String> = BTreeMap::new();
    let mut same = Vec::new();
    for event in events {
        let mut event = event.clone();
        let fields = event.as_object_mut().unwrap();
        let id = fields["id"].as_str().unwrap().to_owned();
        for key in ["v", "id", "seq", "t", "at", "time", "board"] {
            fields.remove(key);
        }
        if fields["type"] == "board_connected" {
            fields.retain(|key, _| key == "type");
        }
        if fields["type"] == "irregularity" {
            shorten(fields);
            accused.insert(id, format!("{} at {}", fields["kind"], fields["ply"]));
        }
        if fields["type"] == "irregularity_resolved" || fields["type"] == "ruling_amended" {
            let of = fields["irregularity"].as_str().unwrap();
            let of = accused
                .get(of)
                .unwrap_or_else(|| panic!("{of} was never said"))
                .clone();
            fields.insert("irregularity".to_owned(), of.into());
        }
        same.push(event);
    }
    same
}

/// Whether two comparable events are the same; clocks may differ by a second, and then what the sentences say of them.
pub fn same(a: &Value, b: &Value) -> bool {
    let (mut a, mut b) = (a.clone(), b.clone());
    let [said, also] = [&mut a, &mut b].map(|event| {
        let fields = event.as_object_mut();
        fields
            .and_then(|fields| fields.remove("text"))
            .unwrap_or_default()
    });
    alike(&a, &b) && (said == also || (a != b && without_times(&said) == without_times(&also)))
}

/// Sentences without numbers and without how those were worked out, which stands in brackets.
fn without_times(said: &Value) -> String {
    let mut brackets = 0;
    let mut rest = said.to_string();
    rest.retain(|c| {
        brackets += i32::from(c == '(') - i32::from(c == ')');
        brackets == 0 && c != ')' && c != ' ' && !c.is_ascii_digit()
    });
    rest
}

fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|((key, a), (other, b))| {
                    key == other
                        && match (a.as_u64(), b.as_u64()) {
                            (Some(a), Some(b)) if key.ends_with("_ms") => a.abs_diff(b) <= 1000,
                            _ => alike(a, b),
                        }
                })
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        _ => a == b,
    }
}

/// The first place where two lists of comparable events part, for a person.
pub fn difference(expected: &[Value], got: &[Value]) -> Option<String> {
    let place = (0..expected.len().max(got.len())).find(|&i| match (expected.get(i), got.get(i)) {
        (Some(a), Some(b)) => !same(a, b),
        _ => true,
    })?;
    let show = |event: Option<&Value>| event.map_or_else(|| "nothing".to_owned(), short);
    let before = place.checked_sub(1).and_then(|before| expected.get(before));
    Some(format!(
        "event {} of {} (got {}), after {}\n  expected {}\n  got      {}\n  then     {}",
        place + 1,
        expected.len(),
        got.len(),
        show(before),
        show(expected.get(place)),
        show(got.get(place)),
        show(got.get(place + 1)),
    ))
}

fn short(event: &Value) -> String {
    let mut event = event.clone();
    if let Some(fields) = event.as_object_mut() {
        fields.remove("text");
    }
    event.to_string()
}

/// The moves that stand at the end, as UCI: the last game's, without those retracted.
pub fn moves(events: &[Value]) -> Vec<String> {
    let mut moves = Vec::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "game_started" => moves.clear(),
            "move" => {
                let ply = event["ply"].as_u64().unwrap() as usize;
                assert_eq!(ply, moves.len() + 1, "a half-move out of order: {event}");
                moves.push(event["uci"].as_str().unwrap().to_owned());
            }
            "moves_retracted" => moves.truncate(event["to_ply"].as_u64().unwrap() as usize),
            _ => {}
        }
    }
    moves
}

/// A capture with less thinking: of each time in which nothing is touched, at most `keep_ms` is left.
/// What follows `end_ms` (of the shorter capture) is cut off, and the rest made `speed` times faster.
pub fn shortened(path: &Path, keep_ms: u64, end_ms: u64, speed: u64) -> Capture {
    let mut capture = read_capture(path).unwrap();
    let touched = touched(&capture.records);
    let mut short = Vec::new();
    // The last touch: when it was, and when it is now.
    let (mut was, mut is) = (Millis(0), 0);
    let mut touches = touched.iter().copied().peekable();
    for record in &capture.records {
        while let Some(touch) = touches.next_if(|touch| *touch <= record.at) {
            is += touch.since(was).min(keep_ms);
            was = touch;
        }
        let since = record.at.since(was);
        let at = match touches.peek() {
            _ if since <= keep_ms / 2 => is + since,
            None => break,
            Some(next) => {
                let until = next.since(record.at);
                if until > keep_ms / 2 {
                    continue;
                }
                is + next.since(was).min(keep_ms) - until
            }
        };
        if at > end_ms {
            break;
        }
        let act = record.act.clone();
        short.push(Record {
            at: Millis(at / speed),
            act,
        });
    }
    capture.records = short;
    stopped(capture)
}

/// A capture at whose end the clock is stopped, as a simulator does it when nobody plays on. Where a
/// capture breaks off with a running clock, what is decided after its end would have `running` set in
/// `replay`, which hears no more of the clock, and null where the simulator has stopped it.
pub fn stopped(mut capture: Capture) -> Capture {
    let mut last = None;
    let mut decoder = Decoder::new();
    for record in &capture.records {
        if let Act::FromBoard(bytes) = &record.act {
            decoder.push(record.at, bytes, &mut |message| {
                if let Message::Clock(reading) = message {
                    last = Some(reading);
                }
            });
        }
    }
    if let Some(mut reading) = last {
        reading.running = false;
        let mut bytes = Vec::new();
        Message::Clock(reading).encode(&mut bytes);
        let at = capture.end() + 1000;
        capture.records.push(Record {
            at,
            act: Act::FromBoard(bytes),
        });
    }
    capture
}

/// When a square changed or the clock's lever moved.
fn touched(records: &[Record]) -> Vec<Millis> {
    let mut touched = Vec::new();
    let mut lever: Option<Lever> = None;
    let mut decoder = Decoder::new();
    for record in records {
        let Act::FromBoard(bytes) = &record.act else {
            touched.push(record.at);
            continue;
        };
        decoder.push(record.at, bytes, &mut |message| match message {
            Message::Clock(reading) if lever.replace(reading.lever) != Some(reading.lever) => {
                touched.push(record.at);
            }
            Message::Clock(_) => {}
            _ => touched.push(record.at),
        });
    }
    touched
}

/// Writes a capture to `folder`.
pub fn save(folder: &Path, name: &str, capture: &Capture) -> PathBuf {
    let path = folder.join(name).with_extension("dgtcap");
    fs::write(&path, capture.to_string()).unwrap();
    path
}

//! `init` as a new user runs it: boards on pseudo terminals, a real mosquitto, answers typed at a terminal.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::cargo::CommandCargoExt;
use rustix::{
    fs::{OFlags, fcntl_setfl},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use crate::broker::{self, Mosquitto, PATIENCE, Subscriber};

fn program() -> Command {
    let mut program = Command::cargo_bin("dgt2mqtt").unwrap();
    program.env_remove("DGT2MQTT_CONFIG");
    program
}

/// Two boards on pseudo terminals, gone with the value.
struct Boards(Child, Vec<String>);

impl Boards {
    fn start() -> Self {
        Self::of(2, &[])
    }

    fn of(count: usize, options: &[&str]) -> Self {
        let mut child = program()
            .args(["simulate", "--keep", "--boards", &count.to_string()])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ports = lines.take(count).map(Result::unwrap).collect();
        Self(child, ports)
    }
}

impl Drop for Boards {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `init` into `file`, where nobody can be asked.
fn init(file: &Path, args: &[&str]) -> Output {
    program()
        .args(["init", "--config"])
        .arg(file)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.stdout.is_empty(), "data was printed: {output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What `check` says of it; the ports and the broker are tried.
fn checked(file: &Path) -> String {
    let output = program()
        .args(["check", "--connect", "--config"])
        .arg(file)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words}{output:?}");
    words
}

/// A terminal at which the program asks, and answers that are typed when their question is there.
struct Terminal {
    ours: File,
    shown: String,
    child: Child,
}

impl Terminal {
    fn start(args: &[&OsStr]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        fcntl_setfl(&ours, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = File::options()
            .read(true)
            .write(true)
            .open(PathBuf::from(OsStr::from_bytes(name.as_bytes())))
            .unwrap();
        let child = program()
            .args(args)
            .stdin(theirs.try_clone().unwrap())
            .stderr(theirs)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            ours: File::from(ours),
            shown: String::new(),
            child,
        }
    }

    /// Reads what the program shows; false once it has ended.
    fn reads(&mut self) -> bool {
        let (mut buffer, deadline) = ([0; 256], Instant::now() + PATIENCE);
        loop {
            match self.ours.read(&mut buffer) {
                Ok(read @ 1..) => {
                    self.shown += &String::from_utf8_lossy(&buffer[..read]);
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    assert!(Instant::now() < deadline, "it hangs:\n{}", self.shown);
                    std::thread::sleep(Duration::from_millis(10));
                }
                _ => return false,
            }
        }
    }

    /// Waits until the program shows `question` and types `answer`. A program that ends instead ends the reading.
    fn answer(&mut self, question: &str, answer: &str) {
        while !self.shown.contains(question) {
            assert!(self.reads(), "{question:?} was not asked:\n{}", self.shown);
        }
        self.shown.clear();
        self.ours.write_all(answer.as_bytes()).unwrap();
    }

    /// The person goes away instead of an answer. The system may lose an end that is typed just as the program begins to read.
    fn leave(&mut self, question: &str) {
        self.answer(question, "\u{4}");
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(500));
            let _ = self.ours.write_all(b"\x04");
        }
    }

    /// How it ended, and what it said last.
    fn ended(mut self) -> (ExitStatus, String) {
        while self.reads() {}
        (self.child.wait().unwrap(), self.shown)
    }
}

#[test]
fn flags_are_enough_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (boards, broker) = (Boards::start(), Mosquitto::start(folder.path(), ""));
    let file = folder.path().join("etc/dgt2mqtt.toml");
    let url = format!("mqtt://127.0.0.1:{}", broker.port);
    let [one, two] = [boards.1[0].as_str(), boards.1[1].as_str()];
    let args = [
        "--name",
        "hall",
        "--port",
        one,
        "--port",
        two,
        "--broker",
        &url,
        "--time-control",
        "rapid",
    ];

    let first = init(&file, &args);
    let words = said(&first);
    assert!(first.status.success(), "{words}");
    for part in [
        &format!("{one}: a board with the serial number"),
        &format!("{two}: a board with the serial number"),
        &format!("{url}: the broker lets us in"),
        "dgt2mqtt run --config",
    ] {
        assert!(words.contains(part), "{part:?} is missing in\n{words}");
    }
    let words = checked(&file);
    for part in [
        "below dgt2mqtt/hall",
        "rapid chess",
        "not subscribed to",
        one,
        two,
    ] {
        assert!(words.contains(part), "{part:?} is missing in\n{words}");
    }

    let before = fs::read_to_string(&file).unwrap();
    let again = init(&file, &args[2..]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        said(&again).contains("was left as it is; --force replaces it"),
        "{again:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before);

    let told = [&args[2..], &["--name", "club", "--commands", "--force"]].concat();
    assert!(init(&file, &told).status.success());
    let after = checked(&file);
    assert!(
        after.contains("below dgt2mqtt/club") && after.contains("are obeyed"),
        "{after}"
    );
}

#[test]
fn a_person_is_asked_at_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (boards, broker) = (Boards::start(), Mosquitto::start(folder.path(), ""));
    let file = folder.path().join("dgt2mqtt.toml");
    let args = [
        "init".as_ref(),
        "--config".as_ref(),
        file.as_os_str(),
        "--port".as_ref(),
        boards.1[0].as_ref(),
    ];
    let mut terminal = Terminal::start(&args);
    terminal.answer("Name of this gateway [", "Main Hall\n");
    terminal.answer("cannot be an id", "hall\n");
    terminal.answer("Time control", "blitz\n");
    terminal.answer(
        "Address of the broker [mqtt://localhost:1883]",
        &format!("mqtt://127.0.0.1:{}\n", broker.port),
    );
    terminal.answer("May arbiters send commands", "y\n");
    terminal.answer("Write ", "\n");
    let (status, shown) = terminal.ended();
    assert!(status.success(), "{shown}");
    let words = checked(&file);
    for part in ["below dgt2mqtt/hall", "are obeyed", "blitz", &boards.1[0]] {
        assert!(words.contains(part), "{part:?} is missing in\n{words}");
    }

    // It is there now: who does not say yes keeps it, and who goes away in mid-dialog as well.
    let before = fs::read_to_string(&file).unwrap();
    let mut terminal = Terminal::start(&args);
    terminal.answer("Replace it?", "\n");
    let (status, shown) = terminal.ended();
    assert!(
        !status.success() && shown.contains("was left as it is"),
        "{shown}"
    );
    let mut terminal = Terminal::start(&args);
    terminal.answer("Replace it?", "y\n");
    terminal.leave("Name of this gateway [");
    let (status, shown) = terminal.ended();
    assert!(
        !status.success() && shown.contains("nothing was written"),
        "{shown}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

/// A line that boards share is known by what it answers, and its boards are watched where they were found.
#[test]
fn a_line_is_found_with_its_boards() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dgt2mqtt.toml");
    let broker = Mosquitto::start(folder.path(), "");
    let url = format!("mqtt://127.0.0.1:{}", broker.port);
    let line = Boards::of(2, &["--line"]);
    let chessnut = Boards::of(1, &["--protocol", "chessnut"]);
    // `bus:SERIAL@PORT` is what one board of the line is called.
    let shared = line.1[0].split_once('@').unwrap().1;
    let named = format!("chessnut={}", chessnut.1[0]);
    let output = init(
        &file,
        &[
            "--name", "hall", "--broker", &url, "--port", shared, "--port", &named,
        ],
    );
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("a line that 2 boards share"), "{words}");
    let text = fs::read_to_string(&file).unwrap();
    let table: toml::Table = text.parse().unwrap();
    // What a line tells of a board's number is what is left of it.
    let address = |port: &String| {
        let serial = &port["bus:".len()..port.find('@').unwrap()];
        format!("{:05}", serial.parse::<u32>().unwrap() % 16384)
    };
    let serials: Vec<_> = line.1.iter().map(address).collect();
    let written = table["line"][0]["boards"].as_array().unwrap().iter();
    let written: Vec<_> = written.map(|serial| serial.as_str().unwrap()).collect();
    assert_eq!(written, serials, "{text}");
    assert_eq!(table["board"][0]["protocol"].as_str(), Some("chessnut"), "{text}");
    // All of them answer there.
    let words = checked(&file);
    assert!(words.contains(shared), "{words}");
}

/// A board of another maker is known by what it answers; where it is said what is there, nothing else is asked.
#[test]
fn a_board_of_another_maker_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let board = Boards::of(1, &["--protocol", "chesslink"]);
    let port = &board.1[0];
    let written = |name: &str, port: &str| {
        let file = folder.path().join(name);
        let output = init(&file, &["--name", "hall", "--port", port]);
        let text = fs::read_to_string(&file).unwrap_or_default();
        (output.status.success(), said(&output), text)
    };
    let (is_done, words, text) = written("found", port);
    assert!(is_done && words.contains("(chesslink)"), "{words}");
    assert!(text.contains("protocol = \"chesslink\""), "{text}");
    let (is_done, words, text) = written("wrong", &format!("occ1={port}"));
    assert!(is_done && words.contains("no board answers"), "{words}");
    assert!(text.contains("protocol = \"occ1\""), "{text}");
    // A line on which nobody answers has no boards, so there is nothing to watch.
    let (is_done, words, _) = written("nobody", &format!("line={port}"));
    assert!(!is_done, "{words}");
}

#[test]
fn boards_and_brokers_that_are_not_there_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dgt2mqtt.toml");
    let closed = format!("mqtt://127.0.0.1:{}", broker::free_port());
    // A broker may come later, and so may a board that was named.
    let output = init(
        &file,
        &["--name", "hall", "--port", "usb:NONE", "--broker", &closed],
    );
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    assert!(
        words.contains("usb:NONE: no port") && words.contains("nothing listens at"),
        "{words}"
    );
    let output = program().args(["check", "--config"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");

    // A password goes over a network in clear only where somebody says so.
    let (open, password) = (folder.path().join("open.toml"), folder.path().join("password"));
    fs::write(&password, "hunter2").unwrap();
    let mut words = vec![
        "--name",
        "hall",
        "--port",
        "usb:NONE",
        "--broker",
        "mqtt://192.0.2.1",
    ];
    words.extend([
        "--username",
        "anna",
        "--password-file",
        password.to_str().unwrap(),
    ]);
    let output = init(&open, &words);
    assert!(!output.status.success() && !open.exists(), "{output:?}");
    assert!(said(&output).contains("--password-in-clear"), "{output:?}");
    words.push("--password-in-clear");
    let output = init(&open, &words);
    assert!(output.status.success(), "{}", said(&output));
    let output = program().args(["check", "--config"]).arg(&open).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("the password crosses the network unencrypted"));

    let nowhere = Path::new("/proc/dgt2mqtt.toml");
    let output = init(
        nowhere,
        &["--name", "hall", "--port", "usb:NONE", "--broker", &closed],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("cannot write /proc/dgt2mqtt.toml"),
        "{output:?}"
    );
}

/// The README's way for who has the package and no board.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_board_the_first_irregularity_comes_as_the_readme_says() {
    let readme = include_str!("../../README.md");
    let line = readme
        .lines()
        .find_map(|line| line.strip_prefix("dgt2mqtt simulate ")?.strip_suffix(" &"))
        .unwrap();
    let line = line.replace("127.0.0.1:2000", "127.0.0.1:0");
    let mut child = program()
        .arg("simulate")
        .args(line.split(' '))
        .args(["--speed", "3"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    let boards = Boards(child, vec![port.trim().to_owned()]);
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let url = format!("mqtt://127.0.0.1:{}", broker.port);
    let file = folder.path().join("dgt2mqtt.toml");
    let output = init(
        &file,
        &["--name", "hall", "--broker", &url, "--port", &boards.1[0]],
    );
    assert!(output.status.success(), "{}", said(&output));
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/hall/board/1/event/irregularity").await;
    let daemon = program()
        .args(["run", "--config"])
        .arg(&file)
        .env("STATE_DIRECTORY", folder.path())
        .stderr(Stdio::null())
        .spawn();
    let _daemon = Boards(daemon.unwrap(), Vec::new());
    let case = subscriber.wait("the first irregularity", |_| true).await.json();
    assert_eq!(
        (&case["kind"], &case["ply"]),
        (&"illegal_move".into(), &6.into()),
        "{case}"
    );
}

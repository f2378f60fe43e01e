//! `simulate` and `record` as a user runs them.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::cargo::CommandCargoExt;
use dgt2mqtt::{
    capture::{Act, Capture},
    dgt::{Decoder, Message, PieceCode},
    families::{FAMILIES, Family, Told},
    link::file::read_capture,
    sim::whole::told_by,
    time::Millis,
};

fn program() -> Command {
    Command::cargo_bin("dgt2mqtt").unwrap()
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vienna-1910.dgtcap")
}

/// A simulator that is ended with the test.
struct Simulator(Child, Vec<String>);

impl Simulator {
    fn start(boards: usize, args: &[&str]) -> Self {
        let mut child = program()
            .arg("simulate")
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let names = lines.take(boards).map(Result::unwrap).collect();
        Self(child, names)
    }

    /// Its code, when its games are over and it has lingered so that those who record have read all: with the board
    /// what they have not read is gone.
    fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(120);
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
}

/// The changes and clock readings of a capture, without repetition.
fn told(capture: &Capture) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut decoder = Decoder::new();
    for record in &capture.records {
        if let Act::FromBoard(bytes) = &record.act {
            decoder.push(Millis(0), bytes, &mut |message| match message {
                Message::Field { square, piece } => told.push(format!("{square} {}", piece.0)),
                Message::Clock(reading) => {
                    let reading = format!("{reading:?}");
                    // The host asks for the clock when it comes.
                    if told.iter().rev().find(|t| t.starts_with("Clock")) != Some(&reading) {
                        told.push(reading);
                    }
                }
                _ => {}
            });
        }
    }
    told
}

fn record_from(port: &str, output: &Path, simulator: &mut Simulator, options: &[&str]) {
    record_from_nobody(port, output, simulator, &[&["--board", "7"], options].concat());
}

/// The same without a name for the board.
fn record_from_nobody(port: &str, output: &Path, simulator: &mut Simulator, options: &[&str]) {
    let mut recorder = program()
        .args(["record", "-p", port])
        .args(options)
        .arg("-o")
        .arg(output)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ended = simulator.ended();
    std::thread::sleep(Duration::from_millis(200));
    interrupt(&recorder);
    assert_eq!(recorder.wait().unwrap().code(), Some(0));
    assert_eq!(ended, Some(0));
}

#[test]
fn what_is_recorded_from_a_simulated_board_is_what_it_played() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = fixture();
    let fixture = fixture.to_str().unwrap();
    let link = folder.path().join("board");
    let link = link.to_str().unwrap();
    let places = [&["--link", link][..], &["--listen", "127.0.0.1:0"]];
    for (place, name) in places.into_iter().zip(["a.dgtcap", "b.dgtcap.zst"]) {
        let args = [&[fixture, "--speed", "30", "--linger", "2"], place].concat();
        let mut simulator = Simulator::start(1, &args);
        let port = simulator.1[0].clone();
        let output = folder.path().join(name);
        record_from(&port, &output, &mut simulator, &[]);
        let recorded = read_capture(&output).unwrap();
        assert_eq!(recorded.header.board(), Some("7"));
        assert!(recorded.header.epoch_ms().is_some());
        assert!(recorded.records.iter().any(|r| matches!(r.act, Act::ToBoard(_))));
        assert_eq!(
            told(&recorded),
            told(&read_capture(Path::new(fixture)).unwrap()),
            "{port}"
        );
        // A second recording does not destroy the first.
        let again = program()
            .args(["record", "-p", &port, "-o"])
            .arg(&output)
            .output()
            .unwrap();
        assert_eq!(again.status.code(), Some(1));
        assert!(String::from_utf8(again.stderr).unwrap().contains("--force"));
    }
    let nothing = folder.path().join("nothing.dgtcap");
    let output = program()
        .args(["record", "-p", "/dev/no-such-port", "-o"])
        .arg(&nothing)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!nothing.exists(), "a mistyped port leaves no file behind");
    assert!(!Path::new(link).exists(), "the link goes with the board");
}

/// What stood on the board, from change to change.
fn positions(family: &Family, capture: &Capture) -> Vec<[PieceCode; 64]> {
    let (mut driver, mut positions) = ((family.driver)(), Vec::new());
    for record in &capture.records {
        if let Act::FromBoard(bytes) = &record.act {
            driver.bytes(record.at, bytes, &mut |told| match told {
                Told::Squares(squares) if positions.last() != Some(&squares) => positions.push(squares),
                _ => {}
            });
        }
    }
    positions
}

/// The half-moves that `replay` reads from a capture.
fn moves_of(capture: &Path) -> Vec<String> {
    let output = program().arg("replay").arg(capture).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let events = String::from_utf8(output.stdout).unwrap();
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let moves = events.filter(|event| event["type"] == "move");
    moves
        .map(|event| event["uci"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn boards_of_other_families_are_asked_recorded_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = fixture();
    for family in &FAMILIES {
        let protocol = family.name;
        let link = folder.path().join(protocol);
        let link = link.to_str().unwrap();
        let args = [
            fixture.to_str().unwrap(),
            "--protocol",
            protocol,
            "--link",
            link,
            "--speed",
        ];
        // Nothing is played before a host comes, and nothing as soon as one has come: it is asked for what stands there.
        let simulator = Simulator::start(1, &[&args[..], &["0.2", "--keep"]].concat());
        let configuration = folder.path().join("dgt2mqtt.toml");
        let board = format!(
            "[gateway]\nname = \"g\"\n[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[[board]]\nid = \"1\"\nport = \"{link}\"\nprotocol = \"{protocol}\"\n"
        );
        fs::write(&configuration, board).unwrap();
        let check = program()
            .args(["check", "--connect", "-c"])
            .arg(&configuration)
            .output()
            .unwrap();
        let said =
            String::from_utf8_lossy(&check.stdout).into_owned() + &String::from_utf8_lossy(&check.stderr);
        let stands = if family.knows_pieces {
            "a board on which rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR stands"
        } else {
            "a board that says FFFF00000000FFFF"
        };
        assert!(said.contains(stands), "{protocol}: {said}");
        drop(simulator);
        let args = [&args[..], &["15", "--linger", "2"]].concat();
        // A recorder that stands still on a busy machine hears two of these half-moves at once.
        let heard = (0..TRIES).any(|_| {
            let moves = recorded_moves(family, &args, link, &fixture);
            let is_all = moves.as_ref().is_none_or(|moves| *moves == moves_of(&fixture));
            if !is_all {
                println!("{protocol}: {moves:?}");
            }
            is_all
        });
        assert!(heard, "{protocol}");
    }
}

/// How often a game is recorded at most.
const TRIES: usize = 3;

/// The half-moves that `replay` reads from what `record` hears of the game of `fixture`, where the board knows pieces.
fn recorded_moves(family: &Family, args: &[&str], link: &str, fixture: &Path) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let protocol = family.name;
    let mut simulator = Simulator::start(1, args);
    let output = folder.path().join(format!("{protocol}.dgtcap"));
    // They say nothing of whose they are, and what they do say stays as it was.
    record_from_nobody(
        link,
        &output,
        &mut simulator,
        &["--protocol", protocol, "--anonymous"],
    );
    let recorded = read_capture(&output).unwrap();
    assert_eq!(recorded.header.protocol().unwrap().name(), protocol);
    let asked = recorded.records.iter().any(|r| matches!(r.act, Act::ToBoard(_)));
    assert_eq!(asked, !(family.commands)().is_empty(), "{protocol}");
    let played = told_by(family, &read_capture(fixture).unwrap()).unwrap();
    let (heard, said) = (positions(family, &recorded), positions(family, &played));
    assert!(
        heard == said,
        "{protocol}: {} of {} positions",
        heard.len(),
        said.len()
    );
    // It was played faster than hands are: without a clock the times say what belongs together.
    let mut slow = recorded;
    for record in &mut slow.records {
        record.at = Millis(record.at.0 * 15);
    }
    fs::write(&output, slow.to_string()).unwrap();
    family.knows_pieces.then(|| moves_of(&output))
}

#[test]
fn many_boards_play_games_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("games.pgn");
    fs::write(&pgn, "1. e4 e5 2. Nf3 Nc6 1/2-1/2\n\n1. d4 d5 *\n").unwrap();
    let args = [
        "--boards",
        "3",
        "--games",
        pgn.to_str().unwrap(),
        "--speed",
        "500",
        "--linger",
        "2",
    ];
    let mut simulator = Simulator::start(3, &args);
    let ports = simulator.1.clone();
    assert_eq!(ports.len(), 3);
    let mut recorders: Vec<_> = (0..3)
        .map(|n| {
            let output = folder.path().join(format!("{n}.dgtcap"));
            let mut command = program();
            command
                .args(["record", "-p", &ports[n], "-o"])
                .arg(output)
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    assert_eq!(simulator.ended(), Some(0));
    std::thread::sleep(Duration::from_millis(200));
    for recorder in &mut recorders {
        interrupt(recorder);
        assert!(recorder.wait().unwrap().success());
    }
    let moves = |n: usize| {
        let capture = read_capture(&folder.path().join(format!("{n}.dgtcap"))).unwrap();
        told(&capture).iter().filter(|t| !t.starts_with("Clock")).count()
    };
    assert!(moves(0) >= 8 && moves(1) >= 4 && moves(2) >= 8);
}

/// A child that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Games as the soak plays them, on real terminals.
#[test]
fn messy_games_end_on_terminals_too() {
    let faults = "drag=0.5,overlap=0.3,lost-update=0.1,misread,blitz";
    let args = [
        "--boards", "2", "--faults", faults, "--seed", "3", "--speed", "400", "--linger", "2",
    ];
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("board");
    let link = link.to_str().unwrap();
    let mut simulator = Simulator::start(2, &[&args[..], &["--link", link]].concat());
    let recorders: Vec<_> = (0..2)
        .map(|n| {
            let output = folder.path().join(format!("{n}.dgtcap"));
            let name = if n == 0 {
                link.to_owned()
            } else {
                format!("{link}-2")
            };
            let mut command = program();
            command
                .args(["record", "-p", &name, "-o"])
                .arg(output)
                .stderr(Stdio::null());
            Ended(command.spawn().unwrap())
        })
        .collect();
    assert_eq!(simulator.ended(), Some(0));
    for mut recorder in recorders {
        interrupt(&recorder.0);
        assert!(recorder.0.wait().unwrap().success());
    }
    for n in 0..2 {
        let capture = read_capture(&folder.path().join(format!("{n}.dgtcap"))).unwrap();
        let squares = told(&capture).iter().filter(|t| !t.starts_with("Clock")).count();
        assert!(squares > 30, "{squares} changes on board {n}");
    }
}

/// A line is asked who is there, and one of its boards is recorded.
#[test]
fn boards_on_one_line_are_found_and_recorded() {
    let simulator = Simulator::start(3, &["--boards", "3", "--line", "--keep"]);
    let (first, line) = simulator.1[0]
        .strip_prefix("bus:")
        .unwrap()
        .split_once('@')
        .unwrap();
    assert!(
        simulator.1.iter().all(|place| place.ends_with(line)),
        "{:?}",
        simulator.1
    );
    let found = program().args(["ports", "--line", line]).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    // What is left of 90001 and its neighbours divided by 16384.
    assert!(
        text.contains("boards = [\"08081\", \"08082\", \"08083\"]"),
        "{text}"
    );
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("line.dgtcap");
    let mut command = program();
    command
        .args(["record", "-p", &simulator.1[0], "-o"])
        .arg(&output)
        .stderr(Stdio::null());
    let mut recorder = Ended(command.spawn().unwrap());
    let deadline = Instant::now() + Duration::from_secs(60);
    // It is written every five seconds: the board and what it is.
    let is_told = || {
        fs::read(&output).is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            text.contains("< 86 00 43 08 09") && text.contains("# gathered: ")
        })
    };
    while !is_told() {
        assert!(Instant::now() < deadline, "board {first} is not recorded");
        std::thread::sleep(Duration::from_millis(100));
    }
    interrupt(&recorder.0);
    assert!(recorder.0.wait().unwrap().success());
}

#[test]
fn wrong_usage_is_code_2() {
    for args in [
        &["simulate"][..],
        &["simulate", "--boards", "0"],
        &["simulate", "--speed", "-1", "x"],
        &["simulate", "--boards", "1", "--faults", "dragg"],
        &["simulate", "--boards", "1", "--faults", "drag=2"],
        &["simulate", "--faults", "drag"],
        &["simulate", "--boards", "1", "--noise", "0.1"],
        &["simulate", "--boards", "1", "--line", "--noise", "2"],
        &["nonsense"],
    ] {
        assert_eq!(
            program().args(args).output().unwrap().status.code(),
            Some(2),
            "{args:?}"
        );
    }
    let missing = program().args(["simulate", "/no/such.dgtcap"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}

/// What a command says to a person when it fails.
fn complaint(args: &[&str]) -> String {
    let output = program().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_link_that_cannot_be_made_is_named() {
    let capture = fixture();
    let capture = capture.to_str().unwrap();
    let said = complaint(&["simulate", "--link", "/nonexist/x", capture]);
    assert!(
        said.contains("/nonexist/x") && said.contains("No such file"),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let said = complaint(&["simulate", "--link", file.to_str().unwrap(), capture]);
    assert!(said.contains("something that is no link is there"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn what_is_no_serial_port_is_told_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("new.dgtcap");
    let record = |port: &str| complaint(&["record", "--port", port, "-o", output.to_str().unwrap()]);
    for (port, what) in [
        (fixture().to_str().unwrap(), "an ordinary file"),
        (folder.path().to_str().unwrap(), "a folder"),
        ("/dev/null", "not one with a serial line"),
    ] {
        let said = record(port);
        assert!(said.contains(port) && said.contains(what), "{said}");
        assert!(said.contains("dgt2mqtt ports"), "{said}");
    }
    assert!(!output.exists());
}

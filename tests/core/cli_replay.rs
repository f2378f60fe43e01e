//! `replay` as a user runs it.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use assert_cmd::cargo::CommandCargoExt;
use dgt2mqtt::{
    capture::Capture,
    link::file::{CaptureWriter, read_capture},
};
use serde_json::Value;

use crate::seed::{fresh_rng, rounds};

fn program() -> Command {
    Command::cargo_bin("dgt2mqtt").unwrap()
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vienna-1910.dgtcap")
}

fn replay(args: &[&str]) -> Output {
    program().arg("replay").args(args).output().unwrap()
}

fn events(output: &Output) -> Vec<Value> {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let path = fixture();
    let path = path.to_str().unwrap();
    let (first, second) = (replay(&[path]), replay(&[path]));
    assert!(!first.stdout.is_empty());
    assert_eq!(first.stdout, second.stdout);
    assert!(first.stderr.is_empty(), "no progress bar without a terminal");
    let events = events(&first);
    for (n, event) in (1..).zip(&events) {
        assert_eq!(event["seq"], n);
        assert_eq!(event["id"], format!("replay/demo/{n}"));
        assert_eq!(event["board"], "demo");
        assert_eq!(event["v"], 1);
        assert_eq!(
            event["time"],
            Value::Null,
            "the capture does not say when it began"
        );
    }
}

#[test]
fn several_captures_are_runs_of_their_own() {
    let path = fixture();
    let path = path.to_str().unwrap();
    let once = replay(&[path]).stdout;
    assert_eq!(replay(&[path, path]).stdout, [once.clone(), once].concat());
}

#[test]
fn flags_override_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Table 4.dgtcap");
    let text = fs::read_to_string(fixture()).unwrap();
    let text = text.replace("# board: demo\n", "# start: 2026-11-21T14:00:00Z\n");
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();

    let named = events(&replay(&[path]));
    assert_eq!(named[0]["board"], "table-4");
    assert!(
        named[0]["time"]
            .as_str()
            .unwrap()
            .starts_with("2026-11-21T14:00:0")
    );
    let told = events(&replay(&[
        path,
        "--board",
        "x",
        "--time-control",
        "blitz",
        "--laws",
        "2018",
    ]));
    assert_eq!(told[0]["board"], "x");
    let penalty = |events: &[Value]| {
        let illegal = events.iter().find(|e| e["kind"] == "illegal_move").unwrap();
        illegal["ruling"]["penalty"]["seconds"].clone()
    };
    assert_eq!((penalty(&named), penalty(&told)), (120.into(), 60.into()));
}

#[test]
fn compressed_captures_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dgtcap.zst");
    let capture = read_capture(&fixture()).unwrap();
    let mut writer = CaptureWriter::create(&path, &capture.header, false).unwrap();
    capture
        .records
        .iter()
        .for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() * 2 < fs::metadata(fixture()).unwrap().len());
    assert_eq!(
        replay(&[path.to_str().unwrap()]).stdout,
        replay(&[fixture().to_str().unwrap()]).stdout
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.dgtcap");
    fs::write(&path, "# dgtcap 1\n1.0 < 8e 00 05 24 01\n0.5 < 80\n").unwrap();
    let bad = replay(&[path.to_str().unwrap()]);
    assert_eq!(bad.status.code(), Some(1));
    let said = String::from_utf8(bad.stderr).unwrap();
    assert!(said.contains("bad.dgtcap: line 3: the time goes back"), "{said}");
    assert_eq!(replay(&["/does/not/exist.dgtcap"]).status.code(), Some(1));
    for wrong in [
        &[][..],
        &["a", "--laws", "2019"],
        &["a", "--board", "A/b"],
        &["a", "--nonsense"],
    ] {
        assert_eq!(replay(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.dgtcap");
    // More than a pipe holds: the same game again and again.
    let mut long = read_capture(&fixture()).unwrap();
    let (records, length) = (long.records.clone(), long.end());
    for round in 1..40 {
        long.records.extend(records.iter().cloned().map(|mut record| {
            record.at = record.at + round * (length.0 + 1000);
            record
        }));
    }
    fs::write(&path, long.to_string()).unwrap();
    assert_eq!(Capture::parse(long.to_string().as_bytes()).unwrap(), long);
    let mut child = program()
        .arg("replay")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.stderr.is_empty());
}

/// A capture that takes a while, and says something all the time: a loose cable.
fn long(folder: &Path) -> PathBuf {
    let path = folder.join("long.dgtcap");
    let dump = format!("86 00 43{}", " 00".repeat(64));
    let mut text = "# dgtcap 1\n".to_owned();
    let seconds = if cfg!(debug_assertions) { 16_000 } else { 160_000 };
    for second in 0..seconds {
        text += &format!("{second}.0 < {dump}\n{second}.5 ! down\n{second}.6 ! up\n");
    }
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_terminal_sees_how_far_it_is_and_nothing_of_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = long(folder.path());
    let master =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
    let terminal = fs::OpenOptions::new()
        .write(true)
        .open(name.into_string().unwrap())
        .unwrap();
    let mut child = program()
        .arg("replay")
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(terminal)
        .spawn()
        .unwrap();
    // Reading ends with an error when nobody has the terminal open any more.
    let mut seen = Vec::new();
    let _ = fs::File::from(master).read_to_end(&mut seen);
    assert!(child.wait().unwrap().success());
    let seen = String::from_utf8(seen).unwrap();
    let bars: Vec<_> = seen.split("\r\x1b[K").filter(|bar| !bar.is_empty()).collect();
    assert!(!bars.is_empty(), "no bar");
    let mut filled = 0;
    for bar in bars {
        let (inside, rest) = bar.strip_prefix('[').unwrap().split_once(']').unwrap();
        assert_eq!((inside.len(), rest), (30, " long.dgtcap"));
        let now = inside.trim_end().len();
        assert!(
            inside.trim_end().bytes().all(|b| b == b'#') && now >= filled,
            "{seen:?}"
        );
        filled = now;
    }
    assert!(seen.ends_with("\r\x1b[K"), "the bar is wiped away: {seen:?}");
    let output = replay(&[path.to_str().unwrap()]);
    assert!(output.stderr.is_empty(), "a bar is for terminals only");
}

/// What `replay` says of a capture that it refuses, and its memory at the highest, in kB.
fn refused(path: &Path) -> (String, u64) {
    let mut child = program()
        .arg("replay")
        .arg(path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(kb.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    (said, peak)
}

#[test]
fn a_small_file_that_becomes_a_large_one_is_refused() {
    let mut random = fresh_rng();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.dgtcap.zst");
    let game = fs::read_to_string(fixture()).unwrap();
    let lines: Vec<_> = game.lines().collect();
    for _ in 0..rounds() {
        // It begins as a game, which goes on as one does for as long as somebody likes.
        let begin = random.usize(1..=lines.len());
        let last = lines[begin - 1]
            .split(' ')
            .next()
            .filter(|word| word.parse::<f64>().is_ok());
        let record = format!("{} < 8e 00 05 24 01\n", last.unwrap_or("0.000"));
        let own = record.repeat(random.usize(20_000..500_000));
        let frames = (random.usize(65..4_000) << 20).div_ceil(own.len());
        let packed = |text: &str| {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(text.as_bytes(), level)
        };
        // A row of frames is one text.
        let begin = packed(&(lines[..begin].join("\n") + "\n"));
        fs::write(&path, [begin, packed(&own).repeat(frames)].concat()).unwrap();
        let (said, peak) = refused(&path);
        let size = fs::metadata(&path).unwrap().len();
        println!("{size} bytes become {}: {peak} kB", own.len() * frames);
        assert!(said.contains("more than 64 MiB"), "{said}");
        assert!(size < 4 << 20 && peak < 300 << 10, "{size} bytes, {peak} kB");
    }
}

#[test]
fn a_time_far_ahead_is_refused_with_its_line() {
    const LIMIT_S: u64 = 31 * 86_400;
    let mut random = fresh_rng();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("far.dgtcap");
    let game = fs::read_to_string(fixture()).unwrap();
    let lines: Vec<_> = game.lines().collect();
    let header = lines.iter().take_while(|line| line.starts_with('#')).count();
    for _ in 0..20 {
        let most = 1u64 << random.u32(1..44);
        let far = LIMIT_S + 1 + random.u64(..most);
        let record = format!("{far}.{:03} < 8e 00 05 24 01", random.u16(..1000));
        let place = random.usize(header..=lines.len());
        let text = [&lines[..place], &[&record], &lines[place..]].concat().join("\n");
        fs::write(&path, text + "\n").unwrap();
        let (said, _) = refused(&path);
        let line = format!("line {}: the time", place + 1);
        assert!(
            said.contains(&line) && said.contains("31 days"),
            "{far} in line {}: {said}",
            place + 1
        );
    }
}

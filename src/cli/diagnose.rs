//! `dgt2mqtt diagnose`: writes an archive for a report of a problem. It first tells what the archive will have.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::fs::{Mode, OFlags, openat};
use serde_json::Value;

use super::{settings, tarball::Tarball};
use crate::{
    config::{Config, ConfigError},
    event::SCHEMA_VERSION,
    journal::{
        captures,
        query::{Filter, each_event, each_standing},
    },
    link::file::read_capture,
    mqtt::{Topics, look::retained},
};

/// How many lines of the system's log are taken.
const LINES: &str = "5000";
/// How many bytes at the end of a log file are taken.
const MOST: u64 = 2 << 20;
/// How long a broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// The parts of the archive that the user chooses.
#[derive(Debug)]
pub(super) struct ArchiveParts<'a> {
    /// A file with the log; with none the log of the system's service `unit`.
    pub(super) log: Option<&'a Path>,
    pub(super) unit: &'a str,
    /// The board whose last game and state go into the archive.
    pub(super) board: Option<&'a str>,
    pub(super) captures: &'a [PathBuf],
}

/// A file of the archive: its name and its text.
type Part = (String, String);

/// Tells what goes into the archive.
pub(super) fn list(wanted: &ArchiveParts<'_>) {
    eprintln!("What the archive has:");
    for (name, what) in parts(wanted) {
        eprintln!("  {name:<20} {what}");
    }
    eprintln!("Look into it before you hand it on (tar xzf): names of players may be in the log.");
}

fn parts(wanted: &ArchiveParts<'_>) -> Vec<Part> {
    let log = wanted.log.map_or_else(
        || format!("the last {LINES} lines of {} in the system's log", wanted.unit),
        |path| format!("the end of {}", path.display()),
    );
    let always = [
        ("versions.txt", "versions of the program and the system"),
        (
            "configuration.toml",
            "the configuration without passwords, tokens, user names, names of people and comments",
        ),
        (
            "mistakes.txt",
            "what is wrong with the configuration, where something is",
        ),
        ("log.txt", &log),
        (
            "health.json",
            "what the daemon last told the broker of itself: health, status, info without players",
        ),
        (
            "journal.txt",
            "how many events the journal has of each board, and its notices",
        ),
    ];
    let mut parts: Vec<Part> = always
        .map(|(name, what)| (name.to_owned(), what.to_owned()))
        .into();
    if let Some(board) = wanted.board {
        let what = format!("the last game of board {board}, with names of players and times");
        parts.push(("game.jsonl".to_owned(), what));
        let what = format!("what the daemon keeps of board {board} to go on after a restart");
        parts.push(("state.json".to_owned(), what));
        let what = format!(
            "what came and went over the line of board {board} last, where `captures` under [journal] keeps that"
        );
        parts.push(("line/".to_owned(), what));
    }
    let captures = wanted.captures.iter().zip(1..);
    parts
        .extend(captures.map(|(path, n)| (capture_name(path, n), format!("the capture {}", path.display()))));
    parts
}

fn capture_name(path: &Path, n: usize) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("captures/{n}-{name}")
}

/// Writes the archive `to` for the configuration at `path`, whether that is valid or not.
///
/// # Errors
/// When the archive cannot be written, or a capture is none. If another part cannot be had, the archive says why in its
/// place.
pub(super) fn diagnose(
    path: &Path,
    config: &Result<Config, ConfigError>,
    wanted: &ArchiveParts<'_>,
    to: &Path,
    force: bool,
) -> anyhow::Result<()> {
    for capture in wanted.captures {
        read_capture(capture)?;
    }
    let mut archive = Tarball::create(to, force)?;
    archive.text("versions.txt", &versions())?;
    archive.text("configuration.toml", &configuration(path))?;
    if let Err(error) = config {
        archive.text("mistakes.txt", &settings::without_logins(&error.to_string()))?;
    }
    archive.text("log.txt", &or_why(log(wanted)))?;
    if let Ok(config) = config {
        archive.text("health.json", &or_why(health(config)))?;
        archive.text("journal.txt", &or_why(journal(&config.journal.path)))?;
        if let Some(board) = wanted.board {
            archive.text("game.jsonl", &or_why(last_game(&config.journal.path, board)))?;
            archive.text("state.json", &or_why(state(&config.journal.path, board)))?;
            for path in captures(&config.journal.path, board) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = format!("line/{name}");
                match open_plain(&path) {
                    Ok(file) => archive.opened(&name, file)?,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => archive.text(&name, &or_why(Err(error.into())))?,
                }
            }
        }
    }
    for (capture, n) in wanted.captures.iter().zip(1..) {
        archive.file(&capture_name(capture, n), capture)?;
    }
    archive.finish()?;
    eprintln!("Wrote {}.", to.display());
    Ok(())
}

/// Opens a file that the daemon's user wrote. This program's user may see more than the daemon's, so a link out of the
/// folder is refused.
fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let folder = rustix::fs::open(folder, flags | OFlags::DIRECTORY, Mode::empty())?;
    let name = path.file_name().unwrap_or_default();
    let file = File::from(openat(&folder, name, flags, Mode::empty())?);
    let data = file.metadata()?;
    if data.is_file() && data.nlink() == 1 {
        Ok(file)
    } else {
        Err(io::Error::other("it is no plain file of one name"))
    }
}

/// The text, or in its place why it could not be had.
fn or_why(found: anyhow::Result<String>) -> String {
    found.unwrap_or_else(|error| format!("not to be had: {error:#}\n"))
}

fn versions() -> String {
    let system = rustix::system::uname();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    format!(
        "dgt2mqtt {} ({})\npayloads {SCHEMA_VERSION}\nSQLite {}\nsystem {}\nkernel {} {}\nmachine {}\n",
        env!("CARGO_PKG_VERSION"),
        if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        },
        rusqlite::version(),
        name.unwrap_or("unknown").trim_matches('"'),
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy(),
        system.machine().to_string_lossy(),
    )
}

/// The configuration without secrets. One that cannot be understood is left out, because nobody can say what in it is
/// secret.
fn configuration(path: &Path) -> String {
    let text = fs::read_to_string(path).context("the file cannot be read");
    let shown = text.and_then(|text| settings::read(&text).map(settings::shown));
    shown.unwrap_or_else(|error| format!("# left out: {error:#}\n"))
}

fn log(wanted: &ArchiveParts<'_>) -> anyhow::Result<String> {
    let Some(path) = wanted.log else {
        let mut command = Command::new("journalctl");
        command.args([
            "--no-pager",
            "-o",
            "short-iso-precise",
            "-n",
            LINES,
            "-u",
            wanted.unit,
        ]);
        let output = command.stdin(Stdio::null()).output();
        let output = output.context("journalctl cannot be called: give the log as --log FILE")?;
        if !output.status.success() {
            bail!("journalctl: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    };
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut end = Vec::new();
    file.take(MOST).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// The `health` of the gateway, from the first broker's address that accepts us.
fn health(config: &Config) -> anyhow::Result<String> {
    let topics = Topics::new(&config.base_topic, &config.gateway);
    let wanted = [topics.health(), topics.info(), topics.status()];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut why = String::new();
    for url in &config.broker.urls {
        let asked = retained(&config.broker, url, &wanted, PATIENCE);
        match runtime.block_on(asked) {
            Ok(told) => {
                let told: BTreeMap<_, _> = told
                    .iter()
                    .map(|(topic, payload)| (topic, shown(payload)))
                    .collect();
                return Ok(serde_json::to_string_pretty(&told)?);
            }
            Err(reason) => why = format!("{url}: {reason}"),
        }
    }
    bail!(why)
}

/// A payload without the names of players.
fn shown(payload: &[u8]) -> Value {
    let mut value = serde_json::from_slice(payload)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(payload).into_owned()));
    if let Some(fields) = value.as_object_mut() {
        fields.remove("players");
    }
    value
}

fn journal(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    each_standing(path, |standing| {
        let _ = writeln!(
            text,
            "board {}: {} events, {} not acknowledged, last number {}",
            standing.board, standing.events, standing.unacknowledged, standing.last_seq
        );
    })?;
    let notices = Filter {
        kind: Some("notice".to_owned()),
        last: Some(200),
        ..Filter::default()
    };
    each_event(path, &notices, |kept| {
        let _ = writeln!(text, "{}", kept.json);
        true
    })?;
    Ok(text)
}

fn last_game(path: &Path, board: &str) -> anyhow::Result<String> {
    let of_board = Filter {
        board: Some(board.to_owned()),
        ..Filter::default()
    };
    let mut game = None;
    let begun = Filter {
        kind: Some("game_started".to_owned()),
        last: Some(1),
        ..of_board.clone()
    };
    each_event(path, &begun, |kept| {
        let event: Value = serde_json::from_str(kept.json).unwrap_or_default();
        game = event["seq"].as_u64();
        true
    })?;
    // If there is no game, the last events go in.
    let events = Filter {
        since_seq: game,
        last: game.is_none().then_some(200),
        ..of_board
    };
    let mut text = String::new();
    each_event(path, &events, |kept| {
        let _ = writeln!(text, "{}", kept.json);
        true
    })?;
    Ok(text)
}

fn state(path: &Path, board: &str) -> anyhow::Result<String> {
    let mut state = None;
    each_standing(path, |standing| {
        if standing.board == board {
            state = standing.state;
        }
    })?;
    state.context("the journal keeps nothing of this board")
}

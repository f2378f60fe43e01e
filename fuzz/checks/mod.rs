//! What must hold of any bytes at each door: for the fuzz targets and for the tests that replay their seeds.
//! Each check panics when it does not hold.

mod chesslink;
mod chessnut;
mod family;
mod line;
mod wire;

use std::{path::Path, sync::OnceLock};

use dgt2mqtt::{
    capture::{Capture, replay::replay},
    cli,
    config::{Config, Env},
    event::{Body, Event, notice},
    families::FAMILIES,
    mqtt::{Arrived, Topics, command},
    time::Millis,
    watcher::{Settings, Snapshot, Watcher},
};

pub(crate) use chesslink::chesslink;
pub(crate) use chessnut::chessnut;
pub(crate) use line::line;
pub(crate) use wire::wire;

/// A door: its name, which is that of its seeds' folder, and what is asked there.
pub(crate) type Door = (&'static str, fn(&[u8]));

/// All doors but the wire, which has tests of its own.
pub(crate) const DOORS: [Door; 10] = [
    ("capture", capture),
    ("configuration", configuration),
    ("command", message),
    ("case", case),
    ("fen", fen),
    ("journal", journal),
    ("families", families),
    ("line", line),
    ("chesslink", chesslink),
    ("chessnut", chessnut),
];

/// A capture is refused or read; what was read is written so that the same is read again, and is watched to its end.
pub(crate) fn capture(data: &[u8]) {
    let Ok(read) = Capture::parse(data) else { return };
    let text = read.to_string();
    let again = Capture::parse(text.as_bytes()).expect("what was written is read");
    assert_eq!(again.to_string(), text);
    // A year of silence has its keep-alives: not here.
    if read.end().0 < 600_000 && read.records.len() < 2000 {
        let mut watcher = Watcher::new(Settings::default(), None);
        let mut seq = 0;
        let end = replay(&mut watcher, &read, |event| {
            seq += 1;
            assert_eq!(event.seq, seq, "no gap in the numbers");
            Ok::<(), ()>(())
        });
        assert!(end.is_ok());
    }
}

/// A configuration is refused with reasons or makes sense.
pub(crate) fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Config::from_text(text, Path::new("fuzz.toml"), &Env::default()) {
        Ok(config) => {
            assert!(!config.boards.is_empty());
            assert!(config.metrics.is_none_or(|address| address.ip().is_loopback()));
        }
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
}

/// A command is refused with a code, or carried out or refused by a watcher in mid-game: an illegal
/// move is open. The first line is the topic.
pub(crate) fn message(data: &[u8]) {
    let mut halves = data.splitn(2, |byte| *byte == b'\n');
    let topic = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
    let payload = halves.next().unwrap_or_default().to_vec();
    let topics = Topics::new(&"dgt2mqtt".parse().expect("good"), &"gw".parse().expect("good"));
    let arrived = Arrived {
        topic,
        payload: payload.into(),
        retain: false,
        response_topic: None,
        correlation: None,
        speaker: None,
    };
    match command::receive(&topics, &arrived, |board| board == "1") {
        Some(Ok(request)) => {
            if let dgt2mqtt::mqtt::Target::Board { command, .. } = request.target {
                let mut watcher = Watcher::new(Settings::default(), Some(in_mid_game()));
                watcher.handle_link_up(Millis(0), "fuzz");
                let _ = watcher.handle_command(Millis(1000), command.clone());
                watcher.handle_bytes(Millis(1500), START);
                let _ = watcher.handle_command(Millis(3000), command);
                watcher.handle_end(Millis(20_000));
                taken_up_again(&mut watcher);
            }
        }
        Some(Err(refused)) => assert!(!refused.0.code().is_empty()),
        None => {}
    }
}

/// A game in which something is open.
fn in_mid_game() -> Snapshot {
    static KEPT: OnceLock<Snapshot> = OnceLock::new();
    let read =
        || serde_json::from_slice(include_bytes!("../corpus/journal/open_illegal_move")).expect("a snapshot");
    KEPT.get_or_init(read).clone()
}

/// Each line of cases is answered by a line of JSON.
pub(crate) fn case(data: &[u8]) {
    let mut out = Vec::new();
    cli::rule::run(data, &mut out).expect("memory can be written");
    let asked = data
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let mut answers = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    // A byte order mark alone is no question either.
    assert!(asked.count() >= answers.clone().count());
    assert!(answers.all(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok()));
}

/// Each line of positions is answered. Long searches are not what is looked for here.
pub(crate) fn fen(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for line in text.lines().take(4) {
        let mut fields = line.split('\t');
        let pieces = fields
            .next()
            .unwrap_or_default()
            .bytes()
            .take_while(|byte| *byte != b' ');
        if pieces.filter(u8::is_ascii_alphabetic).count() > 5 {
            continue;
        }
        let mut out = Vec::new();
        cli::mate::run(line.as_bytes(), &mut out).expect("memory can be written");
        assert!(out.is_empty() || out.ends_with(b"\n"));
    }
}

/// What the journal keeps, a snapshot and an event, may have been damaged or be of another version: a watcher is taken up from
/// it or says that it is not, and goes on with what its board says. That is what comes after the first line; without it the
/// initial array.
pub(crate) fn journal(data: &[u8]) {
    let _ = serde_json::from_slice::<Event>(data);
    let mut halves = data.splitn(2, |byte| *byte == b'\n');
    let kept = String::from_utf8_lossy(halves.next().unwrap_or_default());
    let seq = 41;
    let snapshot = Snapshot::kept(Some(&kept), seq);
    let lost = snapshot.lost().len();
    let mut watcher = Watcher::new(Settings::default(), Some(snapshot));
    watcher.handle_link_up(Millis(0), "fuzz");
    watcher.handle_bytes(Millis(500), halves.next().unwrap_or(START));
    watcher.handle_timeout(Millis(20_000));
    watcher.handle_end(Millis(40_000));
    let events: Vec<Event> = std::iter::from_fn(|| watcher.poll_event()).collect();
    assert!(events.iter().zip(seq + 1..).all(|(event, seq)| event.seq == seq));
    let set_aside = |event: &Event| matches!(&event.body, Body::Notice { code, .. } if code == notice::SNAPSHOT_SET_ASIDE);
    assert_eq!(events.iter().take_while(|event| set_aside(event)).count(), lost);
    let _ = (watcher.pgn(), watcher.account(Millis(40_000)));
    taken_up_again(&mut watcher);
}

/// What boards say that tell whole positions, and hosts to them: the first byte chooses the family. A watcher takes it as well.
pub(crate) fn families(data: &[u8]) {
    let Some((first, said)) = data.split_first() else {
        return;
    };
    let protocol = FAMILIES[usize::from(*first) % FAMILIES.len()].protocol;
    family::family(protocol, said);
    let settings = Settings {
        protocol,
        ..Settings::default()
    };
    let mut watcher = Watcher::new(settings, None);
    watcher.handle_link_up(Millis(0), "fuzz");
    for (at, chunk) in (1..).zip(said.chunks(200)) {
        watcher.handle_bytes(Millis(at * 500), chunk);
        watcher.handle_timeout(Millis(at * 500 + 100));
    }
    watcher.handle_end(Millis(60_000));
}

/// What a watcher keeps is read again, and another goes on from there.
fn taken_up_again(watcher: &mut Watcher) {
    let kept = serde_json::to_string(&watcher.snapshot()).expect("a snapshot is JSON");
    let read = Snapshot::kept(Some(&kept), watcher.snapshot().seq);
    assert!(read.lost().is_empty(), "{:?} in {kept}", read.lost());
    Watcher::new(Settings::default(), Some(read)).handle_link_up(Millis(0), "fuzz");
}

/// The initial array as a board tells it.
const START: &[u8] = &[
    0x86, 0, 0x43, 8, 9, 10, 12, 11, 10, 9, 8, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 6, 5, 4, 3, 2,
];

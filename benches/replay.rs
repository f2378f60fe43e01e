//! How fast a capture is replayed: `cargo bench --bench replay`. The aim is a tenth of a second for
//! a game of five hours, the start of the program included, and twice the same bytes.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a benchmark measures time and stops at what it does not expect

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Capture, Header, replay::replay},
    sim::{
        games,
        tabletop::{Manner, TableSetting, Tabletop},
    },
    watcher::{Settings, Watcher},
};

/// Five hours of play.
const LENGTH_MS: u64 = 5 * 3_600_000;
const AIM: Duration = Duration::from_millis(100);
const RUNS: usize = 20;

fn main() {
    // `cargo test --benches` asks whether it builds, not how fast it is.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let capture = long_game();
    let text = capture.to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.dgtcap");
    fs::write(&path, &text).unwrap();
    println!(
        "a game of {:.2} h, {} records, {:.1} MB of text",
        capture.end().seconds() / 3600.0,
        capture.records.len(),
        text.len() as f64 / 1e6
    );

    let (whole, bytes) = fastest(|| run(&path));
    let (parsing, _) = fastest(|| Capture::parse(text.as_bytes()).unwrap());
    let (watching, events) = fastest(|| watch(&capture));
    println!("dgt2mqtt replay, the whole process   {whole:>10.1?}   (aim: {AIM:?})");
    println!("  reading the capture                {parsing:>10.1?}");
    println!("  the watcher, {events} events          {watching:>10.1?}");
    let same = (0..3).all(|_| run(&path) == bytes);
    println!("the same {} bytes each time: {same}", bytes.len());
    assert!(same && whole < AIM, "the aim is missed");
}

/// The shortest of some runs, with what came out.
fn fastest<T>(mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let out = run();
        let took = start.elapsed();
        if best.as_ref().is_none_or(|(least, _)| took < *least) {
            best = Some((took, out));
        }
    }
    best.unwrap()
}

fn run(path: &Path) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .arg("replay")
        .arg(path)
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

fn watch(capture: &Capture) -> usize {
    let settings = Settings {
        gateway: "bench".to_owned(),
        board: "1".to_owned(),
        ..Settings::default()
    };
    let mut count = 0;
    let mut watcher = Watcher::new(settings, None);
    let count_it = |_| {
        count += 1;
        Ok::<(), std::convert::Infallible>(())
    };
    replay(&mut watcher, capture, count_it).unwrap();
    count
}

/// A game of sixty moves in which both think as long as they are allowed to.
fn long_game() -> Capture {
    let mut rng = fastrand::Rng::with_seed(5);
    let moves = std::iter::repeat_with(|| games::made_up(&mut rng))
        .find(|moves| moves.len() >= 120)
        .unwrap();
    let mut table = Tabletop::new(TableSetting {
        manner: Manner::human(5),
        clock: Some((150 * 60_000, 30_000)),
        ..TableSetting::default()
    });
    table.wait(2000);
    table.start(shakmaty::Color::White, 0, 0);
    for mv in &moves {
        table.wait(LENGTH_MS / moves.len() as u64);
        table.play(*mv).unwrap();
    }
    table.stop();
    table.finish(Header::default())
}

//! How fast a watcher works and how much it holds: `cargo bench --bench watcher`. The aim on one core
//! is 200,000 updates a second of tidy play and 20,000 of nonsense; a board sends some five a second at most.

#![allow(missing_docs, reason = "divan makes items of its own")]

use std::{env, fs};

use dgt2mqtt::{
    capture::{Act, Capture, Header, Record},
    dgt::{Message, PieceCode},
    sim::tabletop::{Manner, TableSetting, Tabletop},
    time::Millis,
    watcher::{Settings, Watcher},
};
use divan::{Bencher, counter::ItemsCount};
use shakmaty::{Color, Position};

fn main() {
    // Who asks for one benchmark by name wants no other work done: a profiler would see it.
    if env::args().skip(1).all(|arg| arg.starts_with('-')) {
        print_held();
    }
    divan::main();
}

fn print_held() {
    // All are kept: what is given back would hide in the next figure.
    let mut kept = Vec::new();
    for (name, capture) in [("tidy", tidy()), ("nonsense", nonsense())] {
        let held = held(&capture, &mut kept);
        // A watcher that has lost the game has little to do.
        let said = kept.last().map_or(0, |watcher| watcher.game().moves.len());
        let updates = updates(&capture);
        println!("{name}: {held} KiB held after {updates} updates, {said} half-moves on record");
    }
}

/// A long game of tidy hands: random legal half-moves, each pressed.
fn tidy() -> Capture {
    let mut random = fastrand::Rng::with_seed(1);
    let mut table = Tabletop::new(TableSetting {
        manner: Manner::human(1),
        ..TableSetting::default()
    });
    table.wait(1200);
    table.start(Color::White, 0, 0);
    for _ in 0..240 {
        let moves = table.position().legal_moves();
        let quiet: Vec<_> = moves.iter().filter(|mv| !mv.is_capture()).collect();
        let Some(mv) = random.choice(&quiet) else { break };
        table.wait(600);
        if table.play(**mv).is_err() {
            break;
        }
    }
    table.finish(Header::default())
}

/// An hour of random updates, five a second, on a board that a game has begun on.
fn nonsense() -> Capture {
    let mut capture = tidy();
    capture.records.truncate(24);
    let mut random = fastrand::Rng::with_seed(2);
    let start = capture.end();
    for n in 1..18_000_u64 {
        let (square, piece) = (random.u8(0..64), PieceCode(random.u8(0..13)));
        let mut bytes = Vec::new();
        Message::Field { square, piece }.encode(&mut bytes);
        capture.records.push(Record {
            at: start + n * 200,
            act: Act::FromBoard(bytes),
        });
    }
    capture
}

fn updates(capture: &Capture) -> usize {
    let field =
        |record: &&Record| matches!(&record.act, Act::FromBoard(bytes) if bytes.first() == Some(&0x8e));
    capture.records.iter().filter(field).count()
}

fn play(capture: &Capture) -> Watcher {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "bench");
    for record in &capture.records {
        while let Some(due) = watcher.poll_timeout().filter(|due| *due <= record.at) {
            watcher.handle_timeout(due);
        }
        if let Act::FromBoard(bytes) = &record.act {
            watcher.handle_bytes(record.at, bytes);
        }
        while watcher.poll_event().is_some() {}
        while watcher.poll_transmit().is_some() {}
    }
    watcher
}

#[divan::bench(sample_count = 20)]
fn tidy_game(bencher: Bencher<'_, '_>) {
    let capture = tidy();
    bencher
        .counter(ItemsCount::new(updates(&capture)))
        .bench(|| play(&capture));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn an_hour_of_nonsense(bencher: Bencher<'_, '_>) {
    let capture = nonsense();
    bencher
        .counter(ItemsCount::new(updates(&capture)))
        .bench(|| play(&capture));
}

/// KiB that a watcher holds after a capture: the growth of the process by ten of them.
fn held(capture: &Capture, kept: &mut Vec<Watcher>) -> usize {
    const WATCHERS: usize = 10;
    kept.push(play(capture));
    let before = resident_kib();
    kept.extend((0..WATCHERS).map(|_| play(capture)));
    resident_kib().saturating_sub(before) / WATCHERS
}

fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.unwrap_or(0)
}

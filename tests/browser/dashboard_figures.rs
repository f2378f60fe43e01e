//! What the arbiter's page costs with a full hall.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, free_port},
    browser::Browser,
    page::Server,
    teller::Teller,
};

const BOARDS: usize = 200;

/// A hall of 200 boards on one page: how long a move takes from the broker to the screen, and
/// whether the page grows. Prints the figures of docs/benchmarks.md.
#[test]
#[ignore = "takes a minute; its figures are in docs/benchmarks.md"]
fn two_hundred_boards() {
    let Some(hall) = measure(2_000) else { return };
    assert!(hall.late(0.95) < 200.0, "{}", hall.late(0.95));
}

/// The same for some seconds, on a machine that may have other things to do.
#[test]
fn two_hundred_boards_for_some_seconds() {
    let Some(hall) = measure(300) else { return };
    // How fast it is on a quiet machine is asked above; here nothing may pile up.
    assert!(hall.late(0.5) < 5_000.0, "{}", hall.late(0.5));
}

/// How late the moves were seen, in milliseconds, the earliest first.
struct Seen(Vec<f64>);

impl Seen {
    fn late(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }
}

/// Plays `moves` half-moves at 200 boards.
fn measure(moves: usize) -> Option<Seen> {
    let browser = Browser::start(
        &json!({ "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc", "--enable-precise-memory-info"] }),
    )?;
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let mut gateway = Gateway::connect(broker.port);
    gateway.tell("gw/status", "online");
    for board in 1..=BOARDS {
        gateway.tell(&format!("gw/board/{board}/status"), "online");
        gateway.tell(
            &format!("gw/board/{board}/pgn"),
            "[White \"A\"]\n[Black \"B\"]\n\n*\n",
        );
        gateway.game(board, 0);
    }
    browser.resize(1600, 1200);
    browser.open(&server.url(""));
    browser.until(
        "all boards",
        &format!("return document.querySelectorAll('.card').length === {BOARDS}"),
    );
    // The time at which the text of a move is on the screen: at the frame after the change.
    browser.run(
        "window.seen = []; new MutationObserver((changes) => requestAnimationFrame(() => { const now = Date.now();
           for (const change of changes) { const stamp = /x(\\d+)x/.exec(change.target.textContent); if (stamp) window.seen.push(now - Number(stamp[1])); } }))
         .observe(document.querySelector('.grid'), { subtree: true, childList: true, characterData: true })",
    );
    let heap = |browser: &Browser| {
        browser
            .run("gc(); return performance.memory.usedJSHeapSize / 1048576")
            .as_f64()
            .unwrap()
    };
    let before = heap(&browser);
    let start = Instant::now();
    for made in 0..moves {
        gateway.game(made % BOARDS + 1, made + 1);
        // 50 half-moves a second: far more than 200 boards ever play.
        let due = start + Duration::from_millis(20 * made as u64);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    // The last move of all is on the screen, in the frame after which it was noted.
    let last = gateway.last.clone();
    let shown = format!(
        "return [...document.querySelectorAll('.card')].some((card) => card.textContent.includes('{last}'))"
    );
    browser.until("the last move", &shown);
    std::thread::sleep(Duration::from_secs(1));
    let after = heap(&browser);
    let seen = browser.run("return window.seen");
    let mut seen: Vec<f64> = seen
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    seen.sort_by(f64::total_cmp);
    let seen = Seen(seen);
    let resident = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let resident = resident
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap()
        .to_owned();
    println!(
        "{} of {moves} moves seen; to the screen in ms: median {}, 95 % {}, longest {}; heap of the page {before:.1} -> {after:.1} MiB; server {resident}",
        seen.0.len(),
        seen.late(0.5),
        seen.late(0.95),
        seen.late(1.0)
    );
    // Moves on a board that come together are drawn together; each board has drawn one.
    assert!(seen.0.len() >= moves.min(BOARDS), "{}", seen.0.len());
    assert!(after < before + 20.0, "the page grows: {before} -> {after}");
    Some(seen)
}

/// A gateway of our own whose moves carry their time.
struct Gateway {
    teller: Teller,
    /// The move that was told last.
    last: String,
}

impl Gateway {
    fn connect(port: u16) -> Self {
        Self {
            teller: Teller::connect(port),
            last: String::new(),
        }
    }

    fn tell(&mut self, topic: &str, payload: &str) {
        self.teller.tell(topic, payload);
    }

    /// A game whose last move is the time at which it was said; a knight goes to and fro.
    fn game(&mut self, board: usize, plies: usize) {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_millis();
        let places = [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR",
            "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R",
        ];
        let placement = places[(plies / 200) % 2];
        let made = plies.min(80);
        self.last = format!("x{now}x");
        let san: Vec<String> = vec![self.last.clone(); made];
        let state = json!({
            "game": 1, "start_fen": null, "chess960": false, "moves": vec!["g1f3"; made], "san": san,
            "fen": format!("{placement} w KQkq - 0 1"), "to_move": "white", "result": "*", "open_irregularities": [], "last_seq": 0,
        });
        self.tell(&format!("gw/board/{board}/game"), &state.to_string());
        let position = json!({ "placement": placement, "fen": null, "problems": [] });
        self.tell(&format!("gw/board/{board}/position"), &position.to_string());
    }
}

//! A board, or a line, that sends as fast as USB allows, of what is valid and of what is not, costs its own task only: the game beside
//! it is told as if it were alone, answers come at once, memory stays where it was.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::{Capture, Header},
    dgt::{Message, PieceCode},
    sim::games,
};
use fastrand::Rng;
use shakmaty::CastlingMode;
use tokio::{io::AsyncWriteExt, net::TcpListener, sync::Mutex};

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, Seat, Simulator, accusations, configure, journal, moves, save},
    wiring::Wiring,
};

/// Two floods at once would leave nothing of a small machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A kibibyte of messages and noise.
fn flood(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < 1024 {
        match rng.u8(0..8) {
            0 => bytes.extend((0..20).map(|_| rng.u8(..))),
            1 => Message::Dump(&std::array::from_fn(|_| PieceCode(rng.u8(0..13)))).encode(&mut bytes),
            2 => bytes.extend([0x8d, 0, 10, rng.u8(..128), rng.u8(..128), 9, 0x20, 3, 2, 9]),
            3 => bytes.extend([0x8f, 0x3e, 3, 0x40, 1]),
            4 => Message::Firmware(1, 8).encode(&mut bytes),
            _ => {
                let (square, piece) = (rng.u8(0..64), PieceCode(rng.u8(0..13)));
                Message::Field { square, piece }.encode(&mut bytes);
            }
        }
    }
    bytes
}

/// The initial array and a clock that runs: what follows is looked at as half-moves.
fn array() -> Vec<u8> {
    let back = [8, 9, 10, 12, 11, 10, 9, 8];
    let mut squares = [PieceCode::EMPTY; 64];
    for file in 0..8 {
        squares[file] = PieceCode(back[file]);
        squares[8 + file] = PieceCode(7);
        squares[48 + file] = PieceCode(1);
        squares[56 + file] = PieceCode(back[file] - 6);
    }
    let mut bytes = Vec::new();
    Message::Dump(&squares).encode(&mut bytes);
    bytes.extend([0x8d, 0, 10, 0x21, 0x30, 0, 0x21, 0x30, 0, 9]);
    bytes
}

/// Sends a megabyte a second to whoever connects, as far as it is taken.
async fn flooding(sent: Arc<AtomicU64>, wiring: Wiring) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = wiring.port(0, &listener.local_addr().unwrap().to_string());
    tokio::spawn(async move {
        let mut rng = Rng::with_seed(3);
        while let Ok((mut stream, _)) = listener.accept().await {
            if stream.write_all(&array()).await.is_err() {
                continue;
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
            let mut pace = tokio::time::interval(Duration::from_millis(1));
            loop {
                pace.tick().await;
                if stream.write_all(&flood(&mut rng)).await.is_err() {
                    break;
                }
                sent.fetch_add(1024, Ordering::Relaxed);
            }
        }
    });
    port
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_costs_its_own_board_only() {
    a_board_floods(Wiring::Alone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_on_a_line_costs_that_line_only() {
    a_board_floods(Wiring::Line).await;
}

async fn a_board_floods(wiring: Wiring) {
    let _alone = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/+/#").await;
    let mut made = games::made_up(&mut Rng::with_seed(21));
    made.truncate(4);
    let uci: Vec<_> = made
        .iter()
        .map(|mv| mv.to_uci(CastlingMode::Standard).to_string())
        .collect();
    let capture: Capture = games::play(&made, Header::default(), 21).unwrap();
    let path = save(folder.path(), "game", &capture);
    let simulator = Simulator::start(&["--listen", "127.0.0.1:0"], &[path]);
    let sent = Arc::new(AtomicU64::new(0));
    let noisy = flooding(sent.clone(), wiring).await;
    let nothing = Capture {
        header: Header::default(),
        records: Vec::new(),
    };
    let seat = |id: &str, port| Seat {
        id: id.into(),
        port,
        capture: &nothing,
    };
    let config = configure(
        folder.path(),
        mosquitto.port,
        &[seat("quiet", &simulator.ports[0]), seat("noisy", &noisy)],
    );
    let daemon = Daemon::start(&config);
    subscriber
        .wait("the game begins", |got| {
            got.topic == "dgt2mqtt/gw/board/quiet/event/game_started"
        })
        .await;
    let before = resident_kib(daemon.id());
    let (mut slowest, mut largest) = (Duration::ZERO, before);
    let deadline = Instant::now() + Duration::from_secs(240);
    let told = || {
        let events = journal(&config, "quiet");
        moves(&events)
    };
    let mut number = 0;
    loop {
        number += 1;
        let asked = Instant::now();
        let payload = format!(r#"{{"ref":"{number}"}}"#);
        subscriber
            .publish("dgt2mqtt/gw/cmd/ping", false, payload, None)
            .await;
        let answer = format!(r#""ref":"{number}""#);
        subscriber
            .wait("pong", |got| {
                got.topic.ends_with("/reply/ping") && got.text().contains(&answer)
            })
            .await;
        slowest = slowest.max(asked.elapsed());
        largest = largest.max(resident_kib(daemon.id()));
        if told().len() == uci.len() {
            break;
        }
        assert!(Instant::now() < deadline, "told {:?} of {uci:?}", told());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(told(), uci);
    let kept = journal(&config, "quiet");
    let accused = accusations(&kept);
    assert!(accused.is_empty(), "{accused:?}");
    println!(
        "{} KiB were sent at the noisy board; slowest answer {slowest:?}, memory {before} then at most {largest} KiB",
        sent.load(Ordering::Relaxed) / 1024
    );
    // The flood does not end: behind it nothing would be answered. A debug build on a busy machine may take its time.
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
    assert!(
        largest < before + 40 * 1024,
        "memory grew from {before} to {largest} KiB"
    );
    let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    let who = match wiring {
        Wiring::Alone => "board noisy:",
        Wiring::Line => "line tcp://",
    };
    let said = log
        .lines()
        .filter(|line| line.contains("it sends more") && line.contains(who));
    // A line throws away what is no answer, which costs too little for a word.
    let least = usize::from(wiring == Wiring::Alone);
    assert!((least..=1).contains(&said.count()), "it is said, once: {log}");
    assert!(daemon.stop());
}

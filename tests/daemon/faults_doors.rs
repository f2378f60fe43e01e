//! Somebody holds the doors of the page, or floods its broker, at some instant of a game that the page follows: the page goes on to
//! answer and has the whole game in the end, and the daemon does not notice.

use std::{io::Write, net::TcpStream, process::Command, thread};

use fastrand::Rng;
use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, free_port},
    doors::{MEMORY, peak, retain, send, socket},
    hall::{Daemon, journal, playing, until},
    page::{Server, http_full},
    replayed::{Played, taped},
    seed::in_rounds,
    setups::board_shown,
};

/// What is at the doors of a page, and where those are.
struct Doors {
    page: u16,
    /// The local interface.
    tools: u16,
    broker: u16,
}

#[tokio::test(flavor = "multi_thread")]
async fn half_sent_requests_in_the_middle_of_a_game() {
    in_rounds(|random| the_page_follows(random, half_sent_requests)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_with_long_names_in_the_middle_of_a_game() {
    in_rounds(|random| the_page_follows(random, sockets_with_long_names)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_gateway_in_the_middle_of_a_game() {
    in_rounds(|random| the_page_follows(random, a_foreign_gateway)).await;
}

async fn the_page_follows(mut random: Rng, trouble: fn(&Doors, &mut Rng) -> Vec<TcpStream>) {
    let game = Played::by_chance(&mut random);
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "1", &game.path, &[]);
    taped(&config);
    let tools = free_port();
    let server = Server::start(mosquitto.port, free_port(), &["--livechess", &tools.to_string()]);
    // As few as a unit has, so that a thousand connections would take them all.
    let limit = format!("--pid={}", server.child.id());
    let limit = Command::new("prlimit")
        .args(["--nofile=512:512", &limit])
        .status();
    assert!(limit.is_ok_and(|status| status.success()));
    let doors = Doors {
        page: server.port,
        tools,
        broker: mosquitto.port,
    };
    let daemon = Daemon::start(&config);
    game.some_instant(&subscriber, "1", &mut random).await;
    let held = trouble(&doors, &mut random);
    assert_eq!(
        http_full(doors.page, "GET", "/api/cases", "", &Value::Null).0,
        200
    );
    game.is_over(&subscriber, "1").await;
    let key = ("gw".to_owned(), "1".to_owned());
    let mut wrong = None;
    until("the page has the game", PATIENCE, || {
        wrong = board_shown(doors.page, &key, &journal(&config, "1"));
        wrong.is_none().then_some(())
    });
    drop(held);
    let peak = peak(server.child.id());
    assert!(peak < MEMORY, "{peak} kB");
    assert!(daemon.stop());
    game.is_whole(&config, &subscriber, "1").await;
}

/// A thousand requests that end anywhere, at both doors.
fn half_sent_requests(doors: &Doors, random: &mut Rng) -> Vec<TcpStream> {
    const REQUESTS: [&str; 5] = [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: more\r\n\r\n",
        "GET /api/stream?after=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n",
        "POST /api/command HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{\"gateway\":\"gw\"",
        "GET /api/v1.0 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhl\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}not HTTP at all",
    ];
    let mut held = Vec::new();
    for _ in 0..1_000 {
        let port = if random.bool() { doors.page } else { doors.tools };
        let request = random.choice(REQUESTS).unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // Who was sent away already cannot be told.
        let _ = stream.write_all(&request.as_bytes()[..random.usize(..request.len())]);
        held.push(stream);
    }
    held
}

/// More sockets than are let in, which ask for everything under names of any length.
fn sockets_with_long_names(doors: &Doors, random: &mut Rng) -> Vec<TcpStream> {
    let count = random.usize(17..60);
    let mut held: Vec<_> = (0..count)
        .filter_map(|_| socket(doors.tools, "https://evil.example"))
        .collect();
    for stream in &mut held {
        let mut reader = stream.try_clone().unwrap();
        thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        let name = "x".repeat(random.usize(1..60_000));
        for feed in 0..random.usize(1..=256) {
            let call = format!(
                r#"{{"id":1,"call":"subscribe","param":{{"feed":"eboardevent","id":"{feed}{name}","param":{{"serialnr":"gw-1"}}}}}}"#
            );
            send(stream, &call);
        }
    }
    held
}

/// A gateway of 2,000 boards, with games of any length.
fn a_foreign_gateway(doors: &Doors, random: &mut Rng) -> Vec<TcpStream> {
    let length = random.usize(20_000..120_000);
    let messages = (0..2_000).flat_map(|board| {
        let place = format!("dgt2mqtt/foreign/board/{board}");
        [
            (format!("{place}/pgn"), vec![b'x'; length]),
            (format!("{place}/status"), b"online".to_vec()),
        ]
    });
    retain(doors.broker, messages);
    Vec::new()
}

//! The doors of the page and of the local interface against those who hold them: half-sent requests,
//! guessed tokens, pages that open sockets, gateways that are not ours.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    hall::until,
    page::{Server, http_full, http_text},
};

const TOKEN: &str = "0123456789abcdef";
/// What systemd/dgt2mqtt-dashboard.service allows, in kB.
pub const MEMORY: u64 = 256 << 10;

fn guarded(folder: &Path, broker: u16) -> Server {
    let file = folder.join("token");
    fs::write(&file, TOKEN).unwrap();
    Server::start(broker, free_port(), &["--token-file", file.to_str().unwrap()])
}

fn status(port: u16, headers: &str) -> u16 {
    http_full(port, "GET", "/api/cases", headers, &Value::Null).0
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Memory of a process at its highest, in kB.
pub fn peak(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn half_sent(port: u16) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:").ok()?;
    Some(stream)
}

/// The page's stream of changes, as a page that is open reads it.
fn open_page(port: u16) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n",
        bearer(TOKEN)
    );
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

fn hears(page: &mut BufReader<TcpStream>, what: &str) {
    let found = page.lines().map(Result::unwrap).any(|line| line.contains(what));
    assert!(found, "the stream of an open page ended before {what:?}");
}

#[test]
fn half_sent_requests_lock_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded(folder.path(), 1);
    // As few as a unit has, so that a thousand would take them all.
    let limit = Command::new("prlimit")
        .args(["--nofile=512:512", &format!("--pid={}", server.child.id())])
        .status();
    assert!(limit.is_ok_and(|status| status.success()));
    let mut page = open_page(server.port);
    hears(&mut page, "event: hall");
    let mut held: Vec<_> = (0..1_000).filter_map(|_| half_sent(server.port)).collect();
    assert_eq!(held.len(), 1_000);
    assert_eq!(status(server.port, &bearer(TOKEN)), 200, "while all of them stay");
    hears(&mut page, "event: alive");
    // And while they come again as fast as they are sent away.
    for _ in 0..20 {
        held.extend((0..50).filter_map(|_| half_sent(server.port)));
        assert_eq!(status(server.port, &bearer(TOKEN)), 200);
    }
    // Who says nothing more is sent away in the end: the last of them was one of the few that stayed.
    let mut last = held.pop().unwrap();
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = last.read_to_end(&mut Vec::new());
    hears(&mut page, "event: alive");
}

/// One byte and no more, each; every one stays open at our end.
#[test]
fn ten_thousand_slow_connections_lock_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let endpoint = free_port();
    let server = Server::start(broker.port, free_port(), &["--livechess", &endpoint.to_string()]);
    let limit = |pid: u32, files: u32| {
        let status = Command::new("prlimit")
            .args([&format!("--nofile={files}:{files}"), &format!("--pid={pid}")])
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !limit(std::process::id(), 20_000) {
        skipped!("needs 20,000 descriptors");
        return;
    }
    assert!(limit(server.child.id(), 1024));
    // The page is served first.
    until("the local interface", PATIENCE, || {
        TcpStream::connect(("127.0.0.1", endpoint)).ok()
    });
    let answers = || {
        let page = http_full(server.port, "GET", "/api/cases", "", &Value::Null).0;
        let tool = http_full(endpoint, "GET", "/api/v1.0/eboards", "", &Value::Null).0;
        (page, tool)
    };
    let mut held = Vec::new();
    for round in 0..10 {
        for n in 0..1000 {
            let port = if n % 2 == 0 { server.port } else { endpoint };
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            // Who was sent away already cannot be told.
            let _ = stream.write_all(b"G");
            held.push(stream);
        }
        assert_eq!(answers(), (200, 200), "while {} stay", (round + 1) * 1000);
    }
    let peak = peak(server.child.id());
    assert!(peak < 100 << 10, "{peak} kB");
    eprintln!("{} slow connections, {peak} kB", held.len());
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let server = Server::start(1, free_port(), &[]);
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .set_read_timeout(Some(PATIENCE.max(Duration::from_secs(90))))
        .unwrap();
    let head = "POST /api/command HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.contains("408"), "{line:?}");
}

/// Bodies of a command that open far more than any parser should follow.
fn bombs() -> Vec<String> {
    let deep = |open: &str, close: &str, times: usize| open.repeat(times) + "0" + &close.repeat(times);
    let within = |deep: String| {
        format!(r#"{{"gateway":"gw","board":"1","verb":"report","fields":{{"kind":{deep}}}}}"#)
    };
    vec![
        "[".repeat(16_000),
        "{\"fields\":".repeat(1_600),
        deep("[", "]", 8_000),
        within(deep("[", "]", 8_000)),
        within(deep("{\"a\":", "}", 2_600)),
    ]
}

#[test]
fn a_command_of_depth_alone_is_refused_at_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let endpoint = free_port();
    let server = Server::start(broker.port, free_port(), &["--livechess", &endpoint.to_string()]);
    for bomb in bombs() {
        let (status, _, said) = http_text(server.port, "POST", "/api/command", "", &bomb);
        let refused: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{status} {said:?}"));
        assert!([400, 422].contains(&status), "{status} {said}");
        assert_eq!(
            (&refused["ok"], &refused["error"]["code"]),
            (&false.into(), &"bad_json".into())
        );
        let why = refused["error"]["message"].as_str().unwrap();
        let is_named = ["recursion limit", "invalid type"]
            .iter()
            .any(|word| why.contains(word));
        assert!(is_named && why.len() < 1000, "{why}");
    }
    let mut socket = socket(endpoint, "https://lichess.org").unwrap();
    for bomb in bombs() {
        send(&mut socket, &bomb);
        let mut head = [0; 2];
        socket.read_exact(&mut head).unwrap();
        assert!(head[1] < 126, "a long answer");
        let mut said = vec![0; usize::from(head[1])];
        socket.read_exact(&mut said).unwrap();
        assert!(String::from_utf8_lossy(&said).contains("this is not JSON"));
    }
    assert_eq!(status(server.port, ""), 200);
    let peak = peak(server.child.id());
    assert!(peak < 100 << 10, "{peak} kB");
}

#[test]
fn guessing_a_token_is_slow_and_an_open_page_does_not_notice() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded(folder.path(), 1);
    let mut page = open_page(server.port);
    hears(&mut page, "event: hall");
    for _ in 0..12 {
        assert_eq!(status(server.port, &bearer("wrong-wrong-wrong")), 401);
    }
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(status(server.port, &bearer("wrong-wrong-wrong")), 401);
    }
    assert!(start.elapsed() >= Duration::from_secs(3), "each takes a second");
    hears(&mut page, "event: alive");
    assert_eq!(
        status(server.port, &bearer(TOKEN)),
        200,
        "the right one still opens"
    );
    assert_eq!(status(server.port, "Origin: http://evil.example\r\n"), 403);
}

/// A page of somebody else whose name leads to this machine, as its browser asks.
#[test]
fn a_strange_name_that_leads_here_opens_neither_door() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let endpoint = free_port();
    let server = Server::start(broker.port, free_port(), &["--livechess", &endpoint.to_string()]);
    until("the local interface", PATIENCE, || {
        TcpStream::connect(("127.0.0.1", endpoint)).ok()
    });
    let asked = |port: u16, path: &str, host: &str| {
        http_full(port, "GET", path, &format!("Host: {host}\r\n"), &Value::Null)
    };
    for (port, path) in [(server.port, "/api/cases"), (endpoint, "/api/v1.0/eboards")] {
        for host in ["evil.example", "127.0.0.1.evil.example", "192.0.2.7", ""] {
            let (status, head, body) = asked(port, path, &format!("{host}:{port}"));
            assert_eq!(status, 403, "{path} at {host:?}: {head}");
            assert!(!body.contains('[') && !body.contains('{'), "{body}");
        }
        for host in ["localhost", "127.0.0.1"] {
            assert_eq!(
                asked(port, path, &format!("{host}:{port}")).0,
                200,
                "{path} at {host}"
            );
        }
    }
    let mut stream = TcpStream::connect(("127.0.0.1", endpoint)).unwrap();
    stream
        .write_all(upgrade("evil.example", "https://evil.example").as_bytes())
        .unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("403"), "{answer}");
}

/// A question for a socket.
fn upgrade(host: &str, origin: &str) -> String {
    format!(
        "GET /api/v1.0 HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: {origin}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// A socket of a page of somebody else; none when it is not let in.
pub fn socket(port: u16, origin: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(upgrade("localhost", origin).as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    head.starts_with(b"HTTP/1.1 101").then_some(stream)
}

pub fn send(stream: &mut TcpStream, text: &str) {
    let mut frame = vec![0x81, 0xff];
    frame.extend(u64::try_from(text.len()).unwrap().to_be_bytes());
    frame.extend([0; 4]); // a mask that changes nothing
    frame.extend(text.bytes());
    stream.write_all(&frame).unwrap();
}

/// The next text that comes at a socket.
fn said(stream: &mut TcpStream) -> Value {
    let mut head = [0; 2];
    stream.read_exact(&mut head).unwrap();
    let mut length = usize::from(head[1]);
    if length == 126 {
        let mut more = [0; 2];
        stream.read_exact(&mut more).unwrap();
        length = usize::from(u16::from_be_bytes(more));
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Publishes retained messages, one topic and payload each.
pub fn retain(port: u16, messages: impl Iterator<Item = (String, Vec<u8>)>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    // MQTT 3.1.1: who we are, each message, good-bye.
    let mut out = vec![
        0x10, 14, 0, 4, b'M', b'Q', b'T', b'T', 4, 2, 0, 0, 0, 2, b't', b't',
    ];
    for (topic, payload) in messages {
        out.push(0x31);
        let mut length = 2 + topic.len() + payload.len();
        while length > 127 {
            out.push(u8::try_from(length % 128).unwrap() | 0x80);
            length /= 128;
        }
        out.push(u8::try_from(length).unwrap());
        out.extend(u16::try_from(topic.len()).unwrap().to_be_bytes());
        out.extend(topic.bytes());
        out.extend(payload);
        stream.write_all(&out).unwrap();
        out.clear();
    }
    stream.write_all(&[0xe0, 0]).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn a_page_with_many_sockets_and_long_names_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    retain(
        broker.port,
        [
            ("dgt2mqtt/gw/status".to_owned(), b"online".to_vec()),
            ("dgt2mqtt/gw/board/1/status".to_owned(), b"online".to_vec()),
        ]
        .into_iter(),
    );
    let port = free_port();
    let server = Server::start(broker.port, free_port(), &["--livechess", &port.to_string()]);
    let boards = || http_full(port, "GET", "/api/v1.0/eboards", "", &Value::Null).2;
    until("the board", PATIENCE, || boards().contains("gw-1").then_some(()));
    let mut sockets: Vec<_> = (0..40)
        .filter_map(|_| socket(port, "https://evil.example"))
        .collect();
    assert!((12..=20).contains(&sockets.len()), "{} sockets", sockets.len());
    let name = "x".repeat(60_000);
    for socket in &mut sockets {
        let mut reader = socket.try_clone().unwrap();
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        for feed in 0..256 {
            let call = format!(
                r#"{{"id":1,"call":"subscribe","param":{{"feed":"eboardevent","id":"{feed}{name}","param":{{"serialnr":"gw-1"}}}}}}"#
            );
            send(socket, &call);
        }
    }
    // Others have their place, and are answered after all that.
    let mut other = socket(port, "https://lichess.org").unwrap();
    send(&mut other, r#"{"id":1,"call":"eboards"}"#);
    assert_eq!(said(&mut other)["param"][0]["serialnr"], "gw-1");
    // So are their feeds: a piece that is moved after all that is told.
    let feed =
        r#"{"id":2,"call":"subscribe","param":{"feed":"eboardevent","id":1,"param":{"serialnr":"gw-1"}}}"#;
    send(&mut other, feed);
    let placed = |text: &str| {
        let position = format!(r#"{{"fen":null,"placement":"{text}","problems":[]}}"#);
        let topic = "dgt2mqtt/gw/board/1/position".to_owned();
        retain(broker.port, [(topic, position.into_bytes())].into_iter());
    };
    for placement in ["8/8/8/8/8/8/8/K6k", "8/8/8/8/8/8/8/1K5k"] {
        placed(placement);
        let told = std::iter::repeat_with(|| said(&mut other)).take(20);
        let mut boards = told.map(|text| text["param"]["board"].clone());
        assert!(boards.any(|board| board == placement), "{placement} is not told");
    }
    assert!(boards().contains("gw-1"));
    let peak = peak(server.child.id());
    assert!(peak < 100 << 10, "{peak} kB");
}

#[test]
fn a_foreign_gateway_does_not_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let ours = [
        ("dgt2mqtt/gw/status".to_owned(), b"online".to_vec()),
        ("dgt2mqtt/gw/board/1/status".to_owned(), b"online".to_vec()),
    ];
    let foreign =
        (0..2_000).map(|board| (format!("dgt2mqtt/foreign/board/{board}/pgn"), vec![b'x'; 120_000]));
    let listed = (0..2_000).map(|board| {
        (
            format!("dgt2mqtt/foreign/board/{board}/status"),
            b"online".to_vec(),
        )
    });
    retain(broker.port, foreign.chain(listed).chain(ours));
    let server = Server::start(broker.port, free_port(), &[]);
    // What comes now comes after all that was retained.
    let shown = |board: &str| {
        let path = format!("/api/board/gw/{board}");
        http_full(server.port, "GET", &path, "", &Value::Null).0 == 200
    };
    until("a board of ours", PATIENCE, || {
        let news = [("dgt2mqtt/gw/board/2/status".to_owned(), b"online".to_vec())];
        retain(broker.port, news.into_iter());
        shown("2").then_some(())
    });
    assert!(shown("1"), "who came before the flood stays");
    let peak = peak(server.child.id());
    assert!(peak < MEMORY, "{peak} kB");
    eprintln!("{peak} kB");
}

#[test]
fn a_hundred_thousand_foreign_topics_do_not_hide_our_board() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let status = |gateway: &str, board: u32| {
        let topic = format!("dgt2mqtt/{gateway}/board/{board}/status");
        (topic, b"online".to_vec())
    };
    let foreign = (0..20_000).flat_map(|board| {
        ["info", "clock", "game", "pgn"]
            .map(|state| (format!("dgt2mqtt/foreign/board/{board}/{state}"), b"{}".to_vec()))
            .into_iter()
            .chain([status("foreign", board)])
    });
    let ours = [
        ("dgt2mqtt/gw/status".to_owned(), b"online".to_vec()),
        status("gw", 1),
    ];
    retain(broker.port, ours.into_iter().chain(foreign));
    let server = Server::start(broker.port, free_port(), &[]);
    let shown = |board: u32| {
        let path = format!("/api/board/gw/{board}");
        http_full(server.port, "GET", &path, "", &Value::Null).0 == 200
    };
    until("our boards", PATIENCE, || {
        retain(broker.port, [status("gw", 2)].into_iter());
        (shown(1) && shown(2)).then_some(())
    });
    let peak = peak(server.child.id());
    assert!(peak < MEMORY, "{peak} kB");
    eprintln!("100,000 foreign topics: {peak} kB");
}

//! Who holds the doors of the page and of the local interface without a word: connections that are kept and not used, sockets that
//! are not read, and one address with more connections than all others.

use std::{
    fmt::Write as _,
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::net::TcpSocket;

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    doors::{peak, retain, send, socket},
    hall::until,
    page::{Server, http_full},
};

/// How long a connection has for the head of its next request. `src/door/mod.rs` has the same.
const HEAD: Duration = Duration::from_secs(10);
/// How many connections of strangers a door lets in.
const STRANGERS: usize = 64;

/// Asks for `path` on a connection that is kept. Returns it, and the status of the answer, which has been read.
fn kept(port: u16, path: &str, headers: &str) -> (TcpStream, u16) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n").unwrap();
    let status = answered(&mut stream).expect("an answer");
    (stream, status)
}

/// The status of the next answer, which is read to its end; none where the connection is closed.
fn answered(stream: &mut TcpStream) -> Option<u16> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    stream.read_exact(&mut vec![0; length]).unwrap();
    Some(head.split(' ').nth(1).unwrap().parse().unwrap())
}

#[test]
fn a_connection_that_is_kept_and_not_used_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef").unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let endpoint = free_port();
    let options = [
        "--token-file",
        token.to_str().unwrap(),
        "--livechess",
        &endpoint.to_string(),
    ];
    let server = Server::start(broker.port, free_port(), &options);
    until("the local interface", PATIENCE, || {
        TcpStream::connect(("127.0.0.1", endpoint)).ok()
    });
    let bearer = "Authorization: Bearer 0123456789abcdef\r\n";
    let asked = [
        (server.port, "/api/cases", bearer, 200),
        (server.port, "/api/cases", "", 401),
        (endpoint, "/api/v1.0/eboards", "", 200),
    ];
    let idle: Vec<_> = asked
        .into_iter()
        .map(|(port, path, headers, status)| {
            let (mut stream, got) = kept(port, path, headers);
            assert_eq!(got, status, "{path}");
            let since = Instant::now();
            let waits = std::thread::spawn(move || {
                let ended = stream.read(&mut [0; 64]);
                (ended, since.elapsed())
            });
            (path, waits)
        })
        .collect();
    for (path, waits) in idle {
        let (ended, after) = waits.join().unwrap();
        println!("{path}: closed after {after:.1?}");
        assert!(matches!(ended, Ok(0)), "{path}: {ended:?} after {after:?}");
        // Who asks again sooner finds it open; a busy machine may be late.
        assert!(
            after > HEAD / 2 && after < HEAD * 3,
            "{path}: closed after {after:?}"
        );
    }
}

/// A connection to the page from an address of this machine, on which half a request is sent.
async fn half_sent(port: u16, from: Ipv4Addr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = socket.connect(to).await.unwrap().into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Who was sent away already cannot be told.
    let _ = write!(stream, "GET /api/cases HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    stream
}

/// Whoever opens many connections closes his own, however old those of others are.
#[tokio::test]
async fn many_connections_of_one_address_close_none_of_another() {
    let server = Server::start(1, free_port(), &[]);
    let few = Ipv4Addr::new(127, 0, 0, 2);
    let many = Ipv4Addr::new(127, 0, 0, 3);
    let mut early = Vec::new();
    for _ in 0..STRANGERS / 4 {
        early.push(half_sent(server.port, few).await);
    }
    let mut flood = Vec::new();
    for _ in 0..4 * STRANGERS {
        flood.push(half_sent(server.port, many).await);
    }
    for stream in &mut early {
        stream.write_all(b"\r\n").unwrap();
        assert_eq!(answered(stream), Some(200), "an early one of the other address");
    }
    let open = flood.iter_mut().filter_map(|stream| {
        let _ = stream.write_all(b"\r\n");
        answered(stream)
    });
    let open = open.count();
    println!("{} of {} connections of the flood were kept", open, flood.len());
    assert!(open <= STRANGERS, "{open} of the flood were kept");
    assert!(open >= STRANGERS / 2, "only {open} of the flood were kept");
}

/// Tools that ask and do not read the answers: each fills what the system buffers, and is sent away. Others are answered meanwhile.
#[test]
fn a_socket_that_is_not_read_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let boards = (0..200).map(|board| {
        let topic = format!("dgt2mqtt/gw/board/{board}/status");
        (topic, b"online".to_vec())
    });
    let gateway = [("dgt2mqtt/gw/status".to_owned(), b"online".to_vec())];
    retain(broker.port, gateway.into_iter().chain(boards));
    let port = free_port();
    let server = Server::start(broker.port, free_port(), &["--livechess", &port.to_string()]);
    let eboards = || http_full(port, "GET", "/api/v1.0/eboards", "", &Value::Null).2;
    until("the boards", PATIENCE, || {
        eboards().contains("gw-199").then_some(())
    });
    let mut stuck = socket(port, "https://stuck.example").unwrap();
    stuck.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    // Many calls at once, in frames of which the mask changes nothing.
    let mut calls = Vec::new();
    for id in 0..500 {
        let mut text = String::new();
        write!(text, r#"{{"id":{id},"call":"eboards"}}"#).unwrap();
        calls.extend([0x81, 0x80 | text.len() as u8, 0, 0, 0, 0]);
        calls.extend(text.bytes());
    }
    let mut other = socket(port, "https://lichess.org").unwrap();
    let since = Instant::now();
    let mut written = 0;
    let closed = until("it is sent away", PATIENCE, || {
        let answered = Instant::now();
        send(&mut other, r#"{"id":1,"call":"eboards"}"#);
        assert!(whole(&mut other).contains("gw-199"));
        assert!(answered.elapsed() < Duration::from_secs(5), "the other one waits");
        match stuck.write(&calls[written..]) {
            Ok(count) => {
                written = (written + count) % calls.len();
                None
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            Err(error) => Some(error),
        }
    });
    println!(
        "not read: closed after {:.1?} ({closed}), {} kB",
        since.elapsed(),
        peak(server.child.id())
    );
    assert!(
        since.elapsed() > Duration::from_secs(5),
        "who reads slowly has some time"
    );
    assert!(peak(server.child.id()) < 100 << 10);
}

/// The next text of a socket, of any length.
fn whole(stream: &mut TcpStream) -> String {
    let mut head = [0; 2];
    stream.read_exact(&mut head).unwrap();
    let mut length = u64::from(head[1]);
    if length > 125 {
        let mut more = [0; 8];
        let bytes = if length == 126 { 6.. } else { 0.. };
        stream.read_exact(&mut more[bytes]).unwrap();
        length = u64::from_be_bytes(more);
    }
    let mut text = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

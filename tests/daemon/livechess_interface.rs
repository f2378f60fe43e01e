//! The local interface for pages and tools of others: a session as a page holds it, over a real
//! WebSocket, and the tool `livechess` of the Python registry, where it is installed.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    hall::{Daemon, one_board},
    page::{Server, http},
};

/// A client as simple as can be: text frames below 64 KiB.
struct Socket(BufReader<TcpStream>);

impl Socket {
    fn open(port: u16) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A page of another origin that offers to compress, as browsers do.
        write!(
            stream,
            "GET /api/v1.0 HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: https://lichess.org\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Self(reader)
    }

    fn send(&mut self, value: &Value) {
        let text = value.to_string();
        let mut frame = vec![0x81, 0xfe];
        frame.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        frame.extend([0; 4]); // a mask that changes nothing
        frame.extend(text.bytes());
        self.0.get_mut().write_all(&frame).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let mut length = usize::from(head[1] & 0x7f);
        if length == 126 {
            let mut more = [0; 2];
            self.0.read_exact(&mut more).unwrap();
            length = usize::from(u16::from_be_bytes(more));
        }
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).unwrap();
        assert_eq!(head[0], 0x81, "a text");
        serde_json::from_slice(&payload).unwrap()
    }

    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..2_000 {
            let got = self.next();
            if fits(&got) {
                return got;
            }
        }
        panic!("in vain");
    }
}

#[test]
fn a_page_follows_a_game_and_a_tool_of_others_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    let port = free_port();
    let _server = Server::start(broker.port, free_port(), &["--livechess", &port.to_string()]);
    let _daemon = Daemon::start(&config);

    // As a page does: find the board, follow it, say from where.
    let mut boards = json!([]);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Ok(found) =
            serde_json::from_str::<Value>(&http(port, "GET", "/api/v1.0/eboards", "", &Value::Null).1)
            && found[0]["state"] == "ACTIVE"
            && found[0]["board"].is_string()
        {
            boards = found;
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let serial = boards[0]["serialnr"].clone();
    let mut socket = Socket::open(port);
    socket.send(&json!({ "id": 1, "call": "eboards" }));
    assert_eq!(socket.next()["param"][0]["serialnr"], serial);
    socket.send(&json!({ "id": 2, "call": "subscribe", "param": { "feed": "eboardevent", "id": 1, "param": { "serialnr": serial } } }));
    let answer = socket.next();
    assert_eq!(
        (&answer["response"], &answer["id"], &answer["param"]),
        (&json!("call"), &json!(2), &Value::Null)
    );
    assert!(socket.next()["param"]["board"].is_string());
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    socket.send(&json!({ "id": 3, "call": "call", "param": { "id": 1, "method": "setup", "param": { "fen": start } } }));
    let moves = |got: &Value| got["param"]["san"].as_array().map_or(0, Vec::len);
    let got = socket.until(|got| moves(got) >= 6);
    assert_eq!(
        got["param"]["san"].as_array().unwrap()[..4],
        [json!("e4"), json!("c6"), json!("d4"), json!("d5")]
    );
    assert_eq!(got["param"]["start"], start);
    if moves(&got) < 20 {
        socket.until(|got| moves(got) >= 20);
    }

    // The tool decodes strictly: a field too many or too few, and it fails.
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/livechess");
    if !tool.join("bin/livechess").exists() {
        skipped!(
            "the tool livechess is not installed (scripts/test.sh does it where Python is 3.12 or later)"
        );
        return;
    }
    let run = |arguments: &[&str]| {
        // It knows port 1982 only.
        let script = format!(
            "import livechess.local as l; i = l.LiveChessLocal.__init__; l.LiveChessLocal.__init__ = lambda s, host=None: i(s, '127.0.0.1', {port})\nfrom livechess.main import app; app()"
        );
        let mut command = Command::new(fs_line(&tool.join("python")));
        command
            .args(["-c", &script])
            .args(arguments)
            .env("PYTHONPATH", &tool)
            .env("COLUMNS", "200");
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(
            ran.status.success(),
            "{arguments:?}: {said}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        said
    };
    assert!(run(&["eboards"]).contains(serial.as_str().unwrap()));
    let tournaments: Value =
        serde_json::from_str(&http(port, "GET", "/api/v1.0/tournaments", "", &Value::Null).1).unwrap();
    let id = tournaments[0]["uuid"].as_str().unwrap();
    assert!(run(&["tournaments"]).contains(id));
    run(&["tournament", id]);
    run(&["events", id]);
}

/// The first line of a file.
fn fs_line(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

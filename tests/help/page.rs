//! The arbiter's page as a process, and questions to it and to other servers of this machine.
#![allow(dead_code)] // shared by several test programs.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// How long the server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request to this machine: status, and head with body.
pub fn http(port: u16, method: &str, path: &str, headers: &str, body: &Value) -> (u16, String) {
    let (status, _, body) = http_full(port, method, path, headers, body);
    (status, body)
}

/// The same with the head of the answer.
pub fn http_full(port: u16, method: &str, path: &str, headers: &str, body: &Value) -> (u16, String, String) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    http_text(port, method, path, headers, &body)
}

/// The same with a body that need not be JSON.
pub fn http_text(port: u16, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(180))).unwrap();
    let host = if headers.to_lowercase().contains("host:") {
        String::new()
    } else {
        format!("Host: 127.0.0.1:{port}\r\n")
    };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    // Who keeps the connection says how long the answer is.
    let mut buffer = [0; 65_536];
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            if length.is_some_and(|length| body.len() >= length) {
                break;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
        }
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    (status, head.to_owned(), body.to_owned())
}

/// The page's server as a process.
pub struct Server {
    pub child: Child,
    pub port: u16,
}

impl Server {
    /// At `port`, for a broker on this machine.
    pub fn start(broker: u16, port: u16, options: &[&str]) -> Self {
        let broker = format!("mqtt://127.0.0.1:{broker}");
        Self::start_at(port, &[&["--broker", &broker], options].concat())
    }

    /// At `port`, for the brokers that the options name.
    pub fn start_at(port: u16, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
        command
            .args(["dashboard", "--listen", &format!("127.0.0.1:{port}")])
            .args(options);
        let log = std::env::var_os("DGT2MQTT_PAGE_LOG").map_or_else(Stdio::null, |path| {
            let log = std::fs::File::options().create(true).append(true).open(path);
            log.unwrap().into()
        });
        let child = command.stderr(log).spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the page is not served");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, port }
    }

    /// The address of a page.
    pub fn url(&self, page: &str) -> String {
        format!("http://127.0.0.1:{}/{page}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Figures for Prometheus on a loopback port, where one is configured: the text format 0.0.4 over HTTP/1.1, one
//! question a connection.

use std::{fmt::Write, io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use super::health::Health;
use crate::descriptors;

/// Connections at a time; more wait.
const MOST: usize = 4;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a question.
const MOST_BYTES: usize = 4096;

/// The port, gone with the value.
#[derive(Debug)]
pub(super) struct Metrics {
    text: watch::Sender<String>,
    _server: JoinSet<()>,
}

impl Metrics {
    /// Listens on `address`.
    ///
    /// # Errors
    /// What the system says of the port.
    pub(super) async fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let (text, reader) = watch::channel(String::new());
        let mut server = JoinSet::new();
        server.spawn(serve(listener, reader));
        Ok(Self {
            text,
            _server: server,
        })
    }

    /// What is to be answered from now on.
    pub(super) fn tell(&self, health: &Health) {
        self.text.send_replace(render(health));
    }
}

async fn serve(listener: TcpListener, text: watch::Receiver<String>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (stream, _) = descriptors::accept(&listener, "the metrics"), if connections.len() < MOST => {
                let text = text.clone();
                connections.spawn(async move {
                    if let Ok(Err(error)) = timeout(PATIENCE, answer(stream, &text)).await {
                        tracing::debug!(%error, "a question for the metrics broke off");
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn answer(mut stream: TcpStream, text: &watch::Receiver<String>) -> io::Result<()> {
    let mut question = Vec::new();
    while !question.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 512];
        let count = stream.read(&mut part).await?;
        if count == 0 || question.len() + count > MOST_BYTES {
            return Ok(());
        }
        question.extend_from_slice(&part[..count]);
    }
    let line = question.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let (status, body) = match words[..] {
        [b"GET", b"/metrics", _] => ("200 OK", text.borrow().clone()),
        [b"GET", ..] => ("404 Not Found", "the figures are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Allow: GET\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Figures in the text format.
#[derive(Default)]
struct Page(String);

impl Page {
    fn figure(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        // Writing to a string cannot fail.
        let _ = write!(
            self.0,
            "# HELP dgt2mqtt_{name} {help}\n# TYPE dgt2mqtt_{name} {kind}\ndgt2mqtt_{name} {value}\n"
        );
    }
}

fn number(count: u64) -> f64 {
    count as f64
}

/// The figures in the text format.
fn render(health: &Health) -> String {
    let mut page = Page::default();
    of_the_daemon(&mut page, health);
    of_the_journal(&mut page, health);
    of_the_broker(&mut page, health);
    page.0
}

fn of_the_daemon(page: &mut Page, health: &Health) {
    page.figure(
        "uptime_seconds",
        "gauge",
        "Time since the daemon's start.",
        health.uptime_s,
    );
    page.figure(
        "boards",
        "gauge",
        "Boards of the configuration.",
        health.boards as f64,
    );
    page.figure(
        "board_restarts_total",
        "counter",
        "How often a board's task failed and was started again.",
        number(health.board_restarts),
    );
    page.figure(
        "outbox_depth",
        "gauge",
        "Events that the broker has not acknowledged.",
        number(health.outbox_depth),
    );
    page.figure(
        "outbox_oldest_seconds",
        "gauge",
        "Age of the oldest of them; 0 when there is none.",
        health.oldest_unacknowledged_s.unwrap_or(0.0),
    );
}

fn of_the_journal(page: &mut Page, health: &Health) {
    let journal = &health.journal;
    page.figure(
        "events_lost_total",
        "counter",
        "Events that neither disk nor memory took.",
        number(journal.refused),
    );
    page.figure(
        "journal_pruned_total",
        "counter",
        "Acknowledged events dropped for age or size.",
        number(journal.pruned),
    );
    page.figure(
        "journal_in_memory",
        "gauge",
        "Events in memory only, because the disk refuses.",
        number(journal.in_memory),
    );
    page.figure(
        "journal_bytes",
        "gauge",
        "What the journal takes.",
        number(journal.bytes),
    );
}

fn of_the_broker(page: &mut Page, health: &Health) {
    let broker = &health.broker;
    page.figure(
        "events_acknowledged_total",
        "counter",
        "Events that the broker has acknowledged.",
        number(broker.events_acked),
    );
    page.figure(
        "broker_connected",
        "gauge",
        "1 while the broker is connected.",
        f64::from(u8::from(broker.connected)),
    );
    page.figure(
        "broker_connects_total",
        "counter",
        "Connections made to a broker.",
        number(broker.connects),
    );
    page.figure(
        "messages_refused_total",
        "counter",
        "Messages that the broker refused.",
        number(broker.refused),
    );
    page.figure(
        "commands_total",
        "counter",
        "Commands received.",
        number(broker.commands),
    );
    page.figure(
        "commands_refused_total",
        "counter",
        "Commands refused at the door.",
        number(broker.commands_refused),
    );
}

//! A board behind a network that hangs: `forward` sends the times at which its bytes were read, and what is said of the game
//! is the same as at the board.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::Duration,
};

use dgt2mqtt::link::file::read_capture;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, heard},
    hall::{Daemon, Seat, Simulator, configure, fixture, journal, program, replay},
};

/// How long the network hangs, and how long it works between.
const HANGS: Duration = Duration::from_secs(4);
const WORKS: Duration = Duration::from_secs(3);

/// `forward` as a process.
pub struct Forwarder {
    child: Child,
    pub address: String,
}

impl Forwarder {
    /// For the board at `port`.
    pub fn start(port: &str) -> Self {
        let mut command = program();
        command.args(["forward", "--listen", "127.0.0.1:0", "--port", port]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first
            .strip_prefix("Listening at ")
            .and_then(|rest| rest.split(';').next());
        let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
        // It goes on speaking.
        std::thread::spawn(move || lines.for_each(|line| println!("forward: {}", line.unwrap_or_default())));
        Self { child, address }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A network that hangs again and again, and keeps what it has meanwhile; commands pass at once.
async fn hanging(to: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((daemon, _)) = listener.accept().await {
            let Ok(board) = TcpStream::connect(&to).await else {
                continue;
            };
            let (mut from_daemon, mut to_daemon) = daemon.into_split();
            let (mut from_board, mut to_board) = board.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_daemon, &mut to_board).await });
            tokio::spawn(async move {
                let (mut held, mut buffer) = (Vec::new(), [0; 4096]);
                let (mut works, mut until) = (true, Instant::now() + WORKS);
                loop {
                    tokio::select! {
                        read = from_board.read(&mut buffer) => match read {
                            Ok(0) | Err(_) => return,
                            Ok(n) => held.extend_from_slice(&buffer[..n]),
                        },
                        () = sleep_until(until) => {
                            works = !works;
                            until = Instant::now() + if works { WORKS } else { HANGS };
                        }
                    }
                    if works && to_daemon.write_all(&std::mem::take(&mut held)).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// What is said of a game: half-moves, and of irregularities kind, half-move, offender and certainty.
fn said(events: &[Value]) -> Vec<String> {
    let one = |event: &Value| match event["type"].as_str()? {
        "move" => Some(format!("{} {}", event["ply"], event["uci"])),
        "moves_retracted" => Some(format!("back to {}", event["to_ply"])),
        "irregularity" => Some(format!(
            "{} {} {} {}",
            event["kind"], event["ply"], event["offender"], event["certainty"]
        )),
        "irregularity_resolved" => Some(format!("resolved {}", event["how"])),
        _ => None,
    };
    events.iter().filter_map(one).collect()
}

#[tokio::test]
async fn a_network_that_hangs_changes_nothing_where_the_times_come_with_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let path = fixture("illegal-stands-rapid");
    let capture = read_capture(&path).unwrap();
    let simulator = Simulator::start(&[], std::slice::from_ref(&path));
    let forwarder = Forwarder::start(&simulator.ports[0]);
    let port = hanging(forwarder.address.clone()).await;
    let seat = Seat {
        id: "7".into(),
        port: &format!("tcp+cap://127.0.0.1:{port}"),
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let begun = Instant::now();
    let daemon = Daemon::start(&config);
    let expected = said(&replay(&path, "7"));
    let last = capture.end().0 / 1000;
    subscriber.played("7", 5).await;
    assert!(
        begun.elapsed() < Duration::from_secs(last + 40),
        "it came late, and no later"
    );
    let deadline = Instant::now() + PATIENCE;
    while said(&heard(&subscriber, "7").events) != expected && Instant::now() < deadline {
        sleep(Duration::from_millis(100)).await;
    }
    // Whatever else is to be said, when the network hangs no more.
    sleep(HANGS + WORKS).await;
    assert!(daemon.stop());
    assert_eq!(said(&journal(&config, "7")), expected);
    assert!(
        expected.iter().any(|word| word.contains("illegal_move")),
        "{expected:?}"
    );
}

//! A place that is away, and one that does not want what it is told.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};
use tokio::{net::TcpSocket, time::timeout};

use super::*;
use crate::{
    config::{AlertForm, Language},
    event::{Body, Certainty},
};

/// The quarter of an hour in the time of these tests.
const OLDEST: i64 = 1_500;
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers each message with the status that `answer` has for its kind, and tells the kinds that came.
fn webhook(listener: TcpListener, answer: fn(&str) -> &'static str) -> Receiver<String> {
    let (sender, kinds) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            let kind = message["kind"].as_str().unwrap().to_owned();
            let head = format!("HTTP/1.1 {}\r\nContent-Length: 0\r\n\r\n", answer(&kind));
            stream.get_mut().write_all(head.as_bytes()).unwrap();
            if sender.send(kind).is_err() {
                return;
            }
        }
    });
    kinds
}

fn teller(folder: &Path, port: u16) -> Teller {
    let alert = AlertConfig {
        form: AlertForm::Webhook,
        server: format!("http://127.0.0.1:{port}"),
        path: "/".to_owned(),
        token: None,
        ca_file: None,
        certainty: Certainty::Suspected,
        kinds: Vec::new(),
        language: Language::En,
    };
    Teller {
        key: alert.key(),
        place: Recipient::new(&alert),
        alert,
        path: folder.join("journal.sqlite"),
        told: ToldAlerts::default(),
        oldest_ms: OLDEST,
        failing: false,
        stale: 0,
    }
}

/// An irregularity, and its dismissal.
fn events() -> [Event; 2] {
    let text = include_str!("../../fixtures/illegal-stands-rapid.jsonl");
    let mut events = text
        .lines()
        .map(|line| serde_json::from_str::<Event>(line).unwrap());
    let said = events
        .find(|event| matches!(event.body, Body::Irregularity(_)))
        .unwrap();
    let dismissed = json!({ "v": 1, "id": "gw/1/99", "seq": 99, "board": "1", "game": 1, "t": 9.0, "time": null,
        "type": "irregularity_resolved", "irregularity": said.id, "how": "dismissed" });
    [said, serde_json::from_value(dismissed).unwrap()]
}

#[tokio::test]
async fn a_message_that_a_place_refuses_does_not_hold_up_the_others_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut teller = teller(folder.path(), listener.local_addr().unwrap().port());
    let kinds = webhook(listener, |kind| match kind {
        "irregularity_resolved" => "500 Internal Server Error",
        _ => "200 OK",
    });
    let [said, dismissed] = events();
    teller.consider(1, wall_ms(), &said).await;
    let given_up = timeout(PATIENCE, teller.consider(2, wall_ms(), &dismissed)).await;
    assert!(given_up.is_ok(), "it is sent again and again");
    teller.consider(3, wall_ms(), &said).await;
    let kinds: Vec<_> = kinds.try_iter().collect();
    let [first, again @ .., last] = &kinds[..] else {
        panic!("{kinds:?}")
    };
    assert_eq!([first, last], ["illegal_move"; 2]);
    assert!(again.len() > 1, "{kinds:?}");
    assert!(
        again.iter().all(|kind| kind == "irregularity_resolved"),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn a_place_that_was_away_hears_what_changed_however_late() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody else gets its port before it comes.
    let place = TcpSocket::new_v4().unwrap();
    place.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut teller = teller(folder.path(), place.local_addr().unwrap().port());
    let [said, dismissed] = events();
    teller.told.note(&said, Language::En);
    let comes = async {
        sleep(Duration::from_millis(2 * OLDEST.unsigned_abs())).await;
        let listener = place.listen(16).unwrap().into_std().unwrap();
        listener.set_nonblocking(false).unwrap();
        webhook(listener, |_| "200 OK")
    };
    let long_ago = wall_ms() - 10 * OLDEST;
    let considered = timeout(PATIENCE, teller.consider(2, long_ago, &dismissed));
    let (considered, kinds) = tokio::join!(considered, comes);
    assert!(considered.is_ok(), "it does not come");
    assert_eq!(kinds.try_recv().as_deref(), Ok("irregularity_resolved"));
}

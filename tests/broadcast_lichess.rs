//! Pushing to a broadcast: what is sent, what is done with the answer, and that the newest state gets
//! through after failures. The other end is a small server of our own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test, with a server of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
    time::Duration,
};

use dgt2mqtt::{
    broadcast::push,
    config::{Lichess, Secret},
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

/// A request as it came: its first line and headers, and its body.
type Got = (Vec<String>, String);

/// Answers each connection with the next of `answers`, the last one from then on.
fn server(answers: Vec<&'static str>) -> (u16, mpsc::Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, got) = mpsc::channel();
    thread::spawn(move || {
        for (i, stream) in listener.incoming().enumerate() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_lowercase());
            }
            let length = head
                .iter()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            let answer = answers[i.min(answers.len() - 1)];
            if !answer.is_empty() {
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (port, got)
}

fn settings(port: u16) -> Lichess {
    Lichess {
        round: "a1B2c3D4".into(),
        token: Secret::new("lip_secret"),
        server: format!("http://127.0.0.1:{port}"),
    }
}

fn game(white: &str, moves: &str) -> String {
    format!("[Event \"?\"]\n[White \"{white}\"]\n[Black \"{white}\"]\n\n{moves} *\n")
}

const GOOD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    2c\r\n{\"games\":[{\"tags\":{},\"moves\":1},{\"tags\":{},\r\n12\r\n\"error\":\"illegal\"}]}\r\n0\r\n\r\n";

/// Waits off the runtime, so that the pushing goes on.
async fn next(got: mpsc::Receiver<Got>) -> (mpsc::Receiver<Got>, Got) {
    let waiting = tokio::task::spawn_blocking(move || {
        let request = got.recv_timeout(Duration::from_secs(20)).expect("a push");
        (got, request)
    });
    waiting.await.unwrap()
}

#[tokio::test]
async fn the_games_go_out_and_after_failures_the_newest_state_does() {
    let answers = vec![
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
        "",
        GOOD,
    ];
    let (port, got) = server(answers);
    let nobody = game("?", "");
    let (games, receiver) = watch::channel(vec![game("A", "1. e4"), nobody.clone(), game("B", "1. d4")]);
    let stop = CancellationToken::new();
    let pushing = tokio::spawn(push(settings(port), receiver, stop.clone()));

    let (got, (head, body)) = next(got).await;
    assert_eq!(head[0], "post /api/broadcast/round/a1b2c3d4/push http/1.1");
    assert!(
        head.contains(&"authorization: bearer lip_secret".to_owned()),
        "{head:?}"
    );
    assert!(
        head.contains(&"content-type: text/plain; charset=utf-8".to_owned()),
        "{head:?}"
    );
    assert!(
        head.iter().any(|line| line.starts_with("user-agent: dgt2mqtt/")),
        "{head:?}"
    );
    assert_eq!(
        body,
        format!("{}\n{}", game("A", "1. e4"), game("B", "1. d4")),
        "games of nobody stay here"
    );

    // It was refused: meanwhile a move is made.
    games.send_replace(vec![game("A", "1. e4 e5"), nobody, game("B", "1. d4")]);
    let (got, _) = next(got).await;
    let (got, (_, body)) = next(got).await;
    assert!(body.contains("1. e4 e5"), "the newest: {body}");

    // Taken: nothing more is sent until something changes.
    let (got, quiet) = tokio::task::spawn_blocking(move || {
        let quiet = got.recv_timeout(Duration::from_secs(4)).is_err();
        (got, quiet)
    })
    .await
    .unwrap();
    assert!(quiet);
    games.send_replace(vec![game("A", "1. e4 e5 2. Nf3")]);
    let (_got, (_, body)) = next(got).await;
    assert!(body.contains("2. Nf3"));
    stop.cancel();
    timeout(Duration::from_secs(2), pushing)
        .await
        .expect("it stops")
        .unwrap();
}

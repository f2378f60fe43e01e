//! Links of several people to the arbiter's page: what each may do, what is written down of it, and that a link which is
//! taken back ends.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::{Daemon, commands, one_board, until},
    page::{Server, http, http_full},
};

const PEOPLE: [(&str, &str); 3] = [
    ("Anna", "arbiter"),
    ("Ørjan", "operator"),
    ("hall screen", "read_only"),
];

fn token(name: &str) -> String {
    let place = PEOPLE.iter().position(|(known, _)| *known == name).unwrap();
    format!("0123456789abcdef-{place}")
}

fn bearer(name: &str) -> String {
    format!("Authorization: Bearer {}\r\n", token(name))
}

/// A configuration of the page with links for these people.
fn configure(folder: &Path, names: &[&str]) -> PathBuf {
    let mut text = String::new();
    for (place, (name, role)) in PEOPLE
        .iter()
        .enumerate()
        .filter(|(_, (name, _))| names.contains(name))
    {
        fs::write(folder.join(format!("token-{place}")), token(name) + "\n").unwrap();
        text += &format!(
            "[[dashboard.people]]\nname = \"{name}\"\nrole = \"{role}\"\ntoken_file = \"token-{place}\"\n"
        );
    }
    let path = folder.join("page.toml");
    fs::write(&path, text).unwrap();
    path
}

fn serve(broker: u16, config: &Path) -> Server {
    Server::start(broker, free_port(), &["--config", config.to_str().unwrap()])
}

fn reload(server: &Server) {
    let pid = server.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-HUP", &pid])
            .status()
            .unwrap()
            .success()
    );
}

fn status(server: &Server, name: &str) -> u16 {
    http(server.port, "GET", "/api/cases", &bearer(name), &Value::Null).0
}

/// What the page's server answers to a command.
fn command(server: &Server, name: &str, verb: &str, fields: &Value) -> (u16, Value) {
    let body = json!({ "gateway": "gw", "board": "1", "verb": verb, "fields": fields });
    let (status, said) = http(server.port, "POST", "/api/command", &bearer(name), &body);
    (status, serde_json::from_str(&said).unwrap_or(Value::String(said)))
}

/// The stream of changes of somebody's page.
fn open_page(server: &Server, name: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n",
        bearer(name)
    )
    .unwrap();
    let mut page = BufReader::new(stream);
    assert!(
        page.by_ref()
            .lines()
            .map(Result::unwrap)
            .any(|line| line.contains("event: hall"))
    );
    page
}

#[test]
fn each_does_what_is_his_and_it_is_written_down_who_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, gateway) = one_board(folder.path(), broker.port);
    let _daemon = Daemon::start(&gateway);
    let page = tempfile::tempdir().unwrap();
    let server = serve(
        broker.port,
        &configure(page.path(), &PEOPLE.map(|(name, _)| name)),
    );
    // Also on this machine nobody comes in without a link.
    assert_eq!(http(server.port, "GET", "/api/cases", "", &Value::Null).0, 401);
    until("the board answers", PATIENCE, || {
        (command(&server, "Anna", "resync", &json!({})).1["ok"] == true).then_some(())
    });

    // Who it was follows from the token, whatever the browser says.
    let (_, reply) = command(
        &server,
        "Anna",
        "report",
        &json!({ "kind": "two_hands", "offender": "white", "sender": "Eve" }),
    );
    assert_eq!(reply["sender"], "Anna", "{reply}");
    let (status_of, reply) = command(&server, "Ørjan", "resync", &json!({ "sender": "Anna" }));
    assert_eq!(
        (status_of, &reply["sender"], &reply["ok"]),
        (200, &json!("Ørjan"), &json!(true))
    );
    for verb in [
        "dismiss",
        "accept",
        "result",
        "report",
        "raised_by",
        "retract",
        "new_game",
        "set_position",
    ] {
        let (status, said) = command(&server, "Ørjan", verb, &json!({}));
        assert_eq!(
            (status, &said["error"]["code"]),
            (403, &json!("not_allowed")),
            "{verb}"
        );
    }
    for verb in ["resync", "dismiss", "new_game"] {
        assert_eq!(command(&server, "hall screen", verb, &json!({})).0, 403, "{verb}");
    }
    for (method, path) in [
        ("POST", "/api/remove"),
        ("PUT", "/"),
        ("DELETE", "/api/cases"),
        ("POST", "/anything"),
    ] {
        let answer = http(
            server.port,
            method,
            path,
            &bearer("hall screen"),
            &json!({ "gateway": "gw" }),
        );
        assert_eq!(answer.0, 403, "{method} {path}");
    }
    assert_eq!(status(&server, "hall screen"), 200);
    let written = until("three commands at least", PATIENCE, || {
        let written = commands(&gateway, "1");
        written
            .iter()
            .any(|one| one["sender"] == "Ørjan")
            .then_some(written)
    });
    let of = |verb: &str| -> Vec<&Value> {
        written
            .iter()
            .filter(|one| one["verb"] == verb)
            .map(|one| &one["sender"])
            .collect()
    };
    assert_eq!(of("report"), [&json!("Anna")]);
    let others: Vec<_> = written
        .iter()
        .filter(|one| one["sender"] != "Anna" && one["sender"] != "Ørjan")
        .collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(
        written.iter().all(|one| one["fields"]["sender"].is_null()),
        "{written:?}"
    );

    // What a link is not good for is grey.
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    browser.open(&server.url(""));
    browser.until(
        "the form for a token",
        "return document.querySelector('form input')",
    );
    if let Some(axe) = checker() {
        let serious = browser.barriers(&axe);
        assert!(serious.is_empty(), "{serious:#?}");
    }
    browser.open(&server.url(&format!("?token={}", token("hall screen"))));
    browser.until("a board", "return document.querySelector('.card')");
    browser.until(
        "whose link it is",
        "return document.getElementById('tally').textContent.startsWith('hall screen · boards: ')",
    );
    // Its link leads to the wall at once.
    browser.run("location.href = 'about:blank'");
    browser.open(&server.url(&format!("?token={}#/wall", token("hall screen"))));
    browser.until("the wall", "return document.querySelector('.wall .cell')");
    browser.open(&server.url("#/board/gw/1"));
    let locked = "const buttons = [...document.querySelectorAll('.detail button[data-verb]')];
        return buttons.length && buttons.every((button) => button.disabled) && document.querySelector('.locked').textContent";
    assert_eq!(
        browser.until("locked buttons", locked),
        "Your link is for reading only."
    );
}

#[test]
fn a_link_that_is_taken_back_ends_at_once_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), &["Anna", "hall screen"]);
    let server = serve(1, &config);
    let mut anna = open_page(&server, "Anna");
    let mut screen = open_page(&server, "hall screen");
    configure(folder.path(), &["hall screen", "Ørjan"]);
    assert_eq!(status(&server, "Anna"), 200, "until it is read");
    reload(&server);
    // Her page hears nothing more: the connection ends in the middle of the stream.
    let mut rest = Vec::new();
    let _ = anna.read_to_end(&mut rest);
    until("the new one comes in", PATIENCE, || {
        (status(&server, "Ørjan") == 200).then_some(())
    });
    assert_eq!(status(&server, "Anna"), 401);
    assert_eq!(command(&server, "Anna", "resync", &json!({})).0, 401);
    assert_eq!(status(&server, "hall screen"), 200);
    assert!(
        screen
            .by_ref()
            .lines()
            .map(Result::unwrap)
            .any(|line| line.contains("event: alive"))
    );
    // With the last link gone nobody comes in, not even from this machine.
    configure(folder.path(), &[]);
    reload(&server);
    let _ = screen.read_to_end(&mut rest);
    assert_eq!(status(&server, "hall screen"), 401);
    assert_eq!(http(server.port, "GET", "/", "", &Value::Null).0, 401);
}

/// One request on a connection that stays open: its status, and how long it took.
fn ask(stream: &mut TcpStream, token: &str) -> (u16, Duration) {
    ask_with(stream, &format!("Authorization: Bearer {token}"))
}

/// The same with these `headers`.
fn ask_with(stream: &mut TcpStream, headers: &str) -> (u16, Duration) {
    let start = Instant::now();
    write!(
        stream,
        "GET /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n\r\n"
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let (mut status, mut length) = (0, 0);
    for line in reader.by_ref().lines().map(Result::unwrap) {
        let line = line.to_lowercase();
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest[..3].parse().unwrap();
        }
        if let Some(rest) = line.strip_prefix("content-length: ") {
            length = rest.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    (status, start.elapsed())
}

#[test]
fn whoever_may_read_guesses_an_arbiters_token_no_faster_than_a_stranger() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(1, &configure(folder.path(), &["Anna", "hall screen"]));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(ask(&mut stream, &token("hall screen")).0, 200);
    for guess in 0..5 {
        assert_eq!(ask(&mut stream, &format!("guess-{guess}")).0, 401);
    }
    // His own token beside the guess makes it no other guess.
    let own = token("hall screen");
    let beside = |guess: &str| format!("Authorization: Bearer {guess}\r\nCookie: dgt2mqtt_token={own}");
    for guess in 5..10 {
        assert_eq!(ask_with(&mut stream, &beside(&format!("guess-{guess}"))).0, 200);
    }
    let (status, took) = ask_with(&mut stream, &beside("another"));
    assert!(
        status == 200 && took >= Duration::from_secs(1),
        "{status} in {took:?}"
    );
    let (status, took) = ask(&mut stream, "another guess");
    assert!(
        status == 401 && took >= Duration::from_secs(1),
        "{status} in {took:?}"
    );
    // His own page does not notice.
    let (status, took) = ask(&mut stream, &token("hall screen"));
    assert!(
        status == 200 && took < Duration::from_secs(1),
        "{status} in {took:?}"
    );
    let (status, head, _) = http_full(
        server.port,
        "GET",
        &format!("/?token={}", token("Anna")),
        "",
        &Value::Null,
    );
    assert!(status == 303 && head.contains("HttpOnly"), "{head}");
}

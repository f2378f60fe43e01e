//! The public's view: nothing that is held back ever leaves by it, anybody may read it, nobody may do more.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    net::TcpStream,
    path::PathBuf,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::{Daemon, journal, one_board, until},
    page::http_full,
};

const DELAY_MS: i64 = 3_000;
/// Half-moves that are held back while the game goes on.
const HELD_BACK: usize = 2;
const PATHS: [&str; 6] = [
    "/api/round",
    "/api/game/1",
    "/games.pgn",
    "/",
    "/overlay?board=1",
    "/api/game/2",
];
/// All that an answer says of itself. `date` is the time of the answer.
const HEADERS: [&str; 9] = [
    "cache-control",
    "connection",
    "content-length",
    "content-security-policy",
    "content-type",
    "date",
    "etag",
    "referrer-policy",
    "x-content-type-options",
];

/// An answer of the public's view, and when it had come.
struct Heard {
    path: &'static str,
    at_ms: i64,
    status: u16,
    head: String,
    body: String,
}

fn ask(port: u16, path: &'static str) -> Heard {
    let (status, head, body) = http_full(port, "GET", path, "", &Value::Null);
    Heard {
        path,
        at_ms: Timestamp::now().as_millisecond(),
        status,
        head: head.to_lowercase(),
        body,
    }
}

/// What may be public: half-moves as UCI, and the result.
type Picture = (Vec<String>, String);

/// All pictures that were public one after the other, each with the time since when.
fn pictures(events: &[Value]) -> Vec<(i64, Picture)> {
    let (mut moves, mut result): (Vec<Option<String>>, _) = (Vec::new(), "*".to_owned());
    let mut pictures = vec![(i64::MIN, (Vec::new(), "*".to_owned()))];
    for event in events.iter().filter(|event| event["game"] == 1) {
        match event["type"].as_str().unwrap() {
            "move" => {
                moves.truncate(event["ply"].as_u64().unwrap() as usize - 1);
                moves.push((event["illegal"] != true).then(|| event["uci"].as_str().unwrap().to_owned()));
            }
            "moves_retracted" => moves.truncate(event["to_ply"].as_u64().unwrap() as usize),
            "game_ended" => result = event["result"].as_str().unwrap().to_owned(),
            _ => continue,
        }
        let held_back = if result == "*" { HELD_BACK } else { 0 };
        let shown = &moves[..moves.len().saturating_sub(held_back)];
        let legal = shown.iter().map_while(Clone::clone).collect();
        let known: Timestamp = event["time"].as_str().unwrap().parse().unwrap();
        pictures.push((known.as_millisecond() + DELAY_MS, (legal, result.clone())));
    }
    pictures
}

#[test]
fn nothing_that_is_held_back_ever_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    let port = free_port();
    let listen = format!(
        "[broadcast]\nfolder = \"open\"\nname = \"Open\"\ndelay_seconds = {}\ndelay_moves = {}\nlisten = \"127.0.0.1:{port}\"\n",
        DELAY_MS / 1000,
        HELD_BACK / 2,
    );
    let text = fs::read_to_string(&config).unwrap();
    let named = text.replace(
        "id = \"1\"\n",
        "id = \"1\"\ntable = { white = \"Réti, R\", black = \"Tartakower, S\" }\n",
    );
    fs::write(&config, named + &listen).unwrap();
    let _daemon = Daemon::start(&config);
    until("the public's view", PATIENCE, || {
        TcpStream::connect(("127.0.0.1", port)).ok()
    });

    // Asked all the time, while the game goes on, until all of it is public.
    let mut heard = Vec::new();
    let whole: Value = until("the end of the game", PATIENCE, || {
        heard.extend(PATHS.map(|path| ask(port, path)));
        let game = heard
            .iter()
            .rev()
            .find(|heard| heard.path == "/api/game/1" && heard.status == 200)?;
        let game: Value = serde_json::from_str(&game.body).unwrap();
        (game["result"] != "*").then_some(game)
    });
    let events = journal(&config, "1");
    let pictures = pictures(&events);
    let mut longest_held = 0;
    for Heard {
        path,
        at_ms,
        status,
        head,
        body,
    } in &heard
    {
        // Any picture that was public by then: a page may be late.
        let allowed: Vec<&Picture> = pictures
            .iter()
            .filter(|(since, _)| since <= at_ms)
            .map(|(_, picture)| picture)
            .collect();
        let most = allowed.iter().map(|(moves, _)| moves.len()).max().unwrap();
        let results: BTreeSet<&str> = allowed.iter().map(|(_, result)| result.as_str()).collect();
        match (*path, *status) {
            ("/api/game/1", 200) => {
                let game: Value = serde_json::from_str(body).unwrap();
                let moves: Vec<String> = game["moves"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|made| made["uci"].as_str().unwrap().to_owned())
                    .collect();
                let shown = (moves, game["result"].as_str().unwrap().to_owned());
                assert!(allowed.contains(&&shown), "{at_ms}: {shown:?}");
                let really = events.iter().filter(|event| {
                    let time = event["time"].as_str().unwrap().parse::<Timestamp>().unwrap();
                    event["type"] == "move" && time.as_millisecond() <= *at_ms
                });
                longest_held = longest_held.max(really.count().saturating_sub(shown.0.len()));
            }
            ("/api/round", 200) => {
                let round: Value = serde_json::from_str(body).unwrap();
                for game in round["games"].as_array().unwrap() {
                    assert!(
                        game["plies"].as_u64().unwrap() as usize <= most,
                        "{at_ms}: {game}"
                    );
                    assert!(
                        results.contains(game["result"].as_str().unwrap()),
                        "{at_ms}: {game}"
                    );
                }
            }
            ("/games.pgn", 200) => {
                assert!(body.matches("%clk").count() <= most, "{at_ms}: {body}");
                let result = body.lines().find_map(|line| line.strip_prefix("[Result \""));
                let result = result.map_or("*", |result| result.trim_end_matches("\"]"));
                assert!(results.contains(result), "{at_ms}: {body}");
            }
            ("/api/game/2", status) | ("/api/game/1", status) => assert_eq!(status, 404, "{path}"),
            (_, status) => assert_eq!(status, 200, "{path}"),
        }
        for line in head.lines().skip(1) {
            let name = line.split(':').next().unwrap();
            assert!(HEADERS.contains(&name), "{path}: {line}");
        }
    }
    assert!(
        longest_held > HELD_BACK,
        "the delay held nothing back: {longest_held}"
    );
    // What says the same has the same head: nothing but the body changes with the game.
    let mut heads: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    for heard in &heard {
        let head: Vec<_> = heard
            .head
            .lines()
            .filter(|line| !line.starts_with("date:"))
            .collect();
        heads
            .entry((heard.path, &heard.body))
            .or_default()
            .insert(head.join("\n"));
    }
    assert!(heads.values().all(|heads| heads.len() == 1), "{heads:?}");
    let pages = heads.keys().filter(|(path, _)| *path == "/").count();
    assert_eq!(pages, 1, "the page itself knows nothing of the games");
    println!(
        "{} answers, {} different; up to {longest_held} half-moves were held back",
        heard.len(),
        heads.len()
    );

    // Everybody may read, nobody may do more, and nobody is kept out by those who hold connections.
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(
            http_full(port, method, "/api/round", "", &json!({})).0,
            405,
            "{method}"
        );
    }
    assert_eq!(http_full(port, "GET", "/api/stream", "", &Value::Null).0, 404);
    let held: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nX-Half:");
            stream
        })
        .collect();
    let round = ask(port, "/api/round");
    assert_eq!(round.status, 200);
    drop(held);
    let etag = round
        .head
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .unwrap()
        .to_owned();
    let again = http_full(
        port,
        "GET",
        "/api/round",
        &format!("If-None-Match: {etag}\r\n"),
        &Value::Null,
    );
    assert_eq!((again.0, again.2.as_str()), (304, ""));
    let file = fs::read_to_string(config.with_file_name("open/round-1/games.pgn")).unwrap();
    assert_eq!(ask(port, "/games.pgn").body, file, "what the folder says");
    in_a_browser(port, &whole);
}

/// The pages as people see them.
fn in_a_browser(port: u16, game: &Value) {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let url = |page: &str| format!("http://127.0.0.1:{port}/{page}");
    let shot = |name: &str| {
        if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
            browser.picture(&PathBuf::from(folder).join(name));
        }
    };
    let serious = |page: &str| {
        if let Some(axe) = checker() {
            let serious = browser.barriers(&axe);
            assert!(serious.is_empty(), "{page}: {serious:#?}");
        }
    };
    browser.resize(1280, 900);
    browser.open(&url(""));
    let card = browser.until("a card", "return document.querySelector('.card .move')?.textContent && document.querySelector('.card').textContent");
    for part in [
        "Réti, R",
        "Tartakower, S",
        game["result"].as_str().unwrap(),
        game["last"].as_str().unwrap(),
    ] {
        assert!(card.as_str().unwrap().contains(part), "{part} in {card}");
    }
    shot("public.png");
    serious("all games");
    // By keys alone.
    browser.run("document.querySelector('.card').focus()");
    browser.press("\u{e007}");
    let count = game["moves"].as_array().unwrap().len();
    browser.until(
        "the moves",
        &format!("return document.querySelectorAll('.moves li').length === {count}"),
    );
    let here =
        "return [...document.querySelectorAll('.moves li')].findIndex((item) => item.matches('.here'))";
    assert_eq!(browser.run(here), json!(count - 1));
    browser.press("\u{e012}");
    browser.until("one back", &format!("{here} === {}", count - 2));
    let clocks = browser.run("return [...document.querySelectorAll('.clock')].every((clock) => /^\\d:\\d\\d:\\d\\d$/.test(clock.textContent))");
    assert_eq!(clocks, true);
    shot("public-game.png");
    serious("one game");
    browser.open(&url("overlay?board=1&diagram=1"));
    browser.until(
        "the overlay",
        "return /Réti/.test(document.body.textContent) && document.querySelector('use')",
    );
    let clear = browser.run("return getComputedStyle(document.body).backgroundColor");
    assert_eq!(clear, "rgba(0, 0, 0, 0)", "what is behind it is seen");
    shot("overlay.png");
    serious("the overlay");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

//! What an arbiter does with the page: sound, keys, every answer, from another machine with the token that
//! was printed. Every answer is confirmed, carried out and written down by the gateway.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::Browser,
    hall::{Daemon, Seat, Simulator, commands, configure, fixture, journal, program, until, vienna},
    page::{Server, http, http_full},
};

/// The page for other machines, and the token that it prints.
fn open_to_all(broker: u16) -> (Server, String) {
    let port = free_port();
    let mut child = program()
        .args(["dashboard", "--broker", &format!("mqtt://127.0.0.1:{broker}")])
        .args(["--listen", &format!("0.0.0.0:{port}")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.next().unwrap().unwrap();
    // What is said later is read as well, so that nothing waits.
    std::thread::spawn(move || for _ in lines {});
    let token = said.split("?token=").nth(1).unwrap();
    let token = token.split(' ').next().unwrap().to_owned();
    (Server { child, port }, token)
}

/// An answer of the arbiter: the button, the dialog as it is or with `fill`, the gateway's answer.
fn answer(browser: &Browser, verb: &str, fill: &str) {
    browser.run("document.getElementById('toasts').replaceChildren()");
    browser.click(&format!("[data-verb={verb}]"));
    browser.until("a question", "return document.querySelector('dialog').open");
    browser.run(fill);
    browser.click("dialog .primary");
    browser.until(
        &format!("the reply to {verb}"),
        "return document.querySelector('.toast.good')",
    );
}

fn select(field: &str, value: &str) -> String {
    format!("document.querySelector('dialog [name={field}]').value = '{value}'")
}

const ILLEGAL: &str = "return /^Illegal move/.test(document.querySelector('.case h2')?.textContent)";
const NO_CASE: &str = "return document.querySelector('aside') && !document.querySelector('.case')";

/// Two boards with an illegal move at the second, their gateway, and the page, which is open.
struct Playing {
    _running: (Daemon, Simulator, Server, Mosquitto),
    folder: tempfile::TempDir,
}

/// How often the game is played at most.
const TRIES: usize = 6;

/// The illegal move is told for certain, and the page rings. What a busy machine does not hear in time is only suspected, and a
/// suspicion does not ring: then it is played once more.
fn rings(browser: &Browser) -> Playing {
    let playing = (0..TRIES).find_map(|_| begins(browser));
    let playing = playing.expect("an illegal move that is more than suspected");
    browser.until("it rings", "return window.tones > 2");
    browser.until(
        "it is said to who does not see it",
        "return /Board \\d: /.test(document.getElementById('alarm').textContent)",
    );
    playing
}

/// How long the page has for the game, which takes 11 s.
const GAME: Duration = Duration::from_secs(40);

/// None where the illegal move is only suspected, or not heard at all.
fn begins(browser: &Browser) -> Option<Playing> {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (server, token) = open_to_all(broker.port);
    assert!(
        token.len() >= 32 && token.chars().all(|c| c.is_ascii_hexdigit()),
        "{token}"
    );
    let status = |path: &str| http_full(server.port, "GET", path, "", &Value::Null).0;
    assert_eq!(
        (status("/"), status("/api/cases"), status("/?token=0")),
        (401, 401, 401)
    );
    browser.open(&server.url(&format!("?token={token}")));
    browser.until("the page", "return document.querySelector('.hall')");
    assert_eq!(
        browser.run("return location.search"),
        "",
        "the token is not in the address"
    );

    // Sound is wanted: counted where there are no loudspeakers.
    browser.run(
        "window.tones = 0; const part = () => ({ frequency: {}, gain: { setValueAtTime() {}, exponentialRampToValueAtTime() {} },
            connect: (next) => next, start() { window.tones++ }, stop() {} });
         window.AudioContext = class { currentTime = 0; destination = {}; createOscillator = part; createGain = part };",
    );
    browser.click("[aria-label='Sound is off']");
    browser.until("what it will be like", "return window.tones === 2");

    let capture = fixture("famous-rook-to-e1-2023");
    let captures = [vienna(), capture];
    let simulator = Simulator::start(&["--speed", "2"], &captures);
    let read: Vec<_> = captures.iter().map(|path| read_capture(path).unwrap()).collect();
    let seats: Vec<_> = (0..2)
        .map(|i| Seat {
            id: (i + 1).to_string(),
            port: &simulator.ports[i],
            capture: &read[i],
        })
        .collect();
    let config = configure(folder.path(), broker.port, &seats);
    let daemon = Daemon::start(&config);
    let link = format!("Authorization: Bearer {token}\r\n");
    let deadline = Instant::now() + GAME;
    let certain = loop {
        let (_, body) = http(server.port, "GET", "/api/board/gw/2", &link, &Value::Null);
        let board: Value = serde_json::from_str(&body).unwrap_or_default();
        let certainty = &board["open"][0]["irregularity"]["certainty"];
        let is_past = board["plies"] == 7 && board["open"] == json!([]);
        if certainty.is_string() || is_past || Instant::now() > deadline {
            let certain = certainty.is_string() && *certainty != "suspected";
            if !certain {
                println!("not certain: {body}");
            }
            break certain;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if !certain {
        // A page whose server goes complains of that.
        browser.open("about:blank");
        return None;
    }
    Some(Playing {
        _running: (daemon, simulator, server, broker),
        folder,
    })
}

#[test]
fn every_answer_is_confirmed_carried_out_and_written_down() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    browser.resize(1280, 1000);
    let playing = rings(&browser);
    let config = playing.folder.path().join("dgt2mqtt.toml");

    // Through the grid by keys; Enter opens.
    browser.until(
        "two boards",
        "return document.querySelectorAll('.card').length === 2",
    );
    let focused = "return [...document.querySelectorAll('.card')].indexOf(document.activeElement)";
    // Boards change places when something happens at one of them, which may be between two keys.
    until("there and back by keys", PATIENCE, || {
        browser.run("document.querySelector('.card').focus()");
        browser.press("\u{e014}");
        let there = browser.run(focused) == 1;
        browser.press("\u{e012}");
        (there && browser.run(focused) == 0).then_some(())
    });
    browser.press("\u{e007}");
    browser.until("a board", "return /^#.board.gw.\\d$/.test(location.hash)");

    browser.run("location.hash = '#/board/gw/2'");
    browser.until("the case", ILLEGAL);
    browser.until(
        "the facts",
        "return document.querySelector('.facts')?.textContent.includes('Times to propose')",
    );
    browser.until(
        "the moves",
        "return document.querySelectorAll('.moves li').length > 1",
    );
    // The game has gone on: the board is shown as it is now as well.
    browser.until(
        "the board now",
        "return [...document.querySelectorAll('figcaption')].map((one) => one.textContent).join() === 'Before,When it happened,As it should stand,On the board now'",
    );
    browser.until(
        "the ruling for that",
        "return /was amended/.test(document.querySelector('.ruling')?.textContent)",
    );
    answer(&browser, "raised_by", "");
    answer(&browser, "accept", "");
    browser.until("it stands", NO_CASE);
    browser.until(
        "as such",
        "return /Stands/.test(document.querySelector('.past')?.textContent)",
    );

    // A claim, and hands that only a person sees.
    answer(
        &browser,
        "report",
        &format!(
            "{};{}",
            select("kind", "threefold_claim"),
            select("offender", "white")
        ),
    );
    browser.until(
        "the claim",
        "return /threefold/i.test(document.querySelector('.case h2')?.textContent)",
    );
    answer(&browser, "dismiss", "");
    browser.until("nothing open", NO_CASE);
    answer(&browser, "report", &select("kind", "two_hands"));
    browser.until(
        "two hands",
        "return /hands/i.test(document.querySelector('.case h2')?.textContent)",
    );
    answer(&browser, "dismiss", "");
    browser.until("nothing open", NO_CASE);

    // The piece still stands where the move has brought him, so that it is made again at once.
    answer(&browser, "retract", "");
    let events = journal(&config, "2");
    assert!(events.iter().any(|event| event["type"] == "moves_retracted"));
    answer(&browser, "result", &select("result", "0-1"));
    browser.until(
        "the result",
        "return /0‑1$/.test(document.querySelector('.bigclocks').textContent)",
    );
    browser.run("location.hash = '#/'");
    browser.until(
        "it is finished",
        "return /^Finished 1/.test(document.querySelector('[data-filter=finished]').textContent)",
    );

    // Nothing came from anywhere else.
    let own = "return performance.getEntriesByType('resource').every((one) => one.name.startsWith(location.origin))";
    assert_eq!(browser.run(own), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let verbs: Vec<_> = commands(&config, "2")
        .iter()
        .map(|command| command["verb"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "raised_by",
        "accept",
        "report",
        "dismiss",
        "report",
        "dismiss",
        "retract",
        "result",
    ];
    assert_eq!(verbs, expected);
}

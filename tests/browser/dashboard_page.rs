//! The arbiter's page in a real browser, over a real broker, with simulated boards: an irregularity
//! appears, is read and dismissed; the page is reloaded, broker and server are restarted.

use std::{fs, path::PathBuf, time::Duration};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::{Daemon, Seat, Simulator, configure, fixture, until, vienna},
    page::{Server, http, http_full},
};

/// A hall with a broker, boards and a daemon.
struct Hall {
    broker: Mosquitto,
    _simulator: Simulator,
    _daemon: Daemon,
    folder: tempfile::TempDir,
}

const NAMES: [(&str, &str); 6] = [
    ("Gevorgyan, M", "Cornette, M"),
    ("Reti, R", "Tartakower, S"),
    ("Firouzja, A", "Carlsen, M"),
    ("Ivanova, A", "de Vries, B"),
    ("Kosteniuk, A", "Hou, Y"),
    ("Gelfand, B", "Anand, V"),
];

impl Hall {
    fn open(captures: &[PathBuf], speed: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "");
        let simulator = Simulator::start(&["--speed", speed], captures);
        let read: Vec<_> = captures.iter().map(|path| read_capture(path).unwrap()).collect();
        let seats: Vec<_> = (1..)
            .zip(simulator.ports.iter().zip(&read))
            .map(|(number, (port, capture))| Seat {
                id: number.to_string(),
                port,
                capture,
            })
            .collect();
        let config = configure(folder.path(), broker.port, &seats);
        let mut text = fs::read_to_string(&config).unwrap();
        for (i, (white, black)) in NAMES.iter().take(seats.len()).enumerate() {
            let id = format!("id = \"{}\"\n", i + 1);
            text = text.replace(
                &id,
                &format!("{id}table = {{ white = \"{white}\", black = \"{black}\" }}\n"),
            );
        }
        fs::write(&config, text).unwrap();
        let daemon = Daemon::start(&config);
        Self {
            broker,
            _simulator: simulator,
            _daemon: daemon,
            folder,
        }
    }
}

/// An illegal move that nobody puts right.
fn overlooked() -> PathBuf {
    fixture("famous-gevorgyan-cornette-2019-2023")
}

const TITLE: &str = "return document.querySelector('.case h2')?.textContent";
const ALERT: &str = "return document.querySelector('.card.alert')?.textContent";

#[test]
fn an_arbiter_reads_and_answers_and_nothing_is_lost() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let mut hall = Hall::open(&[vienna(), overlooked()], "3");
    let port = free_port();
    let server = Server::start(hall.broker.port, port, &[]);
    browser.resize(1280, 1000);
    browser.open(&server.url(""));

    // It appears, first in the grid, and counts in the title.
    let its_card =
        "return /Illegal move/.test(document.querySelector('.card.alert[href$=\"gw/2\"]')?.textContent)";
    browser.until("an alert", its_card);
    browser.until("the count", "return /^\\(\\d+\\)/.test(document.title)");
    browser.until(
        "it comes first",
        "return document.querySelector('.grid').firstChild.matches('.alert')",
    );

    // It is read: three boards, the squares, the advice, the times.
    browser.open(&server.url("#/board/gw/2"));
    let title = browser.until("the case", TITLE);
    assert!(title.as_str().unwrap().starts_with("Illegal move: "), "{title}");
    assert_eq!(
        browser.run("return document.querySelectorAll('.case figure').length"),
        3
    );
    // Those that are not as they should be: four, unless a hand was quicker still.
    let differing = browser.run(
        "return Promise.all([fetch('/api/board/gw/2').then((answer) => answer.json()), import('/board.js')])
           .then(([board, { differing }]) => differing(board.open[0].irregularity.ruling.target_fen, board.open[0].irregularity.placement))",
    );
    let differing = differing.as_array().unwrap();
    assert!(
        differing.contains(&json!("c1")) && differing.contains(&json!("e1")),
        "{differing:?}"
    );
    assert_eq!(
        browser.run("return document.querySelectorAll('.case .wrong').length"),
        differing.len()
    );
    assert!(
        browser
            .run("return document.querySelector('.case .advice').textContent")
            .as_str()
            .unwrap()
            .len()
            > 40
    );
    assert!(
        browser
            .run("return document.querySelector('.facts').textContent")
            .as_str()
            .unwrap()
            .contains("7.5.1")
    );

    // A reload loses nothing.
    browser.reload();
    assert_eq!(browser.until("the case again", TITLE), title);

    // Dismissed: confirmed first, then answered.
    browser.click("[data-verb=dismiss]");
    browser.until("a question", "return document.querySelector('dialog').open");
    browser.click("dialog .plain");
    browser.until("no question", "return !document.querySelector('dialog').open");
    assert_eq!(browser.run(TITLE), title, "cancelled: nothing was sent");
    browser.click("[data-verb=dismiss]");
    browser.until("a question", "return document.querySelector('dialog').open");
    browser.click("dialog .primary");
    browser.until("the reply", "return document.querySelector('.toast.good')");
    browser.until("it is gone", "return !document.querySelector('.case')");

    // The broker goes and comes.
    hall.broker.stop();
    browser.until(
        "a word of the outage",
        "return !document.getElementById('outage').hidden",
    );
    browser.click("[data-verb=report]");
    browser.run("document.querySelector('dialog select').value = 'two_hands'");
    browser.click("dialog .primary");
    browser.until("a refusal", "return document.querySelector('.toast.bad')");
    hall.broker.resume();
    browser.until("no outage", "return document.getElementById('outage').hidden");

    // The gateway comes back by itself as well, when it likes: it says then that there is no round to close.
    until("the gateway", PATIENCE, || {
        let asked = json!({ "gateway": "gw", "verb": "next_round" });
        let (status, _) = http(server.port, "POST", "/api/round", "", &asked);
        (status == 200).then_some(())
    });

    // What only a person can see.
    browser.click("[data-verb=report]");
    browser.run("document.querySelector('dialog select').value = 'press_with_other_hand'");
    browser.click("dialog .primary");
    browser.until(
        "the reported case",
        "return /other hand/i.test(document.querySelector('.case h2')?.textContent)",
    );

    // The server goes and comes; the page finds it again by itself, and so does the history.
    drop(server);
    browser.until(
        "a word of the outage",
        "return !document.getElementById('outage').hidden",
    );
    let server = Server::start(hall.broker.port, port, &[]);
    browser.until("no outage", "return document.getElementById('outage').hidden");
    browser.until(
        "the reported case",
        "return /other hand/i.test(document.querySelector('.case h2')?.textContent)",
    );
    browser.open(&server.url("#/history"));
    browser.until(
        "the dismissed one",
        "return [...document.querySelectorAll('tbody tr')].some((row) => /Dismissed/.test(row.textContent))",
    );
    browser.run("const s = document.querySelectorAll('.history select')[2]; s.value = 'open'; s.dispatchEvent(new Event('change'))");
    let rows = browser.run(
        "return [...document.querySelectorAll('tbody tr')].every((row) => /Open/.test(row.textContent))",
    );
    assert_eq!(rows, true, "the filter");

    // Another language, and the sheet for the file.
    browser.click(".tongue");
    browser.until(
        "Russian",
        "return document.querySelector('h1').textContent === 'История'",
    );
    browser.run("document.querySelector('tbody a[href*=\"report/gw/2\"]').click()");
    browser.until("a report", "return document.querySelector('.report .three')");
    assert_eq!(browser.sheets(), 1, "the report is one page");
    let text = browser.run("return document.querySelector('.report').innerText");
    assert!(
        text.as_str().unwrap().contains("1. d4 d5"),
        "the moves so far: {text}"
    );
    assert!(!text.as_str().unwrap().contains("[object"), "{text}");

    // By keys alone: from the report to the grid, to the next open board, back.
    browser.press("\u{e00c}");
    browser.until("the grid", "return document.querySelector('.grid .card')");
    browser.press("n");
    browser.until(
        "an open board",
        "return /^#.board.gw/.test(location.hash) && document.querySelector('.case')",
    );
    browser.press("h");
    browser.until("the history", "return document.querySelector('.history table')");
    let complaints: Vec<_> = browser
        .complaints()
        .into_iter()
        .filter(|line| {
            !line.contains("ERR_CONNECTION")
                && !line.contains("ERR_INCOMPLETE")
                && !line.contains("504")
                && !line.contains("network")
        })
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    assert!(hall.folder.path().exists());
}

#[test]
fn who_may_not_see_the_page_does_not() {
    let port = free_port();
    let local = Server::start(1, port, &[]);
    let get = |port, path: &str, headers: &str| http_full(port, "GET", path, headers, &Value::Null);
    let (status, head, body) = get(local.port, "/", "");
    assert_eq!(status, 200);
    assert!(body.contains("/app.js"));
    let head = head.to_lowercase();
    assert!(
        head.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    assert!(!head.contains("unsafe"), "{head}");
    // A name that leads here, on a page of somebody else.
    assert_eq!(get(port, "/", "Host: evil.example\r\n").0, 403);
    let command = json!({ "gateway": "gw", "board": "1", "verb": "resync" });
    assert_eq!(
        http(
            port,
            "POST",
            "/api/command",
            "Origin: http://evil.example\r\n",
            &command
        )
        .0,
        403
    );
    let nonsense = json!({ "gateway": "gw/#", "board": "1", "verb": "resync" });
    assert_eq!(http(port, "POST", "/api/command", "", &nonsense).0, 400);
    let (status, said) = http(port, "POST", "/api/command", "", &command);
    assert_eq!(status, 504);
    assert!(said.contains("no_broker"), "{said}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "0123456789abcdef\n").unwrap();
    let port = free_port();
    let _guarded = Server::start(1, port, &["--token-file", file.to_str().unwrap()]);
    for path in [
        "/",
        "/api/stream",
        "/api/cases",
        "/api/board/gw/1",
        "/app.js",
        "/?token=wrong",
    ] {
        assert_eq!(get(port, path, "").0, 401, "{path}");
    }
    assert_eq!(get(port, "/api/cases", "Cookie: dgt2mqtt_token=wrong\r\n").0, 401);
    assert_eq!(http(port, "POST", "/api/command", "", &command).0, 401);
    let (status, head, _) = get(port, "/?token=0123456789abcdef", "");
    assert_eq!(status, 303);
    let cookie = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("set-cookie"))
        .unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert_eq!(
        get(port, "/api/cases", "Cookie: dgt2mqtt_token=0123456789abcdef\r\n").0,
        200
    );
    assert_eq!(
        get(port, "/api/cases", "Authorization: Bearer 0123456789abcdef\r\n").0,
        200
    );
}

#[test]
fn an_accessibility_checker_finds_nothing_serious() {
    let Some(axe) = checker() else { return };
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let hall = Hall::open(&[vienna(), overlooked()], "3");
    let server = Server::start(hall.broker.port, free_port(), &[]);
    browser.resize(1280, 1000);
    browser.open(&server.url(""));
    browser.until("an alert", ALERT);
    let id = browser.until(
        "its id",
        "return fetch('/api/cases').then((answer) => answer.json()).then((cases) => cases[0]?.id)",
    );
    for theme in ["light", "dark"] {
        for page in [
            "#/",
            "#/board/gw/2",
            "#/history",
            &format!("#/report/{}", id.as_str().unwrap()),
        ] {
            browser.open(&server.url(page));
            browser.run(&format!("document.documentElement.dataset.theme = '{theme}'"));
            browser.until("a page", "return document.querySelector('main h1, main h2')");
            let serious = browser.barriers(&axe);
            assert!(serious.is_empty(), "{theme} {page}: {serious:#?}");
        }
    }
}

/// Pictures for the documentation and for a critical eye: `scripts/screenshots.sh`.
#[test]
#[ignore = "makes pictures; see scripts/screenshots.sh"]
fn pictures() {
    let folder = std::env::var_os("DGT2MQTT_SHOTS")
        .map(PathBuf::from)
        .expect("DGT2MQTT_SHOTS names a folder");
    fs::create_dir_all(&folder).unwrap();
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let captures = [
        overlooked(),
        vienna(),
        fixture("famous-firouzja-carlsen-2019-2023"),
        fixture("castling-long"),
        fixture("adjusting"),
        fixture("famous-rook-to-e1-2023"),
    ];
    let hall = Hall::open(&captures, "2");
    let server = Server::start(hall.broker.port, free_port(), &[]);
    browser.resize(1280, 900);
    browser.open(&server.url(""));
    browser.until("an alert", ALERT);
    std::thread::sleep(Duration::from_secs(8));
    let pause = || std::thread::sleep(Duration::from_millis(900));
    let shot = |name: &str| browser.picture(&folder.join(name));
    shot("grid.png");
    browser.open(&server.url("#/wall"));
    pause();
    shot("wall.png");
    browser.open(&server.url("#/"));
    browser.run("document.documentElement.dataset.theme = 'dark'");
    pause();
    shot("grid-dark.png");
    browser.open(&server.url("#/board/gw/1"));
    browser.until("the case", TITLE);
    pause();
    shot("irregularity-dark.png");
    browser.run("document.documentElement.dataset.theme = 'light'");
    pause();
    shot("irregularity.png");
    browser.click("[data-verb=dismiss]");
    pause();
    shot("question.png");
    browser.click("dialog .plain");
    browser.open(&server.url("#/history"));
    pause();
    shot("history.png");
    browser.run("document.querySelector('tbody a[href*=report]').click()");
    browser.until("a report", "return document.querySelector('.report .three')");
    assert_eq!(browser.sheets(), 1);
    pause();
    shot("report.png");
    browser.open(&server.url("#/board/gw/1"));
    browser.click(".tongue");
    browser.until("the case", TITLE);
    pause();
    shot("irregularity-russian.png");
    browser.open(&server.url("#/history"));
    pause();
    shot("history-russian.png");
    browser.run("document.querySelector('tbody a[href*=report]').click()");
    browser.until("a report", "return document.querySelector('.report .three')");
    assert_eq!(browser.sheets(), 1);
    pause();
    shot("report-russian.png");
    browser.open(&server.url("#/board/gw/2"));
    pause();
    browser.click("[data-verb=report]");
    pause();
    shot("question-russian.png");
    browser.click("dialog .plain");
    let phone =
        json!({ "mobileEmulation": { "deviceMetrics": { "width": 390, "height": 844, "pixelRatio": 2.0 } } });
    let phone = Browser::start(&phone).expect("a browser");
    phone.open(&server.url(""));
    phone.until("an alert", ALERT);
    pause();
    phone.picture(&folder.join("phone.png"));
    phone.open(&server.url("#/board/gw/1"));
    phone.until("the case", TITLE);
    pause();
    phone.picture(&folder.join("phone-irregularity.png"));
    for page in ["#/", "#/board/gw/1", "#/game/gw/1/1", "#/history"] {
        phone.open(&server.url(page));
        pause();
        let wide =
            phone.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth");
        assert_eq!(wide, false, "{page} is wider than a phone");
    }
}

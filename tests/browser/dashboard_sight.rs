//! What is seen from afar and at once: forty boards on one screen, what is urgent first, buttons that say what they do
//! and those that would be in vain.

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::until,
    page::{Server, http},
    teller::{Teller, ago},
};

/// Long and short, as they are in lists of entries.
const NAMES: [(&str, &str); 5] = [
    ("Praggnanandhaa, Rameshbabu", "Nepomniachtchi, Ian"),
    ("Vachier-Lagrave, Maxime", "So, Wesley"),
    ("Kosteniuk, Alexandra", "Hou, Yifan"),
    ("Duda, Jan-Krzysztof", "Mamedyarov, Shakhriyar"),
    ("Wojtaszek, Radosław", "Bartel, Mateusz"),
];

/// A teller whom the page's server hears: events are told once, and are not retained.
pub(crate) fn heard(broker: &Mosquitto, server: &Server) -> Teller {
    let mut teller = Teller::connect(broker.port);
    teller.online("gw", true);
    teller.tell("gw/board/1/status", "online");
    until("the page listens", PATIENCE, || {
        let board = http(server.port, "GET", "/api/board/gw/1", "", &Value::Null);
        (board.0 == 200).then_some(())
    });
    teller
}

/// A hall of forty boards that are played at, thirty of them with a case: ten of each certainty, the later the board the older.
fn forty(teller: &mut Teller) {
    for board in 1..=40 {
        let (white, black) = NAMES[board % NAMES.len()];
        let certainty = match board {
            1..=10 => Some("suspected"),
            11..=20 => Some("probable"),
            21..=30 => Some("certain"),
            _ => None,
        };
        let id = board.to_string();
        teller.board("gw", &id, [white, black], 61);
        if let Some(certainty) = certainty {
            teller.case("gw", &id, certainty, &ago(board as i64 * 60));
        }
    }
}

/// What does not show in full, or is outside the screen.
const HIDDEN: &str = "
    const { innerWidth: width, innerHeight: height } = window;
    const hidden = [];
    for (const part of document.querySelectorAll('.wall, .wall *')) {
      if (part.closest('svg') || !part.getClientRects().length) continue;
      const box = part.getBoundingClientRect();
      const inline = getComputedStyle(part).display === 'inline';
      const cut = !inline && (part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1);
      const out = box.left < 0 || box.top < 0 || box.right > width + 0.5 || box.bottom > height + 0.5;
      const cell = part.closest('.cell')?.getBoundingClientRect();
      const over = cell && (box.right > cell.right + 0.5 || box.bottom > cell.bottom + 0.5);
      if (cut || out || over) hidden.push([part.className, part.textContent, cut, out, over]);
    }
    return hidden;";

#[test]
fn forty_boards_fit_one_screen_and_the_urgent_ones_come_first() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let mut teller = heard(&broker, &server);
    forty(&mut teller);
    // The window, with its bars, on a screen of this size: the page has less.
    browser.resize(1440, 900);
    browser.open(&server.url("#/wall"));
    browser.until(
        "all boards",
        "return document.querySelectorAll('.wall .cell').length === 40",
    );
    browser.until(
        "thirty cases with their ages",
        "return [...document.querySelectorAll('.cell .age')].filter((age) => /min/.test(age.textContent)).length === 30",
    );
    for language in ["en", "ru"] {
        if language == "ru" {
            browser.click(".tongue");
            browser.until("Russian", "return document.documentElement.lang === 'ru'");
        }
        let scrolls = browser.run(
            "const all = document.scrollingElement, wall = document.querySelector('.wall');
             return [all.scrollHeight > all.clientHeight, all.scrollWidth > all.clientWidth, wall.scrollHeight > wall.clientHeight, innerHeight <= 900]",
        );
        assert_eq!(scrolls, json!([false, false, false, true]), "{language}");
        assert_eq!(browser.run(HIDDEN), json!([]), "{language}");
        if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
            browser.picture(&std::path::Path::new(&folder).join(format!("wall-{language}.png")));
        }
        let size = browser
            .run("return parseFloat(getComputedStyle(document.querySelector('.cell .name')).fontSize)");
        assert!(size.as_f64().unwrap() >= 11.0, "letters of {size} pixels");
    }
    browser.click(".tongue");

    // The certain ones first, the oldest of them first; suspicions are dashed and come after what is probable.
    let order =
        browser.run("return [...document.querySelectorAll('.cell .id')].map((id) => Number(id.textContent))");
    let expected: Vec<u32> = (21..=30)
        .rev()
        .chain((11..=20).rev())
        .chain((1..=10).rev())
        .chain(31..=40)
        .collect();
    assert_eq!(order, json!(expected));
    let dashed = browser.run(
        "return [...document.querySelectorAll('.cell')].filter((cell) => getComputedStyle(cell).borderTopStyle === 'dashed').length",
    );
    assert_eq!(dashed, 10);
    let words = browser.run("return document.querySelector('.cell').textContent");
    for part in [
        "30",
        "31. Nf3",
        "Praggnanandhaa, Rameshbabu",
        "Illegal move",
        "30 min",
        "1:23:45",
    ] {
        assert!(words.as_str().unwrap().contains(part), "{part} in {words}");
    }

    // By keys alone: to the wall, through it, into a board.
    browser.press("h");
    browser.until("the history", "return document.querySelector('.history h1')");
    browser.press("w");
    browser.until("the wall", "return document.querySelector('.wall .cell')");
    browser.run("document.querySelector('.cell').focus()");
    browser.press("\u{e015}");
    browser.press("\u{e014}");
    let columns = browser.run(
        "const cells = [...document.querySelectorAll('.cell')]; return cells.filter((cell) => cell.offsetTop === cells[0].offsetTop).length",
    );
    let at = browser.run("return [...document.querySelectorAll('.cell')].indexOf(document.activeElement)");
    assert_eq!(at.as_u64().unwrap(), columns.as_u64().unwrap() + 1);
    browser.press("\u{e007}");
    browser.until(
        "a board",
        "return /^#.board/.test(location.hash) && document.querySelector('.case')",
    );

    // A card tells number and time of its last half-move.
    browser.open(&server.url("#/"));
    let moment = browser.until(
        "a card",
        "return document.querySelector('.card .moment')?.textContent",
    );
    assert!(
        moment.as_str().unwrap().starts_with("Half-move 61 · "),
        "{moment}"
    );
    if let Some(axe) = checker() {
        for theme in ["light", "dark"] {
            browser.open(&server.url("#/wall"));
            browser.until("the wall", "return document.querySelector('.wall .cell')");
            browser.run(&format!("document.documentElement.dataset.theme = '{theme}'"));
            let serious = browser.barriers(&axe);
            assert!(serious.is_empty(), "{theme}: {serious:#?}");
        }
    }
    // A few boards have diagrams.
    for board in 7..=40 {
        teller.gone("gw", &board.to_string());
    }
    teller.boards("gw", &["1", "2", "3", "4", "5", "6"]);
    browser.open(&server.url("#/wall"));
    browser.reload();
    browser.until(
        "diagrams",
        "return document.querySelectorAll('.cell').length === 6 && [...document.querySelectorAll('.cell svg')].every((board) => board.clientWidth > 80 && board.querySelector('use'))",
    );
    assert_eq!(browser.run(HIDDEN), json!([]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn buttons_say_what_they_do_and_those_in_vain_say_why() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let mut teller = heard(&broker, &server);
    teller.board("gw", "1", NAMES[0].into(), 61);
    teller.case("gw", "1", "certain", &ago(600));
    teller.online("deaf", false);
    teller.board("deaf", "2", NAMES[1].into(), 61);
    teller.case("deaf", "2", "suspected", &ago(60));
    let info = json!({ "model": null, "serial": null, "firmware": null, "port": null,
        "battery": { "percent": 12, "charging": false }, "clock_battery_low": true });
    teller.tell("deaf/board/2/info", &info.to_string());
    browser.resize(1280, 1000);
    browser.open(&server.url("#/board/gw/1"));
    browser.until("the case", "return document.querySelector('.case h2')");
    let dismiss = "const button = document.querySelector('.case [data-verb=dismiss]'), style = getComputedStyle(button);
        return [button.textContent, button.disabled, button.matches('.primary'), style.color !== getComputedStyle(document.querySelector('.case [data-verb=accept]')).color]";
    assert_eq!(
        browser.run(dismiss),
        json!(["Dismiss: there was no offence", false, false, true])
    );
    let moment = browser.run("return document.querySelector('.case .moment').textContent");
    let moment = moment.as_str().unwrap();
    assert!(
        moment.starts_with("Half-move 61 · ") && moment.ends_with("10 min"),
        "{moment}"
    );
    browser.click("[data-verb=dismiss]");
    browser.until("a question", "return document.querySelector('dialog').open");
    let send = "const button = document.querySelector('dialog [value=send]'); return [button.textContent, button.matches('.danger')]";
    assert_eq!(browser.run(send), json!(["Dismiss: there was no offence", true]));
    browser.click("dialog .plain");

    // One that takes no commands.
    browser.open(&server.url("#/board/deaf/2"));
    browser.until("the case", "return document.querySelector('.case.suspected')");
    let buttons = browser.run(
        "return [...document.querySelectorAll('.detail button[data-verb]')].map((button) => button.disabled)",
    );
    assert!(buttons.as_array().unwrap().len() >= 4, "{buttons}");
    assert!(
        buttons
            .as_array()
            .unwrap()
            .iter()
            .all(|disabled| disabled == true),
        "{buttons}"
    );
    let batteries = "const part = document.querySelector('.batteries'); return [part.textContent, part.querySelectorAll('.refused').length]";
    assert_eq!(
        browser.run(batteries),
        json!(["BatteriesBoard: 12 %The clock's battery is low.", 2])
    );
    let why = browser.run("return document.querySelector('.locked').textContent");
    assert!(why.as_str().unwrap().contains("`commands = true`"), "{why}");
    // Nor are there rounds; another gateway has them.
    browser.click(".rounds-button");
    browser.until("the dialog", "return document.querySelector('.rounds')?.open");
    for (gateway, free) in [
        ("deaf", json!([])),
        ("gw", json!(["results", "bind", "next", "check"])),
    ] {
        browser.run(&format!(
            "const of = document.querySelector('.rounds [name=gateway]'); of.value = '{gateway}'; of.dispatchEvent(new Event('input'))"
        ));
        let enabled = "return [...document.querySelectorAll('.rounds button:enabled')].map((one) => one.dataset.action).filter((action) => action !== 'close')";
        assert_eq!(browser.run(enabled), free, "{gateway}");
        let why = browser.run("return document.querySelector('.rounds .locked').textContent");
        assert_eq!(
            why.as_str().unwrap().contains("`commands = true`"),
            gateway == "deaf",
            "{why}"
        );
    }
    // It hears what changes while the dialog is open.
    teller.online("gw", false);
    browser.until(
        "why not",
        "return document.querySelector('.rounds [data-action=check]').disabled",
    );
    teller.online("gw", true);
    browser.until(
        "that it may",
        "return !document.querySelector('.rounds [data-action=check]').disabled",
    );
    browser.run("const of = document.querySelector('.rounds [name=gateway]'); of.value = 'deaf'; of.dispatchEvent(new Event('input'))");
    if let Some(axe) = checker() {
        let serious = browser.barriers(&axe);
        assert!(serious.is_empty(), "{serious:#?}");
    }
}

#[test]
fn a_gateway_that_is_gone_for_good_is_taken_off_the_page() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let mut teller = Teller::connect(broker.port);
    for (gateway, board) in [("gw", "1"), ("old", "2")] {
        teller.online(gateway, true);
        teller.board(gateway, board, NAMES[0].into(), 61);
    }
    browser.open(&server.url("#/"));
    browser.until(
        "two boards",
        "return document.querySelectorAll('.card').length === 2",
    );
    let remove = |gateway: &str| {
        let (status, said) = http(
            server.port,
            "POST",
            "/api/remove",
            "",
            &json!({ "gateway": gateway }),
        );
        (
            status,
            serde_json::from_str::<Value>(&said).unwrap_or_default()["error"]["code"].clone(),
        )
    };
    assert_eq!(
        remove("old"),
        (409, json!("gateway_online")),
        "while it is at work"
    );
    assert_eq!(remove("never"), (409, json!("unknown_gateway")));
    teller.tell("old/status", "offline");
    browser.click("[data-remove=old]");
    browser.until("a question", "return document.querySelector('dialog').open");
    browser.click("dialog .plain");
    browser.click("[data-remove=old]");
    browser.until("a question", "return document.querySelector('dialog').open");
    browser.click("dialog [value=send]");
    browser.until(
        "it is gone",
        "return document.querySelectorAll('.card').length === 1 && document.getElementById('outage').hidden",
    );
    browser.reload();
    browser.until(
        "the other",
        "return document.querySelectorAll('.card').length === 1",
    );
    // Nothing was deleted: it comes back by itself, with what it has retained.
    teller.tell("old/status", "online");
    browser.until(
        "both again",
        "return document.querySelectorAll('.card').length === 2",
    );
}

//! A thousand boards on one page: how one finds a board, what is drawn of them, and a server that hears of them late.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dashboard_thousand::Scene;
use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::until,
    page::{Server, http},
    thousand::{BOARDS, Hall, key},
};

/// The numbers of the boards that are listed, in their order.
const LISTED: &str =
    "return [...document.querySelectorAll('.card')].map((card) => Number(card.hash.split('/').pop()))";

/// Types a text into the search, in place of what stood there.
fn search(browser: &Browser, text: &str) -> Value {
    browser.run(&format!(
        "const search = document.querySelector('.filters input'); search.value = {}; search.dispatchEvent(new Event('input'))",
        json!(text)
    ));
    browser.run(LISTED)
}

#[test]
fn a_board_is_found_by_number_player_gateway_and_state() {
    let Some(mut scene) = Scene::start(0) else { return };
    for number in [170, 900] {
        scene.hall.case(number);
    }
    scene.hall.end(400);
    scene.hall.lose(500);
    let (browser, server) = (&scene.browser, &scene.server);
    browser.until(
        "all of it",
        "return document.querySelectorAll('.card.alert').length === 2 && document.querySelector('.card.away')
        && [...document.querySelectorAll('.card .state')].some((state) => state.textContent === '1/2-1/2')",
    );
    // Those with an irregularity come first, then all by their numbers.
    let listed = browser.run(LISTED);
    let rest: Vec<usize> = (1..=BOARDS)
        .filter(|number| ![170, 900].contains(number))
        .collect();
    let expected: Vec<usize> = [170, 900].into_iter().chain(rest).collect();
    assert_eq!(listed, json!(expected));

    // The board with the number itself comes first, then those with an irregularity.
    let listed = search(browser, "17");
    let listed: Vec<u64> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    assert_eq!(
        listed[..12],
        [17, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 117],
        "{listed:?}"
    );
    for (text, expected) in [
        ("hall14/170", json!([170])),
        ("Anna 0733", json!([733])),
        ("weiss 0733", json!([])),
        ("Weiß, anna 0733", json!([733])),
        ("open irregularity", json!([170, 900])),
        ("нарушение", json!([170, 900])),
        ("illegal", json!([170, 900])),
        ("finished", json!([400])),
        ("закончена", json!([400])),
        ("offline", json!([500])),
        ("нет связи", json!([500])),
        ("hall40 away", json!([500])),
        ("board 900", json!([900])),
        ("900 playing", json!([900])),
        ("400 playing", json!([])),
    ] {
        assert_eq!(search(browser, text), expected, "{text}");
    }
    assert_eq!(
        browser.run("return document.querySelector('.count').textContent"),
        "Boards found: 0"
    );
    assert_eq!(search(browser, "hall02").as_array().unwrap().len(), 12);
    assert_eq!(search(browser, "playing").as_array().unwrap().len(), BOARDS - 1);
    // A thousand are more than the checker looks through.
    search(browser, "hall02");
    if let Some(axe) = checker() {
        let serious = browser.barriers(&axe);
        assert!(serious.is_empty(), "{serious:#?}");
    }
    // With the button of a state.
    browser.click("[data-filter=away]");
    assert_eq!(search(browser, ""), json!([500]));
    browser.click("[data-filter=all]");

    // By keys alone, from another page.
    browser.press("h");
    browser.until("the history", "return document.querySelector('.history h1')");
    browser.press("/");
    browser.until(
        "the search",
        "return document.activeElement.matches('.filters input')",
    );
    browser.types("733");
    browser.press("\u{e007}");
    browser.until(
        "the board",
        &format!(
            "return location.hash === '#/board/{}' && document.querySelector('.detail h1, .title')",
            key(733)
        ),
    );
    browser.press("n");
    browser.until(
        "an irregularity",
        &format!("return location.hash === '#/board/{}'", key(170)),
    );
    browser.press("n");
    browser.until(
        "the next",
        &format!("return location.hash === '#/board/{}'", key(900)),
    );
    browser.open(&server.url("#/"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// mosquitto keeps a thousand messages for a client as it is installed, and drops what is more; the hall has six thousand.
#[test]
fn a_server_that_starts_late_hears_of_all_boards() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start_as_installed(folder.path());
    let mut hall = Hall::tell(broker.port, 0);
    hall.half_move(BOARDS);
    let start = |port| Server::start(broker.port, port, &[]);
    // What was published last is retained by now.
    let watcher = start(free_port());
    let board = |server: &Server, number| {
        let (_, body) = http(
            server.port,
            "GET",
            &format!("/api/board/{}", key(number)),
            "",
            &Value::Null,
        );
        serde_json::from_str::<Value>(&body).unwrap_or_default()
    };
    let missing = |server: &Server, number| -> Vec<&str> {
        let board = board(server, number);
        let fields = ["placement", "game", "clock", "serial", "players"];
        let is_missing = |field: &&str| board[*field].is_null() || board[*field] == json!([null, null]);
        fields.into_iter().filter(is_missing).collect()
    };
    until("all is retained", PATIENCE, || {
        (board(&watcher, BOARDS)["plies"] == 1).then_some(())
    });
    let late = start(free_port());
    let begin = Instant::now();
    let deadline = Instant::now() + PATIENCE;
    for number in 1..=BOARDS {
        while !missing(&late, number).is_empty() {
            assert!(
                Instant::now() < deadline,
                "{}: {:?}",
                key(number),
                missing(&late, number)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    println!(
        "a server that starts late knows {BOARDS} boards after {} ms",
        begin.elapsed().as_millis()
    );
}

/// How many diagrams are drawn.
const DRAWN: &str =
    "return [...document.querySelectorAll('.card')].filter((card) => card.querySelector('use')).length";

#[test]
fn only_what_is_near_the_screen_is_drawn_and_all_of_it_is_there() {
    let Some(mut scene) = Scene::start(0) else { return };
    scene.browser.resize(1280, 900);
    let drawn = |browser: &Browser| browser.run(DRAWN).as_u64().unwrap();
    let near = |browser: &Browser, which: &str| {
        browser.until(
            "it is drawn",
            &format!("return [...document.querySelectorAll('.card')].{which}.querySelector('use')"),
        );
        // What went away is cleared, and nothing but what is near is drawn.
        browser.until("nothing else", &format!("return (() => {{ {DRAWN} }})() < 100"));
    };
    near(&scene.browser, "at(0)");
    assert!(drawn(&scene.browser) > 8);
    // Words and places of all are there, for the browser's own search and for whoever does not see.
    let words = scene.browser.run(
        "const cards = [...document.querySelectorAll('.card')]; return cards.every((card) => card.querySelector('.name').textContent
           && card.querySelector('svg.board').getAttribute('aria-label').includes(card.querySelector('h2').textContent))",
    );
    assert_eq!(words, true);

    // The End key, as it were; then up from there by keys.
    scene
        .browser
        .run("const all = document.querySelectorAll('.card'); all[999].focus()");
    near(&scene.browser, "at(-1)");
    assert_eq!(scene.browser.run("return Boolean(document.querySelector('.card use').closest('.card') === document.querySelector('.card'))"), false);
    scene.browser.press("\u{e012}");
    scene.browser.press("\u{e013}");
    let at = "return [...document.querySelectorAll('.card')].indexOf(document.activeElement)";
    let columns = scene.browser.run("const all = [...document.querySelectorAll('.card')]; return all.filter((card) => card.offsetTop === all[0].offsetTop).length");
    assert_eq!(scene.browser.run(at), 998 - columns.as_u64().unwrap());
    let focused = scene.browser.run("return document.activeElement.hash");

    // Clocks run where one looks, and diagrams follow.
    let clocks = "return [...document.querySelectorAll('.card .clock.runs')].map((clock) => clock.textContent).slice(-3)";
    let before = scene.browser.run(clocks);
    scene.browser.until(
        "they run",
        &format!("return JSON.stringify((() => {{ {clocks} }})()) !== JSON.stringify({before})"),
    );
    // Boards change their places and come back, and the focus stays.
    for number in [990, 3] {
        scene.hall.case(number);
        scene.browser.until("it comes first", &format!("return document.querySelector('.card').hash === '#/board/{}' || document.querySelectorAll('.card.alert').length === 2", key(number)));
    }
    for number in [990, 3] {
        scene.hall.resolve(number);
    }
    scene
        .browser
        .until("all is well", "return !document.querySelector('.card.alert')");
    assert_eq!(scene.browser.run("return document.activeElement.hash"), focused);
    assert_eq!(scene.browser.run(LISTED), json!((1..=BOARDS).collect::<Vec<_>>()));

    // Who opens a board from down there comes back to it.
    scene.browser.press("\u{e007}");
    scene
        .browser
        .until("a board", "return document.querySelector('.detail')");
    scene.browser.press("\u{e00c}");
    scene.browser.until(
        "the same card",
        &format!(
            "const card = document.activeElement, box = card.getBoundingClientRect();
             return card.hash === {focused} && box.top > 0 && box.bottom < innerHeight && card.querySelector('use')"
        ),
    );

    // On paper all are drawn.
    scene.browser.run("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(drawn(&scene.browser), BOARDS as u64);
    scene.browser.run("dispatchEvent(new Event('afterprint'))");
    assert!(drawn(&scene.browser) < 100);

    // The wall scrolls where boards would be too small to read, those with an irregularity first.
    scene.hall.case(700);
    scene.browser.open(&scene.server.url("#/wall"));
    scene.browser.until("the wall", &format!("return document.querySelectorAll('.wall .cell').length === {BOARDS} && document.querySelector('.cell').matches('.alert')"));
    let wall = scene.browser.run(
        "const wall = document.querySelector('.wall'), size = parseFloat(getComputedStyle(document.querySelector('.cell .name')).fontSize);
         return [wall.scrollHeight > wall.clientHeight, wall.scrollWidth > wall.clientWidth, size >= 12, document.querySelector('.cell').hash]",
    );
    assert_eq!(wall, json!([true, false, true, format!("#/board/{}", key(700))]));
    scene.hall.half_move(700);
    let last = scene.hall.last.clone();
    scene.browser.until(
        "the half-move",
        &format!("return document.querySelector('.cell').textContent.includes('{last}')"),
    );
    if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
        for (page, name) in [("#/wall", "thousand-wall.png"), ("#/", "thousand.png")] {
            scene.browser.open(&scene.server.url(page));
            std::thread::sleep(Duration::from_secs(2));
            scene.browser.picture(&std::path::Path::new(&folder).join(name));
        }
    }
    assert_eq!(scene.browser.complaints(), Vec::<String>::new());
}

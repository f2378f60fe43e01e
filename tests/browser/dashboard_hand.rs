//! Results by hand from the page, of games of which no board tells.

use dgt2mqtt::link::file::read_capture;
use serde_json::json;

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    dashboard_rounds::paste,
    hall::{Daemon, Seat, configure, until, vienna},
    page::Server,
};

/// A game at a table without sensors has its result from the arbiter, who changes it and takes it back.
#[test]
fn the_result_of_a_game_without_a_board_is_entered_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let capture = read_capture(&vienna()).unwrap();
    let seats = [Seat {
        id: "a1".into(),
        port: "/nowhere/a",
        capture: &capture,
    }];
    let config = configure(folder.path(), mosquitto.port, &seats);
    let text = std::fs::read_to_string(&config).unwrap() + "[broadcast]\nfolder = \"open\"\n";
    std::fs::write(&config, text).unwrap();
    let daemon = Daemon::start(&config);
    let server = Server::start(mosquitto.port, free_port(), &[]);
    browser.resize(400, 800);
    browser.open(&server.url(""));
    browser.until("the board", "return document.querySelector('.card')");
    browser.run("document.querySelector('.rounds-button').click()");
    browser.until("the dialog", "return document.querySelector('.rounds')?.open");
    browser.click("[data-action=results]");
    browser.until(
        "that each game has a board",
        "return document.querySelector('.hand-results .none')?.hidden === false",
    );
    paste(&browser, "board,white,black\n1,Moss,Tal\n2,Berg,Dorn\n");
    browser.until(
        "the game without a board",
        "return /game 2, no board/.test(document.querySelector('.seats').innerText)",
    );
    browser.click("[data-action=put]");
    browser.until(
        "that they are in force",
        "return document.querySelector('.found .done')",
    );

    let file = folder.path().join("open/round-1/game-2.pgn");
    let public = |result: &str| {
        let tag = format!("[Result \"{result}\"]");
        until(&tag, PATIENCE, || {
            std::fs::read_to_string(&file)
                .ok()
                .filter(|text| text.contains(&tag))
        });
    };
    browser.click("[data-action=results]");
    browser.until(
        "the game",
        "return document.querySelector('.hand [name=result-2]')",
    );
    if let Some(axe) = checker() {
        let serious = browser.barriers(&axe);
        assert!(serious.is_empty(), "{serious:#?}");
    }
    let wide = "return document.documentElement.scrollWidth <= innerWidth && document.querySelector('.rounds').scrollWidth <= document.querySelector('.rounds').clientWidth";
    assert_eq!(browser.run(wide), true, "all of it fits on a phone");
    for result in ["1-0", "1/2-1/2", ""] {
        browser.run(&format!(
            "const one = document.querySelector('.hand [name=result-2]'); one.value = {result:?}; one.dispatchEvent(new Event('change'))"
        ));
        public(if result.is_empty() { "*" } else { result });
        browser.until(
            "what the gateway has",
            &format!("return document.querySelector('.hand [name=result-2]')?.value === {result:?}"),
        );
    }
    browser.click("[data-action=next]");
    browser.until(
        "that it is without a result",
        "return /Game 2, without a board: Berg – Dorn/.test(document.querySelector('.found').innerText)",
    );
    drop(daemon);
}

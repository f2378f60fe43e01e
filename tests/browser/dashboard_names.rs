//! Whoever writes names of players, texts of notices or anything else that a page shows, runs nothing in the browser of
//! those who look at it: what looks like a script is shown as it was written.

use std::{fs, net::TcpStream};

use serde_json::json;

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::Browser,
    dashboard_sight::heard,
    hall::{Daemon, one_board, until},
    page::Server,
    teller::{Teller, ago},
};

/// Names that a careless page takes for parts of itself.
const NAMES: [&str; 6] = [
    "<script>window.ran = 'script'</script>",
    "<img src=x onerror=\"window.ran = 'image'\">",
    "\"><svg onload=\"window.ran = 'drawing'\">",
    "' autofocus onfocus='window.ran = `focus`' x='",
    "<a href=\"javascript:window.ran = 'link'\">Carlsen</a>",
    "</title></style></textarea><iframe srcdoc=\"<script>parent.ran = 'frame'</script>\"></iframe>",
];

/// What there is of these names in the page but text: whether something ran, and elements that no page of ours has.
const RAN: &str = "
    const strange = document.querySelectorAll('script:not([src]), img:not([src=\"/icon.svg\"]), iframe, object, embed, [onerror], [onload], [onfocus], a[href^=javascript]');
    return [window.ran ?? null, [...strange].map((part) => part.outerHTML)];";

fn assert_is_text(browser: &Browser, view: &str) {
    assert_eq!(browser.run(RAN), json!([null, []]), "{view}");
    let refused: Vec<_> = browser
        .complaints()
        .into_iter()
        .filter(|line| line.contains("Content Security Policy") || line.contains("is not defined"))
        .collect();
    assert_eq!(
        refused,
        Vec::<String>::new(),
        "{view}: the policy alone stopped it"
    );
}

/// A board of which everything is such a name that can be one.
fn board(teller: &mut Teller, id: &str, name: &str) {
    let tag = name.replace('\\', "\\\\").replace('"', "\\\"");
    let at = format!("gw/board/{id}");
    teller.board("gw", id, [&tag, &tag], 61);
    let info = json!({ "serial": name, "firmware": name, "port": name, "protocol": name });
    teller.tell(&format!("{at}/info"), &info.to_string());
    let ruling = json!({ "penalty": { "kind": "time", "seconds": 120, "to": "black" }, "position": "reinstate_before",
        "articles": [name], "target_fen": name, "clock_proposal": null });
    let words = json!({ "title": name, "advice": name, "evidence": [name] });
    let case = json!({ "type": "irregularity", "kind": "illegal_move", "offender": "white", "ply": 61, "certainty": "certain",
        "articles": [name], "squares": ["d4"], "move": name, "reason": name, "fen_before": name, "placement": name, "clock": null,
        "offence_number": 1, "ruling": ruling, "text": { "en": words, "ru": words } });
    teller.event(&at, &ago(4), &case);
    let notice = json!({ "type": "notice", "code": name, "message": name });
    teller.event(&at, &ago(3), &notice);
    let correction = json!({ "type": "arbiter_action", "command": name, "sender": name, "note": name });
    teller.event(&at, &ago(2), &correction);
    let unknown = json!({ "type": "weather", "message": name });
    teller.event(&at, &ago(1), &unknown);
}

#[test]
fn what_looks_like_a_script_is_shown_as_it_was_written() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let server = Server::start(broker.port, free_port(), &[]);
    let mut teller = heard(&broker, &server);
    let info = json!({ "version": NAMES[0], "commands": true, "machine": NAMES[1], "boot": NAMES[2], "installation": NAMES[3] });
    teller.tell("gw/info", &info.to_string());
    let health = json!({ "journal": { "problem": NAMES[1] }, "problems": [NAMES[2]], "lichess": { "problem": NAMES[3] } });
    teller.tell("gw/health", &health.to_string());
    for (i, name) in NAMES.iter().enumerate() {
        board(&mut teller, &(i + 1).to_string(), name);
    }
    browser.resize(1280, 900);
    for language in ["en", "ru"] {
        browser.open(&server.url(""));
        browser.until(
            "all boards",
            &format!(
                "return document.querySelectorAll('.card').length === {}",
                NAMES.len()
            ),
        );
        for name in NAMES {
            let shown = format!("return document.body.textContent.includes({})", json!(name));
            browser.until(name, &shown);
        }
        assert_is_text(&browser, "all boards");
        for (i, name) in NAMES.iter().enumerate() {
            let id = i + 1;
            for view in [
                format!("#/board/gw/{id}"),
                format!("#/game/gw/{id}/1"),
                format!("#/report/gw/{id}/2"),
            ] {
                browser.run(&format!("location.hash = {}", json!(view)));
                let shown = format!(
                    "return location.hash === {} && document.body.textContent.includes({})",
                    json!(view),
                    json!(name)
                );
                browser.until(&view, &shown);
                assert_is_text(&browser, &view);
            }
        }
        for view in ["#/wall", "#/history"] {
            browser.run(&format!("location.hash = {}", json!(view)));
            let shown = format!("return document.body.textContent.includes({})", json!(NAMES[0]));
            browser.until(view, &shown);
            assert_is_text(&browser, view);
        }
        if language == "en" {
            browser.run("location.hash = '#/'");
            browser.click(".tongue");
            browser.until("Russian", "return document.documentElement.lang === 'ru'");
        }
    }
}

#[test]
fn so_it_is_in_the_publics_view() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    let port = free_port();
    let text = fs::read_to_string(&config).unwrap();
    let table = format!(
        "id = \"1\"\ntable = {{ white = {}, black = {} }}\n",
        json!(NAMES[0]),
        json!(NAMES[1])
    );
    let broadcast = format!(
        "[broadcast]\nfolder = \"open\"\nname = {}\ndelay_seconds = 0\ndelay_moves = 0\nlisten = \"127.0.0.1:{port}\"\n",
        json!(NAMES[2])
    );
    fs::write(&config, text.replace("id = \"1\"\n", &table) + &broadcast).unwrap();
    let _daemon = Daemon::start(&config);
    until("the public's view", PATIENCE, || {
        TcpStream::connect(("127.0.0.1", port)).ok()
    });
    for page in ["", "#/game/1", "overlay?board=1&diagram=1"] {
        browser.open(&format!("http://127.0.0.1:{port}/{page}"));
        let shown = format!("return document.body.textContent.includes({})", json!(NAMES[0]));
        browser.until(page, &shown);
        assert_is_text(&browser, page);
    }
}

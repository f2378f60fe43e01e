//! Rounds from the page: every mistake in pairings is shown, pairings are put in force, and a round is closed.

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    evening::Evening,
    hall::{self, Daemon, Seat, configure, until, vienna},
    page::{Server, http},
};

/// Somebody pastes `text`, and has it looked through.
pub fn paste(browser: &Browser, text: &str) {
    browser.run(&format!(
        "document.querySelector('.found').replaceChildren();
         const text = document.querySelector('.rounds [name=text]');
         text.value = {}; text.dispatchEvent(new Event('input'))",
        json!(text)
    ));
    browser.click("[data-action=check]");
    browser.until("who sits where", "return document.querySelector('.seats')");
}

/// What is wrong, in the words of the page.
fn told(browser: &Browser) -> Vec<String> {
    let told = browser
        .run("return [...document.querySelectorAll('.found [data-code]')].map((one) => one.textContent)");
    serde_json::from_value(told).unwrap()
}

/// The file of an open in which everybody plays eleven rounds against a neighbour, as pairing programs export it.
fn open_of(players: u32) -> String {
    let line = |number: u32| {
        let (opponent, colour) = if number % 2 == 1 {
            (number + 1, 'w')
        } else {
            (number - 1, 'b')
        };
        let name = format!("Łukasiewicz, Player {number}");
        let games = format!("{opponent:4} {colour} =  ").repeat(11);
        format!(
            "001 {number:4} m    {name:33} 2000 POL 1234567{number:04} 1990/01/01  5.5 {number:4}  {games}\n"
        )
    };
    "012 Large Open\n".to_owned() + &(1..=players).map(line).collect::<String>()
}

/// Chooses a file with `text`.
fn choose(browser: &Browser, text: &str) {
    browser.run(&format!(
        "const chosen = new DataTransfer(); chosen.items.add(new File([{}], 'open.trf'));
         document.querySelector('.found').replaceChildren();
         const file = document.querySelector('.rounds [name=file]'); file.files = chosen.files; file.dispatchEvent(new Event('change'))",
        json!(text)
    ));
}

const PUT_IS_OFF: &str = "return document.querySelector('[data-action=put]').disabled";

#[test]
fn pairings_are_looked_through_put_in_force_and_the_round_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let capture = read_capture(&vienna()).unwrap();
    let seat = |id: &str, port| Seat {
        id: id.into(),
        port,
        capture: &capture,
    };
    let seats = [seat("a1", "/nowhere/a"), seat("a2", "/nowhere/b")];
    let config = configure(folder.path(), mosquitto.port, &seats);
    let daemon = Daemon::start(&config);
    let server = Server::start(mosquitto.port, free_port(), &[]);
    browser.resize(1280, 1000);
    browser.open(&server.url(""));
    browser.until(
        "two boards",
        "return document.querySelectorAll('.card').length === 2",
    );
    browser.run("document.querySelector('.rounds-button').focus()");
    browser.press("\u{e007}");
    browser.until("the dialog", "return document.querySelector('.rounds')?.open");

    let head = "board,white,white_elo,black\n1,Moss,2100,Tal\n";
    // What is wrong is seen at once, also on a small screen.
    browser.resize(1280, 700);
    for (rows, what) in [
        ("1,Berg,,Dorn\n", "Line 3: board 1 is in line 2 already"),
        ("2,Berg,,Moss\n", "Line 3: “Moss” plays in line 2 already"),
        (
            "2,Berg,21OO,Dorn\n",
            "Line 3: the rating “21OO” of “Berg” is no number",
        ),
        ("7,Berg,,Dorn\n", "Line 3: board 7 does not exist: there are 2"),
        (
            "2,1900,Berg,Dorn\n",
            "Line 3: “1900” stands in the column “white”",
        ),
        ("2,Berg, B,1900,Dorn\n", "Line 3: there are 5 cells for 4 columns"),
        ("two,Berg,,Dorn\n", "Line 3: the board “two” is no number"),
    ] {
        paste(&browser, &format!("{head}{rows}"));
        let found = told(&browser);
        assert!(
            found.len() == 1 && found[0].starts_with(what),
            "{rows}: {found:?}"
        );
        assert_eq!(browser.run(PUT_IS_OFF), true, "{rows}");
        let is_seen = "const one = document.querySelector('.found [data-code]'), { left, top } = one.getBoundingClientRect();
            return one.contains(document.elementFromPoint(left + 5, top + 5))";
        assert_eq!(browser.run(is_seen), true, "{rows}");
    }
    browser.resize(1280, 1000);
    if let Some(axe) = checker() {
        let serious = browser.barriers(&axe);
        assert!(serious.is_empty(), "{serious:#?}");
    }

    // Files as older programs write them; what is put in force is what was looked through.
    for (text, name) in [
        ("1,\\xc0\\xeb\\xb8\\xf5\\xe8\\xed,Tal\\n2,Berg,Dorn", "Алёхин"),
        ("1,M\\xfcller,Tal\\n2,Berg,Dorn", "Müller"),
    ] {
        browser.run(&format!(
            "const bytes = new Uint8Array([...'board,white,black\\n{text}\\n'].map((c) => c.charCodeAt(0)));
             const chosen = new DataTransfer(); chosen.items.add(new File([bytes], 'round.csv'));
             document.querySelector('.found').replaceChildren();
             const file = document.querySelector('.rounds [name=file]'); file.files = chosen.files; file.dispatchEvent(new Event('change'))",
        ));
        browser.until(
            "who sits where",
            &format!("return document.querySelector('.seats')?.textContent.includes('{name}')"),
        );
    }
    browser.until(
        "nothing is wrong",
        "return !document.querySelector('[data-action=put]').disabled",
    );
    browser.click("[data-action=put]");
    browser.until(
        "it is in force",
        "return document.querySelector('.found .done')?.textContent.includes('Round 1')",
    );
    assert_eq!(browser.run(PUT_IS_OFF), true, "it is done");
    browser.until(
        "the names at the boards",
        "return document.querySelector('.hall, main').textContent.includes('Müller')",
    );

    // The next round: what is without a result is named, and it is closed all the same.
    paste(&browser, "board,white,black\n1,Tal,Berg\n");
    browser.run("const round = document.querySelector('.rounds [name=round]'); round.value = 2; round.dispatchEvent(new Event('input'))");
    browser.click("[data-action=check]");
    browser.until(
        "why not",
        "return document.querySelector('[data-code=round_open]')",
    );
    assert_eq!(browser.run(PUT_IS_OFF), true);
    browser.click("[data-action=next]");
    browser.until(
        "what is open",
        "return document.querySelectorAll('.open li').length === 2",
    );
    let open = browser.run("return document.querySelector('.open li').textContent");
    assert_eq!(open, "Board a1: Müller – Tal");
    browser.click("[data-action=force]");
    browser.until(
        "the round is closed",
        "return document.querySelector('.found .done')",
    );
    assert_eq!(
        browser.run("return document.querySelector('.rounds [name=round]').value"),
        "2"
    );
    paste(&browser, "board,white,black\n1,Tal,Berg\n");
    browser.click("[data-action=put]");
    browser.until(
        "the second round",
        "return document.querySelector('.found .done')?.textContent.includes('Round 2')",
    );

    // The file of a large open is taken; one that cannot be pairings is not even sent.
    let large = open_of(400);
    assert!(large.len() > 64 << 10);
    choose(&browser, &large);
    browser.until(
        "all its games",
        "return document.querySelector('.found')?.textContent.includes('(games: 200)')",
    );
    browser.click("[data-action=put]");
    browser.until(
        "its names at the boards",
        "return document.querySelector('.hall, main').textContent.includes('Łukasiewicz, Player 1')",
    );
    choose(&browser, &"x".repeat(300_000));
    let said = browser.until(
        "that it is too large",
        "return document.querySelector('.found [data-code=too_large]')?.textContent",
    );
    assert_eq!(
        said,
        "These are 293 KiB, and pairings have 192 at most: is it the right file?"
    );
    assert_eq!(browser.run(PUT_IS_OFF), true);

    // In Russian.
    browser.click("[data-action=close]");
    browser.click(".tongue");
    browser.until(
        "the button in Russian",
        "return document.querySelector('.rounds-button').textContent === 'Пары'",
    );
    browser.click(".rounds-button");
    assert_eq!(
        browser.run("return document.querySelector('.rounds [name=round]').value"),
        "2",
        "the round that is played"
    );
    paste(&browser, &format!("{head}1,Berg,,Dorn\n"));
    assert_eq!(
        told(&browser),
        ["Строка 3: доска 1 уже есть в строке 2; на каждой доске одна партия тура"]
    );
    assert_eq!(browser.complaints(), [""; 0]);
    assert!(daemon.stop());
}

/// Two gateways begin the next round by one button, and each answers.
#[test]
fn one_button_begins_the_next_round_at_all_gateways() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let capture = read_capture(&vienna()).unwrap();
    let gateway = |name: &str, rounds: &str| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let seat = Seat {
            id: "1".into(),
            port: "/nowhere/board",
            capture: &capture,
        };
        let config = configure(&folder, mosquitto.port, &[seat]);
        std::fs::write(folder.join("pairings.csv"), rounds).unwrap();
        let text = std::fs::read_to_string(&config).unwrap();
        let text = text.replace("\"gw\"", &format!("\"{name}\""));
        let cast = "[broadcast]\nfolder = \"open\"\npairings = \"pairings.csv\"\n";
        std::fs::write(&config, text + cast).unwrap();
        Daemon::start(&config)
    };
    let head = "round,board,white,black\n";
    let one = gateway(
        "row-1",
        &format!("{head}1,1,Moss,Tal\n2,1,Berg,Dorn\n3,1,Kolb,Lund\n"),
    );
    let two = gateway("row-2", &format!("{head}1,1,Euwe,Reti\n2,1,Vidmar,Grob\n"));
    let server = Server::start(mosquitto.port, free_port(), &[]);
    browser.resize(1280, 1000);
    browser.open(&server.url(""));
    browser.until(
        "the players of both",
        "const text = document.querySelector('.hall, main').textContent;
         return text.includes('Moss') && text.includes('Euwe')",
    );
    browser.click(".rounds-button");
    let label = "return document.querySelector('[data-action=begin]').textContent";
    assert_eq!(browser.run(label), "Begin round 2");
    let answers = |kind: &str| {
        let answers =
            format!("[...document.querySelectorAll('.answers > .{kind}')].map((one) => one.textContent)");
        browser.until(
            "the answers",
            "return document.querySelectorAll('.answers > li').length > 0",
        );
        let told: Vec<String> = serde_json::from_value(browser.run(&format!("return {answers}"))).unwrap();
        told
    };
    browser.click("[data-action=begin]");
    let open = answers("refused");
    assert_eq!(
        open,
        [
            "row-1: Round 1 is still without results: 1Board 1: Moss – Tal",
            "row-2: Round 1 is still without results: 1Board 1: Euwe – Reti"
        ]
    );
    browser.click("[data-action=begin-force]");
    browser.until(
        "both",
        "return document.querySelectorAll('.answers > .done').length === 2",
    );
    assert_eq!(answers("done")[1], "row-2: round 2 has begun");
    browser.until(
        "the players of the second round",
        "const text = document.querySelector('.hall, main').textContent;
         return text.includes('Berg') && text.includes('Vidmar')",
    );
    // Another click begins no third round.
    assert_eq!(browser.run(label), "Begin round 2");
    browser.until(
        "nobody to tell",
        "return document.querySelector('[data-action=begin]').disabled",
    );
    browser.click("[data-action=close]");

    // One gateway knows the third round, and the other says that it does not.
    browser.click(".rounds-button");
    assert_eq!(browser.run(label), "Begin round 3");
    browser.click("[data-action=begin]");
    assert_eq!(answers("refused").len(), 2);
    browser.click("[data-action=begin-force]");
    browser.until(
        "one",
        "return document.querySelectorAll('.answers > .done').length === 1",
    );
    assert_eq!(answers("done"), ["row-1: round 3 has begun"]);
    let left = answers("refused");
    assert!(
        left.len() == 1 && left[0].starts_with("row-2: round 3 cannot begin: no game of round 3"),
        "{left:?}"
    );

    // Several rounds on lichess have place in the field, and what lichess does not know is seen.
    let is_valid = |text: &str| {
        browser.run(&format!(
            "const lichess = document.querySelector('.rounds [name=lichess]'); lichess.value = '{text}'; return lichess.checkValidity()"
        ))
    };
    assert_eq!(is_valid("a1B2c3D4"), true);
    assert_eq!(is_valid("https://lichess.org/x"), false);
    assert_eq!(is_valid("a1B2c3D4 1-100, e5F6g7H8 101-180"), true);
    paste(&browser, &format!("{head}3,1,Kolb,Lund\n"));
    browser.run("document.querySelector('.rounds [name=round]').value = 3");
    browser.click("[data-action=check]");
    browser.until(
        "nothing is wrong",
        "return !document.querySelector('[data-action=put]').disabled",
    );
    browser.click("[data-action=put]");
    browser.until("the round", "return document.querySelector('.found .done')");
    let kept = std::fs::read_to_string(folder.path().join("row-1/journal.sqlite.round")).unwrap();
    assert!(kept.contains("a1B2c3D4 1-100, e5F6g7H8 101-180"), "{kept}");
    assert_eq!(browser.complaints(), [""; 0]);
    assert!(one.stop() && two.stop());
}

/// A round was begun too early, and a game of it has begun. A button of the page goes back, and the games are of the round before.
#[test]
fn a_button_goes_back_to_the_round_before() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let capture = read_capture(&vienna()).unwrap();
    let seat = Seat {
        id: "1".into(),
        port: "/nowhere/board",
        capture: &capture,
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text + "[broadcast]\nfolder = \"open\"\n").unwrap();
    let daemon = Daemon::start(&config);
    let server = Server::start(mosquitto.port, free_port(), &[]);
    let say = |path: &str, body: &Value| {
        let (status, answer) = http(server.port, "POST", path, "", body);
        assert_eq!(status, 200, "{answer}");
    };
    let round = |verb: &str, fields: Value| json!({ "gateway": "gw", "verb": verb, "fields": fields });
    let rows = "round,board,white,black\n1,1,Moss,Tal\n2,1,Berg,Dorn\n";
    browser.resize(1280, 1000);
    browser.open(&server.url(""));
    browser.until(
        "the board",
        "return document.querySelector('.hall, main').textContent.includes('1')",
    );
    say(
        "/api/round",
        &round("pairings", json!({ "text": rows, "round": 1, "put": true })),
    );
    say(
        "/api/round",
        &round("next_round", json!({ "begin": 2, "force": true })),
    );
    let lost =
        json!({ "gateway": "gw", "board": "1", "verb": "result", "fields": { "result": "-/+", "game": 1 } });
    say("/api/command", &lost);
    let game = |round: u32| folder.path().join(format!("open/round-{round}/game-1.pgn"));
    until("the game of the second round", PATIENCE, || {
        let text = std::fs::read_to_string(game(2)).unwrap_or_default();
        (text.contains("Berg") && text.contains("[Result \"0-1\"]")).then_some(())
    });

    browser.click(".rounds-button");
    browser.run(&format!(
        "const text = document.querySelector('.rounds [name=text]');
         text.value = {}; text.dispatchEvent(new Event('input'));
         document.querySelector('.rounds [name=round]').value = 1",
        json!(rows)
    ));
    browser.click("[data-action=check]");
    browser.until(
        "nothing is wrong",
        "return !document.querySelector('[data-action=put]').disabled",
    );
    // The button is in sight at once, also on a small screen.
    browser.resize(1280, 700);
    browser.click("[data-action=put]");
    browser.until(
        "the button",
        "return document.querySelector('[data-action=back]')",
    );
    let text = |of: &str| browser.run(&format!("return document.querySelector('{of}').textContent"));
    assert_eq!(text("[data-action=back]"), "Round 2 was begun by mistake…");
    let is_seen = "const button = document.querySelector('[data-action=back]'), { left, top, height } = button.getBoundingClientRect();
        return [0.1, 0.5, 0.9].map((part) => document.elementFromPoint(left + 5, top + part * height) === button)";
    assert_eq!(browser.run(is_seen), json!([true, true, true]));
    browser.click("[data-action=back]");
    browser.until(
        "the question",
        "return document.querySelector('dialog[open] .danger')",
    );
    assert_eq!(text("dialog[open] .danger"), "Go back to round 1");
    assert!(game(2).exists(), "nothing has changed yet");
    browser.click("dialog[open] .danger");
    until("the game of the first round", PATIENCE, || {
        let text = std::fs::read_to_string(game(1)).unwrap_or_default();
        (text.contains("Moss") && text.contains("[Result \"0-1\"]") && !game(2).exists()).then_some(())
    });
    browser.until(
        "the button is gone",
        "return !document.querySelector('[data-action=back]')",
    );
    let seen = browser.run("return document.querySelector('.found .done').textContent");
    assert!(seen.as_str().unwrap().contains('1'), "{seen}");
    assert_eq!(browser.complaints(), [""; 0]);
    assert!(daemon.stop());
}

/// The dialog says this, and it is drawn.
pub fn says(evening: &Evening, what: &str) {
    evening.sees(
        what,
        &format!("document.querySelector('.tables .outcome').textContent.includes('{what}')"),
    );
}

/// Who sits at the boards by what the page was told: White's names.
pub fn seated_at(evening: &Evening) -> [Value; 2] {
    ["1", "2"].map(|board| evening.get(&format!("board/gw/{board}")).unwrap()["players"][0].clone())
}

/// A round is closed while its games go on, and they get their results when the next one is in force.
#[test]
fn results_come_late_and_belong_to_the_round_that_was_closed() {
    let Some(evening) = Evening::begin() else {
        return;
    };
    let pairings = |evening: &Evening, text: &str| {
        paste(&evening.browser, text);
        evening.browser.click("[data-action=put]");
        evening.sees("the round in force", "document.querySelector('.found .done')");
        evening.browser.click("[data-action=close]");
    };
    evening.open("");
    evening.sees("two boards", "document.querySelectorAll('.card').length === 2");
    evening.browser.click(".rounds-button");
    pairings(&evening, "board,white,black\n1,Moss,Tal\n2,Berg,Dorn\n");
    until("the names at the boards", PATIENCE, || {
        (seated_at(&evening) == ["Moss", "Berg"]).then_some(())
    });
    evening.boards[0].play("e2e4 e7e5");
    evening.recorded("1", 1, "e2e4 e7e5");
    evening.browser.click(".rounds-button");
    evening.browser.click("[data-action=next]");
    evening.sees(
        "what is open",
        "document.querySelectorAll('.open li').length === 2",
    );
    evening.browser.click("[data-action=force]");
    evening.sees("that it is closed", "document.querySelector('.found .done')");
    pairings(&evening, "board,white,black\n1,Euwe,Berg\n2,Tal,Moss\n");

    evening.open("#/board/gw/1");
    evening.asks(".acts [data-verb=result]");
    let asked = "document.querySelector('dialog').innerText";
    assert!(
        evening
            .sees("who played", asked)
            .as_str()
            .unwrap()
            .contains("Moss")
    );
    evening.fill("result", "0-1");
    evening.sends();
    let ended = |game: u32| {
        let events = hall::journal(&evening.config(), "1").into_iter();
        events
            .filter(|event| event["type"] == "game_ended" && event["game"] == game)
            .map(|event| event["result"].clone())
            .collect::<Vec<_>>()
    };
    until("the late result", PATIENCE, || {
        (ended(1) == ["0-1"]).then_some(())
    });
    evening.boards[0].set_up();
    until("the next array", PATIENCE, || {
        (evening.get("board/gw/1")?["problems"] == json!([])).then_some(())
    });
    evening.boards[0].play("d2d4 d7d5");
    evening.recorded("1", 2, "d2d4 d7d5");
    let begun: Vec<_> = hall::journal(&evening.config(), "1")
        .into_iter()
        .filter(|event| event["type"] == "game_started")
        .map(|event| json!([event["white"], event["round"]]))
        .collect();
    assert_eq!(begun, [json!(["Moss", 1]), json!(["Euwe", 2])]);
    evening.sees(
        "both games",
        "/Game 1.*Moss – Tal.*0-1/s.test(document.querySelector('.games')?.closest('section, aside, div').innerText)",
    );
}

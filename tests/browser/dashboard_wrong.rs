//! What was begun wrong is put right from the page: the number of a round, and the rules of a game. Who acts by a page of before
//! hears it. In both languages.

use std::{fs, time::Instant};

use serde_json::json;

use super::dashboard_rounds::paste;
use crate::{broker::PATIENCE, evening::Evening, hall::journal};

/// The page in Russian from now on, or in English.
fn speaks(evening: &Evening, language: &str) {
    evening.browser.run(&format!(
        "if (document.documentElement.lang !== '{language}') document.querySelector('.tongue').click()"
    ));
    let is_so = format!("document.documentElement.lang === '{language}'");
    evening.sees("the language", &is_so);
}

fn opens_rounds(evening: &Evening) {
    evening.browser.click(".rounds-button");
    evening.sees("the dialog", "document.querySelector('.rounds')?.open");
}

/// Asks for the right number of a round, once the page has heard that it has this one; the words of the question.
fn asks_for_the_number(evening: &Evening, of: u32) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        evening.browser.click("[data-action=renumber]");
        evening.sees("a question", "document.querySelector('#dialog').open");
        let title = evening.sees("its title", "document.querySelector('#dialog-title').innerText");
        if title.as_str().unwrap().contains(&of.to_string()) {
            let asked = evening.sees("its words", "document.querySelector('#dialog').innerText");
            return asked.as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < deadline, "{title}, not {of}");
        evening.browser.click("#dialog .plain");
        evening.sees("no question", "!document.querySelector('#dialog').open");
    }
}

#[test]
fn the_number_of_a_round_is_put_right_from_the_page() {
    let Some(evening) = Evening::begin_with("") else {
        return;
    };
    evening.open("#/");
    evening.sees("two boards", "document.querySelectorAll('.card').length === 2");
    opens_rounds(&evening);
    evening.sees(
        "there is no round",
        "document.querySelector('[data-action=renumber]').disabled",
    );
    evening
        .browser
        .run("document.querySelector('.rounds [name=round]').value = 3");
    paste(&evening.browser, "board,white,black\n1,Moss,Tal\n2,Berg,Dorn\n");
    evening.browser.click("[data-action=put]");
    evening.sees(
        "there is a round",
        "!document.querySelector('[data-action=renumber]').disabled",
    );
    for (language, to, words) in [
        ("en", 2, "round 3 is round 2 now"),
        ("ru", 1, "тур 2 теперь тур 1"),
    ] {
        evening
            .browser
            .run("document.querySelector('.rounds [data-action=close]').click()");
        speaks(&evening, language);
        opens_rounds(&evening);
        asks_for_the_number(&evening, to + 1);
        evening.no_barriers();
        evening.fill("to", &to.to_string());
        evening.browser.click("#dialog .primary");
        let answers =
            format!("document.querySelector('.found .answers .done')?.textContent.includes('{words}')");
        evening.sees("the answer", &answers);
    }
    // What cannot be is told in words.
    asks_for_the_number(&evening, 1);
    evening.fill("to", "1");
    evening.browser.click("#dialog .primary");
    let refused = "document.querySelector('.found .answers .refused')?.textContent.includes('исправить можно только номер идущего тура')";
    evening.sees("the refusal", refused);
    assert_eq!(evening.browser.complaints(), [""; 0]);
}

#[test]
fn a_game_that_began_under_wrong_rules_goes_by_the_new_ones_from_the_page() {
    let Some(mut evening) = Evening::begin_with("[event]\ntime_control = \"standard\"\n") else {
        return;
    };
    for (players, moves) in evening.boards.iter_mut().zip(["e2e4 e7e5", "d2d4 d7d5"]) {
        players.play(moves);
    }
    evening.recorded("1", 1, "e2e4 e7e5");
    evening.recorded("2", 1, "d2d4 d7d5");
    evening.open("#/board/gw/1");
    evening.sees("the buttons", "document.querySelector('[data-verb=report]')");
    evening.sees("no other rules", "!document.querySelector('[data-verb=rules]')");
    let text = fs::read_to_string(evening.config()).unwrap();
    fs::write(evening.config(), text.replace("\"standard\"", "\"rapid\"")).unwrap();
    assert_eq!(evening.browser.complaints(), [""; 0]);
    evening.start();
    // The page was away for a moment.
    evening.browser.complaints();
    for (board, language, words) in [
        ("1", "en", "Take the new rules"),
        ("2", "ru", "Перейти на новые правила"),
    ] {
        evening.open(&format!("#/board/gw/{board}"));
        speaks(&evening, language);
        let button = "document.querySelector('[data-verb=rules]')?.textContent";
        evening.sees("the button", &format!("{button}?.startsWith('{words}')"));
        evening.asks("[data-verb=rules]");
        evening.no_barriers();
        evening.sends();
        evening.sees("it is done", "!document.querySelector('[data-verb=rules]')");
        let told = journal(&evening.config(), board);
        assert!(
            told.iter().any(|event| event["code"] == "rules_taken"),
            "{told:?}"
        );
    }
    assert_eq!(evening.browser.complaints(), [""; 0]);
}

#[test]
fn who_acts_by_a_page_of_before_is_told_in_words_that_help() {
    let Some(evening) = Evening::begin_with("") else {
        return;
    };
    evening.boards[0].play("e2e4 e7e5 g1f3");
    evening.recorded("1", 1, "e2e4 e7e5 g1f3");
    for (language, with, words, of_ply) in [
        (
            "en",
            "f1c4",
            "Anna Ivanova",
            "look again, and send the command anew",
        ),
        (
            "ru",
            "b1c3",
            "запись партии с тех пор исправили: посмотрите ещё раз",
            "запись партии с тех пор исправили",
        ),
    ] {
        evening.open("#/board/gw/1");
        speaks(&evening, language);
        evening.sees("the buttons", "document.querySelector('[data-verb=retract]')");
        // Somebody else is quicker while the question is open.
        evening.asks("[data-verb=retract]");
        let right = json!({ "ply": 3, "delete": 1, "insert": [with] });
        assert_eq!(evening.anna("1", "correct", &right)["ok"], true);
        evening.fill("to_ply", "0");
        evening.browser.click("#dialog .primary");
        let said = "document.querySelector('.toast.bad')?.textContent";
        let said = evening.sees("the refusal", said);
        assert!(said.as_str().unwrap().contains(words), "{said}");
        evening.recorded("1", 1, &format!("e2e4 e7e5 {with}"));
        // Another number of half-moves than the page of before had.
        evening.browser.run(
            "document.getElementById('toasts').replaceChildren();
             import('/ask.js').then(({ command }) => command({ gateway: 'gw', board: '1' }, 'correct', { ply: 1, delete: 3, expect_ply: 2 }))",
        );
        let said = evening.sees("the refusal", "document.querySelector('.toast.bad')?.textContent");
        assert!(said.as_str().unwrap().contains(of_ply), "{said}");
        evening.recorded("1", 1, &format!("e2e4 e7e5 {with}"));
    }
}

/// Two arbiters have heard different results. The one whose question was open longer sees that there is another one, and takes it
/// for no mistake of the board.
#[test]
fn a_result_does_not_displace_one_that_another_arbiter_has_given_meanwhile() {
    let Some(evening) = Evening::begin_with("") else {
        return;
    };
    evening.boards[0].play("e2e4 e7e5 g1f3");
    evening.recorded("1", 1, "e2e4 e7e5 g1f3");
    let results = || {
        let told = journal(&evening.config(), "1").into_iter();
        let ended = told.filter(|event| event["type"] == "game_ended");
        ended.map(|event| event["result"].clone()).collect::<Vec<_>>()
    };
    evening.open("#/board/gw/1");
    speaks(&evening, "en");
    evening.sees("the buttons", "document.querySelector('[data-verb=result]')");
    evening.asks(".acts [data-verb=result]");
    let given = evening.anna("1", "result", &json!({ "result": "1-0" }));
    assert_eq!(given["ok"], true, "{given}");
    evening.fill("result", "0-1");
    evening.browser.click("#dialog .primary");
    let said = evening.sees("the refusal", "document.querySelector('.toast.bad')?.textContent");
    assert!(said.as_str().unwrap().contains("Anna Ivanova"), "{said}");
    assert_eq!(results(), ["1-0"]);
    // Having seen that, the arbiter may well be right.
    evening.sees(
        "the result on the page",
        "/1-0/.test(document.querySelector('.games')?.innerText)",
    );
    evening.asks(".acts [data-verb=result]");
    evening.fill("result", "0-1");
    evening.sends();
    crate::hall::until("the other result", std::time::Duration::from_secs(30), || {
        (results() == ["1-0", "0-1"]).then_some(())
    });
}

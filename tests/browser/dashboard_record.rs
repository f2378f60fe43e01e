//! The record belongs to the arbiter: an evening at two boards in which what was recorded is put right on the page, in the
//! present game and in an earlier one.

use serde_json::{Value, json};
use shakmaty::Square;

use crate::{
    broker::PATIENCE,
    evening::Evening,
    hall::{commands, journal, until},
};

#[test]
fn an_evening_is_put_right_on_the_page() {
    let Some(mut evening) = Evening::begin() else {
        return;
    };
    evening.boards[0].play("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6");
    evening.recorded("1", 1, "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6");
    a_wrong_result_and_back(&mut evening);
    let case = a_report_and_its_penalty(&mut evening);
    the_next_round_begins(&mut evening);
    an_earlier_game_is_put_right(&evening);
    let sheet = it_is_printed(&evening, &case);
    two_arbiters_at_one_case(&mut evening);
    suspicions_all_at_once(&mut evening);
    pieces_set_up_without_a_result(&mut evening);

    // Nobody has heard of it any more but the journal and the broker.
    evening.start();
    evening.open(&format!("#/report/{case}"));
    evening.sees("the sheet", "document.querySelector('.report .three')");
    assert_eq!(
        evening.sees(
            "its text",
            "document.querySelector('.report > div:last-child').innerText"
        ),
        sheet,
        "after a restart of daemon and page"
    );
    let complaints = evening.browser.complaints();
    let complaints: Vec<_> = complaints
        .iter()
        .filter(|line| {
            !line.contains("ERR_CONNECTION") && !line.contains("ERR_INCOMPLETE") && !line.contains("404")
        })
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// The game goes on at the board, and what was played after the result is on the record.
fn a_wrong_result_and_back(evening: &mut Evening) {
    evening.open("#/board/gw/1");
    evening.asks(".acts [data-verb=result]");
    let asked = evening.sees("the question", "document.querySelector('dialog').innerText");
    assert!(asked.as_str().unwrap().contains("Reti, R wins"), "{asked}");
    evening.browser.click("dialog .primary");
    assert_eq!(
        evening.browser.run(
            "return document.querySelector('dialog').open && document.querySelector('dialog select:invalid').name"
        ),
        "result",
        "nothing is preselected, and nothing is sent without a choice"
    );
    evening.no_barriers();
    evening.picture("result.png");
    evening.fill("result", "0-1");
    evening.fill("reason", "wrong board");
    evening.sends();
    evening.sees(
        "the result",
        "/0‑1$/.test(document.querySelector('.bigclocks').textContent)",
    );
    evening.sees(
        "nothing to take back before",
        "document.querySelector('.acts [data-verb=resume]')",
    );
    evening.boards[0].play("b5a4 g8f6");
    until("what was played meanwhile", PATIENCE, || {
        let placement = evening.get("board/gw/1")?["placement"].as_str()?.to_owned();
        placement.starts_with("r1bqkb1r/1ppp1ppp/p1n2n2").then_some(())
    });
    assert_eq!(evening.moves("1", 1).split(' ').count(), 6);
    // The question moves the buttons below it.
    evening.sees(
        "that it is played on",
        "document.body.textContent.includes('The game has a result, and it is played on')",
    );
    evening.asks(".acts [data-verb=resume]");
    evening.fill("reason", "it was board 2");
    evening.sends();
    evening.recorded("1", 1, "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6");
    evening.sees(
        "it goes on",
        "!document.querySelector('.acts [data-verb=resume]')",
    );
    let events = journal(&evening.config(), "1");
    let words = |kind: &str, field: &str| {
        let event = events.iter().find(|event| event["type"] == kind);
        event.map(|event| (event[field].clone(), event["source"].clone()))
    };
    assert_eq!(
        words("game_ended", "note"),
        Some((json!("wrong board"), json!("arbiter")))
    );
    assert_eq!(
        words("game_resumed", "reason"),
        Some((json!("it was board 2"), json!("arbiter")))
    );
}

/// What follows the first eight half-moves of the first game.
const REST: &str = "e1g1 d7d6 f1e1 b7b5 a4b3 c8b7 c2c3 d8d7 h2h3 a8c8 b3c2 h7h6";

/// What was seen at half-move 12 is told at half-move 20; its id.
fn a_report_and_its_penalty(evening: &mut Evening) -> String {
    // A flag that the clock contradicts is asked back.
    evening.asks(".acts [data-verb=report]");
    for (kind, missing) in [("other", "note"), ("flag_fall", "offender")] {
        evening.fill("kind", kind);
        evening.browser.click("dialog .primary");
        let invalid = "document.querySelector('dialog[open] :invalid:not(form)')?.name";
        assert_eq!(evening.sees("what is missing", invalid), missing, "{kind}");
    }
    evening.fill("offender", "black");
    let chosen = "document.querySelector('dialog [name=offender]').selectedOptions[0].textContent";
    assert_eq!(evening.sees("who", chosen), "Black: Tartakower, S");
    evening.browser.click("dialog .primary");
    evening.sees("it is asked back", "/It shows \\d+:\\d+ for Black. Did the flag fall/.test(document.querySelector('dialog[open]')?.innerText)");
    evening.cancels();
    assert_eq!(
        evening
            .browser
            .run("return document.querySelectorAll('.case').length"),
        0
    );

    // A draw claim, with the half-move that the claimant wrote down among the legal ones.
    evening.asks(".acts [data-verb=report]");
    evening.fill("kind", "threefold_claim");
    evening.sees(
        "legal half-moves",
        "document.querySelectorAll('dialog [name=written_move] option').length > 20",
    );
    evening.fill("written_move", "a4c6");
    evening.sends();
    let claim = "/threefold/i.test(document.querySelector('.case h2')?.textContent)";
    evening.sees("the claim", claim);
    let boards = "document.querySelectorAll('.case figure').length";
    assert_eq!(
        evening.sees("the board", boards),
        1,
        "no piece is where it should not be"
    );
    let last = commands(&evening.config(), "1").pop().unwrap();
    assert!(last.to_string().contains("a4c6"), "{last}");
    evening.asks(".case [data-verb=dismiss]");
    evening.sends();
    evening.sees("nothing open", "!document.querySelector('.case')");

    evening.boards[0].play(REST);
    evening.recorded("1", 1, &format!("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 {REST}"));
    evening.asks(".acts [data-verb=report]");
    evening.fill("kind", "two_hands");
    evening.fill("ply", "12");
    evening.fill("note", "seen by the deputy");
    evening.sends();
    evening.sees(
        "the case",
        "/hands/i.test(document.querySelector('.case h2')?.textContent)",
    );
    let id = evening.sees("its id", "document.querySelector('.case').dataset.case");
    let text = evening.sees("its text", "document.querySelector('.case').innerText");
    let text = text.as_str().unwrap();
    for words in ["Half-move 12", "seen by the deputy", "2 minutes"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    evening.asks(".case [data-act=penalty_act]");
    assert_eq!(
        evening.browser.run("return ['kind', 'seconds', 'to'].map((name) => document.querySelector(`dialog [name=${name}]`).value)"),
        json!(["time", "120", "white"]),
        "as the Laws have it"
    );
    evening.no_barriers();
    evening.cancels();
    assert!(
        journal(&evening.config(), "1")
            .iter()
            .all(|event| event["type"] != "case_noted")
    );
    evening.asks(".case [data-act=penalty_act]");
    evening.fill("note", "clock set");
    evening.sends();
    evening.sees(
        "it is given",
        "/Penalty given/.test(document.querySelector('.case .facts').innerText)",
    );
    evening.asks(".case [data-act=unpenalty_act]");
    evening.fill("note", "a warning was enough");
    evening.sends();
    evening.sees(
        "it is undone",
        "!/Penalty given/.test(document.querySelector('.case .facts').innerText)",
    );
    let journal = evening.sees(
        "its journal",
        "document.querySelector('.case .journal').innerText",
    );
    let journal = journal.as_str().unwrap();
    for words in [
        "Reported",
        "Penalty given: 120 seconds to White · “clock set”",
        "Penalty taken back · “a warning was enough”",
        "an arbiter",
    ] {
        assert!(journal.contains(words), "{words} in {journal}");
    }
    evening.picture("case.png");
    id.as_str().unwrap().to_owned()
}

fn the_next_round_begins(evening: &mut Evening) {
    evening.asks(".acts [data-verb=result]");
    evening.fill("result", "1-0");
    evening.sends();
    evening.boards[0].set_up();
    until("that it is seen", PATIENCE, || {
        let seen = evening.get("board/gw/1")?;
        (seen["problems"] == json!([])).then_some(())
    });
    evening.boards[0].play("d2d4 d7d5");
    evening.recorded("1", 2, "d2d4 d7d5");
    // What was open in the game before is not answered any more, here and everywhere.
    evening.sees(
        "nothing open",
        "document.querySelector('aside') && !document.querySelector('.case')",
    );
    evening.sees(
        "no count",
        "/open irregularities: 0/.test(document.getElementById('tally').textContent)",
    );
    evening.sees("the list of games", "/Game 1.*1-0/.test([...document.querySelectorAll('.games li')].map((line) => line.innerText).join(' '))");
}

/// Shows the last half-move, unless it is shown: then the button is off.
fn goes_to_the_last(evening: &Evening) {
    evening
        .browser
        .run("document.querySelector('[data-step=last]').click()");
    evening.sees(
        "the last half-move",
        "document.querySelector('[data-step=last]').disabled",
    );
}

fn an_earlier_game_is_put_right(evening: &Evening) {
    evening.browser.run(
        "[...document.querySelectorAll('.games a')].find((link) => link.textContent === 'Game 1').click()",
    );
    evening.sees(
        "the game",
        "/Board 1 · Game 1/.test(document.querySelector('h1')?.textContent)",
    );
    evening.sees(
        "its outcome",
        "/1-0 · by an arbiter/.test(document.querySelector('.outcome')?.textContent)",
    );
    // Through the moves, by buttons and keys: the diagram follows.
    evening.browser.click("[data-step=first]");
    evening.sees(
        "the begin",
        "document.querySelector('.table figcaption').textContent === 'Start position'",
    );
    evening.browser.press("\u{e014}");
    evening.sees(
        "the first half-move",
        "/^1\\. e4 · Half-move 1/.test(document.querySelector('.table figcaption').textContent)",
    );
    evening.sees(
        "on the diagram",
        "/White: .*e4/.test(document.querySelector('.game .board').getAttribute('aria-label'))",
    );

    // The second half-move was another one: played on the diagram. What follows stays.
    evening.browser.click("[data-ply='2']");
    evening.browser.click("[data-act=change]");
    evening.sees(
        "the moves",
        "document.querySelectorAll('.editor select option').length > 20",
    );
    evening.square("c7");
    evening.square("c3");
    evening.sees(
        "a word",
        "/c7‑c3 is not legal/.test(document.querySelector('.editor .said').textContent)",
    );
    evening.square("c7");
    evening.sees(
        "where it may go",
        "document.querySelectorAll('.game .board .marked').length === 3",
    );
    evening.square("c5");
    evening.sees(
        "it is shown",
        "/To be entered: 1… c5/.test(document.querySelector('.editor').innerText)",
    );
    evening.no_barriers();
    evening.picture("moves.png");
    let changed = format!("e2e4 c7c5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 {REST}");
    evening.entered(&changed, "c5");

    // One that was missed at the end.
    goes_to_the_last(evening);
    evening.browser.click("[data-act=append]");
    evening.choose("d4");
    evening.sees(
        "it is shown",
        "/To be entered: 11\\. d4/.test(document.querySelector('.editor').innerText)",
    );
    let whole = format!("{changed} d2d4");
    evening.entered(&whole, "d4");

    // What does not follow any more is asked for, and nothing is changed until it is said what becomes of it.
    evening.browser.click("[data-ply='5']");
    evening.browser.click("[data-act=change]");
    evening.choose("Bc4");
    evening.enters();
    evening.sees(
        "a question",
        "/Half-move 7 does not follow any more/.test(document.querySelector('dialog[open]')?.innerText)",
    );
    evening.cancels();
    assert_eq!(evening.moves("1", 1), whole);
    evening.browser.click("[data-act=cancel]");

    // An illegal half-move that stood: only after a tick.
    goes_to_the_last(evening);
    evening.browser.click("[data-act=append]");
    evening.sees(
        "the moves",
        "document.querySelectorAll('.editor select option').length > 20",
    );
    evening.browser.click(".editor [name=illegal]");
    evening.square("f6");
    evening.square("f4");
    evening.sees(
        "it is shown",
        "/f6‑f4 \\(illegal\\)/.test(document.querySelector('.editor').innerText)",
    );
    evening.entered(&format!("{whole} f6f4"), "f6‑f4");
    evening.sees(
        "the last half-move",
        "/half-move 22/.test(document.querySelector('[data-act=delete]')?.textContent)",
    );
    evening.asks("[data-act=delete]");
    evening.sends();
    evening.recorded("1", 1, &whole);

    // Its result was another one, too; the present game is as it was.
    evening.asks(".title ~ .buttons [data-verb=result]");
    evening.fill("result", "1/2-1/2");
    evening.sends();
    evening.sees(
        "the outcome",
        "/1\\/2-1\\/2 · by an arbiter/.test(document.querySelector('.outcome').textContent)",
    );
    assert_eq!(evening.moves("1", 2), "d2d4 d7d5");
    let events = journal(&evening.config(), "1");
    let retracted = events.iter().filter(|event| event["type"] == "moves_retracted");
    assert!(retracted.clone().count() >= 2);
    assert!(
        retracted
            .clone()
            .all(|event| event["reason"] == "corrected_by_arbiter"
                && event["game"] == 1
                && event["source"] == "arbiter")
    );

    evening.browser.click(".tongue");
    evening.sees(
        "Russian",
        "/Партия 1/.test(document.querySelector('h1').textContent)",
    );
    evening.browser.click(".tongue");
}

/// The sheet of the case of the earlier game.
fn it_is_printed(evening: &Evening, case: &str) -> Value {
    evening.open(&format!("#/report/{case}"));
    evening.sees("the sheet", "document.querySelector('.report .three')");
    let sheet = evening.sees(
        "its text",
        "document.querySelector('.report > div:last-child').innerText",
    );
    let text = sheet.as_str().unwrap();
    for words in [
        "game 1, game 1 of the day at this board · Reti, R – Tartakower, S",
        "Half-move 12",
        "By a person",
        "Penalty given: 120 seconds to White",
        "Penalty taken back",
        "1. e4 c5",
        "Not answered in its game",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let times = text.lines().filter(|line| line.contains("an arbiter:")).count();
    assert_eq!(times, 3, "{text}");
    assert_eq!(evening.browser.sheets(), 1);
    evening.no_barriers();
    evening.picture("sheet.png");
    sheet
}

fn two_arbiters_at_one_case(evening: &mut Evening) {
    evening.boards[1].play("e2e4");
    evening.boards[1].carry(Square::B8, Square::B5);
    evening.open("#/board/gw/2");
    evening.sees(
        "the case",
        "/^Illegal move/.test(document.querySelector('.case h2')?.textContent)",
    );
    let id = evening.sees("its id", "document.querySelector('.case').dataset.case");
    evening.asks(".case [data-verb=accept]");
    let dismissed = evening.anna("2", "dismiss", &json!({ "irregularity": id }));
    assert_eq!(dismissed["ok"], true, "{dismissed}");
    evening.sees("that somebody was quicker", "/Somebody was quicker: Dismissed, Anna Ivanova/.test(document.querySelector('dialog .overtaken:not([hidden])')?.textContent)");
    assert_eq!(
        evening
            .browser
            .run("return document.querySelector('dialog .primary').disabled"),
        true
    );
    evening.cancels();
    evening.sees(
        "how it ended",
        "/Dismissed · .*Anna Ivanova/.test(document.querySelector('.over')?.innerText)",
    );
    evening.no_barriers();
    // Whoever does not look hears it from the gateway.
    let late = evening.command("2", "accept", &json!({ "irregularity": id }));
    assert_eq!(late["error"]["code"], "closed", "{late}");
    let text = evening.browser.run(&format!(
        "return import('/ask.js').then(({{ errorText }}) => errorText({}))",
        late["error"]
    ));
    assert_eq!(text, "It is closed already: Dismissed, by Anna Ivanova.");

    // The way back: open again, everywhere.
    evening.asks(".over [data-verb=reopen]");
    evening.sends();
    evening.sees(
        "it is open",
        "document.querySelector('.case') && !document.querySelector('.over')",
    );
    evening.sees(
        "it counts",
        "/open irregularities: 1/.test(document.getElementById('tally').textContent)",
    );
    let open: Vec<_> = evening
        .get("cases")
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["open"] == true)
        .map(|case| case["id"].clone())
        .collect();
    assert_eq!(open, [id]);
    // What is put right is closed, whoever opened it.
    evening.boards[1].put_back(&[Square::B5, Square::B8]);
    evening.sees(
        "nothing open",
        "!document.querySelector('.case') && /^Put right/m.test(document.querySelector('.over')?.innerText)",
    );
}

fn suspicions_all_at_once(evening: &mut Evening) {
    evening.boards[1].play("e7e5");
    evening.boards[1].touch(Square::B1);
    evening.boards[1].play("g1f3");
    evening.boards[1].touch(Square::G8);
    evening.boards[1].play("b8c6");
    evening.sees(
        "the suspicions",
        "['b1', 'g8'].every((square) => [...document.querySelectorAll('.case.suspected h2')].some((title) => title.textContent.includes(square)))",
    );
    evening.sees(
        "dashed",
        "getComputedStyle(document.querySelector('.case.suspected')).borderTopStyle === 'dashed'",
    );
    evening.asks("[data-act=all]");
    evening.sends();
    evening.sees("none open", "!document.querySelector('.case') && /open irregularities: 0/.test(document.getElementById('tally').textContent)");
}

fn pieces_set_up_without_a_result(evening: &mut Evening) {
    evening.boards[1].set_up();
    evening.sees(
        "a question of the gateway",
        "/no result/.test(document.querySelector('.asks')?.innerText)",
    );
    evening.no_barriers();
    evening.asks(".asks [data-verb=result]");
    evening.fill("result", "1/2-1/2");
    evening.sends();
    evening.sees("that it is answered", "!document.querySelector('.asks')");
}

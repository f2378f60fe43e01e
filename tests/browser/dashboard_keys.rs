//! An arbiter without a mouse: an evening is put right, pairings are put in force and boards bound by keys alone. Nothing is
//! clicked, and nothing gets the focus but by Tab, by arrows and by what the page does itself.

use serde_json::json;
use shakmaty::Square;

use crate::{
    broker::PATIENCE,
    browser::Browser,
    evening::{ENTER, ESCAPE, Evening, RIGHT},
    hall::until,
};

/// The dialog asks; its first field has the focus.
fn is_asked(evening: &Evening) {
    evening.sees(
        "a question, with the focus",
        "document.querySelector('dialog').open && document.querySelector('dialog').contains(document.activeElement)",
    );
}

/// Sends what the dialog asks for; the gateway's answer.
fn sends(evening: &Evening) {
    evening
        .browser
        .run("document.getElementById('toasts').replaceChildren()");
    evening.presses("dialog .primary");
    evening.sees("the reply", "document.querySelector('.toast.good')");
}

/// A select of a dialog gets a value.
fn chooses(evening: &Evening, field: &str, value: &str) {
    evening.tab_to(&format!("dialog [name={field}]"));
    evening.arrows_to(&format!("option.value === '{value}'"));
}

/// What has the focus, for who sees where he is.
fn has_an_outline(browser: &Browser) -> bool {
    let outline = "const style = getComputedStyle(document.activeElement); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0";
    browser.run(outline) == true
}

#[test]
fn an_evening_without_a_mouse() {
    let Some(mut evening) = Evening::begin() else {
        return;
    };
    pairings_and_tables(&mut evening);
    evening.boards[0].play("e2e4 e7e5 g1f3 b8c6");
    evening.recorded("1", 1, "e2e4 e7e5 g1f3 b8c6");
    results(&mut evening);
    cases(&evening);
    half_moves(&evening);
    assert_eq!(evening.browser.complaints(), [""; 0]);
}

/// Pairings are typed and put in force, and kings lifted to say which board is where.
fn pairings_and_tables(evening: &mut Evening) {
    evening.open("");
    evening.sees("two boards", "document.querySelectorAll('.card').length === 2");
    evening.presses(".rounds-button");
    evening.sees("the dialog", "document.querySelector('.rounds')?.open");
    evening.tab_to(".rounds [name=text]");
    evening
        .browser
        .types("board,white,black\n1,Moss,Tal\n2,Berg,Dorn");
    evening.presses("[data-action=check]");
    evening.sees(
        "who sits where",
        "document.querySelectorAll('.seats tbody tr').length === 2",
    );
    evening.presses("[data-action=put]");
    evening.sees("that it is done", "document.querySelector('.found .done')");
    evening.presses("[data-action=bind]");
    evening.sees("the tables", "document.querySelector('.tables')?.open");
    for board in 0..2 {
        evening.boards[board].lift(Square::E1);
        let said =
            |what: &str| format!("document.querySelector('.tables .outcome').textContent.includes('{what}')");
        evening.sees("the king", &said("the king is lifted"));
        evening.boards[board].put_back(&[Square::E1]);
        evening.sees(
            "that it is bound",
            &said(&format!("Table {0} has board {0}", board + 1)),
        );
    }
    evening.presses("[data-action=bind-put]");
    evening.sees("it is in force", "!document.querySelector('.tables')");
    evening.browser.press(ESCAPE);
    evening.sees("the hall", "!document.querySelector('.rounds')");
    until("the names at the boards", PATIENCE, || {
        let names = |board| Some(evening.get(board)?["players"].clone());
        (names("board/gw/1")? == json!(["Moss", "Tal"]) && names("board/gw/2")? == json!(["Berg", "Dorn"]))
            .then_some(())
    });
}

/// A wrong result and back.
fn results(evening: &mut Evening) {
    evening.tab_to(".card[href=\"#/board/gw/1\"]");
    assert!(has_an_outline(&evening.browser), "the focus is seen");
    evening.browser.press(ENTER);
    evening.presses(".acts [data-verb=result]");
    is_asked(evening);
    evening.browser.press(ESCAPE);
    evening.sees("no question", "!document.querySelector('dialog').open");
    evening.presses(".acts [data-verb=result]");
    is_asked(evening);
    chooses(evening, "result", "0-1");
    evening.tab_to("dialog [name=reason]");
    evening.browser.types("the other board");
    sends(evening);
    evening.sees(
        "the result",
        "/0‑1$/.test(document.querySelector('.bigclocks').textContent)",
    );
    evening.presses(".acts [data-verb=resume]");
    is_asked(evening);
    sends(evening);
    evening.boards[0].play("f1b5 a7a6");
    evening.recorded("1", 1, "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6");
}

/// A report, its penalty, its dismissal and the way back, and its sheet.
fn cases(evening: &Evening) {
    evening.presses(".acts [data-verb=report]");
    is_asked(evening);
    chooses(evening, "kind", "two_hands");
    chooses(evening, "ply", "3");
    sends(evening);
    evening.sees(
        "the case",
        "/hands/i.test(document.querySelector('.case h2')?.textContent)",
    );
    evening.presses(".case [data-act=penalty_act]");
    is_asked(evening);
    sends(evening);
    evening.sees(
        "the penalty",
        "/Penalty given/.test(document.querySelector('.case .facts').innerText)",
    );
    evening.presses(".case [data-verb=dismiss]");
    is_asked(evening);
    sends(evening);
    evening.sees(
        "that it is closed",
        "document.querySelector('.over') && !document.querySelector('.case')",
    );
    evening.presses(".over [data-verb=reopen]");
    is_asked(evening);
    sends(evening);
    evening.sees("that it is open", "document.querySelector('.case')");
    evening.presses(".case a[href*=report]");
    evening.sees("the sheet", "document.querySelector('.report .three')");
    evening.presses(".report [data-verb=dismiss]");
    is_asked(evening);
    sends(evening);
    // Home, through the wall and the history, and to the board again.
    evening.browser.press("w");
    evening.sees("the wall", "document.querySelector('.wall .cell')");
    evening.browser.press("h");
    evening.sees("the history", "document.querySelector('.history table')");
    evening.presses(".history tbody a[href*=board]");
    evening.sees(
        "the board",
        "location.hash === '#/board/gw/1' && document.querySelector('.acts')",
    );
}

/// Through the game, and another second half-move.
fn half_moves(evening: &Evening) {
    evening.presses("a.edit");
    evening.sees(
        "the game",
        "document.querySelector('.game .board') && location.hash === '#/game/gw/1/1'",
    );
    evening.presses("[data-step=first]");
    evening.browser.press(RIGHT);
    evening.browser.press(RIGHT);
    evening.sees(
        "the second half-move",
        "/Half-move 2/.test(document.querySelector('.table figcaption').textContent)",
    );
    evening.presses("[data-act=change]");
    evening.sees(
        "the list, with the focus",
        "document.querySelectorAll('.editor select option').length > 20 && document.activeElement.matches('.editor select')",
    );
    evening.arrows_to("option.textContent === 'c5'");
    evening.presses(".editor [data-act=put]");
    evening.sees(
        "it is shown",
        "/To be entered: 1… c5/.test(document.querySelector('.editor').innerText)",
    );
    evening.presses(".editor [data-send]");
    evening.recorded("1", 1, "e2e4 c7c5 g1f3 b8c6 f1b5 a7a6");

    // The last one is taken out, and put in again.
    evening.presses("[data-step=last]");
    evening.sees(
        "the last half-move",
        "/Half-move 6/.test(document.querySelector('.table figcaption').textContent)",
    );
    evening.presses("[data-act=delete]");
    is_asked(evening);
    sends(evening);
    evening.recorded("1", 1, "e2e4 c7c5 g1f3 b8c6 f1b5");
    evening.sees(
        "the one before it",
        "/Half-move 5/.test(document.querySelector('.table figcaption').textContent)",
    );
    evening.presses("[data-act=append]");
    evening.sees(
        "the list, with the focus",
        "document.querySelectorAll('.editor select option').length > 20 && document.activeElement.matches('.editor select')",
    );
    evening.arrows_to("option.textContent === 'a6'");
    evening.presses(".editor [data-act=put]");
    evening.presses(".editor [data-send]");
    evening.recorded("1", 1, "e2e4 c7c5 g1f3 b8c6 f1b5 a7a6");
}

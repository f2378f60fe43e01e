//! Boards that are bound to tables by kings that are lifted, on the page.

use serde_json::{Value, json};
use shakmaty::Square;

use super::dashboard_rounds::{paste, says, seated_at};
use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::Browser,
    evening::Evening,
    hall::{self, until},
    page::Server,
};

/// A king is lifted, which the page sees, and put back.
fn lift(evening: &Evening, board: usize, square: Square) {
    evening.boards[board].lift(square);
    says(evening, &format!("Board {}: the king is lifted", board + 1));
    evening.boards[board].put_back(&[square]);
}

#[test]
fn boards_are_bound_to_tables_by_kings_that_are_lifted() {
    let Some(mut evening) = Evening::begin() else {
        return;
    };
    evening.open("");
    evening.sees("two boards", "document.querySelectorAll('.card').length === 2");
    evening.browser.click(".rounds-button");
    paste(&evening.browser, "board,white,black\n1,Moss,Tal\n2,Berg,Dorn\n");
    evening.browser.click("[data-action=put]");
    evening.sees("the round", "document.querySelector('.found .done')");
    evening.browser.click("[data-action=bind]");
    evening.sees(
        "the tables",
        "document.querySelectorAll('.tables tbody tr').length === 2",
    );
    let now = "document.querySelector('.tables .now').textContent";
    assert_eq!(
        evening.sees("the first table", now),
        "Table 1: lift a king and put it back."
    );
    evening.no_barriers();

    // Two kings at a time bind nothing, whoever puts his back first.
    let is_off = "document.querySelector('[data-action=bind-put]').disabled";
    evening.boards[0].lift(Square::E1);
    says(&evening, "Board 1: the king is lifted");
    evening.boards[1].lift(Square::E8);
    says(&evening, "several boards: 1, 2");
    evening.boards[0].put_back(&[Square::E1]);
    evening.boards[1].put_back(&[Square::E8]);
    lift(&evening, 1, Square::E1);
    says(&evening, "Table 1 has board 2");
    assert_eq!(
        evening.sees("the next table", now),
        "Table 2: lift a king and put it back."
    );
    // The same board again belongs to a table already; undone, it does not.
    lift(&evening, 1, Square::E8);
    says(&evening, "Board 2 belongs to table 1 already");
    evening.browser.click("[data-action=undo]");
    assert_eq!(evening.sees("nothing is bound", is_off), true);
    lift(&evening, 1, Square::E1);
    says(&evening, "Table 1 has board 2");
    lift(&evening, 0, Square::E1);
    says(&evening, "Table 2 has board 1");
    evening.picture("tables.png");
    let journal = hall::journal(&evening.config(), "1");
    let said: Vec<_> = journal
        .iter()
        .filter(|event| event["type"] == "irregularity")
        .collect();
    assert!(
        said.is_empty(),
        "a king that is lifted before a game is nobody's offence: {said:?}"
    );
    assert_eq!(seated_at(&evening), ["Moss", "Berg"], "nothing is in force yet");
    evening.browser.click("[data-action=bind-put]");
    evening.sees("it is in force", "!document.querySelector('.tables')");
    until("the names at the boards", PATIENCE, || {
        (seated_at(&evening) == ["Berg", "Moss"]).then_some(())
    });

    assert_eq!(evening.browser.complaints(), [""; 0]);

    // It outlives the daemon. A board that plays is not bound, and keeps its table.
    evening.start();
    until("the names after a kill", PATIENCE, || {
        (seated_at(&evening) == ["Berg", "Moss"]).then_some(())
    });
    evening.boards[0].play("e2e4 e7e5");
    evening.recorded("1", 1, "e2e4 e7e5");
    assert_eq!(
        hall::journal(&evening.config(), "1")
            .iter()
            .find(|event| event["type"] == "game_started")
            .unwrap()["white"],
        "Berg"
    );
    evening.open("");
    evening.sees("two boards", "document.querySelectorAll('.card').length === 2");
    evening.browser.click(".tongue");
    evening.browser.click(".rounds-button");
    evening.browser.click("[data-action=bind]");
    evening.sees(
        "the tables",
        "document.querySelectorAll('.tables tbody tr').length === 2",
    );
    assert_eq!(
        evening
            .browser
            .run("return document.querySelector('.tables tbody td').textContent"),
        "2"
    );
    evening.boards[0].touch(Square::E1);
    says(&evening, "На доске 1 идёт партия");
    evening.browser.click("[data-action=bind-configured]");
    says(&evening, "остаются на своих столах до следующего тура: 1.");
    evening.browser.click("[data-action=bind-close]");
    evening.sees("it is closed", "!document.querySelector('.tables')");
}

/// A script for the page: `steps` are what somebody does and boards show, each answered by what comes of it.
fn bound(browser: &Browser, steps: &str) -> Value {
    browser.run(&format!(
        "return import('/binding.js').then(({{ Binding }}) => {{
           const full = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR', up = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR';
           const black = 'rnbq1bnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR', queen = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR';
           const both = 'rnbq1bnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR', gone = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB2BNR';
           const one = new Binding(['a', 'b', 'c']), said = [];
           const sees = (board, ...shown) => shown.forEach((placement) => said.push(one.sees(board, placement, false)?.what ?? '-'));
           const plays = (board, ...shown) => shown.forEach((placement) => said.push(one.sees(board, placement, true)?.what ?? '-'));
           for (const board of ['a', 'b', 'c', 'x']) one.sees(board, full, false);
           {steps}
           return [said.join(' '), one.order.join(''), [...one.bound].join(''), one.at];
         }})"
    ))
}

#[test]
fn what_a_lifted_king_means() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let server = Server::start(mosquitto.port, free_port(), &[]);
    browser.open(&server.url(""));
    for (what, steps, expected) in [
        (
            "boards are exchanged, and none gets lost",
            "sees('c', up, full); sees('b', black, full)",
            json!(["lifted bound lifted bound", "cba", "01", 2]),
        ),
        (
            "a king that is still lifted, or went elsewhere, binds nothing",
            "sees('b', up); sees('c', up, gone, full)",
            json!(["lifted together - -", "abc", "", 0]),
        ),
        (
            "nor another piece, both kings at once, or a board of another hall",
            "sees('b', queen, full, both, full); sees('x', up, full)",
            json!(["- - - - - -", "abc", "", 0]),
        ),
        (
            "what is told again changes nothing",
            "sees('b', full, up, up, full, full)",
            json!(["- lifted - bound -", "bac", "0", 1]),
        ),
        (
            "a board whose link is lost with the king in the air",
            "sees('b', up, null, full); sees('c', up, full)",
            json!(["lifted - - lifted bound", "cba", "0", 1]),
        ),
        (
            "a king that was laid aside spoils one other, and not all",
            "sees('a', up); sees('b', up, full, up, full)",
            json!(["lifted together - lifted bound", "bac", "0", 1]),
        ),
        (
            "a king that is put back unseen, before the other one is lifted",
            "sees('a', up); sees('b', black); sees('a', full); sees('b', up, full)",
            json!(["lifted together - lifted bound", "bac", "0", 1]),
        ),
        (
            "games that go on are in nobody's way",
            "plays('a', up); sees('b', up, full); plays('a', full)",
            json!(["- lifted bound playing", "bac", "0", 1]),
        ),
        (
            "a board twice, and undone",
            "sees('b', up, full, up, full); one.undo(); sees('b', up, full); one.undo(); one.skip(); sees('b', up, full)",
            json!([
                "lifted bound lifted twice lifted bound lifted bound",
                "abc",
                "1",
                2
            ]),
        ),
        (
            "a table that is bound anew",
            "sees('b', up, full); one.turn(0); sees('c', up, full); sees('b', up, full)",
            json!(["lifted bound lifted bound lifted bound", "cba", "01", 2]),
        ),
        (
            "after the last table there is nothing to bind",
            "sees('a', up, full); one.skip(); one.skip(); sees('b', up, full); sees('a', up, full); one.undo(); sees('b', up, full)",
            json!([
                "lifted bound lifted - lifted twice lifted bound",
                "acb",
                "02",
                null
            ]),
        ),
    ] {
        assert_eq!(bound(&browser, steps), expected, "{what}");
    }
}

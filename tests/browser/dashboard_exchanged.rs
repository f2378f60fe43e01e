//! Two boards on which the same position stands come to each other's tables in mid-game. The recipe of docs/broadcast.md loses no
//! half-move.

use std::fs;

use serde_json::json;

use crate::{
    broker::PATIENCE,
    evening::Evening,
    hall::{accusations, journal, until},
};

/// The same position comes about in another order at each table.
const OPENINGS: [&str; 2] = ["e2e4 e7e5 g1f3 b8c6", "g1f3 b8c6 e2e4 e7e5"];

/// The boards are plugged into each other's ports.
fn exchange_cables(evening: &mut Evening) {
    let config = evening.config();
    let text = fs::read_to_string(&config).unwrap();
    let [first, second] = evening
        .boards
        .each_ref()
        .map(|players| format!("\"{}\"", players.port));
    let text = text
        .replace(&first, "\"...\"")
        .replace(&second, &first)
        .replace("\"...\"", &second);
    fs::write(&config, text).unwrap();
    evening.start();
}

/// Says who sits at the two boards.
fn pair(evening: &Evening, first: &str, second: &str) {
    let text = format!("round,board,white,black\n1,1,{first}\n1,2,{second}\n");
    let put = json!({ "text": text, "round": 1, "put": true });
    let answer = evening.round("pairings", &put);
    assert_eq!(answer["state"]["put"], true, "{answer}");
}

#[test]
fn two_boards_that_were_exchanged_in_one_position_are_put_right_without_losing_a_half_move() {
    let Some(mut evening) = Evening::begin_with("[broadcast]\nfolder = \"open\"\n") else {
        return;
    };
    pair(&evening, "Moss,Tal", "Berg,Dorn");
    for (i, opening) in OPENINGS.iter().enumerate() {
        evening.boards[i].play(opening);
        evening.recorded(&(i + 1).to_string(), 1, opening);
    }
    exchange_cables(&mut evening);
    // Each game goes on with the half-moves of the other table.
    evening.boards[0].play("f1b5 a7a6");
    evening.boards[1].play("f1c4 f8c5");
    evening.recorded("1", 1, &format!("{} f1c4 f8c5", OPENINGS[0]));
    evening.recorded("2", 1, &format!("{} f1b5 a7a6", OPENINGS[1]));

    // The boards stay where they are: each has the names of the players who sit at it, and their opening.
    pair(&evening, "Berg,Dorn", "Moss,Tal");
    for (board, opening) in ["1", "2"].into_iter().zip([OPENINGS[1], OPENINGS[0]]) {
        let insert: Vec<_> = opening.split(' ').collect();
        let order = json!({ "ply": 1, "delete": 4, "insert": insert });
        let answer = evening.command(board, "correct", &order);
        assert_eq!(answer["ok"], true, "{answer}");
    }
    evening.boards[0].play("b5a4");
    evening.boards[1].play("c2c3");
    evening.recorded("1", 1, &format!("{} f1c4 f8c5 c2c3", OPENINGS[1]));
    evening.recorded("2", 1, &format!("{} f1b5 a7a6 b5a4", OPENINGS[0]));
    for (board, white, last) in [(1, "Berg", "c3"), (2, "Moss", "Ba4")] {
        until("the public's game", PATIENCE, || {
            let text = evening.public(board);
            let has = text.contains(&format!("[White \"{white}\"]")) && text.contains(&format!(" {last} "));
            has.then_some(())
        });
    }
    for board in ["1", "2"] {
        let events = journal(&evening.config(), board);
        let accused = accusations(&events);
        assert!(accused.is_empty(), "{accused:?}");
    }
}

//! The interface for tools of others.

use dgt2mqtt::event::GameResult;
use serde_json::{Value, json};

use super::{Differences, Evening, NAMES};
use crate::page::http;

/// What tools of others are told of the last game of a board: up to an illegal half-move, which has no name there.
pub(super) fn compare(
    evening: &Evening,
    found: &mut Differences,
    board: usize,
    made: &[Value],
    result: GameResult,
) {
    let get = |path: &str| -> Value {
        let (_, body) = http(
            evening.livechess,
            "GET",
            &format!("/api/v1.0/{path}"),
            "",
            &Value::Null,
        );
        serde_json::from_str(&body).unwrap_or_default()
    };
    let tournament = get("tournaments")[0]["uuid"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let name = get(&format!("tournament/{tournament}"))["name"].clone();
    found.compare("LiveChess, event", name, "Vienna");
    let pairing = get(&format!("round/{tournament}/0"))["pairings"][board - 1].clone();
    let game = get(&format!("game/{}", pairing["uuid"].as_str().unwrap_or_default()));
    let moves = game["moves"].as_array().cloned().unwrap_or_default();
    // Behind the name stand the seconds of the clock.
    let names: Vec<&str> = moves
        .iter()
        .filter_map(|made| made.as_str()?.split(' ').next())
        .collect();
    let named: Vec<&str> = made.iter().map_while(|made| made["san"].as_str()).collect();
    let name = format!("board {board}, LiveChess");
    found.compare(&name, json!(names), json!(named));
    let word = match result {
        GameResult::WhiteWins | GameResult::WhiteByForfeit => json!("WHITEWIN"),
        GameResult::BlackWins | GameResult::BlackByForfeit => json!("BLACKWIN"),
        GameResult::Draw => json!("DRAW"),
        _ => Value::Null,
    };
    found.compare(
        &format!("{name}, result"),
        json!([pairing["result"], game["result"]]),
        json!([word, word]),
    );
    let [white, black] = NAMES[board - 1].map(|name| name.split(',').next().unwrap());
    found.compare(
        &format!("{name}, names"),
        json!([pairing["white"]["lname"], pairing["black"]["lname"]]),
        json!([white, black]),
    );
}

//! What people put right in rounds: names, and results that were entered by hand, also of a round that is over. Nothing
//! that is right is lost by it.

use std::fs;

use serde_json::{Value, json};

use crate::{broker::Got, hall::program, rounds_begin::Hall};

/// Three games in two rounds, the third of them without a board; `third` are its players in round 1.
fn table(third: &str) -> String {
    format!(
        "round,board,white,black\n1,1,Moss,Tal\n1,2,Euwe,Kolb\n1,3,{third}\n2,1,Tal,Euwe\n2,2,Kolb,Moss\n2,3,Dorn,Berg\n"
    )
}

pub fn pairings(text: &str, round: u32, put: bool) -> Value {
    json!({ "text": text, "round": round, "put": put })
}

pub fn enter(round: u32, result: &str) -> Value {
    json!({ "round": round, "results": { "3": result }, "sender": "Anna" })
}

const THIRD: [&str; 2] = ["open/round-1/game-3.pgn", "open/round-2/game-3.pgn"];

#[tokio::test]
async fn a_round_that_is_over_is_put_right_while_the_next_goes_on() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let text = table("Berg,Dorn");
    hall.arbiter.done("pairings", pairings(&text, 1, true)).await;
    hall.arbiter.done("results", enter(1, "1-0")).await;
    hall.next(json!({ "begin": 2, "force": true })).await;
    hall.arbiter.done("results", enter(2, "0-1")).await;
    hall.has(THIRD[1], &["[Result \"0-1\"]"]);

    // A name of the first round is spelt right.
    let right = text.replace("1,1,Moss", "1,1,Mosse");
    let check = hall.arbiter.done("pairings", pairings(&right, 1, false)).await;
    assert_eq!((&check["refused"], &check["wrong"]), (&Value::Null, &json!([])));
    let put = hall.arbiter.done("pairings", pairings(&right, 1, true)).await;
    assert_eq!((&put["round"], &put["present"]), (&json!(1), &json!(2)), "{put}");
    hall.has("open/round-1/game-1.pgn", &["[White \"Mosse\"]"]);
    hall.has(THIRD[0], &["[Result \"1-0\"]"]);
    hall.has(THIRD[1], &["[Result \"0-1\"]"]);

    // A result of that round was wrong. What is known of it outlives the daemon.
    hall.arbiter.done("results", enter(1, "1/2-1/2")).await;
    hall.has(THIRD[0], &["[Result \"1/2-1/2\"]"]);
    hall.has("open/round-1/game-1.pgn", &["[White \"Mosse\"]"]);
    hall.kill().await;
    let listed = hall.arbiter.done("results", json!({ "round": 1 })).await;
    assert_eq!(
        (&listed["games"][0]["result"], &listed["games"][0]["by"]),
        (&json!("1/2-1/2"), &json!("Anna"))
    );
    let present = hall.arbiter.done("results", json!({})).await;
    assert_eq!(
        (&present["round"], &present["games"][0]["result"]),
        (&json!(2), &json!("0-1"))
    );
    hall.has(THIRD[1], &["[Result \"0-1\"]"]);

    let answer = hall.arbiter.ask("results", enter(7, "1-0")).await;
    assert_eq!(answer["error"]["code"], "round_not_present");
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`pairings`")
    );
    assert!(hall.daemon.take().unwrap().stop());
}

#[tokio::test]
async fn a_round_that_was_begun_by_mistake_is_left_again_and_loses_nothing() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let text = table("Berg,Dorn");
    hall.arbiter.done("pairings", pairings(&text, 1, true)).await;
    hall.arbiter.done("results", enter(1, "1-0")).await;
    hall.next(json!({ "begin": 2, "force": true })).await;
    let put = hall.arbiter.done("pairings", pairings(&text, 1, true)).await;
    assert_eq!(
        (&put["round"], &put["present"]),
        (&json!(1), &Value::Null),
        "{put}"
    );
    hall.arbiter.names("1", "Moss").await;
    let listed = hall.arbiter.done("results", json!({})).await;
    assert_eq!(
        (&listed["round"], &listed["games"][0]["result"]),
        (&json!(1), &json!("1-0"))
    );
    hall.has(THIRD[0], &["[Result \"1-0\"]"]);
    assert!(hall.daemon.take().unwrap().stop());
}

#[tokio::test]
async fn a_round_that_was_begun_too_early_gives_its_games_to_the_one_before() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let text = table("Berg,Dorn");
    hall.arbiter.done("pairings", pairings(&text, 1, true)).await;
    hall.next(json!({ "begin": 2, "force": true })).await;
    hall.arbiter.done("results", enter(2, "0-1")).await;
    // A player comes late for his game of the first round, and loses it.
    let lost = to_board(&hall, "1", "result", forfeit("late", "-/+", 1)).await;
    assert_eq!(lost["ok"], true, "{lost}");
    hall.has(
        "open/round-2/game-1.pgn",
        &["[White \"Tal\"]", "[Result \"0-1\"]"],
    );

    let put = hall.arbiter.done("pairings", pairings(&text, 1, true)).await;
    assert_eq!(
        put["present"], 2,
        "only a person knows that it was a mistake: {put}"
    );
    let mut back = pairings(&text, 1, true);
    back["back"] = true.into();
    let put = hall.arbiter.done("pairings", back).await;
    assert_eq!(
        (&put["round"], &put["present"]),
        (&json!(1), &Value::Null),
        "{put}"
    );
    let named = hall.arbiter.event("names_corrected", 1).await;
    assert_eq!(named["round"], 1, "{named}");
    hall.has(
        "open/round-1/game-1.pgn",
        &["[White \"Moss\"]", "[Round \"1.1\"]", "[Result \"0-1\"]"],
    );
    let is_there = |hall: &Hall| hall.folder.path().join("open/round-2").exists();
    assert!(!is_there(&hall));

    // It is so over a kill, and when the second round begins, it has none of these games and what was entered for it.
    hall.kill().await;
    hall.has("open/round-1/game-1.pgn", &["[Result \"0-1\"]"]);
    assert!(!is_there(&hall));
    hall.next(json!({ "begin": 2, "force": true })).await;
    hall.has("open/round-2/game-1.pgn", &["[White \"Tal\"]", "[Result \"*\"]"]);
    hall.has(THIRD[1], &["[Result \"0-1\"]"]);
    hall.has(
        "open/round-1/game-1.pgn",
        &["[White \"Moss\"]", "[Result \"0-1\"]"],
    );
    assert!(hall.daemon.take().unwrap().stop());
}

#[tokio::test]
async fn a_name_that_is_spelt_right_keeps_its_result_and_other_players_do_not() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    hall.arbiter
        .done("pairings", pairings(&table("Berk,Dorn"), 1, true))
        .await;
    hall.arbiter.done("results", enter(1, "1-0")).await;
    let put = hall
        .arbiter
        .done("pairings", pairings(&table("Berg,Dorn"), 1, true))
        .await;
    assert_eq!(put["noted"][0]["code"], "result_stays", "{put}");
    hall.has(THIRD[0], &["[White \"Berg\"]", "[Result \"1-0\"]"]);

    // The players change colours: what goes is named before it goes, and counts again when it is taken back.
    let other = table("Dorn,Berg");
    let check = hall.arbiter.done("pairings", pairings(&other, 1, false)).await;
    let noted = check["noted"].as_array().unwrap().iter();
    let goes: Vec<_> = noted.filter(|noted| noted["code"] == "result_goes").collect();
    assert_eq!(
        (&goes[0]["game"], &goes[0]["result"], &goes[0]["by"]),
        (&json!(3), &json!("1-0"), &json!("Anna")),
        "{check}"
    );
    hall.has(THIRD[0], &["[White \"Berg\"]", "[Result \"1-0\"]"]);
    hall.arbiter.done("pairings", pairings(&other, 1, true)).await;
    hall.has(THIRD[0], &["[White \"Dorn\"]", "[Result \"*\"]"]);
    hall.arbiter
        .done("pairings", pairings(&table("Berg,Dorn"), 1, true))
        .await;
    hall.has(THIRD[0], &["[White \"Berg\"]", "[Result \"1-0\"]"]);
    assert!(hall.daemon.take().unwrap().stop());
}

/// Sends a command to a board, and returns its answer.
pub async fn to_board(hall: &Hall, board: &str, verb: &str, fields: Value) -> Value {
    let (place, subscriber) = (format!("dgt2mqtt/gw/board/{board}"), &hall.arbiter.subscriber);
    let topic = format!("{place}/cmd/{verb}");
    subscriber.publish(&topic, false, fields.to_string(), None).await;
    let reply = format!("{place}/reply/{verb}");
    let is_answer = |got: &Got| got.topic == reply && got.json()["ref"] == fields["ref"];
    subscriber.wait(verb, is_answer).await.json()
}

pub fn forfeit(reference: &str, result: &str, game: u32) -> Value {
    json!({ "ref": reference, "result": result, "game": game, "sender": "Anna" })
}

#[tokio::test]
async fn games_of_a_board_that_is_not_configured_any_more_are_put_right() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    for (game, reference) in [(1, "a"), (2, "b")] {
        let answer = to_board(&hall, "1", "result", forfeit(reference, "+/-", game)).await;
        assert_eq!(answer["ok"], true, "{answer}");
    }
    let config = hall.folder.path().join("dgt2mqtt.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("id = \"1\""), "{text}");
    fs::write(&config, text.replace("id = \"1\"", "id = \"9\"")).unwrap();
    hall.kill().await;

    // The last game, and one before it.
    for (game, reference) in [(2, "c"), (1, "d")] {
        let answer = to_board(&hall, "1", "result", forfeit(reference, "-/+", game)).await;
        assert_eq!(answer["state"]["game"]["result"], "-/+", "{answer}");
        let is_ended = |got: &Got| {
            let is_it = got.topic == "dgt2mqtt/gw/board/1/event/game_ended";
            is_it && got.json()["game"] == game && got.json()["result"] == "-/+"
        };
        let ended = hall
            .arbiter
            .subscriber
            .wait("the other result", is_ended)
            .await
            .json();
        assert_eq!(ended["by"], "Anna");
    }
    for (board, verb, fields, code) in [
        ("1", "new_game", json!({ "ref": "e" }), "unknown_board"),
        ("7", "result", forfeit("f", "-/+", 1), "unknown_board"),
        // A board that is gone has no next game.
        ("1", "result", forfeit("g", "-/+", 3), "no_such_game"),
    ] {
        let answer = to_board(&hall, board, verb, fields).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    assert!(hall.daemon.take().unwrap().stop());

    // The commands of one game.
    let shown = program()
        .args(["journal", "--commands", "--board", "1", "--game", "1", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let commands: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = commands
        .iter()
        .map(|command| (&command["game"], &command["ref"]))
        .collect();
    let one = json!(1);
    assert_eq!(told, [(&one, &json!("a")), (&one, &json!("d"))], "{shown}");
}

#[tokio::test]
async fn the_date_of_a_game_is_the_day_at_its_place() {
    let mut hall = Hall::begin("round = 1\nhold_results_seconds = 0\n").await;
    let answer = to_board(&hall, "1", "result", forfeit("a", "+/-", 1)).await;
    assert_eq!(answer["ok"], true, "{answer}");
    assert!(hall.daemon.take().unwrap().stop());
    let date = |zone: &str| {
        let config = hall.folder.path().join("dgt2mqtt.toml");
        let shown = program()
            .env("TZ", zone)
            .args(["pgn", "--config"])
            .arg(config)
            .output()
            .unwrap();
        let pgn = String::from_utf8(shown.stdout).unwrap();
        let line = pgn
            .lines()
            .find(|line| line.starts_with("[Date"))
            .map(str::to_owned);
        line.unwrap_or_else(|| panic!("{zone}: {pgn}"))
    };
    // Twenty-six hours lie between the first and the last of the world's clocks.
    assert_ne!(date("XXX12"), date("XXX-14"));
}

#[tokio::test]
async fn a_reload_says_where_a_changed_file_counts_for_nothing() {
    let mut hall = Hall::begin("round = 1\n").await;
    hall.arbiter
        .done("pairings", pairings(&table("Berg,Dorn"), 1, true))
        .await;
    let (config, file) = (
        hall.folder.path().join("dgt2mqtt.toml"),
        hall.folder.path().join("pairings.csv"),
    );
    fs::write(&file, "board,white,black\n1,Anna,Bea\n").unwrap();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + "pairings = \"pairings.csv\"\n").unwrap();
    hall.arbiter.done("reload", json!({})).await;
    fs::write(&file, "board,white,black\n1,Cleo,Bea\n").unwrap();
    let state = hall.arbiter.done("reload", json!({})).await;
    let taken = state["taken_over"][0].as_str().unwrap();
    assert!(taken.contains("nothing counts"), "{state}");
    assert!(hall.daemon.take().unwrap().stop());
}

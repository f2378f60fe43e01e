//! What the hall makes of an arbiter's work: games, results, cases with their journals.

use serde_json::{Value, json};

use super::{tests::*, *};

/// An event of a game.
fn of_game(seq: u64, game: u32, fields: &Value) -> Value {
    let mut event = json!({"v":1,"id":format!("gw/7/{seq}"),"seq":seq,"board":"7","game":game,"t":1.0,
        "time":format!("2026-11-21T14:00:{seq:02}Z")});
    let fields = fields.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(fields);
    event
}

fn begins(seq: u64, number: u32) -> Value {
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    of_game(
        seq,
        number,
        &json!({"type":"game_started","fen":fen,"chess960":false,"white":"Anna","black":"Boris","round":3}),
    )
}

fn made(seq: u64, number: u32, ply: u32, uci: &str) -> Value {
    of_game(
        seq,
        number,
        &json!({"type":"move","ply":ply,"uci":uci,"san":uci,"fen":"x","completed_by":"clock","clock":null}),
    )
}

fn entered(seq: u64, number: u32, ply: u32, uci: &str) -> Value {
    let mut event = made(seq, number, ply, uci);
    event["source"] = "arbiter".into();
    event
}

fn case(seq: u64, number: u32, certainty: &str) -> Value {
    let mut event = irregularity(seq);
    (event["game"], event["certainty"]) = (number.into(), certainty.into());
    event
}

fn by_arbiter(seq: u64, number: u32, by: &str, fields: &Value) -> Value {
    let mut event = of_game(seq, number, fields);
    (event["source"], event["by"]) = ("arbiter".into(), by.into());
    event
}

fn present(hall: &mut Hall, number: u32, result: &str, open: &[&str], last_seq: u64) {
    let game = json!({"game":number,"start_fen":null,"chess960":false,"moves":[],"san":[],"fen":null,"to_move":null,
        "result":result,"open_irregularities":open,"last_seq":last_seq});
    hall.take("gw/board/7/game", game.to_string().as_bytes(), 0);
}

fn game_of(hall: &Hall, number: u32) -> Value {
    serde_json::to_value(hall.game(&key(), number)).unwrap()
}

fn case_of(hall: &Hall, id: &str) -> Value {
    let cases = serde_json::to_value(hall.cases()).unwrap();
    let mut cases = cases.as_array().unwrap().iter();
    cases.find(|case| case["id"] == id).unwrap().clone()
}

#[test]
fn games_are_told_with_what_an_arbiter_put_right() {
    let mut hall = online();
    for event in [
        begins(1, 1),
        made(2, 1, 1, "e2e4"),
        made(3, 1, 2, "e7e5"),
        by_arbiter(
            4,
            1,
            "Clara",
            &json!({"type":"game_ended","result":"1-0","reason":"arbiter","note":"agreed"}),
        ),
        begins(5, 2),
        made(6, 2, 1, "d2d4"),
        // An arbiter corrects the first game while the second goes on.
        by_arbiter(
            7,
            1,
            "Clara",
            &json!({"type":"moves_retracted","to_ply":1,"reason":"corrected_by_arbiter"}),
        ),
        entered(8, 1, 2, "c7c5"),
        entered(9, 1, 3, "g1f3"),
        by_arbiter(
            10,
            1,
            "Clara",
            &json!({"type":"game_ended","result":"-/+","reason":"arbiter"}),
        ),
    ] {
        say(&mut hall, &event);
    }
    present(&mut hall, 2, "*", &[], 10);
    let first = game_of(&hall, 1);
    let moves: Vec<_> = first["moves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|made| &made["uci"])
        .collect();
    assert_eq!(moves, ["e2e4", "c7c5", "g1f3"]);
    assert_eq!(
        (
            &first["end"]["result"],
            &first["end"]["by"],
            &first["complete"],
            &first["present"]
        ),
        (&json!("-/+"), &json!("Clara"), &json!(true), &json!(false)),
        "the last result counts"
    );
    assert_eq!(first["players"], json!(["Anna", "Boris"]));
    say(
        &mut hall,
        &by_arbiter(11, 1, "Clara", &json!({"type":"game_resumed","reason":null})),
    );
    assert_eq!(game_of(&hall, 1)["end"], Value::Null);
    let detail = serde_json::to_value(hall.detail(&key(), 0)).unwrap();
    let lines: Vec<_> = detail["games"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["number"])
        .collect();
    assert_eq!(lines, [2, 1]);
    assert_eq!(game_of(&hall, 3), Value::Null);
}

#[test]
fn half_moves_keep_their_times_and_what_a_person_puts_in_has_none() {
    let mut hall = online();
    let retracted = json!({"type":"moves_retracted","to_ply":1,"reason":"corrected_by_arbiter"});
    for event in [
        begins(1, 1),
        made(2, 1, 1, "e2e4"),
        made(3, 1, 2, "e7e5"),
        made(4, 1, 3, "g1f3"),
        by_arbiter(50, 1, "Clara", &retracted),
        entered(51, 1, 2, "c7c5"),
        entered(52, 1, 3, "g1f3"),
    ] {
        say(&mut hall, &event);
    }
    present(&mut hall, 1, "*", &[], 52);
    let moves = game_of(&hall, 1)["moves"].clone();
    let times: Vec<_> = (0..3).map(|i| moves[i]["time"].clone()).collect();
    let known = |s| json!(format!("2026-11-21T14:00:{s}Z"));
    assert_eq!(times, [known("02"), Value::Null, known("04")]);
}

#[test]
fn a_game_whose_begin_was_not_told_is_not_taken_for_whole() {
    let mut hall = online();
    say(&mut hall, &made(2, 1, 5, "e2e4"));
    assert_eq!(game_of(&hall, 1)["complete"], false);
    // The state knows all half-moves of the present game.
    let state = json!({"game":1,"start_fen":"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1","chess960":false,
        "moves":["e2e4","e7e5"],"san":["e4","e5"],"fen":null,"to_move":"white","result":"*","open_irregularities":[],"last_seq":2});
    hall.take("gw/board/7/game", state.to_string().as_bytes(), 0);
    let game = game_of(&hall, 1);
    assert_eq!(game["complete"], true);
    assert!(
        game["moves"][1]["fen"]
            .as_str()
            .unwrap()
            .starts_with("rnbqkbnr/pppp1ppp/8/4p3")
    );
}

#[test]
fn what_is_open_means_the_same_everywhere() {
    let mut hall = online();
    say(&mut hall, &begins(1, 1));
    say(&mut hall, &case(2, 1, "certain"));
    say(&mut hall, &case(3, 1, "suspected"));
    present(&mut hall, 1, "*", &["gw/7/2"], 3);
    assert_eq!(open(&hall), ["gw/7/2", "gw/7/3"]);
    for id in ["gw/7/2", "gw/7/3"] {
        assert_eq!(case_of(&hall, id)["open"], true, "{id}");
    }
    // A suspicion lasts as long as the game goes on.
    present(&mut hall, 1, "1-0", &["gw/7/2"], 3);
    assert_eq!(open(&hall), ["gw/7/2"]);
    say(&mut hall, &begins(4, 2));
    present(&mut hall, 2, "*", &[], 4);
    assert!(open(&hall).is_empty());
    assert_eq!(case_of(&hall, "gw/7/2")["open"], false);
    // An arbiter opens it again, and closes it.
    let reopened = json!({"type":"irregularity_reopened","irregularity":"gw/7/2","open":true});
    say(&mut hall, &by_arbiter(5, 1, "Clara", &reopened));
    assert_eq!(open(&hall), ["gw/7/2"]);
    let stands = json!({"type":"irregularity_resolved","irregularity":"gw/7/2","how":"stands"});
    say(&mut hall, &by_arbiter(6, 1, "Clara", &stands));
    assert!(open(&hall).is_empty());
}

#[test]
fn a_case_keeps_a_journal() {
    let mut hall = online();
    say(&mut hall, &begins(1, 1));
    say(&mut hall, &case(2, 1, "certain"));
    present(&mut hall, 1, "*", &["gw/7/2"], 2);
    let of = |fields: Value| {
        let mut fields = fields;
        fields["irregularity"] = "gw/7/2".into();
        fields
    };
    let given = json!({"kind":"time","seconds":120,"to":"white"});
    let none = json!({"kind":"none","seconds":0,"to":null});
    let restored = json!({"type":"irregularity_resolved","how":"restored"});
    say(&mut hall, &of_game(3, 1, &of(restored)));
    let noted = json!({"type":"case_noted","penalty":given,"note":"said so"});
    say(&mut hall, &by_arbiter(4, 1, "Clara", &of(noted)));
    assert_eq!(case_of(&hall, "gw/7/2")["penalty"], given);
    let note = json!({"type":"case_noted","penalty":null,"note":"a word"});
    say(&mut hall, &by_arbiter(5, 1, "Clara", &of(note)));
    assert_eq!(
        case_of(&hall, "gw/7/2")["penalty"],
        given,
        "a note says nothing of it"
    );
    let undone = json!({"type":"case_noted","penalty":none,"note":null});
    say(&mut hall, &by_arbiter(6, 1, "David", &of(undone)));
    let dismissed = json!({"type":"irregularity_resolved","how":"dismissed"});
    say(&mut hall, &by_arbiter(7, 1, "David", &of(dismissed)));
    let again = json!({"type":"irregularity_reopened","open":false});
    say(&mut hall, &by_arbiter(8, 1, "Clara", &of(again)));
    let case = case_of(&hall, "gw/7/2");
    assert_eq!(case["penalty"], Value::Null);
    assert_eq!(
        (&case["how"], &case["open"]),
        (&json!("restored"), &json!(false)),
        "it only counts again"
    );
    let journal = case["journal"].as_array().unwrap();
    let entries: Vec<_> = journal
        .iter()
        .map(|entry| (entry["what"].as_str().unwrap(), entry["by"].as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            ("said", None),
            ("ended", None),
            ("noted", Some("Clara")),
            ("noted", Some("Clara")),
            ("noted", Some("David")),
            ("ended", Some("David")),
            ("reopened", Some("Clara")),
        ]
    );
    assert_eq!(case["players"], json!(["Anna", "Boris"]));
    assert_eq!(case["round"], 3);
    assert_eq!(case["began"], "2026-11-21T14:00:01Z");
}

/// Holds that a game keeps its names when the next round is paired.
#[test]
fn who_played_a_game_is_kept_when_others_are_paired() {
    let mut hall = online();
    let pair = |hall: &mut Hall, names: [&str; 2]| {
        let info = json!({"version":"1","boards":["7"],"players":{"7":names}});
        hall.take("gw/info", info.to_string().as_bytes(), 0);
    };
    pair(&mut hall, ["Reti, R", "Tartakower, S"]);
    say(&mut hall, &begins(1, 1));
    present(&mut hall, 1, "*", &[], 1);
    present(&mut hall, 1, "1-0", &[], 1);
    pair(&mut hall, ["Menchik, V", "Thomas, G"]);
    say(&mut hall, &begins(2, 2));
    present(&mut hall, 2, "*", &[], 2);
    assert_eq!(game_of(&hall, 1)["players"], json!(["Reti, R", "Tartakower, S"]));
    assert_eq!(game_of(&hall, 2)["players"], json!(["Menchik, V", "Thomas, G"]));
}

/// Holds it for a game of a closed round that goes on, on a page that was opened when the next round was in force.
#[test]
fn a_game_of_the_round_before_keeps_its_names() {
    let mut hall = online();
    let info = json!({"version":"1","boards":["7"],"round":4,"players":{"7":["Menchik, V", "Thomas, G"]}});
    hall.take("gw/info", info.to_string().as_bytes(), 0);
    say(&mut hall, &begins(1, 1));
    let shown = |hall: &Hall| serde_json::to_value(hall.view(0)).unwrap()["boards"][0]["players"].clone();
    for result in ["*", "1-0"] {
        present(&mut hall, 1, result, &[], 1);
        assert_eq!(
            game_of(&hall, 1)["players"],
            json!(["Anna", "Boris"]),
            "of round 3"
        );
    }
    assert_eq!(
        shown(&hall),
        json!(["Menchik, V", "Thomas, G"]),
        "they sit down now"
    );
    present(&mut hall, 1, "*", &[], 1);
    assert_eq!(shown(&hall), json!(["Anna", "Boris"]));
}

#[test]
fn what_a_notice_asks_is_asked_until_it_is_answered() {
    let mut hall = online();
    let asks = |hall: &Hall| serde_json::to_value(hall.view(0)).unwrap()["boards"][0]["asks"].clone();
    let notice = json!({"type":"notice","code":"set_up_without_result","message":"?"});
    say(&mut hall, &begins(1, 1));
    present(&mut hall, 1, "*", &[], 1);
    assert_eq!(asks(&hall), Value::Null);
    say(&mut hall, &of_game(2, 1, &notice));
    assert_eq!(asks(&hall), "set_up_without_result");
    say(
        &mut hall,
        &by_arbiter(3, 1, "Clara", &json!({"type":"game_resumed","reason":null})),
    );
    assert_eq!(asks(&hall), Value::Null);
    let notice = json!({"type":"notice","code":"result_contradicts","message":"?"});
    say(&mut hall, &of_game(4, 1, &notice));
    // The board shows the position that the notice asked about.
    say(
        &mut hall,
        &of_game(
            5,
            1,
            &json!({"type":"game_ended","result":"1-0","reason":"kings_in_the_centre"}),
        ),
    );
    assert_eq!(asks(&hall), "result_contradicts");
    say(
        &mut hall,
        &by_arbiter(
            6,
            1,
            "Clara",
            &json!({"type":"game_ended","result":"0-1","reason":"arbiter"}),
        ),
    );
    assert_eq!(asks(&hall), Value::Null);
    // A notice on missed half-moves asks until the record goes on, whoever puts it right.
    say(&mut hall, &begins(7, 2));
    present(&mut hall, 2, "*", &[], 7);
    let notice = json!({"type":"notice","code":"gap_not_explained","message":"?"});
    say(&mut hall, &of_game(8, 2, &notice));
    assert_eq!(asks(&hall), "gap_not_explained");
    let mut recovered = made(9, 2, 1, "e2e4");
    recovered["completed_by"] = json!("recovered");
    say(&mut hall, &recovered);
    assert_eq!(asks(&hall), "gap_not_explained", "nobody saw it");
    say(&mut hall, &made(10, 2, 2, "e7e5"));
    assert_eq!(asks(&hall), Value::Null);
    // That the clock stands is to be known until it runs.
    let notice = json!({"type":"notice","code":"clock_stands","message":"?"});
    say(&mut hall, &of_game(11, 2, &notice));
    let with_clock = |seq: u64, ply: u32, uci: &str, running: &Value| {
        let mut event = made(seq, 2, ply, uci);
        event["clock"] = json!({"white_ms": 1000, "black_ms": 1000, "running": running});
        event
    };
    say(&mut hall, &with_clock(12, 3, "g1f3", &Value::Null));
    assert_eq!(asks(&hall), "clock_stands");
    say(&mut hall, &with_clock(13, 4, "b8c6", &json!("white")));
    assert_eq!(asks(&hall), Value::Null);
}

#[test]
fn a_start_position_that_was_put_right_is_the_one_that_the_game_counts_from() {
    let mut hall = Hall::default();
    let right = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut wrong = begins(1, 1);
    wrong["fen"] = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBKQBNR w kq - 0 1".into();
    let put_right = json!({"type":"moves_retracted","to_ply":0,"reason":"array_put_right","fen":right});
    for event in [
        wrong,
        made(2, 1, 1, "d2d4"),
        of_game(3, 1, &put_right),
        made(4, 1, 1, "d2d4"),
    ] {
        say(&mut hall, &event);
    }
    let game = game_of(&hall, 1);
    assert_eq!(game["start_fen"], right);
    assert_eq!(game["moves"].as_array().unwrap().len(), 1);
}

#[test]
fn names_that_are_corrected_after_the_result_are_those_of_the_game() {
    let mut hall = online();
    say(&mut hall, &begins(1, 1));
    say(&mut hall, &made(2, 1, 1, "e2e4"));
    present(&mut hall, 1, "*", &[], 2);
    let pgn = b"[White \"Anna\"]\n[Black \"Boris\"]\n[Result \"*\"]\n\n1. e4 *\n";
    hall.take("gw/board/7/pgn", pgn, 0);
    say(
        &mut hall,
        &of_game(
            3,
            1,
            &json!({"type":"game_ended","result":"1-0","reason":"board"}),
        ),
    );
    present(&mut hall, 1, "1-0", &[], 3);
    assert_eq!(game_of(&hall, 1)["players"], json!(["Anna", "Boris"]));
    let corrected = json!({"type":"names_corrected","white":"Boris","black":"Anna","round":3});
    say(&mut hall, &of_game(4, 1, &corrected));
    present(&mut hall, 1, "1-0", &[], 4);
    assert_eq!(game_of(&hall, 1)["players"], json!(["Boris", "Anna"]));
}

//! A long evening of blitz at one board: the page shows every game of the day, and its memory is bounded.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{tests::*, *};
use crate::event::Event;

const SHUFFLE: [&str; 4] = ["g1f3", "g8f6", "f3g1", "f6g8"];
const PLIES: u64 = 80;
/// Events of each game: its begin, its half-moves, an irregularity after the tenth, its end.
const OF_GAME: u64 = PLIES + 3;

fn event(seq: u64, game: u64, began: Timestamp, fields: &Value) -> Value {
    let time = began + SignedDuration::from_secs(5 * i64::try_from(seq % OF_GAME).unwrap());
    let mut event = if fields.is_null() {
        irregularity(seq)
    } else {
        json!({"v":1,"id":format!("gw/7/{seq}"),"seq":seq,"board":"7","t":1.0})
    };
    event["game"] = game.into();
    event["time"] = time.to_string().into();
    let fields = fields.as_object().cloned().unwrap_or_default();
    event.as_object_mut().unwrap().extend(fields);
    event
}

/// The events of a blitz game that began at `began`.
fn blitz(game: u64, began: Timestamp) -> Vec<Value> {
    let first = (game - 1) * OF_GAME + 1;
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut fields =
        vec![json!({"type":"game_started","fen":fen,"chess960":false,"white":"Anna","black":"Boris"})];
    for (ply, uci) in (1..=PLIES).zip(SHUFFLE.iter().cycle()) {
        fields.push(
            json!({"type":"move","ply":ply,"uci":uci,"san":uci,"fen":"x","completed_by":"clock","clock":null}),
        );
        if ply == 10 {
            fields.push(Value::Null);
        }
    }
    fields.push(json!({"type":"game_ended","result":"1-0","reason":"checkmate","note":null}));
    let events = (first..).zip(&fields);
    events
        .map(|(seq, fields)| event(seq, game, began, fields))
        .collect()
}

fn state(hall: &mut Hall, game: u64) {
    let state = json!({"game":game,"start_fen":null,"chess960":false,"moves":[],"san":[],"fen":null,"to_move":null,
        "result":"1-0","open_irregularities":[],"last_seq":game * OF_GAME});
    hall.take("gw/board/7/game", state.to_string().as_bytes(), 0);
}

/// When game `number` of an evening began, of which the first `yesterday` games were played the day before.
fn begin(number: u64, yesterday: u64) -> Timestamp {
    let day: Timestamp = "2026-11-21T16:00:00Z".parse().unwrap();
    let minutes = i64::try_from(number * 10).unwrap();
    let night = if number <= yesterday { 24 * 60 } else { 0 };
    day + SignedDuration::from_mins(minutes - night)
}

fn whole(hall: &Hall) -> Vec<u32> {
    let detail = serde_json::to_value(hall.detail(&key(), 0)).unwrap();
    let games = detail["games"].as_array().unwrap().clone();
    let whole = games
        .iter()
        .filter(|game| game["complete"] == true && game["plies"] == PLIES && game["end"]["result"] == "1-0");
    let mut whole: Vec<u32> = whole
        .map(|game| game["number"].as_u64().unwrap() as u32)
        .collect();
    whole.sort_unstable();
    whole
}

fn first_game_is_told(hall: &Hall) {
    let game = serde_json::to_value(hall.game(&key(), 1)).unwrap();
    assert_eq!(game["moves"][1]["uci"], "g8f6");
    assert!(game["moves"][1]["time"].is_string());
    let fen = game["moves"][1]["fen"].as_str().unwrap();
    assert!(fen.starts_with("rnbqkb1r/pppppppp/5n2/8/8/5N2/"), "{fen}");
    assert_eq!(game["players"], json!(["Anna", "Boris"]));
    let cases = serde_json::to_value(hall.cases()).unwrap();
    let its = cases.as_array().unwrap().iter().find(|case| case["game"] == 1);
    assert_eq!(its.unwrap()["began"], game["began"]);
}

#[test]
fn every_game_of_a_long_evening_stays_and_the_memory_is_bounded() {
    let mut hall = online();
    for number in 1..=30 {
        for event in blitz(number, begin(number, 0)) {
            say(&mut hall, &event);
        }
        state(&mut hall, number);
    }
    let board = hall.board(&key()).unwrap();
    assert!(board.events.len() <= 500, "{}", board.events.len());
    assert!(board.earlier_weight() < 500_000, "{}", board.earlier_weight());
    assert_eq!(whole(&hall), (1..=30).collect::<Vec<_>>());
    first_game_is_told(&hall);

    // An arbiter corrects the first game late in the evening.
    let seq = 30 * OF_GAME + 1;
    let at = begin(31, 0);
    let corrected =
        json!({"type":"moves_retracted","to_ply":79,"reason":"corrected_by_arbiter","source":"arbiter"});
    say(&mut hall, &event(seq, 1, at, &corrected));
    let resumed = json!({"type":"game_resumed","reason":null,"source":"arbiter"});
    say(&mut hall, &event(seq + 1, 1, at, &resumed));
    let game = |hall: &Hall| serde_json::to_value(hall.game(&key(), 1)).unwrap();
    assert_eq!(
        (
            game(&hall)["moves"].as_array().unwrap().len(),
            &game(&hall)["end"]
        ),
        (79, &Value::Null)
    );
    // The hall takes an event once, however often it comes.
    let again: Vec<Value> = blitz(1, begin(1, 0));
    hall.take_history(&key(), 0, OF_GAME + 1, &json!({ "events": again, "more": false }));
    assert_eq!(
        (
            game(&hall)["moves"].as_array().unwrap().len(),
            &game(&hall)["end"]
        ),
        (79, &Value::Null)
    );
}

#[test]
fn a_page_that_is_opened_late_asks_for_the_games_of_the_day_and_no_more() {
    let journal: Vec<Value> = (1..=30)
        .flat_map(|number| blitz(number, begin(number, 10)))
        .collect();
    let mut hall = online();
    state(&mut hall, 30);
    let mut questions = 0;
    loop {
        let asked = hall.wanted().map(|(_, after, before)| (after, before)).next();
        let Some((after, before)) = asked else { break };
        let fits = |event: &&Value| (after + 1..before).contains(&event["seq"].as_u64().unwrap());
        let fitting: Vec<&Value> = journal.iter().filter(fits).collect();
        let newest = &fitting[fitting.len().saturating_sub(110)..];
        let answer = json!({ "events": newest, "more": newest.len() < fitting.len() });
        hall.take_history(&key(), after, before, &answer);
        questions += 1;
        assert!(questions < 40, "it is asked for ever");
    }
    // An answer that reached the day before may have told one game of it.
    let whole: Vec<u32> = whole(&hall).into_iter().filter(|game| *game != 10).collect();
    assert_eq!(whole, (11..=30).collect::<Vec<_>>());
    assert!(hall.board(&key()).unwrap().events.len() <= 500);
    assert!(
        questions <= 17,
        "{questions}: yesterday's games are none of the day"
    );
}

#[test]
fn earlier_games_give_room_before_a_board_does() {
    let mut hall = online();
    for number in 1..=10 {
        for event in blitz(number, begin(number, 0)) {
            say(&mut hall, &event);
        }
        state(&mut hall, number);
    }
    let board = hall.board(&key()).unwrap();
    assert!(board.earlier_weight() > 0);
    let heavy = vec![b'x'; (96 << 20) - board.weight() + board.earlier_weight() / 2];
    hall.take("gw/board/8/pgn", &heavy, 0);
    let board = hall.board(&key()).expect("its games are enough");
    assert_eq!(board.earlier_weight(), 0);
    assert_eq!(hall.wanted().count(), 0, "what gave room is not asked for again");
    let view = serde_json::to_value(hall.view(0)).unwrap();
    assert_eq!(view["links"]["gateways"][0]["cut"], false, "all boards are shown");
}

#[test]
fn an_event_is_read_as_it_is_written_here() {
    for event in blitz(1, begin(1, 0)) {
        serde_json::from_value::<Event>(event).unwrap();
    }
}

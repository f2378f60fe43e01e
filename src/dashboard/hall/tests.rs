use serde_json::json;

use super::*;

pub(super) fn key() -> BoardKey {
    BoardKey {
        gateway: "gw".into(),
        board: "7".into(),
    }
}

fn notice(seq: u64) -> Value {
    json!({"v":1,"id":format!("gw/7/{seq}"),"seq":seq,"board":"7","game":1,"t":1.0,"time":null,
           "type":"notice","code":"x","message":format!("m{seq}")})
}

pub(super) fn irregularity(seq: u64) -> Value {
    let words = json!({"title":"Illegal move","advice":"Put it back."});
    let ruling = json!({"penalty":{"kind":"time","seconds":120,"to":"white"},"position":"reinstate_before",
        "articles":["7.5.1"],"target_fen":null,"clock_proposal":null});
    json!({"v":1,"id":format!("gw/7/{seq}"),"seq":seq,"board":"7","game":1,"t":1.0,"time":"2026-11-21T14:00:00Z",
           "type":"irregularity","kind":"illegal_move","offender":"black","ply":6,"certainty":"certain",
           "articles":["7.5.1"],"squares":["a7"],"move":"a7a6","reason":null,"fen_before":"8/8/8/8/8/8/8/8 w - - 0 1",
           "placement":"8/8/8/8/8/8/8/8","clock":null,"offence_number":1,"ruling":ruling,
           "text":{"en":words,"ru":words}})
}

fn resolved(seq: u64, of: u64) -> Value {
    json!({"v":1,"id":format!("gw/7/{seq}"),"seq":seq,"board":"7","game":1,"t":1.0,"time":null,
           "type":"irregularity_resolved","irregularity":format!("gw/7/{of}"),"how":"dismissed"})
}

pub(super) fn say(hall: &mut Hall, event: &Value) -> bool {
    let topic = format!("gw/board/7/event/{}", event["type"].as_str().unwrap());
    hall.take(&topic, event.to_string().as_bytes(), 0)
}

fn game(hall: &mut Hall, last_seq: u64, open: &[&str]) {
    let game = json!({"game":1,"start_fen":null,"chess960":false,"moves":[],"san":[],"fen":null,"to_move":null,
        "result":null,"open_irregularities":open,"last_seq":last_seq});
    hall.take("gw/board/7/game", game.to_string().as_bytes(), 0);
}

pub(super) fn online() -> Hall {
    let mut hall = Hall::default();
    hall.take("gw/status", b"online", 0);
    hall
}

fn settle(hall: &mut Hall, now: u64) {
    hall.claim("one", "gw/status", b"online", true, now);
    hall.settle_numbers("one", |_| true, now);
}

fn wanted(hall: &Hall) -> Option<(u64, u64)> {
    hall.wanted().next().map(|(_, after, before)| (after, before))
}

pub(super) fn open(hall: &Hall) -> Vec<String> {
    let view = serde_json::to_value(hall.view(0)).unwrap();
    let open = view["boards"][0]["open"].as_array().cloned().unwrap_or_default();
    open.iter()
        .map(|case| case["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A broker may lose an event and the state of its game. What was told just now may be on its way.
#[test]
fn a_number_that_health_tells_is_asked_for_after_a_moment() {
    let mut hall = online();
    say(&mut hall, &notice(1));
    let mut health = |last: u64, now: u64| {
        let health = json!({"last_seq":{"7":last,"8":9}});
        hall.take("gw/health", health.to_string().as_bytes(), now);
        settle(&mut hall, now);
        let at_once = wanted(&hall);
        settle(&mut hall, now + 1_500);
        (at_once, wanted(&hall))
    };
    assert_eq!(health(1, 0), (None, None));
    assert_eq!(health(2, 2_000), (None, Some((1, 3))));
    assert_eq!(health(1, 4_000).1, None, "the gateway has begun anew");
    assert_eq!(hall.view(0).boards.len(), 1, "a number makes no board");
}

/// A broker may lose the state of a game and not its event. The next half-move may be long in coming.
#[test]
fn a_game_that_lags_behind_its_events_is_asked_for_once() {
    let mut hall = online();
    game(&mut hall, 1, &[]);
    say(&mut hall, &notice(1));
    say(&mut hall, &notice(2));
    settle(&mut hall, 0);
    assert_eq!(wanted(&hall), None, "it may be on its way");
    settle(&mut hall, 1_000);
    assert_eq!(wanted(&hall), Some((2, 3)));
    let answer = json!({"events":[],"more":false,"game":{"game":1,"start_fen":null,"chess960":false,"moves":["e2e4"],
        "san":["e4"],"fen":null,"to_move":null,"result":null,"open_irregularities":[],"last_seq":2}});
    hall.take_history(&key(), 2, 3, &answer);
    settle(&mut hall, 2_000);
    assert_eq!(wanted(&hall), None);
    assert_eq!(hall.board(&key()).unwrap().game.moves.len(), 1);
    // Another node of a cluster retains an older one.
    game(&mut hall, 1, &[]);
    settle(&mut hall, 2_100);
    settle(&mut hall, 3_100);
    assert_eq!(wanted(&hall), Some((2, 3)));
    hall.take_history(&key(), 2, 3, &answer);
    // An older gateway answers without the game.
    say(&mut hall, &notice(3));
    settle(&mut hall, 3_200);
    settle(&mut hall, 4_200);
    assert_eq!(wanted(&hall), Some((3, 4)));
    hall.take_history(&key(), 3, 4, &json!({"events":[],"more":false}));
    settle(&mut hall, 6_000);
    assert_eq!(wanted(&hall), None);
    say(&mut hall, &notice(4));
    let told = hall.board(&key()).unwrap().event("gw/7/4");
    assert!(
        told.is_some(),
        "a question for the game alone marks no number as told"
    );
}

/// The gateway tells the number of an event before it is on its disk.
#[test]
fn an_event_that_an_answer_lacked_is_taken_when_it_comes() {
    let mut hall = online();
    say(&mut hall, &notice(1));
    hall.take_history(&key(), 1, 3, &json!({"events":[],"more":false}));
    assert_eq!(wanted(&hall), None);
    assert!(say(&mut hall, &notice(2)));
    assert!(hall.board(&key()).unwrap().event("gw/7/2").is_some());
    assert!(!say(&mut hall, &notice(2)) && !say(&mut hall, &notice(1)), "once");
}

#[test]
fn states_make_a_board() {
    let mut hall = online();
    hall.take("gw/board/7/status", b"online", 0);
    hall.take(
        "gw/board/7/pgn",
        b"[White \"A \\\"B\\\"\"]\n[Black \"?\"]\n\n*\n",
        0,
    );
    hall.take(
        "gw/board/7/clock",
        br#"{"clock":{"white_ms":1000,"black_ms":2000,"running":"white"}}"#,
        500,
    );
    let view = serde_json::to_value(hall.view(700)).unwrap();
    assert_eq!(view["boards"][0]["players"], json!(["A \"B\"", null]));
    assert_eq!(view["boards"][0]["online"], true);
    assert_eq!(view["boards"][0]["clock_age_ms"], 200);
    hall.take("gw/status", b"offline", 0);
    let view = serde_json::to_value(hall.view(700)).unwrap();
    assert_eq!(
        view["boards"][0]["online"], false,
        "nobody knows what the board does"
    );
}

#[test]
fn only_what_changed_is_told_again() {
    let mut hall = online();
    hall.take("gw/board/7/status", b"online", 0);
    hall.take("gw/board/8/status", b"online", 0);
    let seen = hall.revision();
    assert!(!hall.take("gw/board/8/status", b"online", 0));
    assert!(hall.changed_boards(seen, 0).is_empty());
    assert!(hall.take("gw/board/8/status", b"offline", 0));
    assert_eq!(hall.changed_boards(seen, 0).len(), 1);
    assert!(hall.changed_links(seen).is_none());
    hall.broker("mqtt://x", false);
    assert!(hall.changed_links(seen).is_some());
}

#[test]
fn a_clock_that_runs_on_is_no_news_for_a_page() {
    let mut hall = online();
    hall.take("gw/board/7/status", b"online", 0);
    let read = |hall: &mut Hall, white_ms: u64, running: &str, now| {
        let clock = json!({"clock":{"white_ms":white_ms,"black_ms":60_000,"running":running}});
        hall.take("gw/board/7/clock", clock.to_string().as_bytes(), now)
    };
    assert!(read(&mut hall, 90_000, "white", 1_000));
    let seen = hall.revision();
    assert!(!read(&mut hall, 89_000, "white", 2_100));
    assert!(hall.revision() > seen, "tools made for LiveChess hear of it");
    assert!(hall.change(seen, 2_100).is_none());
    let shown = |hall: &Hall, now| {
        let view = serde_json::to_value(hall.view(now)).unwrap();
        let board = &view["boards"][0];
        (board["clock"]["white_ms"].clone(), board["clock_age_ms"].clone())
    };
    assert_eq!(
        shown(&hall, 2_100),
        (json!(90_000), json!(1_100)),
        "all pages count on from the same"
    );
    // A page does not count on while the board is away: it shows what was read last.
    hall.take("gw/status", b"offline", 3_000);
    assert_eq!(shown(&hall, 3_000), (json!(89_000), json!(900)));
    hall.take("gw/status", b"online", 4_000);
    let seen = hall.revision();
    assert!(read(&mut hall, 86_000, "black", 5_000), "it was pressed");
    assert_eq!(hall.change(seen, 5_000).unwrap().boards.len(), 1);
}

#[test]
fn what_is_open_is_known_from_either_lane() {
    let mut hall = online();
    game(&mut hall, 4, &[]);
    assert!(say(&mut hall, &irregularity(5)));
    assert!(!say(&mut hall, &irregularity(5)), "twice");
    assert_eq!(open(&hall), ["gw/7/5"], "before the state says so");
    game(&mut hall, 5, &["gw/7/5"]);
    assert_eq!(open(&hall), ["gw/7/5"]);
    say(&mut hall, &resolved(6, 5));
    assert!(open(&hall).is_empty(), "before the state says so");
    game(&mut hall, 6, &[]);
    assert!(open(&hall).is_empty());
    let cases = serde_json::to_value(hall.cases()).unwrap();
    assert_eq!(cases[0]["how"], "dismissed");
}

#[test]
fn what_was_missed_is_asked_for_and_shown() {
    let mut hall = online();
    game(&mut hall, 9, &["gw/7/3"]);
    let view = serde_json::to_value(hall.view(0)).unwrap();
    assert_eq!(
        view["boards"][0]["open"][0]["irregularity"],
        Value::Null,
        "not known yet"
    );
    assert_eq!(wanted(&hall), Some((0, 10)));
    hall.take_history(
        &key(),
        0,
        10,
        &json!({"events":[notice(7),notice(8),notice(9)],"more":true}),
    );
    assert_eq!(wanted(&hall), Some((0, 7)), "there is more");
    hall.take_history(
        &key(),
        0,
        7,
        &json!({"events":[irregularity(3),notice(6)],"more":false}),
    );
    assert_eq!(wanted(&hall), None);
    let view = serde_json::to_value(hall.view(0)).unwrap();
    assert_eq!(
        view["boards"][0]["open"][0]["irregularity"]["kind"],
        "illegal_move"
    );
    say(&mut hall, &notice(12));
    assert_eq!(wanted(&hall), Some((9, 12)), "a hole");
    hall.take_history(
        &key(),
        9,
        12,
        &json!({"events":[notice(10),notice(11)],"more":false}),
    );
    assert_eq!(wanted(&hall), None);
}

#[test]
fn a_gateway_that_is_away_or_has_nothing_is_not_asked_for_ever() {
    let mut hall = Hall::default();
    game(&mut hall, 9, &[]);
    assert_eq!(wanted(&hall), None, "nobody would answer");
    hall.take("gw/status", b"online", 0);
    assert_eq!(wanted(&hall), Some((0, 10)));
    hall.take_history(&key(), 0, 10, &json!({"events":[],"more":false}));
    assert_eq!(wanted(&hall), None);
    game(&mut hall, 10, &[]);
    assert_eq!(wanted(&hall), Some((9, 11)));
    hall.take_history(&key(), 9, 11, &json!({"events":[],"more":true}));
    assert_eq!(wanted(&hall), None);
}

#[test]
fn two_gateways_of_one_name_are_told() {
    let mut hall = Hall::default();
    let say = |hall: &mut Hall, broker: &str, boot: &str| {
        let info = format!(r#"{{"boot_id":"{boot}"}}"#);
        for (topic, payload) in [("gw/status", "online"), ("gw/info", &info)] {
            let claim = hall.claim(broker, topic, payload.as_bytes(), true, 0);
            if claim != Claim::Foreign {
                hall.take(topic, payload.as_bytes(), 0);
            }
        }
    };
    say(&mut hall, "mqtt://one", "a");
    let seen = hall.revision();
    say(&mut hall, "mqtt://two", "b");
    assert!(hall.moved_to("mqtt://two", 0).is_empty());
    let view = serde_json::to_value(hall.changed_links(seen)).unwrap();
    assert_eq!(view["gateways"][0]["doubled"], true);
    assert_eq!(hall.broker_of("gw"), Some("mqtt://one"));
}

/// The old broker may say later than the new one that the gateway is gone: the will may come much later.
#[test]
fn a_gateway_that_moves_is_found_in_whatever_order_its_brokers_say_so() {
    let mut hall = Hall::default();
    let say = |hall: &mut Hall, broker: &str, word: &[u8]| {
        let claim = hall.claim(broker, "gw/status", word, true, 0);
        if claim != Claim::Foreign {
            hall.take("gw/status", word, 0);
        }
        claim
    };
    say(&mut hall, "mqtt://one", b"online");
    assert_eq!(say(&mut hall, "mqtt://two", b"online"), Claim::Foreign);
    assert!(
        hall.moved_to("mqtt://two", 0).is_empty(),
        "the first is still there"
    );
    say(&mut hall, "mqtt://one", b"offline");
    assert!(hall.moved_to("mqtt://one", 0).is_empty());
    assert_eq!(hall.moved_to("mqtt://two", 0).len(), 1);
    assert!(hall.moved_to("mqtt://two", 0).is_empty(), "it is asked once");
    assert_eq!(say(&mut hall, "mqtt://two", b"online"), Claim::Own);
    assert_eq!(hall.broker_of("gw"), Some("mqtt://two"));
    assert!(hall.is_online("gw"));
    let view = serde_json::to_value(hall.changed_links(0)).unwrap();
    assert_eq!(view["gateways"][0]["doubled"], false);
}

#[test]
fn what_lichess_says_of_a_game_is_shown_at_its_board() {
    let mut hall = online();
    hall.take("gw/board/7/status", b"online", 0);
    hall.take("gw/board/8/status", b"online", 0);
    let seen = hall.revision();
    let game = json!({"board":"gw/7","game":1,"moves":null,"error":"illegal"});
    let health = json!({"lichess":{"round":"a1B2c3D4","taken":null,"error":null,"games":[game]}});
    assert!(hall.take("gw/health", health.to_string().as_bytes(), 0));
    let changed = serde_json::to_value(hall.changed_boards(seen, 0)).unwrap();
    assert_eq!(
        changed.as_array().unwrap().len(),
        1,
        "the other board has nothing new"
    );
    assert_eq!(changed[0]["lichess"]["error"], "illegal");
    assert_eq!(changed[0]["lichess"]["file"], "game-1.pgn");
    // The push has ended.
    assert!(hall.take("gw/health", b"{}", 0));
    let view = serde_json::to_value(hall.view(0)).unwrap();
    assert_eq!(view["boards"][0]["lichess"], Value::Null);
    assert_eq!(view["links"]["pushes"], json!([]));
}

#[test]
fn names_are_those_of_the_pairings_where_there_are_some() {
    let mut hall = online();
    hall.take("gw/board/7/pgn", b"[White \"A\"]\n[Black \"?\"]\n\n*\n", 0);
    let names = |hall: &Hall| serde_json::to_value(hall.view(0)).unwrap()["boards"][0]["players"].clone();
    assert_eq!(names(&hall), json!(["A", null]));
    let seen = hall.revision();
    hall.take(
        "gw/info",
        br#"{"version":"1","boards":["7"],"players":{"7":["Reti, R","Tartakower, S"]}}"#,
        0,
    );
    assert_eq!(names(&hall), json!(["Reti, R", "Tartakower, S"]));
    assert_eq!(hall.changed_boards(seen, 0).len(), 1);
    let own = [Some("Menchik, V".to_owned()), None];
    let seen = hall.revision();
    let own = BroadcastRound {
        round: 3,
        paired: Paired::from([("gw/7".to_owned(), own)]),
        gateways: BTreeSet::from(["gw".to_owned()]),
    };
    hall.take_own_round("", Some(own));
    let links = serde_json::to_value(hall.changed_links(seen)).unwrap();
    let own = json!([{ "name": "/", "round": 3, "follows": false }]);
    assert_eq!(
        links["own"], own,
        "the page says so, and that no gateway tells a round"
    );
    assert_eq!(
        names(&hall),
        json!(["Menchik, V", null]),
        "our own broadcast knows better"
    );
    hall.take_own_round("", None);
    hall.take("gw/info", br#"{"version":"1","boards":["7"]}"#, 0);
    assert_eq!(names(&hall), json!(["A", null]));
}

#[test]
fn memory_is_bounded() {
    let mut hall = online();
    for seq in 1..=2_000 {
        say(&mut hall, &notice(seq));
    }
    assert_eq!(hall.board(&key()).unwrap().events.len(), 500);
    assert_eq!(wanted(&hall), None, "what was dropped is not asked for again");
}

#[test]
fn what_is_no_message_of_ours_changes_nothing() {
    let mut hall = online();
    for (topic, payload) in [
        ("", ""),
        ("gw/board/7/event/move", "{"),
        ("gw/board/7/game", "[]"),
        ("gw/board/7/cmd/dismiss", "{}"),
        ("gw/board/7/a/b/c", "{}"),
        ("gw/else", "{}"),
    ] {
        assert!(!hall.take(topic, payload.as_bytes(), 0), "{topic}");
    }
}

#[test]
fn what_is_retained_of_a_board_that_was_taken_away_is_not_shown() {
    let mut hall = online();
    hall.take("gw/board/7/status", b"offline", 0);
    hall.take("gw/board/8/status", b"online", 0);
    let boards = |hall: &Hall| {
        serde_json::to_value(hall.view(0)).unwrap()["boards"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(boards(&hall), 2);
    hall.take("gw/info", br#"{"version":"1","boards":["8"]}"#, 0);
    assert_eq!(boards(&hall), 1);
}

//! What the watcher restores from a snapshot, and what it sets aside.

use super::*;

use serde_json::{Value, json};

use crate::{
    dgt::{Lever, Message, PieceCode},
    event::{Body, Event},
    time::Millis,
    watcher::{
        ClockSideSetting, Settings, Watcher,
        testing::{after_e4, clock, hear, initial_pieces},
    },
};

fn resumed(text: &str) -> Watcher {
    let snapshot = serde_json::from_str(text).unwrap();
    Watcher::new(Settings::default(), Some(snapshot))
}

/// The first event of a watcher that goes on from `kept`, after event 41.
fn first_words(kept: &str) -> (Watcher, Event) {
    let mut watcher = Watcher::new(Settings::default(), Some(Snapshot::kept(Some(kept), 41)));
    assert_eq!(
        watcher.poll_timeout(),
        Some(Millis(0)),
        "the watcher does not wait for a board"
    );
    watcher.handle_timeout(Millis(250));
    let event = watcher.poll_event().unwrap();
    assert_eq!((event.seq, event.t), (42, 0.25), "{event:?}");
    (watcher, event)
}

/// The message of the notice that something was set aside.
fn set_aside(event: &Event) -> &str {
    match &event.body {
        Body::Notice { code, message } if code == "snapshot_set_aside" => message,
        _ => panic!("{event:?}"),
    }
}

/// A snapshot during a game: 1.e4 was played, and Black has pressed without a move.
fn in_mid_game() -> Value {
    let mut watcher = after_e4();
    hear(&mut watcher, 6000, clock(Lever::LeftHigh));
    serde_json::to_value(watcher.snapshot()).unwrap()
}

#[test]
fn a_game_goes_on_where_it_was() {
    let watcher = after_e4();
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    assert_eq!(resumed(&text).game(), watcher.game());
    assert_eq!(serde_json::to_string(&resumed(&text).snapshot()).unwrap(), text);
}

/// The daemon may be killed again before the board has answered.
#[test]
fn a_piece_that_is_not_read_stays_known_without_the_hypotheses() {
    let mut saved = in_mid_game();
    saved["weighed"] = Value::Null;
    saved["game"]["unread"] =
        json!({ "hidden": [2], "dead": [], "silent": [], "pieces": [[5, 1]], "noticed": [], "moved": false });
    let again = |saved: &Value| serde_json::to_value(resumed(&saved.to_string()).snapshot()).unwrap();
    let once = again(&saved);
    assert_eq!(once.pointer("/game/unread/hidden"), Some(&json!([2])));
    assert_eq!(again(&once), once);
}

/// The watcher knows whose time runs, so the game begins before it has seen how the pawn came there.
#[test]
fn a_game_that_begins_with_a_capture_en_passant_goes_on_too() {
    let settings = Settings {
        clock_side: ClockSideSetting::WhiteLeft,
        ..Settings::default()
    };
    let mut watcher = Watcher::new(settings, None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = [PieceCode::EMPTY; 64];
    for (square, code) in [(4, 11), (60, 5), (27, 7), (28, 1), (29, 7)] {
        squares[square] = PieceCode(code);
    }
    hear(&mut watcher, 100, Message::Dump(&squares));
    hear(&mut watcher, 200, clock(Lever::LeftHigh));
    hear(&mut watcher, 4000, clock(Lever::LeftHigh));
    let start = |watcher: &Watcher| watcher.game().start_fen.unwrap_or_default();
    assert_eq!(start(&watcher), "4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1");
    let again = |watcher: &Watcher| resumed(&serde_json::to_string(&watcher.snapshot()).unwrap());
    for mut watcher in [again(&watcher), watcher] {
        watcher.handle_link_up(Millis(5000), "port");
        hear(&mut watcher, 5100, Message::Dump(&squares));
        hear(&mut watcher, 5200, clock(Lever::LeftHigh));
        for (at, square, code) in [(6000, 28, 0), (6400, 21, 1), (6800, 29, 0)] {
            let piece = PieceCode(code);
            hear(&mut watcher, at, Message::Field { square, piece });
        }
        hear(&mut watcher, 7000, clock(Lever::RightHigh));
        hear(&mut watcher, 12_000, clock(Lever::RightHigh));
        assert_eq!(watcher.game().moves, ["e5f6"]);
        assert_eq!(start(&watcher), "4k3/8/8/3pPp2/8/8/8/4K3 w - f6 0 1");
        assert_eq!(again(&watcher).game(), watcher.game());
    }
}

#[test]
fn the_numbering_goes_on_even_without_a_game() {
    let mut watcher = resumed(r#"{"seq": 41}"#);
    watcher.handle_link_up(Millis(0), "port");
    hear(&mut watcher, 100, Message::Dump(&[PieceCode::EMPTY; 64]));
    assert_eq!(watcher.poll_event().map(|event| event.seq), Some(42));
}

/// Black has pressed without a move, and the watcher has not reported it yet.
#[test]
fn an_offence_before_a_restart_is_reported_after_it() {
    let mut watcher = after_e4();
    hear(&mut watcher, 6000, clock(Lever::LeftHigh));
    let text = serde_json::to_string(&watcher.snapshot()).unwrap();
    let said = |text: &str| {
        let mut watcher = resumed(text);
        let (mut squares, mut found) = (initial_pieces(), Vec::new());
        (squares[52], squares[36]) = (PieceCode::EMPTY, PieceCode(1));
        watcher.handle_link_up(Millis(0), "port");
        // One dump before the greeting, and one in it.
        hear(&mut watcher, 100, Message::Dump(&squares));
        hear(&mut watcher, 700, Message::Dump(&squares));
        hear(&mut watcher, 800, clock(Lever::LeftHigh));
        hear(&mut watcher, 9000, clock(Lever::LeftHigh));
        while let Some(event) = watcher.poll_event() {
            assert!(
                event.t <= 9.0,
                "events have the time of the new daemon: {event:?}"
            );
            found.push(event.body.type_name().to_owned());
        }
        found
    };
    assert_eq!(
        said(&text),
        ["board_connected", "clock_connected", "irregularity"]
    );
    // Without its hypotheses the watcher does not know that there was a press.
    let mut saved: Value = serde_json::from_str(&text).unwrap();
    saved["weighed"] = Value::Null;
    assert_eq!(said(&saved.to_string()), ["board_connected", "clock_connected"]);
    saved["weighed"] = json!({});
    let without = ["notice", "board_connected", "clock_connected"];
    assert_eq!(said(&saved.to_string()), without);
}

/// Puts `value` at `place`, whether or not something is there.
fn put(saved: &mut Value, place: &str, value: Value) {
    let (folder, name) = place.rsplit_once('/').unwrap();
    match saved.pointer_mut(folder).unwrap() {
        Value::Array(values) => values[name.parse::<usize>().unwrap()] = value,
        folder => folder[name] = value,
    }
}

#[test]
fn a_snapshot_that_makes_no_sense_is_set_aside() {
    let damages: [(&str, Value, &str); 12] = [
        ("/version", json!(VERSION + 1), "has version 2"),
        ("/version", json!("1"), "cannot be read"),
        ("/seq", json!(-1), "cannot be read"),
        ("/at", json!(u64::MAX), "is more than"),
        ("/game/start", json!("rnbq"), "no FEN"),
        (
            "/game/plies/0/uci",
            json!("e2e5"),
            "half-move 1: \"e2e5\" is no half-move of rnbqkbnr",
        ),
        (
            "/game/plies/0/how",
            json!("illegal"),
            "half-move 1: an illegal act that is not told",
        ),
        (
            "/game/plies/0/act",
            json!({"squares": [64, 0], "reason": "unexplained", "left": vec![0; 64]}),
            "names square 64: there are 0 to 63",
        ),
        (
            "/game/plies/0/act",
            json!({"squares": null, "reason": "unexplained", "left": [1]}),
            "has 1 squares",
        ),
        (
            "/game/plies/0/accepted",
            json!("e4"),
            "half-move 1: \"e4\" is no FEN",
        ),
        ("/game/offences/1", json!(u32::MAX), "is more than"),
        ("/game/whole", json!([1, "0g"]), "no squares of a board"),
    ];
    for (place, value, why) in damages {
        let mut saved = in_mid_game();
        put(&mut saved, place, value);
        let (watcher, event) = first_words(&saved.to_string());
        let message = set_aside(&event);
        assert!(message.contains(why), "{place}: {message}");
        assert!(message.contains("up to number 41"), "{message}");
        assert!(watcher.game().moves.is_empty());
        // The numbers of games go on, too.
        let after = serde_json::to_value(watcher.snapshot()).unwrap();
        assert_eq!((&after["seq"], &after["games"]), (&json!(42), &json!(1)));
    }
}

#[test]
fn text_that_is_no_snapshot_is_set_aside() {
    for kept in [
        "",
        "null",
        "[]",
        "{\"seq\"",
        "\u{feff}{}",
        "{}",
        "{\"seq\":1,\"game\":{}}",
    ] {
        let (watcher, event) = first_words(kept);
        assert!(set_aside(&event).contains("cannot be read"), "{event:?}");
        assert_eq!(watcher.snapshot().seq, 42);
    }
}

/// The game goes on without its hypotheses.
#[test]
fn hypotheses_that_make_no_sense_are_set_aside_alone() {
    let damages: [(&str, Value, &str); 11] = [
        ("/squares", json!("00"), "has 1 squares"),
        ("/squares", json!("+e"), "no bytes"),
        ("/base", json!(2), "goes on from half-move 2 of 1"),
        ("/lines/lines", json!([]), "0 hypotheses"),
        ("/lines/plies/0/kind", json!({"legal": "e2e5"}), "no half-move"),
        ("/lines/plies/0/missed", json!(1e300), "has cost inf"),
        ("/lines/lines/0/bill", json!([1e300, []]), "has cost inf"),
        (
            "/lines/lines/0/bill",
            json!([0.0, [["luck", 1.0]]]),
            "unknown variant",
        ),
        (
            "/sensed/placement",
            json!("+1".repeat(64)),
            "128 hexadecimal digits",
        ),
        ("/sensed/since", json!([1, 2]), "the times of 2 squares"),
        ("/read_since", json!(-1), "invalid value"),
    ];
    for (place, value, why) in damages {
        let mut saved = in_mid_game();
        put(&mut saved["weighed"], place, value);
        let (watcher, event) = first_words(&saved.to_string());
        assert!(set_aside(&event).contains(why), "{place}: {event:?}");
        assert_eq!(watcher.game().moves, ["e2e4"]);
    }
}

/// Older programs kept the last messages, to hear them again, instead of the hypotheses.
#[test]
fn fields_of_an_older_version_are_passed_over() {
    let mut former = in_mid_game();
    former.as_object_mut().unwrap().remove("weighed");
    former["trail"] = json!({"plies": 1, "squares": "0".repeat(64), "heard": []});
    for ply in former["game"]["plies"].as_array_mut().unwrap() {
        ply.as_object_mut().unwrap().remove("at");
    }
    let watcher = resumed(&former.to_string());
    assert_eq!(watcher.game().moves, ["e2e4"]);
}

#[test]
fn the_version_is_written() {
    let saved = in_mid_game();
    assert_eq!(saved["version"], VERSION);
    // A snapshot without a version comes from an older program.
    let mut former = saved;
    former.as_object_mut().unwrap().remove("version");
    assert_eq!(resumed(&former.to_string()).game().moves, ["e2e4"]);
}

use super::*;
use crate::event::GameResult;

fn judge(topic: &str, payload: &str) -> Result<Request, Box<(Refusal, ReplyTo)>> {
    judge_arrived(&Arrived {
        topic: topic.to_owned(),
        payload: payload.to_owned().into(),
        retain: false,
        response_topic: None,
        correlation: None,
        speaker: None,
    })
}

fn judge_arrived(arrived: &Arrived) -> Result<Request, Box<(Refusal, ReplyTo)>> {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    receive(&topics, arrived, |board| board == "7").unwrap()
}

fn code(topic: &str, payload: &str) -> &'static str {
    judge(topic, payload).unwrap_err().0.code()
}

#[test]
fn a_command_with_its_fields_and_reference() {
    let request = judge("dgt2mqtt/gw/board/7/cmd/result", r#"{"ref":"a1","result":"1-0"}"#).unwrap();
    assert_eq!(
        request.target,
        Target::Board {
            board: "7".to_owned(),
            expects: watcher::Expected::default(),
            command: watcher::Command::result(GameResult::WhiteWins),
        }
    );
    assert_eq!(request.payload, r#"{"result":"1-0"}"#);
    assert_eq!(request.answer.topic, "dgt2mqtt/gw/board/7/reply/result");
    assert_eq!(request.answer.reference, "a1");
}

#[test]
fn who_sent_a_command_is_no_field_of_it_and_is_told_again() {
    let topic = "dgt2mqtt/gw/board/7/cmd/raised_by";
    let payload = r#"{"sender":"Anna Ö.","irregularity":"gw/7/3","by":"opponent"}"#;
    let request = judge(topic, payload).unwrap();
    assert_eq!(request.payload, r#"{"by":"opponent","irregularity":"gw/7/3"}"#);
    let reply: Value = serde_json::from_str(&request.answer.done(()).payload).unwrap();
    assert_eq!(reply["sender"], "Anna Ö.");
    for bad in [r#""""#, "7", r#""a\nb""#, &format!("{:?}", "x".repeat(65))] {
        let payload = format!(r#"{{"sender":{bad}}}"#);
        assert_eq!(
            code("dgt2mqtt/gw/board/7/cmd/new_game", &payload),
            "bad_sender",
            "{bad}"
        );
    }
    assert!(judge("dgt2mqtt/gw/cmd/ping", r#"{"sender":"Anna"}"#).is_ok());
}

#[test]
fn every_board_verb_is_known_to_the_watcher() {
    for verb in BOARD_VERBS {
        let topic = format!("dgt2mqtt/gw/board/7/cmd/{verb}");
        match judge(&topic, "{}") {
            Ok(_) => {}
            Err(refused) => {
                assert_eq!(refused.0.code(), "bad_fields", "{verb}");
                assert!(
                    !refused.0.to_string().contains("unknown variant"),
                    "{}",
                    refused.0
                );
            }
        }
    }
}

#[test]
fn what_is_refused_at_the_door() {
    let new_game = "dgt2mqtt/gw/board/7/cmd/new_game";
    assert_eq!(code(new_game, "{"), "bad_json");
    assert_eq!(code(new_game, "[1]"), "bad_json");
    assert_eq!(code(new_game, "\u{fffd}"), "bad_json");
    assert_eq!(code(new_game, r#"{"ref":[1]}"#), "bad_ref");
    assert_eq!(
        code(new_game, &format!(r#"{{"ref":"{}"}}"#, "x".repeat(200))),
        "bad_ref"
    );
    assert_eq!(code(new_game, r#"{"verb":"result"}"#), "bad_fields");
    assert_eq!(code(new_game, &" ".repeat(MAX_COMMAND + 1)), "too_large");
    assert_eq!(
        code("dgt2mqtt/gw/cmd/pairings", &" ".repeat(MAX_PAIRINGS + 1)),
        "too_large"
    );
    assert_eq!(code("dgt2mqtt/gw/board/7/cmd/explode", "{}"), "unknown_verb");
    assert_eq!(code("dgt2mqtt/gw/board/8/cmd/new_game", "{}"), "unknown_board");
    assert_eq!(code("dgt2mqtt/gw/cmd/explode", "{}"), "unknown_verb");
    assert_eq!(code("dgt2mqtt/gw/cmd/history", "{}"), "bad_fields");
    assert_eq!(
        code("dgt2mqtt/gw/cmd/history", r#"{"board":"8"}"#),
        "unknown_board"
    );
    assert_eq!(code("dgt2mqtt/gw/board/7/cmd/set_position", "{}"), "bad_fields");
    assert_eq!(
        code("dgt2mqtt/gw/board/7/cmd/retract", r#"{"to_ply":-1}"#),
        "bad_fields"
    );
}

#[test]
fn a_retained_command_is_refused_with_its_reference() {
    let arrived = Arrived {
        topic: "dgt2mqtt/gw/cmd/ping".to_owned(),
        payload: r#"{"ref":5}"#.into(),
        retain: true,
        response_topic: Some("arbiter/inbox".to_owned()),
        correlation: Some("c".into()),
        speaker: None,
    };
    let (refusal, answer) = *judge_arrived(&arrived).unwrap_err();
    assert_eq!(refusal, Refusal::Retained);
    assert_eq!(answer.topic, "arbiter/inbox");
    assert_eq!(answer.correlation.as_deref(), Some("c".as_bytes()));
    let reply = answer.refused(refusal.code(), &refusal).payload;
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["ref"], 5);
    assert_eq!(reply["ok"], false);
    assert_eq!(reply["error"]["code"], "retained");
}

#[test]
fn a_response_topic_that_would_loop_is_not_used() {
    let arrived = Arrived {
        topic: "dgt2mqtt/gw/cmd/ping".to_owned(),
        payload: Vec::new().into(),
        retain: false,
        response_topic: Some("dgt2mqtt/gw/cmd/ping".to_owned()),
        correlation: None,
        speaker: None,
    };
    assert_eq!(
        judge_arrived(&arrived).unwrap().answer.topic,
        "dgt2mqtt/gw/reply/ping"
    );
}

#[test]
fn what_a_sender_saw_has_the_names_of_its_fields() {
    let expected = serde_json::to_value(watcher::Expected::default()).unwrap();
    let mut names: Vec<&str> = expected.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable_by_key(|name| EXPECTED.iter().position(|known| known == name));
    assert_eq!(names, EXPECTED);
}

//! Tests of the intake: what is queued, what is asked for, what is given up.

use serde_json::json;

use super::*;

fn event(board: &str, seq: u64) -> Value {
    json!({ "v": 1, "type": "notice", "id": format!("gw/{board}/{seq}"), "seq": seq, "board": board, "message": "m" })
}

/// A intake that knows of the gateway `gw` at the first broker, and of a database that has `kept` of board 1.
fn intake(kept: &[(u64, u64)]) -> Intake {
    let mut intake = Intake::default();
    intake.load(kept.iter().map(|&(first, last)| has(first, last)).collect());
    intake.take(0, &["gw", "status"], b"online", true, 0);
    intake
}

fn has(first: u64, last: u64) -> Kept {
    Kept {
        gateway: "gw".to_owned(),
        board: "1".to_owned(),
        first,
        last,
        is_hole: false,
    }
}

fn tell(intake: &mut Intake, broker: usize, event: &Value) {
    let levels = ["gw", "board", "1", "event", "notice"];
    intake.take(broker, &levels, event.to_string().as_bytes(), true, 0);
}

fn waiting(intake: &Intake) -> Vec<u64> {
    intake.rows.iter().map(|row| row.seq).collect()
}

/// The one question that is due a while after `now`.
fn question(intake: &mut Intake, now: u64) -> Lack {
    let mut questions = intake.questions(0, now);
    questions.extend(intake.questions(0, now + 2_000));
    assert_eq!(questions.len(), 1);
    questions.remove(0)
}

#[test]
fn what_is_known_is_not_queued_again() {
    let mut intake = intake(&[(1, 4)]);
    for seq in [4, 5, 5, 6, 3] {
        tell(&mut intake, 0, &event("1", seq));
    }
    assert_eq!(waiting(&intake), [5, 6]);
    intake.written(2, 0);
    tell(&mut intake, 0, &event("1", 6));
    assert!(!intake.has_work() && intake.weight == 0);
}

#[test]
fn what_a_state_tells_is_asked_for_and_what_two_answers_lack_is_a_hole() {
    let mut intake = intake(&[(1, 2)]);
    intake.take(0, &["gw", "board", "1", "game"], br#"{"last_seq":6}"#, true, 0);
    let asked = question(&mut intake, 0);
    assert_eq!((asked.after, asked.before), (2, 7));
    assert_eq!(intake.questions(0, 9_000), [], "it is under way");
    let answer = json!({ "events": [event("1", 4), event("1", 5), event("1", 6)], "more": false });
    intake.answered(&asked, &answer, 2_000);
    assert_eq!(waiting(&intake), [4, 5, 6]);
    let asked = question(&mut intake, 20_000);
    assert_eq!((asked.after, asked.before), (2, 4));
    let nothing = json!({ "events": [], "more": false });
    intake.answered(&asked, &nothing, 22_000);
    assert_eq!(intake.holes.len(), 1, "it lacked the same number twice");
    assert_eq!((intake.holes[0].first, intake.holes[0].last), (3, 3));
    assert_eq!(intake.questions(0, 99_000), []);
    // The gateway had it in memory alone.
    tell(&mut intake, 0, &event("1", 3));
    assert_eq!(waiting(&intake), [4, 5, 6, 3]);
}

#[test]
fn what_found_no_room_is_asked_for_later() {
    let mut intake = intake(&[]);
    let mut long = event("1", 1);
    long["message"] = "m".repeat(MOST_WAITING / 3).into();
    for seq in 1..=4 {
        long["seq"] = seq.into();
        tell(&mut intake, 0, &long);
    }
    assert_eq!(waiting(&intake), [1, 2]);
    assert_eq!(intake.questions(0, 5_000), [], "there is no room for answers");
    intake.written(2, 0);
    let asked = question(&mut intake, 10_000);
    assert_eq!((asked.after, asked.before), (2, 5));
}

#[test]
fn nothing_is_asked_while_the_database_is_away_and_its_word_counts_afterwards() {
    let mut intake = intake(&[(1, 5)]);
    tell(&mut intake, 0, &event("1", 9));
    intake.unload();
    intake.questions(0, 0);
    assert_eq!(intake.questions(0, 5_000), []);
    // It lost what it had.
    intake.load(vec![has(1, 2)]);
    let asked = question(&mut intake, 10_000);
    assert_eq!((asked.after, asked.before), (2, 9));
}

#[test]
fn the_whole_of_a_short_form_is_asked_for() {
    let mut intake = intake(&[]);
    let mut short = event("1", 1);
    short["abridged"] = true.into();
    tell(&mut intake, 0, &short);
    assert_eq!(waiting(&intake), [1]);
    let asked = question(&mut intake, 0);
    intake.answered(
        &asked,
        &json!({ "events": [event("1", 1)], "more": false }),
        1_000,
    );
    assert_eq!(waiting(&intake), [1, 1]);
    assert_eq!(intake.questions(0, 90_000), []);
}

#[test]
fn an_event_that_came_under_a_former_id_is_dropped() {
    let mut intake = intake(&[(1, 3)]);
    let mut again = event("1", 4);
    again["formerly"] = "gw/1/3".into();
    tell(&mut intake, 0, &again);
    assert!(intake.rows.is_empty());
    assert_eq!(intake.holes[0].why, "told before, as gw/1/3");
    let mut lost = event("1", 5);
    lost["formerly"] = "gw/1/77".into();
    tell(&mut intake, 0, &lost);
    assert_eq!(waiting(&intake), [5]);
    for seq in [80, 90] {
        let mut jumped = event("1", seq);
        jumped["formerly"] = "gw/1/77".into();
        tell(&mut intake, 0, &jumped);
    }
    assert_eq!(waiting(&intake), [5, 80], "nor does it come twice under others");
}

#[test]
fn a_second_gateway_of_a_name_is_not_mixed_in() {
    let mut intake = intake(&[]);
    intake.take(0, &["gw", "info"], br#"{"boot_id":"a"}"#, true, 0);
    intake.take(1, &["gw", "status"], b"online", true, 0);
    intake.take(1, &["gw", "info"], br#"{"boot_id":"b"}"#, true, 0);
    tell(&mut intake, 1, &event("1", 1));
    assert!(intake.rows.is_empty());
    tell(&mut intake, 0, &event("1", 1));
    assert_eq!(waiting(&intake), [1]);
    intake.lost(0);
    tell(&mut intake, 1, &event("1", 2));
    assert_eq!(waiting(&intake), [1, 2]);
}

#[test]
fn a_row_that_the_database_refuses_is_set_aside() {
    let mut intake = intake(&[]);
    for seq in 1..=2 {
        tell(&mut intake, 0, &event("1", seq));
    }
    intake.set_aside("bad");
    assert_eq!((waiting(&intake), intake.holes.len()), (vec![2], 1));
}

#[test]
fn a_number_that_health_alone_tells_is_asked_for() {
    let mut intake = intake(&[(1, 2)]);
    let health = br#"{"last_seq":{"1":3,"2":0}}"#;
    intake.take(0, &["gw", "health"], health, true, 0);
    let asked = question(&mut intake, 0);
    assert_eq!((asked.key.1.as_str(), asked.after, asked.before), ("1", 2, 4));
}

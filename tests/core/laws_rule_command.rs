//! `dgt2mqtt rule`: bad lines are answered with the field and the others go on.

use dgt2mqtt::cli;
use serde_json::{Value, json};

fn good() -> Value {
    json!({
        "id": "a", "why": "unknown keys beside the facts are remarks",
        "edition": "2023", "time_control": "standard", "supervision": "adequate",
        "facts": {
            "irregularity": "illegal_move", "offender": "white", "offence_number": 1, "opponent_has_replied": false,
            "moves_completed": {"white": 3, "black": 2}, "opponent_can_mate": true, "last_legal_position_known": true
        }
    })
}

fn answers(lines: &[String]) -> Vec<Value> {
    let mut output = Vec::new();
    cli::rule::run(lines.join("\n").as_bytes(), &mut output).expect("bad lines are answered, not fatal");
    let output = String::from_utf8(output).expect("text");
    output
        .lines()
        .map(|l| serde_json::from_str(l).expect("a line of JSON"))
        .collect()
}

fn field_of(change: impl Fn(&mut Value)) -> Value {
    let mut case = good();
    change(&mut case);
    let [answer] = &answers(&[case.to_string()])[..] else {
        panic!("one line, one answer")
    };
    assert!(answer["error"].is_string(), "{answer}");
    assert_eq!(answer["line"], 1);
    answer["field"].clone()
}

#[test]
fn a_bad_line_does_not_stop_the_others() {
    let lines = [
        good().to_string(),
        "{nonsense".to_owned(),
        "[]".to_owned(),
        String::new(),
        good().to_string(),
    ];
    let got = answers(&lines);
    assert_eq!(got.len(), 4);
    assert_eq!(got[0], got[3]);
    assert_eq!(got[0]["id"], "a");
    assert_eq!(
        got[0]["penalty"],
        json!({"kind": "time", "seconds": 120, "to": "black"})
    );
    assert_eq!(got[0]["position"], "reinstate_before");
    assert_eq!((&got[1]["line"], &got[2]["line"]), (&json!(2), &json!(3)));
}

#[test]
fn marks_and_line_ends_of_other_systems_are_read_over() {
    let lines = [
        format!("\u{feff}{}\r", good()),
        "\r".to_owned(),
        format!("{}\r", good()),
    ];
    let got = answers(&lines);
    assert_eq!(got.len(), 2);
    assert_eq!(got[0], got[1]);
    assert_eq!(got[0]["position"], "reinstate_before");
}

#[test]
fn a_line_of_ten_megabytes_is_a_line() {
    let mut long = good();
    long["remark"] = "x".repeat(10_000_000).into();
    let lines = [long.to_string(), "x".repeat(10_000_000), good().to_string()];
    let got = answers(&lines);
    assert_eq!(got[0], got[2]);
    assert_eq!(got[1]["line"], 2);
    assert!(got[1]["error"].as_str().is_some_and(|e| e.len() < 200));
}

#[test]
fn an_error_names_the_field() {
    assert_eq!(field_of(|c| c["edition"] = "2022".into()), "edition");
    assert_eq!(field_of(|c| c["time_control"] = Value::Null), "time_control");
    assert_eq!(
        field_of(|c| c["facts"]["offence_number"] = (-1).into()),
        "facts.offence_number"
    );
    assert_eq!(
        field_of(|c| c["facts"]["irregularity"] = "sneezing".into()),
        "facts.irregularity"
    );
    assert_eq!(
        field_of(|c| c["facts"]["offender"] = "green".into()),
        "facts.offender"
    );
    assert_eq!(
        field_of(|c| c["facts"]["concurrent"] = json!(["two_hands", "x"])),
        "facts.concurrent"
    );
    assert_eq!(
        field_of(|c| c["facts"]["moves_completed"] = json!({"white": 1})),
        "facts.moves_completed"
    );
    assert_eq!(
        field_of(|c| c["facts"]["ofender"] = "white".into()),
        "facts.ofender"
    );
    assert_eq!(field_of(|c| c["facts"] = 3.into()), "facts");
    let without = |name: &'static str| {
        move |c: &mut Value| {
            c["facts"].as_object_mut().expect("facts").remove(name);
        }
    };
    assert_eq!(field_of(without("offender")), "facts.offender");
    assert_eq!(field_of(without("moves_completed")), "facts.moves_completed");
    assert_eq!(field_of(without("irregularity")), "facts.irregularity");
}

#[test]
fn the_id_is_kept_with_an_error() {
    let mut case = good();
    case["facts"]["offender"] = 7.into();
    assert_eq!(answers(&[case.to_string()])[0]["id"], "a");
}

#[test]
fn a_case_may_settle_contested_points_for_itself() {
    let mut case = good();
    case["time_control"] = "blitz".into();
    case["edition"] = "2023".into();
    case["options"] = json!({ "blitz_2023_supervised": "letter" });
    let settled = &answers(&[case.to_string()])[0];
    assert_eq!(settled["penalty"]["seconds"], 120, "{settled}");
    case["options"] = json!({});
    assert_eq!(answers(&[case.to_string()])[0]["penalty"]["seconds"], 60);
    assert_eq!(
        field_of(|c| c["options"] = json!({"blitz_2023_supervised": "maybe"})),
        "options.blitz_2023_supervised"
    );
    assert_eq!(field_of(|c| c["options"] = json!({"blitz": 1})), "options.blitz");
    assert_eq!(field_of(|c| c["options"] = json!([])), "options");
}

//! The numbers of a board's events, as a consumer has them who drops the numbers that he has seen.
#![allow(dead_code)] // shared by several test programs.

use std::collections::BTreeMap;

use serde_json::Value;

/// The numbers that a notice names, where it says that the numbers of its board jump: the last before, and the first after.
fn jump(event: &Value) -> Option<(u64, u64)> {
    let codes = ["journal_behind", "events_lost"];
    codes.iter().find(|code| event["code"] == **code)?;
    let (_, said) = event["message"].as_str()?.split_once("numbers jump from ")?;
    let mut numbers = said
        .split(|c: char| !c.is_ascii_digit())
        .filter(|n| !n.is_empty());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

/// A new journal does not know the old numbers. Its first notice says that all go on far above them.
fn begins_far_above(event: &Value, last: u64) -> bool {
    let codes = ["journal_missing", "journal_unread"];
    let says_so = event["message"]
        .as_str()
        .is_some_and(|text| text.contains("numbers go on far above"));
    says_so
        && codes.iter().any(|code| event["code"] == **code)
        && event["seq"].as_u64() > Some(last + (1 << 20))
}

/// What `arrivals` has of a board, without what was repeated. An error where a number has two contents, comes late, or is left
/// out without a notice that names the jump: between the jump and its notice is only what was taken before the broker had
/// told its numbers.
pub fn numbered(arrivals: &[Value], board: &str) -> Result<Vec<Value>, String> {
    let mut events: Vec<Value> = Vec::new();
    let mut by_seq = BTreeMap::new();
    for event in arrivals.iter().filter(|event| event["board"] == *board) {
        let seq = event["seq"].as_u64().unwrap();
        if event["id"] != format!("gw/{board}/{seq}") {
            return Err(format!("{event} has the number of another"));
        }
        if let Some(former) = by_seq.insert(seq, event.clone()) {
            if former != *event {
                return Err(format!(
                    "number {seq} of board {board} twice: {former} and {event}"
                ));
            }
            continue;
        }
        let last = events.last().map_or(0, |last| last["seq"].as_u64().unwrap());
        if seq < last {
            return Err(format!("{seq} of board {board} comes after {last}"));
        }
        events.push(event.clone());
    }
    let mut last = 0;
    for (place, event) in events.iter().enumerate() {
        let seq = event["seq"].as_u64().unwrap();
        if seq != last + 1 {
            let mut after = events[place..].iter();
            let is_former = |event: &Value| event["formerly"].is_string();
            let notice = after.find(|event| !is_former(event) || jump(event).is_some());
            // A notice that got another number itself names those of before.
            let names =
                |event| jump(event).is_some_and(|(from, to)| is_former(event) || from <= last && to == seq);
            if !notice.is_some_and(names) && !begins_far_above(event, last) {
                return Err(format!(
                    "{seq} of board {board} comes after {last}, and {notice:?} names no such jump"
                ));
            }
        }
        last = seq;
    }
    match events.is_empty() {
        true => Err(format!("board {board} has said nothing")),
        false => Ok(events),
    }
}

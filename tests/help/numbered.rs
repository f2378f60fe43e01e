//! The numbers of a board's events, as a consumer has them who drops the numbers that he has seen.
#![allow(dead_code)] // shared by several test programs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::hall::as_published;

/// The numbers that a notice names, where it says that the numbers of its board jump: the last before, and the first after.
pub fn jump(event: &Value) -> Option<(u64, u64)> {
    let codes = [
        "journal_behind",
        "journal_unsecured",
        "numbers_unknown",
        "events_lost",
    ];
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

/// The number that an event had before another gateway gave numbers out.
fn former(event: &Value) -> Option<u64> {
    event["formerly"].as_str()?.rsplit('/').next()?.parse().ok()
}

/// What an event says, whatever its number is: `first` has the first number of each event that has another by now. A game that is
/// over for a gateway when another has told later ones goes on under another number.
fn content(event: &Value, first: &BTreeMap<String, String>) -> Value {
    let mut content = said(event);
    let fields = content.as_object_mut().unwrap();
    for field in ["id", "seq", "formerly", "unsent_as", "game"] {
        fields.remove(field);
    }
    if let Some(of) = fields.get_mut("irregularity")
        && let Some(first) = of.as_str().and_then(|of| first.get(of))
    {
        *of = first.as_str().into();
    }
    content
}

/// Checks the numbers that events had before. A consumer drops an event if he has the event of that id, so that must be the same
/// event, and so must all be that had the same number. The first of a row follows what was sent: the event before it is known, or
/// its number was the first after a jump.
fn formers_are_right(events: &[Value]) -> Result<(), String> {
    let mut first = BTreeMap::new();
    let mut known = BTreeMap::new();
    for event in events {
        let id = event["id"].as_str().unwrap().to_owned();
        if let Some(former) = event["formerly"].as_str() {
            first.insert(id, former.to_owned());
        }
    }
    let mut last: Option<&Value> = None;
    for event in events {
        let seq = event["seq"].as_u64().unwrap();
        let said = content(event, &first);
        if let Some(number) = former(event) {
            if number >= seq {
                return Err(format!("{event} had a higher number before"));
            }
            if let Some(other) = known.get(&number).filter(|other| **other != said) {
                return Err(format!(
                    "{event} is dropped by who has number {number}, which is {other}"
                ));
            }
            let is_in_row = last.is_some_and(|last| former(last).is_some() && last["seq"] == seq - 1);
            let is_after_jump = |notice: &Value| jump(notice).is_some_and(|(_, to)| to == number);
            let follows =
                number == 1 || known.contains_key(&(number - 1)) || events.iter().any(is_after_jump);
            if !is_in_row && !follows {
                return Err(format!(
                    "what came before {event} under number {} is missing",
                    number - 1
                ));
            }
            known.insert(number, said.clone());
        }
        known.insert(seq, said);
        last = Some(event);
    }
    Ok(())
}

/// What `arrivals` has of a board, without what was repeated. An error where a number has two contents, comes late, or is left
/// out without a notice that names the jump: between the jump and its notice is only what was taken before the broker had
/// told its numbers. An error, too, where an event says that it had a number which another event had.
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
            let is_former = |event: &Value| event["formerly"].is_string() || event["unsent_as"].is_string();
            let is_jump = |event: &Value| jump(event).is_some();
            let after: Vec<_> = events[place..]
                .iter()
                .skip_while(|event| is_former(event) && !is_jump(event))
                .collect();
            // Several runs may have left their jumps to be told, one after the other.
            let notices = after.iter().take_while(|event| is_jump(event)).count();
            let (notices, later) = after.split_at(notices);
            // A notice that got another number itself names those of before.
            let is_of = |(from, to)| from <= last && to == seq;
            let names = |event: &&Value| jump(event).is_some_and(|jump| is_former(event) || is_of(jump));
            // One that was killed before it had named its jump names it later, above the numbers of the other gateway. Where it was killed
            // between two of its notices, the next run names both.
            let is_cut = || {
                let next = notices.last().map(|last| last["seq"].as_u64().unwrap() + 1);
                later.first().is_some_and(|later| later["seq"].as_u64() > next)
            };
            let is_killed = !notices.is_empty() && is_cut();
            let mut later = later
                .iter()
                .filter(|event| !notices.is_empty() && (is_former(event) || is_killed));
            let is_named = notices.iter().any(names) || later.any(|event| jump(event).is_some_and(is_of));
            if !is_named && !begins_far_above(event, last) {
                return Err(format!(
                    "{seq} of board {board} comes after {last}, and {notices:?} name no such jump"
                ));
            }
        }
        last = seq;
    }
    formers_are_right(&events)?;
    let is_repeated = |event: &Value| former(event).is_some_and(|number| by_seq.contains_key(&number));
    events.retain(|event| !is_repeated(event));
    match events.is_empty() {
        true => Err(format!("board {board} has said nothing")),
        false => Ok(events),
    }
}

/// An error where something that `kept`, the journal of a board, has in the end was not heard with that number and content, but for
/// what is at its end: the daemon was killed before it could send that.
pub fn nothing_between_is_missing(heard: &[Value], kept: &[Value]) -> Result<(), String> {
    let heard: BTreeMap<_, _> = heard
        .iter()
        .map(|event| (event["seq"].as_u64(), said(event)))
        .collect();
    let is_heard = |event: &Value| heard.get(&event["seq"].as_u64()) == Some(&said(event));
    let last = kept.iter().rposition(is_heard).map_or(0, |last| last + 1);
    match kept[..last].iter().find(|event| !is_heard(event)) {
        Some(missing) => Err(format!("{missing} is in the journal, and nobody heard it")),
        None => Ok(()),
    }
}

/// What is published of an event however long it is, and however long its ids are: of an amended ruling what it is about.
pub fn said(event: &Value) -> Value {
    let mut said = as_published(vec![event.clone()]).remove(0);
    if event["type"] == "ruling_amended" {
        let fields = said.as_object_mut().unwrap();
        fields.retain(|field, _| !["ruling", "text", "whole"].contains(&field.as_str()));
    }
    said
}

/// Asserts that the checks see what is wrong.
#[test]
fn a_number_of_another_event_is_found() {
    use serde_json::json;
    let event = |seq: u64, what: &str| json!({ "id": format!("gw/7/{seq}"), "seq": seq, "board": "7", "game": 1, "uci": what });
    let again = |seq: u64, former: u64, what: &str| {
        let mut again = event(seq, what);
        again["formerly"] = format!("gw/7/{former}").into();
        again
    };
    let notice = |seq: u64, from: u64, to: u64| {
        json!({ "id": format!("gw/7/{seq}"), "seq": seq, "board": "7", "code": "journal_behind",
            "message": format!("its numbers jump from {from} to {to}") })
    };
    let two = [event(1, "a"), event(2, "b")];
    let with = |more: &[Value]| numbered(&[&two, more].concat(), "7").map(|events| events.len());
    assert_eq!(with(&[notice(100, 2, 100)]), Ok(3));
    let unsent = |seq: u64, before: u64| {
        let mut unsent = event(seq, "c");
        unsent["unsent_as"] = format!("gw/7/{before}").into();
        unsent
    };
    assert_eq!(
        with(&[unsent(100, 1), notice(101, 2, 100)]),
        Ok(4),
        "1 is another's"
    );
    assert_eq!(
        with(&[again(100, 2, "b"), again(101, 3, "c"), notice(102, 2, 100)]),
        Ok(4),
        "whoever has 2 drops 100"
    );
    let mut late = notice(301, 2, 100);
    late["unsent_as"] = "gw/7/102".into();
    let another = [unsent(100, 3), unsent(101, 4), notice(300, 2, 300)];
    assert_eq!(with(&[&another[..], &[late.clone()]].concat()), Ok(6));
    let told_again = notice(100, 1, 2);
    assert_eq!(with(&[told_again.clone(), notice(101, 2, 100)]), Ok(4));
    let silent = [unsent(100, 3), event(101, "d"), event(102, "e")];
    let wrong = |more: &[Value], words: &str| {
        let said = with(more).unwrap_err();
        assert!(said.contains(words), "{said}");
    };
    wrong(
        &[again(100, 2, "c"), notice(101, 2, 100)],
        "dropped by who has number 2",
    );
    wrong(
        &[again(100, 4, "d"), notice(101, 2, 100)],
        "under number 3 is missing",
    );
    wrong(&[again(100, 3, "c"), event(102, "d")], "no such jump");
    wrong(&another, "no such jump");
    wrong(&[&silent[..], &[late]].concat(), "no such jump");
    wrong(
        &[told_again.clone(), event(101, "d"), notice(102, 2, 100)],
        "no such jump",
    );
    let next_run = [unsent(200, 3), notice(201, 2, 200), notice(202, 2, 100)];
    assert_eq!(
        with(&[std::slice::from_ref(&told_again), &next_run[..]].concat()),
        Ok(6),
        "killed between its notices"
    );
    wrong(&[&[told_again], &next_run[..2]].concat(), "no such jump");
    wrong(&[event(2, "c")], "twice");
    assert!(nothing_between_is_missing(&two, &[event(1, "a"), event(2, "b"), event(3, "c")]).is_ok());
    assert!(nothing_between_is_missing(&two[1..], &two).is_err());
}

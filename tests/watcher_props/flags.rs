//! Flags that fall soon after a daemon was started for the first time, while somebody plays.

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    dgt::{ClockSide, ClockTime, Message},
    event::{Body, Event},
    laws::IrregularityKind,
    sim::shown::ShownBoard,
    terms::Side,
    time::Millis,
};

use crate::{
    late::{instants_of, is_full},
    play::{Played, fixtures, play_late, play_whole, recorded},
    said::{Said, said},
};

/// The capture until `at`. Then the flag falls of the player whose time runs.
fn until_a_flag_falls(capture: &Capture, at: u64) -> Option<Capture> {
    let mut capture = capture.clone();
    capture.records.retain(|record| record.at.0 <= at);
    let mut shown = ShownBoard::default();
    for Record { at, act } in &capture.records {
        if let Act::FromBoard(bytes) = act {
            shown.hear(*at, bytes);
        }
    }
    let mut reading = shown.clock?;
    let fallen = ClockTime {
        seconds: 0,
        flag: true,
        ..ClockTime::default()
    };
    match reading.counting()? {
        ClockSide::Left => reading.left = fallen,
        ClockSide::Right => reading.right = fallen,
    }
    for second in 1..6 {
        let mut bytes = Vec::new();
        Message::Clock(reading).encode(&mut bytes);
        capture.records.push(Record {
            at: Millis(at + 1000 * second),
            act: Act::FromBoard(bytes),
        });
    }
    Some(capture)
}

/// True where the last game has its result.
fn is_over(played: &Played) -> bool {
    let turns = |event: &&Event| matches!(event.body, Body::GameStarted { .. } | Body::GameEnded { .. });
    let last = played.events.iter().rev().find(turns);
    last.is_some_and(|event| matches!(event.body, Body::GameEnded { .. }))
}

/// Who is told that his flag has fallen.
fn flags(played: &Played) -> Vec<Option<Side>> {
    let of_a_flag = |it: &Said| it.what.kind == IrregularityKind::FlagFall && !it.is_suspicion();
    let said = said(&played.events).into_iter().filter(of_a_flag);
    said.map(|it| it.what.offender).collect()
}

/// The daemon came in the first seconds of a game that it could not name, and the presses of that game were counted for the next one.
#[test]
fn a_flag_that_was_given_to_the_wrong_player_is_not() {
    let fixture = recorded("pawn-with-the-chip-of-the-other-colour-taken-back-and-next-game");
    let capture = until_a_flag_falls(&fixture.capture, fixture.capture.end().0).unwrap();
    let right = flags(&play_whole(&capture));
    assert_eq!(right.len(), 1);
    assert_eq!(flags(&play_late(&capture, Millis(3673))), right);
}

/// Who comes in the first seconds of a game may have missed a half-move, or the press of one: until presses have borne out whose side
/// is whose, the fall of a flag is suspected.
#[test]
fn a_daemon_that_is_started_in_the_first_seconds_gives_no_flag_to_the_wrong_player() {
    let (step, parts): (u64, &[u64]) = if is_full() {
        (300, &[30, 60, 100])
    } else {
        (3000, &[60])
    };
    let (mut tried, mut wrong) = (0, Vec::new());
    for fixture in fixtures() {
        // The pieces stand there when the daemon comes.
        let Some(read) = fixture.capture.records.first().map(|record| record.at.0 + 1) else {
            continue;
        };
        for part in parts.iter().copied() {
            let ends = fixture.capture.end().0 * part / 100;
            let Some(capture) = until_a_flag_falls(&fixture.capture, ends) else {
                continue;
            };
            let whole = play_whole(&capture);
            // Who comes late does not know that the game is over.
            if is_over(&whole) {
                continue;
            }
            let right = flags(&whole);
            let begins = read + instants_of(&fixture.name, part).u64(..step);
            for at in (begins..ends.min(6000)).step_by(step as usize) {
                tried += 1;
                let got = flags(&play_late(&capture, Millis(at)));
                if got.iter().any(|one| !right.contains(one)) {
                    wrong.push(format!("{} until {ends}, started at {at}: {got:?}", fixture.name));
                }
            }
        }
    }
    println!("{tried} late starts");
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
}

//! Boards of a shared line whose daemon is started anew in mid-game, or all of which lose power for a moment.

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    event::{Body, Certainty, Event},
    sim::{line::Troubles, rehearsal::line::LineRehearsal},
    time::Millis,
};

use crate::{
    line_games::{FIXTURES, fixtures, hall, told},
    seed::is_full,
    told,
};

const END: Millis = Millis(3_600_000);

/// What was said of each board and of its capture alone: half-moves, and who is at fault; a suspicion accuses nobody.
fn said(captures: &[Capture], hall: &LineRehearsal) -> Vec<[[Vec<String>; 2]; 2]> {
    let alone = captures.iter().map(|capture| parts(&told::events(capture, "1")));
    let line = hall.seats.iter().map(|seat| parts(&seat.events));
    line.zip(alone).map(|(line, alone)| [line, alone]).collect()
}

fn parts(events: &[Event]) -> [Vec<String>; 2] {
    let is_suspicion = |event: &&Event| matches!(&event.body, Body::Irregularity(it) if it.certainty == Certainty::Suspected);
    let sure: Vec<Event> = events
        .iter()
        .filter(|event| !is_suspicion(event))
        .cloned()
        .collect();
    let (faults, moves) = told(&sure).into_iter().partition(|word| word.contains(" by "));
    [moves, faults]
}

/// What each board's capture alone has of offences and the line does not even suspect.
fn missed(captures: &[Capture], hall: &LineRehearsal) -> Vec<String> {
    let faults = |events: &[Event]| {
        let said = told(events).into_iter();
        said.filter(|word| word.contains(" by ")).collect::<Vec<_>>()
    };
    let boards = FIXTURES.iter().zip(captures).zip(&hall.seats);
    boards
        .flat_map(|((name, capture), seat)| {
            let said = faults(&seat.events);
            let alone = faults(&told::events(capture, "1"));
            let missed = alone.into_iter().filter(move |fault| !said.contains(fault));
            missed.map(move |fault| format!("{name}: {fault}"))
        })
        .collect()
}

/// A piece that is put back soon after the press.
const SOON_PUT_BACK: &str = "illegal-piece-cannot-move-so: IllegalMove by Some(White) at 3";

/// The boards keep what they have to tell.
#[test]
fn a_daemon_that_is_started_anew_once_says_all_offences() {
    let captures = fixtures();
    for at in (7000..40_000).step_by(if is_full() { 300 } else { 4100 }) {
        let mut hall = hall(captures.clone(), Troubles::default());
        hall.pass(Millis(at));
        hall.restart(hall.now);
        hall.run(END);
        assert_eq!(missed(&captures, &hall), [""; 0], "anew at {at}");
    }
}

/// Whenever it is: the half-moves are there, nobody is accused besides, and the offences are found.
#[test]
fn a_daemon_that_is_started_anew_says_the_half_moves_and_accuses_nobody() {
    let captures = fixtures();
    for every in [1100, 2700, 7300] {
        let mut hall = hall(captures.clone(), Troubles::default());
        for moment in (6000..40_000).step_by(every) {
            hall.pass(Millis(moment));
            hall.restart(hall.now);
        }
        hall.run(END);
        for (name, [line, alone]) in FIXTURES.iter().zip(said(&captures, &hall)) {
            assert_eq!(line[0], alone[0], "{name}, anew each {every} ms");
            let is_true = |fault: &String| alone[1].contains(fault);
            assert!(
                line[1].iter().all(is_true),
                "{name}, anew each {every} ms: {:?}",
                line[1]
            );
        }
        assert_eq!(missed(&captures, &hall), [""; 0], "anew each {every} ms");
    }
}

/// The line's power fails for two seconds: each board has forgotten what it had to tell. Which half-moves those were cannot always be known. The
/// offences are found, but for one whose press falls just before the cut: it was not judged yet, and when the boards have all been read again,
/// 4 s after the power came back, the piece stands where it was.
#[test]
fn boards_that_all_lose_power_accuse_nobody() {
    let captures = fixtures();
    for moment in [9000, 12_000, 15_000, 21_000] {
        let mut dark = captures.clone();
        for capture in &mut dark {
            let links = [(moment, Act::LinkDown), (moment + 2000, Act::LinkUp)];
            for (at, act) in links {
                let place = capture.records.partition_point(|record| record.at.0 <= at);
                capture.records.insert(place, Record { at: Millis(at), act });
            }
        }
        let mut hall = hall(dark, Troubles::default());
        hall.run(END);
        for (name, [line, alone]) in FIXTURES.iter().zip(said(&captures, &hall)) {
            let is_true = |fault: &String| alone[1].contains(fault);
            assert!(
                line[1].iter().all(is_true),
                "{name}, dark at {moment}: {:?}",
                line[1]
            );
        }
        let mut missed = missed(&captures, &hall);
        missed.retain(|fault| moment != 9000 || fault != SOON_PUT_BACK);
        assert_eq!(missed, [""; 0], "dark at {moment}");
    }
}

//! Offences whose press comes in a lump: what `replay` finds is said, or suspected where nobody can be accused on times that
//! nobody measured. Nothing is passed over.

use dgt2mqtt::{
    capture::Capture,
    event::{Body, Event},
    laws::IrregularityKind,
    time::Millis,
};

use crate::{
    late::{held_back, is_full, suspended},
    play::{Fixture, fixtures, play_whole, recorded},
    said::{Said, said},
};

/// A pawn is left on the last rank and taken at once. Where both come in one lump, nobody knows that it stood there at the press.
const TAKEN_AT_ONCE: &str = "promotion-not-replaced-and-taken-at-once";

/// When the first game began, which is to be under way when the lump begins.
fn began(events: &[Event]) -> Option<u64> {
    let start = |event: &&Event| matches!(event.body, Body::GameStarted { .. });
    let began = events.iter().find(start)?;
    Some((began.t * 1000.0).round() as u64 + 1)
}

/// Of the offences whose press was held back for `ms` how many are said, suspected, and neither.
#[derive(Debug, Default)]
struct Count {
    said: usize,
    suspected: usize,
    silent: Vec<String>,
    /// Of the next game, which was set up and begun in the lump, that its array was wrong.
    silent_arrays: usize,
}

/// What stands still for `ms`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Still {
    /// The line, while a game is under way.
    Line,
    /// The process, also before the game begins.
    Process,
    /// The process, after the press and before it is judged.
    Judgement,
}

fn count(still: Still, ms: u64, seeds: std::ops::Range<u64>, step: usize) -> Count {
    let mut count = Count::default();
    for fixture in fixtures() {
        let Fixture { name, capture, .. } = fixture;
        // Another fixture changes nothing for those that are there.
        let mut tried = name.bytes().map(usize::from).sum::<usize>();
        let events = &fixture.whole().events;
        let offences = said(events);
        let sure = |offence: &&Said| !offence.is_suspicion() && !offence.is_withdrawn;
        for (offence, seed) in offences
            .iter()
            .filter(sure)
            .flat_map(|offence| seeds.clone().map(move |seed| (offence, seed)))
        {
            tried += 1;
            let Some(first) = began(events).filter(|first| *first <= offence.at) else {
                continue;
            };
            let first = if still == Still::Process { 250 } else { first };
            let from = match still {
                Still::Judgement => offence.at + 1..=offence.said.saturating_sub(1),
                _ => first.max((offence.at + 1).saturating_sub(ms))..=offence.at,
            };
            if from.is_empty() {
                continue;
            }
            if tried % step != 0 {
                continue;
            }
            let mut random = fastrand::Rng::with_seed(seed ^ ms ^ offence.at);
            let from = random.u64(from);
            let window = (Millis(from), Millis(from + ms));
            let late = match still {
                Still::Line => play_whole(&held_back(capture, window)),
                Still::Process | Still::Judgement => suspended(capture, window, random.u64(..1000)),
            };
            let late = said(&late.events);
            let mut found = late.iter().filter(|it| it.tells_of(offence)).peekable();
            if found.peek().is_none() {
                let (kind, ply) = (offence.what.kind.as_str(), offence.what.ply);
                if offence.what.kind == IrregularityKind::InitialPositionWrong {
                    count.silent_arrays += 1;
                    continue;
                }
                count
                    .silent
                    .push(format!("{ms} ms, {name} from {from}: {kind}@{ply}"));
            } else if found.all(Said::is_suspicion) {
                count.suspected += 1;
            } else {
                count.said += 1;
            }
        }
    }
    println!(
        "{ms} ms: {} said, {} suspected, {} silent",
        count.said,
        count.suspected,
        count.silent.len()
    );
    count
}

/// White's sleeve sends the pawn e7 to e5 before he presses, or Black's hand plays it there early and he forgets his clock: the
/// board says the same in the same order, and only the time between two readings tells one from the other. In a lump nobody can.
#[test]
fn a_knock_and_an_early_reply_are_the_same_bytes_in_a_lump() {
    let knocked = recorded("displaced-thrown-to-where-a-reply-would-put-it").capture;
    let mut replied = knocked.clone();
    // The pawn is read on e5 10 ms after it left e7; a hand takes its time.
    let arrived = Millis(4720);
    for record in &mut replied.records {
        if record.at == arrived {
            record.at = arrived + 400;
        }
    }
    let displaced = |capture: &Capture| {
        let events = play_whole(capture).events;
        said(&events)
            .iter()
            .any(|it| it.what.kind == IrregularityKind::PiecesDisplaced)
    };
    assert_eq!((displaced(&knocked), displaced(&replied)), (true, false));
    let window = (Millis(4600), Millis(6000));
    let in_a_lump = |capture| held_back(capture, window).records;
    assert!(in_a_lump(&knocked) == in_a_lump(&replied));
}

/// Nearly all are told. What is silent are above all pieces that fell at the press: that they did is a matter of a quarter of a
/// second. Besides, the next game is not known where it is set up wrongly and begun within
/// the lump: 73 wrong arrays.
#[test]
fn an_offence_in_a_lump_is_not_passed_over() {
    let (all, seeds, step, most, most_of_pawn, most_arrays): (&[u64], _, _, _, _, _) = if is_full() {
        (
            &[1000, 2000, 5000, 10_000, 20_000, 60_000],
            1..21,
            1,
            120,
            112,
            75,
        )
    } else {
        (&[2000, 20_000], 1..2, 2, 2, 2, 2)
    };
    let (mut told, mut silent, mut arrays) = (0, Vec::new(), 0);
    for ms in all {
        let count = count(Still::Line, *ms, seeds.clone(), step);
        told += count.said + count.suspected;
        silent.extend(count.silent);
        arrays += count.silent_arrays;
    }
    println!("{arrays} wrong arrays of a next game neither said nor suspected");
    let of = told + silent.len();
    println!(
        "{told} of {of} told; neither said nor suspected:\n{}",
        silent.join("\n")
    );
    assert!(arrays <= most_arrays, "{arrays} arrays");
    let (of_pawn, silent): (Vec<_>, Vec<_>) = silent.into_iter().partition(|it| it.contains(TAKEN_AT_ONCE));
    assert!(of_pawn.len() <= most_of_pawn, "{}", of_pawn.join("\n"));
    let count = silent.len();
    assert!(count <= most, "{count} of {of} silent:\n{}", silent.join("\n"));
}

/// Of the offences in lumps of all lengths no more than the first of `most`, or in full the second, are neither said nor suspected; the
/// same of the arrays of a next game.
fn few_are_silent(still: Still, most: [usize; 2], most_arrays: [usize; 2]) {
    let (all, seeds, step): (&[u64], _, _) = if is_full() {
        (&[1000, 2000, 5000, 10_000, 20_000, 60_000], 1..21, 1)
    } else {
        (&[2000, 20_000], 1..2, 2)
    };
    let (mut told, mut silent, mut arrays) = (0, Vec::new(), 0);
    for ms in all {
        let count = count(still, *ms, seeds.clone(), step);
        told += count.said + count.suspected;
        silent.extend(count.silent);
        arrays += count.silent_arrays;
    }
    let of = told + silent.len();
    println!(
        "{arrays} wrong arrays; {told} of {of} told; neither said nor suspected:\n{}",
        silent.join("\n")
    );
    let full = usize::from(is_full());
    assert!(arrays <= most_arrays[full], "{arrays} arrays");
    assert!(silent.len() <= most[full], "{} of {of} silent", silent.len());
}

/// A process that is suspended knows that what came has waited, also where no clock runs. Silent are above all pawns that were taken at
/// once, pieces that were thrown to where a reply would put them, and offences before a second press, where the whole game came in one
/// instant.
#[test]
fn nor_is_one_while_the_process_is_suspended() {
    few_are_silent(Still::Process, [2, 280], [2, 51]);
}

/// What was done just before, and not judged yet.
#[test]
fn nor_is_one_before_the_process_is_suspended() {
    few_are_silent(Still::Judgement, [0, 69], [0, 0]);
}

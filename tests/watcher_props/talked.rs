//! The daemon is killed every few seconds, and greets the board as often. The board goes on meanwhile, and tells only what it is
//! asked for. Nobody is accused besides, and what was heard is said.

use dgt2mqtt::{
    capture::{Capture, replay::settings_of},
    event::{Body, Event, notice},
    laws::IrregularityKind,
    sim::{
        board::SimulatedIdentity,
        player::PlayedBoard,
        rehearsal::{Rehearsal, Rehearsed, WITHOUT_WAITING},
    },
    time::Millis,
};
use fastrand::Rng;

use crate::{
    heard::{Until, deaf_where, heard_and_untold, is_heard, is_read},
    late::is_full,
    offences::OFFENCES,
    play::{Fixture, recorded},
    said::{Said, accused_besides, said},
    strikes::{LEAD, Strikes, Struck, are_said, led_in, without_other_trouble},
};

/// Between two kills: hardly more than a greeting takes.
const EVERY: u64 = 2000;
/// A daemon that was killed is away for no longer.
const AWAY: u64 = 600;

/// Games in which the watcher suspects somebody for a moment, or withdraws what it said, and nobody has done anything.
const NO_OFFENCES: [&str; 4] = [
    "four-presses-made-up-for",
    "kings-drawn-by-a-step-out-of-turn",
    "kings-in-the-centre-after-a-press-of-long-ago",
    "piece-between-two-squares",
];

/// What comes of a capture where the daemon is killed so.
fn killed(capture: &Capture, kills: Strikes) -> Vec<Event> {
    struck(capture, kills, true).events
}

/// What comes of a capture where the daemon is killed so, or told to end.
fn struck(capture: &Capture, strikes: Strikes, kills: bool) -> Struck {
    let capture = led_in(capture);
    let end = capture.end();
    let settings = settings_of(&capture.header, "1");
    let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), WITHOUT_WAITING);
    let mut rehearsal = Rehearsal::new(player, settings).by_usb().with_journal();
    let times: Vec<_> = strikes.times(end.0).map(Millis).collect();
    for &at in &times {
        rehearsal.run_until(at);
        let back = at + strikes.away;
        if kills {
            rehearsal.kill(back);
        } else {
            rehearsal.restart(back);
        }
    }
    rehearsal.run_until(end + 10_000);
    let Rehearsed { events, capture, .. } = rehearsal.end();
    let deaf = times.into_iter().map(|at| {
        let back = is_read(&capture, at + strikes.away).unwrap_or(end);
        let (gone, back) = deaf_where(kills, at, back);
        (gone - LEAD, back - LEAD)
    });
    let deaf = deaf.collect();
    Struck {
        events,
        deaf,
        until: Until::Said,
    }
}

#[test]
fn a_daemon_that_is_killed_every_few_seconds_accuses_nobody_besides() {
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut wrong) = (0, Vec::new());
    for seed in seeds {
        let mut random = Rng::with_seed(seed);
        for fixture in without_other_trouble(step, seed) {
            let kills = Strikes::often(&mut random, AWAY);
            let said = killed(&fixture.capture, kills);
            let name = &fixture.name;
            wrong.extend(
                accused_besides(&said, &fixture.whole().events, true)
                    .into_iter()
                    .map(|player| format!("{name}, {kills:?}: {player}")),
            );
            games += 1;
        }
    }
    println!(
        "{games} games killed every few seconds: {} accuse somebody besides",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn and_it_says_the_offences() {
    let (mut offences, mut missed) = (0, Vec::new());
    for name in OFFENCES {
        let fixture = recorded(name);
        let told = said(&fixture.whole().events);
        for first in (0..EVERY).step_by(if is_full() { 50 } else { 250 }) {
            let kills = Strikes {
                first,
                every: EVERY,
                away: 300,
            };
            let got = said(&killed(&fixture.capture, kills));
            let lacking = told.iter().filter(|it| !got.iter().any(|one| one.tells_of(it)));
            missed.extend(lacking.map(|it| format!("{name}, {kills:?}: {:?}", it.what.kind)));
            offences += told.len();
        }
    }
    println!(
        "killed every two seconds: {} of {offences} offences neither said nor suspected",
        missed.len()
    );
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Where the hand of an offence falls into the time in which nobody listens, it may be missed.
#[test]
fn and_nearly_all_of_them_whenever_it_is_killed() {
    are_said([2, 31], |random, capture| {
        let kills = Strikes::often(random, AWAY);
        (format!("{kills:?}"), struck(capture, kills, true))
    });
}

/// A square that changed before the first dump and back; what a dump showed, taken for an act of the next turn; a promoted piece that
/// stood on the board while nobody listened; a takeback whose end nobody heard; half-moves that nobody can name.
#[test]
fn what_was_said_falsely_under_kills_is_not_said() {
    for (name, first, every, away) in [
        ("illegal-capture", 3813, 4806, 335),
        ("press-answers-displaced-pieces", 139, 2128, 549),
        ("promotion-by-capture-taken-at-once", 5, 2553, 521),
        ("takeback-started-at-once", 3281, 4690, 534),
        ("famous-sambuev-noritsyn-2017-not-read", 3380, 4015, 449),
        // Hands moved a piece while the clock stood.
        ("position-set-up-while-the-clock-stood", 1876, 3083, 322),
        ("position-set-up-while-the-clock-stood", 3440, 3846, 330),
        ("position-set-up-while-the-clock-stood", 1776, 3046, 297),
        // Nobody heard the answer to an illegal half-move, or what followed it.
        ("illegal-capture-en-passant-overlooked", 3038, 4385, 428),
        ("illegal-capture-en-passant-overlooked", 255, 2884, 374),
    ] {
        let fixture = recorded(name);
        let got = killed(&fixture.capture, Strikes { first, every, away });
        let besides = accused_besides(&got, &fixture.whole().events, true);
        assert_eq!(besides, [""; 0], "{name}");
    }
}

/// Offences of all kinds, with kills and with ends: of what depends on a hand alone, nobody is told but what was heard of it.
#[test]
fn and_offences_of_all_kinds_whenever_it_is_struck() {
    let is_of_hands = |it: &Said| {
        matches!(
            it.what.kind,
            IrregularityKind::TouchMove | IrregularityKind::TwoHands
        )
    };
    // In full 50 of 1,290 are missed.
    let (rounds, most) = if is_full() { (10, 55) } else { (3, 20) };
    let (mut offences, mut heard) = (0, 0);
    let (mut missed, mut untold, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for fixture in without_other_trouble(1, 0) {
        let Fixture { name, capture, .. } = fixture;
        let whole = &fixture.whole().events;
        let mut told: Vec<_> = said(whole).into_iter().filter(|it| !is_of_hands(it)).collect();
        if NO_OFFENCES.contains(&name.as_str()) {
            told.clear();
        }
        // Another fixture changes nothing for those that are there.
        let seed = name
            .bytes()
            .fold(1, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
        let mut random = Rng::with_seed(seed);
        for _ in 0..if told.is_empty() { 0 } else { rounds } {
            let (strikes, kills) = (Strikes::often(&mut random, AWAY), random.bool());
            let Struck { events, deaf, until } = struck(capture, strikes, kills);
            let got = said(&events);
            heard += told
                .iter()
                .filter(|it| is_heard(capture, it, &deaf, until))
                .count();
            untold.extend(heard_and_untold(fixture, &events, &deaf, until));
            offences += told.len();
            let lacking = told.iter().filter(|it| !got.iter().any(|one| one.tells_of(it)));
            missed
                .extend(lacking.map(|it| format!("{name}, {strikes:?}, kills {kills}: {:?}", it.what.kind)));
            let besides = accused_besides(&events, whole, true);
            wrong.extend(
                besides
                    .into_iter()
                    .map(|it| format!("{name}, {strikes:?}, kills {kills}: {it}")),
            );
        }
    }
    println!(
        "{} of {offences} offences of all kinds neither said nor suspected, {} of {heard} that were heard",
        missed.len(),
        untold.len()
    );
    assert!(untold.is_empty(), "{}", untold.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(missed.len() <= most, "{}", missed.join("\n"));
}

/// The lever went over while nobody listened, and was taken for a start on the other side; a press was forgotten that came while the
/// board was greeted; the game began in a gap, and the clock was stopped because of the offence; a clock
/// that ran on was taken for one that was started after the offence; the mover's pieces stood elsewhere when the board was read; a
/// press came before the greeting was over; a game that was about to be taken up waited anew.
#[test]
fn what_was_missed_after_one_kill_is_said() {
    for (name, first, away) in [
        ("illegal-own-piece", 1960, 700),
        ("press-without-move", 3440, 250),
        ("illegal-castling", 3470, 414),
        ("moved-out-of-turn", 4500, 300),
        ("pieces-displaced", 4600, 300),
        ("promotion-wrong-colour", 5786, 211),
        ("famous-firouzja-carlsen-2019-2023", 9008, 566),
    ] {
        let fixture = recorded(name);
        let every = u64::MAX;
        let got = said(&killed(&fixture.capture, Strikes { first, every, away }));
        for offence in said(&fixture.whole().events) {
            assert!(
                got.iter().any(|one| one.tells_of(&offence)),
                "{name}: {offence:?}"
            );
        }
    }
}

/// White's pawn is in a hand as the daemon comes back and the game begins.
#[test]
fn a_piece_in_a_hand_as_the_game_begins_has_no_dead_chip() {
    let fixture = recorded("illegal-own-piece");
    let kills = Strikes {
        first: 1177,
        every: 3490,
        away: 552,
    };
    let is_unread =
        |event: &Event| matches!(&event.body, Body::Notice { code, .. } if *code == notice::PIECE_NOT_READ);
    assert!(!killed(&fixture.capture, kills).iter().any(is_unread));
}

/// Half-moves that the board's log tells from where a displaced piece stands: what was kept of such a record could not be read.
#[test]
fn what_a_log_tells_from_where_pieces_stand_is_kept() {
    let fixture = recorded("landing-lost-and-gone-on");
    for (first, every, away) in [(851, 2516, 418), (3750, 4348, 560)] {
        let got = killed(&fixture.capture, Strikes { first, every, away });
        let besides = accused_besides(&got, &fixture.whole().events, true);
        assert_eq!(besides, [""; 0], "{first}");
    }
}

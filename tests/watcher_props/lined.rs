//! A board on a shared line: the daemon is ended or killed and started again, while the board goes on and keeps what it has to
//! tell. Nobody is accused besides, and what the board kept is said.

use dgt2mqtt::{
    capture::{Capture, Header, replay::settings_of},
    dgt::line::budget,
    event::{Body, Event, Irregularity},
    sim::{
        board::SimulatedIdentity,
        line::Troubles,
        player::PlayedBoard,
        rehearsal::{
            WITHOUT_WAITING,
            line::{LineRehearsal, SeatOfLine},
        },
    },
    time::Millis,
    watcher::MOST_GATHERED_MS,
};
use fastrand::Rng;

use crate::{
    heard::{Until, deaf_where},
    late::is_full,
    play::{Fixture, play_replayed, recorded},
    said::accused_besides,
    strikes::{LEAD, Strikes, Struck, are_said, led_in, without_other_trouble},
};

/// What befalls a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Kill,
    End,
    /// Its process does not run.
    Suspension,
}

/// What comes of these captures, which are played on one line, where the daemon is struck.
fn struck(captures: &[&Capture], strikes: Strikes, blow: Blow) -> Vec<Vec<Event>> {
    let count = captures.len() as u64;
    let led: Vec<_> = captures.iter().map(|capture| led_in(capture)).collect();
    let end = led.iter().map(Capture::end).max().unwrap();
    let board = |(n, capture): (usize, Capture)| {
        let mut settings = settings_of(&capture.header, &n.to_string());
        settings.gathered_ms = budget::gathered_ms(count).min(MOST_GATHERED_MS);
        settings.boards_on_line = count;
        let identity = SimulatedIdentity::synthetic(n as u16);
        (PlayedBoard::new(capture, identity, WITHOUT_WAITING), settings)
    };
    let boards = led.into_iter().enumerate().map(board).collect();
    let mut hall = LineRehearsal::new(boards, Troubles::default(), 1);
    for at in strikes.times(end.0) {
        hall.pass(Millis(at));
        let back = Millis(at + strikes.away);
        match blow {
            Blow::Kill => hall.kill(back),
            Blow::End => hall.restart(back),
            Blow::Suspension => hall.suspend(back),
        }
    }
    hall.run(hall.now.max(end) + 10_000);
    if blow == Blow::Suspension {
        for (seat, capture) in hall.seats.iter().zip(captures) {
            is_as_replayed(seat, capture.header.clone(), count);
        }
    }
    hall.seats.into_iter().map(|seat| seat.events).collect()
}

/// `replay` tells the same of what came to a watcher of a line of `count` boards.
fn is_as_replayed(seat: &SeatOfLine, mut header: Header, count: u64) {
    let gathered = budget::gathered_ms(count).min(MOST_GATHERED_MS);
    header.push("gathered", &format!("{gathered} ms")).unwrap();
    header.push("boards-on-line", &count.to_string()).unwrap();
    let replayed = play_replayed(&seat.capture(header).unwrap()).events;
    let told = |events: &[Event]| {
        let of_play = |event: &Event| match &event.body {
            Body::Move(made) => Some(format!("{} {}", made.ply, made.uci)),
            Body::Irregularity(what) => {
                let Irregularity { kind, ply, .. } = &**what;
                Some(format!("{ply} {} {}", kind.as_str(), what.certainty.in_words()))
            }
            Body::MovesRetracted { to_ply, .. } => Some(format!("back to {to_ply}")),
            _ => None,
        };
        events.iter().filter_map(of_play).collect::<Vec<_>>()
    };
    assert_eq!(told(&seat.events), told(&replayed));
}

/// When the daemon says that the board is there, at `back` or later.
fn is_there(events: &[Event], back: Millis) -> Option<Millis> {
    let there = events
        .iter()
        .filter(|event| matches!(event.body, Body::BoardConnected { .. }));
    let mut times = there.map(|event| Millis((event.t * 1000.0).round() as u64));
    times.find(|at| back <= *at)
}

/// The half-moves on record in the end.
fn half_moves(events: &[Event]) -> Vec<&str> {
    let mut moves = Vec::new();
    for event in events {
        match &event.body {
            Body::Move(made) => {
                moves.truncate(made.ply as usize - 1);
                moves.push(made.uci.as_str());
            }
            Body::MovesRetracted { to_ply, .. } => moves.truncate(*to_ply as usize),
            _ => {}
        }
    }
    moves
}

/// A kill or an end.
fn kill_or_end(random: &mut Rng) -> Blow {
    if random.bool() { Blow::Kill } else { Blow::End }
}

/// Strikes the daemon as `when` says while so many `boards` are played on each line, and looks whether anybody is accused besides; how
/// many games have other half-moves is printed.
fn has_nobody_accused(
    what: &str,
    boards: usize,
    blow: impl Fn(&mut Rng) -> Blow,
    when: impl Fn(&mut Rng, &Capture) -> Strikes,
) {
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut otherwise, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let mut random = Rng::with_seed(seed);
        let fixtures: Vec<_> = without_other_trouble(step, seed).collect();
        for fixtures in fixtures.chunks(boards) {
            let captures: Vec<_> = fixtures.iter().map(|fixture| &fixture.capture).collect();
            let strikes = when(&mut random, captures[0]);
            let blow = blow(&mut random);
            for (fixture, said) in fixtures.iter().zip(struck(&captures, strikes, blow)) {
                let Fixture { name, .. } = fixture;
                let whole = &fixture.whole().events;
                let besides = accused_besides(&said, whole, true);
                wrong.extend(
                    besides
                        .into_iter()
                        .map(|it| format!("{name}, {strikes:?}, {blow:?}: {it}")),
                );
                otherwise += usize::from(half_moves(&said) != half_moves(whole));
                games += 1;
            }
        }
    }
    println!(
        "{games} games {what}: {} accuse somebody besides, {otherwise} have other half-moves",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn strikes_every_few_seconds_have_nobody_accused_besides() {
    has_nobody_accused("with strikes every few seconds", 1, kill_or_end, |random, _| {
        Strikes::often(random, 800)
    });
}

#[test]
fn nor_has_a_strike_after_which_nobody_listens_for_long() {
    has_nobody_accused("with one strike", 1, kill_or_end, Strikes::once);
}

#[test]
fn nor_has_a_strike_where_a_line_has_twelve_boards() {
    has_nobody_accused(
        "with one strike, twelve on a line",
        12,
        kill_or_end,
        Strikes::once,
    );
}

/// A machine sleeps: the boards keep what happens meanwhile, and tell it in one instant.
#[test]
fn nor_has_a_process_that_is_suspended() {
    for boards in [1, 12] {
        let what = format!("suspended once, {boards} on a line");
        has_nobody_accused(&what, boards, |_| Blow::Suspension, Strikes::once);
    }
}

/// Where all of an offence happened before the process stood still, or after it.
#[test]
fn and_the_offences_are_said_beside_it() {
    are_said([5, 73], |random, capture| {
        let strikes = Strikes::once(random, capture);
        let events = struck(&[capture], strikes, Blow::Suspension).remove(0);
        // What happens before a board is asked again is told with the rest.
        let deaf = vec![(Millis(strikes.first), Millis(strikes.first + strikes.away + 1000))];
        let until = Until::Done;
        (format!("{strikes:?}"), Struck { events, deaf, until })
    });
}

#[test]
fn and_the_offences_are_said() {
    are_said([1, 2], |random, capture| {
        let strikes = Strikes::often(random, 800);
        let blow = kill_or_end(random);
        let events = struck(&[capture], strikes, blow).remove(0);
        let end = led_in(capture).end();
        let deaf = strikes.times(end.0).map(Millis).map(|at| {
            let (gone, back) = deaf_where(
                blow == Blow::Kill,
                at,
                is_there(&events, at + strikes.away).unwrap_or(end),
            );
            (gone - LEAD, back - LEAD)
        });
        let deaf = deaf.collect();
        (
            format!("{strikes:?}, {blow:?}"),
            Struck {
                events,
                deaf,
                until: Until::Said,
            },
        )
    });
}

/// A press that came while the board was greeted; a lever that sprang back while nobody listened; a clock that somebody had stopped
/// before, and pieces that were put back beside it.
#[test]
fn what_was_said_falsely_on_a_line_is_not_said() {
    for (name, boards, first, every, away, blow) in [
        ("illegal-piece-cannot-move-so", 1, 1263, 4496, 611, Blow::End),
        ("lever-springs-back", 1, 3836, 4317, 798, Blow::Kill),
        ("illegal-found-later", 1, 1551, 2994, 999, Blow::Kill),
        // Nobody heard that the clock was stopped and started.
        (
            "taken-back-and-made-otherwise-while-the-clock-stands",
            1,
            6056,
            39_780,
            6848,
            Blow::Kill,
        ),
        (
            "position-set-up-while-the-clock-stood",
            12,
            6843,
            38_460,
            4186,
            Blow::End,
        ),
        // What an illegal half-move led to was suspected, and the next accusation rested on it.
        (
            "wrong-piece-moves-and-is-replaced",
            12,
            7800,
            94_380,
            11_275,
            Blow::Kill,
        ),
        (
            "second-offence-against-a-bare-king",
            12,
            5405,
            32_600,
            5922,
            Blow::End,
        ),
        // A suspected press without a move comes before the half-move that it makes another one.
        (
            "press-without-a-move-that-is-answered",
            12,
            4500,
            53_640,
            3868,
            Blow::End,
        ),
    ] {
        let fixture = recorded(name);
        let captures = vec![&fixture.capture; boards];
        let got = struck(&captures, Strikes { first, every, away }, blow).remove(0);
        let besides = accused_besides(&got, &fixture.whole().events, true);
        assert_eq!(besides, [""; 0], "{name}");
    }
}

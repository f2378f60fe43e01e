//! A board on a shared line: the daemon is ended or killed and started again, while the board goes on and keeps what it has to
//! tell. Nobody is accused besides, and what the board kept is said.

use dgt2mqtt::{
    capture::{Capture, replay::settings_of},
    dgt::line::budget,
    event::{Body, Event},
    sim::{
        board::SimulatedIdentity,
        line::Troubles,
        player::PlayedBoard,
        rehearsal::{WITHOUT_WAITING, line::LineRehearsal},
    },
    time::Millis,
    watcher::MOST_GATHERED_MS,
};
use fastrand::Rng;

use crate::{
    heard::deaf_where,
    late::is_full,
    play::{Fixture, recorded},
    said::accused_besides,
    strikes::{LEAD, Strikes, Struck, are_said, led_in, without_other_trouble},
};

/// What comes of these captures, which are played on one line. The daemon is killed, or told to end.
fn struck(captures: &[&Capture], strikes: Strikes, kills: bool) -> Vec<Vec<Event>> {
    let count = captures.len() as u64;
    let captures: Vec<_> = captures.iter().map(|capture| led_in(capture)).collect();
    let end = captures.iter().map(Capture::end).max().unwrap();
    let board = |(n, capture): (usize, Capture)| {
        let mut settings = settings_of(&capture.header, &n.to_string());
        settings.gathered_ms = budget::gathered_ms(count).min(MOST_GATHERED_MS);
        settings.boards_on_line = count;
        let identity = SimulatedIdentity::synthetic(n as u16);
        (PlayedBoard::new(capture, identity, WITHOUT_WAITING), settings)
    };
    let boards = captures.into_iter().enumerate().map(board).collect();
    let mut hall = LineRehearsal::new(boards, Troubles::default(), 1);
    for at in strikes.times(end.0) {
        hall.pass(Millis(at));
        let back = Millis(at + strikes.away);
        if kills {
            hall.kill(back);
        } else {
            hall.restart(back);
        }
    }
    hall.run(hall.now.max(end) + 10_000);
    hall.seats.into_iter().map(|seat| seat.events).collect()
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

/// Strikes the daemon as `when` says while so many `boards` are played on each line, and looks whether anybody is accused besides; how
/// many games have other half-moves is printed.
fn has_nobody_accused(what: &str, boards: usize, when: impl Fn(&mut Rng, &Capture) -> Strikes) {
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut otherwise, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let mut random = Rng::with_seed(seed);
        let fixtures: Vec<_> = without_other_trouble(step, seed).collect();
        for fixtures in fixtures.chunks(boards) {
            let captures: Vec<_> = fixtures.iter().map(|fixture| &fixture.capture).collect();
            let strikes = when(&mut random, captures[0]);
            let kills = random.bool();
            for (fixture, said) in fixtures.iter().zip(struck(&captures, strikes, kills)) {
                let Fixture { name, .. } = fixture;
                let whole = &fixture.whole().events;
                let besides = accused_besides(&said, whole, true);
                wrong.extend(
                    besides
                        .into_iter()
                        .map(|it| format!("{name}, {strikes:?}, kills {kills}: {it}")),
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
    has_nobody_accused("with strikes every few seconds", 1, |random, _| {
        Strikes::often(random, 800)
    });
}

#[test]
fn nor_has_a_strike_after_which_nobody_listens_for_long() {
    has_nobody_accused("with one strike", 1, Strikes::once);
}

#[test]
fn nor_has_a_strike_where_a_line_has_twelve_boards() {
    has_nobody_accused("with one strike, twelve on a line", 12, Strikes::once);
}

#[test]
fn and_the_offences_are_said() {
    are_said([1, 2], |random, capture| {
        let strikes = Strikes::often(random, 800);
        let kills = random.bool();
        let events = struck(&[capture], strikes, kills).remove(0);
        let end = led_in(capture).end();
        let deaf = strikes.times(end.0).map(Millis).map(|at| {
            let (gone, back) = deaf_where(kills, at, is_there(&events, at + strikes.away).unwrap_or(end));
            (gone - LEAD, back - LEAD)
        });
        let deaf = deaf.collect();
        (format!("{strikes:?}, kills {kills}"), Struck { events, deaf })
    });
}

/// A press that came while the board was greeted; a lever that sprang back while nobody listened; a clock that somebody had stopped
/// before, and pieces that were put back beside it.
#[test]
fn what_was_said_falsely_on_a_line_is_not_said() {
    for (name, boards, first, every, away, kills) in [
        ("illegal-piece-cannot-move-so", 1, 1263, 4496, 611, false),
        ("lever-springs-back", 1, 3836, 4317, 798, true),
        ("illegal-found-later", 1, 1551, 2994, 999, true),
        // Nobody heard that the clock was stopped and started.
        (
            "taken-back-and-made-otherwise-while-the-clock-stands",
            1,
            6056,
            39_780,
            6848,
            true,
        ),
        (
            "position-set-up-while-the-clock-stood",
            12,
            6843,
            38_460,
            4186,
            false,
        ),
        // What an illegal half-move led to was suspected, and the next accusation rested on it.
        (
            "wrong-piece-moves-and-is-replaced",
            12,
            7800,
            94_380,
            11_275,
            true,
        ),
        (
            "second-offence-against-a-bare-king",
            12,
            5405,
            32_600,
            5922,
            false,
        ),
        // A suspected press without a move comes before the half-move that it makes another one.
        (
            "press-without-a-move-that-is-answered",
            12,
            4500,
            53_640,
            3868,
            false,
        ),
    ] {
        let fixture = recorded(name);
        let captures = vec![&fixture.capture; boards];
        let got = struck(&captures, Strikes { first, every, away }, kills).remove(0);
        let besides = accused_besides(&got, &fixture.whole().events, true);
        assert_eq!(besides, [""; 0], "{name}");
    }
}

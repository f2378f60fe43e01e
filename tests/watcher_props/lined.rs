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
    late::is_full,
    play::{Fixture, fixtures, recorded},
    said::{accused_besides, said},
    talked::OFFENCES,
};

/// The daemon listens when the game begins.
const LEAD: u64 = 5000;

/// When the daemon is struck, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Strikes {
    /// After the game has begun.
    first: u64,
    every: u64,
    /// Until the next daemon listens.
    away: u64,
    /// It is killed, and not told to end.
    kills: bool,
}

impl Strikes {
    /// Every few seconds, and the next daemon comes at once, or on a machine that has much to do.
    fn often(random: &mut Rng, most_away: u64) -> Self {
        let every = random.u64(2000..5000);
        Self {
            first: random.u64(..every),
            every,
            away: random.u64(200..most_away),
            kills: random.bool(),
        }
    }

    /// Once in the game, and the next daemon comes when somebody has started it.
    fn once(random: &mut Rng, capture: &Capture) -> Self {
        let end = capture.end().0;
        Self {
            first: random.u64(..end),
            every: 2 * end,
            away: random.u64(2000..60_000),
            kills: random.bool(),
        }
    }

    /// What comes of these captures, which are played on one line.
    fn strike(self, captures: &[&Capture]) -> Vec<Vec<Event>> {
        let boards = captures.len() as u64;
        let led_in = |capture: &&Capture| {
            let mut capture = Capture::clone(capture);
            for record in &mut capture.records {
                record.at = record.at + LEAD;
            }
            capture
        };
        let captures: Vec<_> = captures.iter().map(led_in).collect();
        let end = captures.iter().map(Capture::end).max().unwrap();
        let board = |(n, capture): (usize, Capture)| {
            let mut settings = settings_of(&capture.header, &n.to_string());
            settings.gathered_ms = budget::gathered_ms(boards).min(MOST_GATHERED_MS);
            settings.boards_on_line = boards;
            let identity = SimulatedIdentity::synthetic(n as u16);
            (PlayedBoard::new(capture, identity, WITHOUT_WAITING), settings)
        };
        let boards = captures.into_iter().enumerate().map(board).collect();
        let mut hall = LineRehearsal::new(boards, Troubles::default(), 1);
        for at in (LEAD + self.first..end.0).step_by(self.every as usize) {
            hall.pass(Millis(at));
            let back = Millis(at + self.away);
            if self.kills {
                hall.kill(back);
            } else {
                hall.restart(back);
            }
        }
        hall.run(hall.now.max(end) + 10_000);
        hall.seats.into_iter().map(|seat| seat.events).collect()
    }
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

/// The fixtures that a shared line can have, each of them in turn.
fn on_a_line(step: usize, seed: u64) -> impl Iterator<Item = &'static Fixture> {
    let fixtures = fixtures().iter().filter(|f| !f.name.starts_with("gathered"));
    fixtures.skip(seed as usize % step).step_by(step)
}

/// Strikes the daemon as `when` says while so many `boards` are played on each line, and looks whether anybody is accused besides; how
/// many games have other half-moves is printed.
fn has_nobody_accused(what: &str, boards: usize, when: impl Fn(&mut Rng, &Capture) -> Strikes) {
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut otherwise, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let mut random = Rng::with_seed(seed);
        let fixtures: Vec<_> = on_a_line(step, seed).collect();
        for fixtures in fixtures.chunks(boards) {
            let captures: Vec<_> = fixtures.iter().map(|fixture| &fixture.capture).collect();
            let strikes = when(&mut random, captures[0]);
            for (fixture, said) in fixtures.iter().zip(strikes.strike(&captures)) {
                let Fixture { name, .. } = fixture;
                let whole = &fixture.whole().events;
                let besides = accused_besides(&said, whole, true);
                wrong.extend(besides.into_iter().map(|it| format!("{name}, {strikes:?}: {it}")));
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
    let mut random = Rng::with_seed(1);
    let (mut offences, mut missed) = (0, Vec::new());
    for name in OFFENCES {
        let fixture = recorded(name);
        for _ in 0..if is_full() { 400 } else { 20 } {
            let strikes = Strikes::often(&mut random, 800);
            let got = said(&strikes.strike(&[&fixture.capture])[0]);
            for offence in said(&fixture.whole().events) {
                offences += 1;
                if !got.iter().any(|one| one.tells_of(&offence)) {
                    missed.push(format!("{name}, {strikes:?}"));
                }
            }
        }
    }
    println!(
        "struck every few seconds: {} of {offences} offences neither said nor suspected",
        missed.len()
    );
    assert!(100 * missed.len() <= offences, "{}", missed.join("\n"));
}

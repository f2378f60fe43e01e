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

    /// What comes of a capture.
    fn strike(self, capture: &Capture) -> Vec<Event> {
        let mut capture = capture.clone();
        for record in &mut capture.records {
            record.at = record.at + LEAD;
        }
        let end = capture.end();
        let mut settings = settings_of(&capture.header, "1");
        settings.gathered_ms = budget::gathered_ms(1).min(MOST_GATHERED_MS);
        settings.boards_on_line = 1;
        let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(1), WITHOUT_WAITING);
        let mut hall = LineRehearsal::new(vec![(player, settings)], Troubles::default(), 1);
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
        hall.seats.remove(0).events
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

/// Strikes the daemon in each game as `when` says, and returns who is accused besides; how many games lack half-moves or have others is
/// printed.
fn has_nobody_accused(what: &str, when: impl Fn(&mut Rng, &Capture) -> Strikes) {
    let (seeds, step) = if is_full() { (1..21, 1) } else { (1..2, 15) };
    let (mut games, mut otherwise, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let mut random = Rng::with_seed(seed);
        for fixture in on_a_line(step, seed) {
            let Fixture { name, capture, .. } = fixture;
            let whole = fixture.whole();
            let strikes = when(&mut random, capture);
            let said = strikes.strike(capture);
            let besides = accused_besides(&said, &whole.events, true);
            wrong.extend(besides.into_iter().map(|it| format!("{name}, {strikes:?}: {it}")));
            otherwise += usize::from(half_moves(&said) != half_moves(&whole.events));
            games += 1;
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
    has_nobody_accused("with strikes every few seconds", |random, _| {
        Strikes::often(random, 1000)
    });
}

#[test]
fn nor_has_a_strike_after_which_nobody_listens_for_long() {
    has_nobody_accused("with one strike", Strikes::once);
}

#[test]
fn and_the_offences_are_said() {
    let mut random = Rng::with_seed(1);
    let (mut offences, mut missed) = (0, Vec::new());
    for name in OFFENCES {
        let fixture = recorded(name);
        for _ in 0..if is_full() { 400 } else { 20 } {
            let strikes = Strikes::often(&mut random, 800);
            let got = said(&strikes.strike(&fixture.capture));
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

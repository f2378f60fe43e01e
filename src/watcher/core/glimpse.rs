//! Asks a copy of the game what it would report had the board stood still before a change that came in a lump:
//! see `game/glimpse`.

use std::mem;

use super::{phase::Phase, play::Play, world::World};
use crate::{
    dgt::{ClockReading, Message},
    event::Body,
    time::Millis,
    watcher::{
        game::{
            Game, Open,
            glimpse::{Glimpse, TICKS, is_open_to_doubt},
        },
        outbox::Outbox,
        timing::Timing,
    },
};

/// How long the board stands still for the copy.
const STOOD_MS: u64 = 3000;
/// Number of times that one copy is reviewed, at the most.
const MOST_LOOKS: usize = 24;
/// Number of copies for one lump, at the most.
const MOST_COPIES: usize = 16;
/// Numbers from here on are of events that nobody sees.
const UNSEEN: u64 = 1 << 41;

/// `message` comes in a lump. Finds out what the game would report had the board stood still before it.
pub(super) fn look_before(world: &mut World, play: &mut Play, now: Millis, message: &Message<'_>) {
    let (Phase::Game(game), Some(lump)) = (&mut play.phase, world.timing.lumped) else {
        return;
    };
    let stood = match message {
        Message::Field { .. } | Message::Dump(_) => game.lump.ticks >= TICKS,
        Message::Clock(next) => {
            let same = |last: &&ClockReading| last.running == next.running && last.lever == next.lever;
            if world.clock.reading().is_none_or(|last| same(&last)) {
                game.lump.ticks += 1;
                return;
            }
            game.lump.ticks = 0;
            true
        }
        _ => return,
    };
    let is_open = game.is_watched()
        && !game.gap.is_open
        && is_open_to_doubt(game.course.lines.best(), &world.board.sensed);
    if world.board.sensed.slack() > 0 || !is_open || game.lump.copies >= MOST_COPIES {
        return;
    }
    game.lump.copies += 1;
    let mut copy = game.clone();
    copy.lump.glimpses.clear();
    let seen = stand_still(world, play, now, copy);
    let Phase::Game(game) = &mut play.phase else {
        return;
    };
    for (open, at) in seen {
        game.lump.keep(Glimpse {
            open,
            at,
            stood,
            lump,
        });
    }
}

/// What `copy` reports if no message comes for a while.
fn stand_still(world: &mut World, play: &Play, now: Millis, copy: Box<Game>) -> Vec<(Open, Millis)> {
    let out = Outbox {
        seq: UNSEEN,
        ..Outbox::default()
    };
    let mut still = Play {
        dump_wanted: play.dump_wanted,
        sign_wanted: play.sign_wanted,
        ..Play::new(Phase::Game(copy), out, play.games)
    };
    let all_told = Timing {
        told: Millis(u64::MAX),
        catches_up: false,
        ..world.timing
    };
    let timing = mem::replace(&mut world.timing, all_told);
    let given_up = world.board.sensed.given_up();
    // No dump comes to the copy. What it reports is a suspicion at the most.
    let maybe_lost = world.board.sensed.put_maybe_lost(None);
    let (clock, chips) = (world.clock.clone(), world.board.chips.clone());
    let mut then = now;
    for _ in 0..MOST_LOOKS {
        still.look_again = None;
        still.review(world, then);
        match still.look_again {
            Some(at) if at <= now + STOOD_MS => then = at.max(then + 1),
            _ => break,
        }
    }
    // Nothing of it has happened.
    world.board.sensed.give_up(given_up);
    world.board.sensed.put_maybe_lost(maybe_lost);
    (world.clock, world.board.chips) = (clock, chips);
    world.timing = timing;
    match still.phase {
        Phase::Game(copy) => said_of(&copy, still.out),
        Phase::Waiting(_) => Vec::new(),
    }
}

/// The irregularities that the copy reported.
fn said_of(copy: &Game, out: Outbox) -> Vec<(Open, Millis)> {
    let mut glimpses = Vec::new();
    for event in out.events {
        if matches!(event.body, Body::Irregularity(_))
            && let Some(open) = copy.cases.all().find(|open| open.id == event.id)
        {
            let at = event.at.unwrap_or(event.t);
            glimpses.push((open.clone(), Millis((at * 1000.0).round() as u64)));
        }
    }
    glimpses
}

#[cfg(test)]
mod tests;

//! Looks whether a game begins: by the clock, by the first half-moves, or in progress.

use super::{
    begin::{begin, begin_mid_game},
    board_seen::BoardSeen,
    occupancy,
    phase::Phase,
    play::Play,
    start::{ARRAY_MS, WRONG_ARRAY_MS, comes_from},
    world::World,
};
use crate::{
    board::{Orientation, Placement},
    time::Millis,
    watcher::{
        OrientationSetting, Settings,
        arrays::{Array, is_playable, kind_of},
        midway::Midway,
    },
};

/// A board that is connected during a game is taken as it stands after this long at rest.
const MID_GAME_MS: u64 = 1000;

/// Looks whether a game begins.
pub(super) fn look_for_start(world: &mut World, play: &mut Play, now: Millis) {
    let Phase::Waiting(setup) = &mut play.phase else {
        return;
    };
    let still = now.since(world.board.sensed.last_change());
    // What is known from before a gap is of no use before the board was read again.
    if world.board.raw.is_none() || world.board.gap.is_some() {
        return;
    }
    let stands_since = setup.stands_since(&world.board.sensed, now);
    if still >= ARRAY_MS {
        setup.note(
            &world.board.sensed,
            now,
            &world.clock,
            world.settings.rules.periods.first(),
        );
        if now < stands_since + WRONG_ARRAY_MS {
            play.look_at(stands_since + WRONG_ARRAY_MS);
        }
    } else {
        play.look_at(world.board.sensed.last_change() + ARRAY_MS);
    }
    if world.clock.runs() {
        start_by_clock(world, play, now);
    } else {
        start_by_moves(world, play, now);
    }
}

fn start_by_clock(world: &mut World, play: &mut Play, now: Millis) {
    let Phase::Waiting(setup) = &mut play.phase else {
        return;
    };
    if let Some(array) = setup.array.clone()
        && comes_from(&array, world.board.sensed.placement())
    {
        let started = *setup.started.get_or_insert(now);
        // A game from a right initial position begins at once. Otherwise a piece may be misread, or be on
        // its way to its square.
        let moved = setup
            .lines
            .as_ref()
            .is_some_and(|lines| !lines.best().plies.is_empty());
        let due = started
            + if matches!(kind_of(&array), Array::Wrong(_)) && !moved {
                WRONG_ARRAY_MS
            } else {
                0
            };
        if now < due {
            play.look_at(due);
        } else {
            begin(world, play, now, &array);
        }
        return;
    }
    // The position does not come from the initial position that stood there before.
    if setup.array.take().is_some() {
        setup.lines = None;
    }
    start_mid_game(world, play, now, 1);
}

/// Looks whether a game is in progress, as when the daemon starts during a game. The running clock tells
/// whose move it is where its sides are known; otherwise the half-moves tell it. Without a clock,
/// `needed` half-moves in turn must show that a game is played at all.
fn start_mid_game(world: &mut World, play: &mut Play, now: Millis, needed: usize) {
    let rest = world.board.sensed.last_change() + MID_GAME_MS;
    let Phase::Waiting(setup) = &mut play.phase else {
        return;
    };
    if let Some(midway) = &mut setup.midway {
        midway.hear_clock(&world.clock, world.settings.rules.periods.first());
        midway.tick(now, &world.board.sensed);
        if let Some(due) = midway.given_up_at().map(|at| at.max(rest)) {
            if now < due {
                play.look_at(due);
            } else {
                setup.midway = None;
            }
        }
    }
    let Phase::Waiting(setup) = &mut play.phase else {
        return;
    };
    if setup.midway.is_none() {
        if now < rest {
            play.look_at(rest);
            return;
        }
        if !is_playable(world.board.sensed.placement())
            || lie_as_likely(&world.settings, &mut world.board, &mut play.phase)
        {
            return;
        }
        let Phase::Waiting(setup) = &mut play.phase else {
            return;
        };
        let first = world.settings.rules.periods.first();
        let stood_since = setup.stands_since(&world.board.sensed, now);
        setup.midway = Some(Midway::new(
            &world.board.sensed,
            (stood_since, now),
            &world.clock,
            first,
        ));
        setup.missed_until = None;
    }
    take_up_midway(world, play, now, needed, rest);
}

/// Takes up the game in progress once the side to move is known.
fn take_up_midway(world: &mut World, play: &mut Play, now: Millis, needed: usize, rest: Millis) {
    let Phase::Waiting(setup) = &mut play.phase else {
        return;
    };
    let Some(midway) = &mut setup.midway else { return };
    if let (Some(_), Some(turn)) = (world.clock.white_side(), world.clock.running())
        && midway.is_quiet(now)
    {
        let from = midway.from.clone();
        begin_mid_game(world, play, now, &from, turn, None);
        return;
    }
    let Some(begun) = midway.decided(now, &world.board.sensed, needed) else {
        if let Some(at) = midway.deadline(now) {
            play.look_at(at);
        }
        return;
    };
    // What looks like one half-move may be a part of another. After two that fit, the board need not be
    // at rest.
    if begun.lines.best().plies.len() <= needed && now < rest {
        play.look_at(rest);
        return;
    }
    if let Some(white) = begun.white {
        // The players' first half-moves told whose side it is, and there may have been others before.
        if midway.is_late && world.clock.white_side().is_none() {
            if !midway.from_first_time {
                setup.missed_until = Some(now);
                midway.is_unsure = true;
            }
            world.clock.guess_late(white);
        } else {
            world.clock.found(white);
        }
    }
    begin_mid_game(world, play, now, &begun.from, begun.turn, Some(begun.lines));
}

fn start_by_moves(world: &mut World, play: &mut Play, now: Millis) {
    let attached = world.clock.attached == Some(true);
    let Phase::Waiting(setup) = &mut play.phase else {
        return;
    };
    if setup.array.is_none() {
        start_mid_game(world, play, now, 4);
        return;
    }
    let Some(lines) = &mut setup.lines else { return };
    lines.tick(now, &world.board.sensed);
    if lines.best().plies.is_empty() && lines.best().misplaced(&world.board.sensed).any() {
        return lie_by_first_move(world, play, now);
    }
    // If a clock is attached, somebody will start it. Without one, the first half-move starts the game.
    let needed = if attached { 3 } else { 1 };
    let best = lines.best();
    if best.plies.len() < needed || !best.misplaced(&world.board.sensed).is_empty() {
        return;
    }
    let wait = world.board.sensed.last_change() + if best.plies.len() > needed { 0 } else { 1500 };
    if now < wait {
        play.look_at(wait);
        return;
    }
    if let Some(array) = setup.array.clone() {
        begin(world, play, now, &array);
    }
}

/// Turns a board that feels only which squares are occupied, if the first half-move shows that it lies the other way round.
fn lie_by_first_move(world: &mut World, play: &mut Play, now: Millis) {
    let is_auto = world.settings.orientation == OrientationSetting::Auto;
    let Some(raw) = world
        .board
        .raw
        .as_ref()
        .filter(|_| is_auto && world.board.sensed.is_felt())
    else {
        return;
    };
    let due = world.board.sensed.last_change() + occupancy::FIRST_MOVE_MS;
    if now < due && !world.board.orientation.is_sideways() {
        play.look_at(due);
    } else if let Some((other, lines)) = occupancy::by_first_move(world.board.orientation, raw, now) {
        world.board.turn_to(&mut play.phase, other);
        if let Phase::Waiting(setup) = &mut play.phase {
            setup.array = Some(Placement::ARRAY);
            setup.lines = Some(lines);
        }
    }
}

/// Turns the board as the pieces suggest, where no initial position has shown which way round it lies:
/// each player's pieces are nearer to that player's side. Returns true when the board was read anew for
/// that.
fn lie_as_likely(settings: &Settings, board: &mut BoardSeen, phase: &mut Phase) -> bool {
    let (OrientationSetting::Auto, Some(raw)) = (settings.orientation, &board.raw) else {
        return false;
    };
    let likely = Orientation::likely(raw);
    if board.orientation_shown || likely == board.orientation {
        return false;
    }
    board.turn_to(phase, likely);
    true
}

#[cfg(test)]
mod tests;

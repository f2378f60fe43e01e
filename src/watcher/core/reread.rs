//! The hypotheses explain what the board tells anew, after a gap or where updates were lost.

use shakmaty::Bitboard;

use super::{phase::Phase, play::Play, world::World};
use crate::{
    board::{Placement, Sensed, bridge},
    time::Millis,
    watcher::{game::gap, outbox::Heard},
};

/// If more squares than these changed while nobody read the board, somebody may have turned it.
const STILL_THE_SAME: usize = 10;

/// Time passes for the hypotheses.
pub(super) fn tick_lines(phase: &mut Phase, sensed: &Sensed, now: Millis) {
    if let Phase::Game(game) = phase {
        game.course.lines.tick(now, sensed);
    }
}

/// The board sent a dump that differs from the known readings in `changed`. `gap` tells, where nobody read the board
/// before it, whether anything was missed.
pub(super) fn reread(
    world: &mut World,
    play: &mut Play,
    now: Millis,
    gap: Option<bool>,
    before: &Placement,
    changed: Bitboard,
) {
    if let Phase::Game(game) = &mut play.phase
        && let Some(missed) = gap
    {
        game.gap.is_open = missed;
        game.gap.read_since = now;
        if missed {
            game.gap.missed_until = Some(now);
            game.presses.clear();
        } else {
            game.gap.recall.stands_as_before(game.course.clock_used);
        }
    }
    let gap = gap == Some(true);
    if let Phase::Waiting(setup) = &mut play.phase
        && gap
    {
        let unknown = world.clock.may_have_missed(world.settings.rules.periods.first());
        setup.missed_changes(now, &world.board.sensed, before, unknown);
        world.board.orientation_shown &= changed.count() <= STILL_THE_SAME;
    }
    if gap
        && let Some((game, ctx)) = play.game_and_ctx(world, now)
        && gap::waits_for_clock(&ctx, &game.positions())
    {
        game.course.lines.frozen = true;
    }
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now)
        && std::mem::take(&mut game.gap.restarts)
        && ctx.clock.runs()
        && !game.gap.is_open
        && game.is_watched()
    {
        // As nothing was missed, the game goes on from what was put up beside the clock that stood.
        game.started_again(&mut ctx);
    }
    let was_silent = !changed.is_empty() && end_silence(&mut play.phase);
    recovering(&mut play.phase, gap || was_silent);
    explain(&world.board.sensed, play, now, changed);
    if gap || was_silent {
        after_gap(world, play, now);
        recovering(&mut play.phase, false);
    } else if !changed.is_empty() {
        lost_updates(world, play, now);
    } else if let Phase::Game(game) = &play.phase
        && game.course.record.stand().placement() == world.board.sensed.placement()
    {
        world.board.sensed.misses_nothing(now);
    }
}

/// The board tells all its squares. Returns true where it had told nothing although both players pressed: it was as good as not read.
fn end_silence(phase: &mut Phase) -> bool {
    let Some(game) = phase.game_mut() else {
        return false;
    };
    let was_silent = game.is_silent();
    game.silence.end();
    if was_silent {
        game.presses.clear();
    }
    was_silent
}

/// Lets the hypotheses explain the squares that changed.
pub(super) fn explain(sensed: &Sensed, play: &mut Play, now: Millis, changed: Bitboard) {
    if changed.is_empty() {
        return;
    }
    play.heard(Heard::Update);
    match &mut play.phase {
        Phase::Game(game) => {
            game.silence.end();
            game.unread.read_again(&game.course, changed, sensed);
            game.course.lines.gap_is_open = game.gap.unbridged.is_some();
            game.course.lines.changed(now, sensed, changed);
        }
        Phase::Waiting(setup) => {
            if let Some(lines) = &mut setup.lines {
                lines.changed(now, sensed, changed);
            }
            if let Some(midway) = &mut setup.midway {
                midway.changed(now, sensed, changed);
            }
        }
    }
}

/// The board is read again after the link was down. Finds what was played meanwhile.
fn after_gap(world: &World, play: &mut Play, now: Millis) {
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    game.gap.is_open = false;
    game.unread.hide_as_before(&ctx, &mut game.course);
    if !game.is_watched() {
        return;
    }
    game.look_after_gap(&mut ctx);
}

/// Tells the hypotheses whether half-moves that they find now were made unseen.
fn recovering(phase: &mut Phase, yes: bool) {
    match phase {
        Phase::Game(game) => game.course.lines.recovering = yes,
        Phase::Waiting(setup) => {
            if let Some(midway) = &mut setup.midway {
                midway.recovering(yes);
            }
        }
    }
}

/// A dump differs from what the updates told, so some were lost. Searches for the half-moves that it
/// shows.
fn lost_updates(world: &World, play: &mut Play, now: Millis) {
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    if !game.is_watched() || game.course.lines.frozen {
        return;
    }
    let limits = bridge::Limits {
        plies: 3,
        nodes: 20_000,
        most: 8,
    };
    game.gap.bridge(
        &mut ctx,
        &mut game.course,
        &mut game.doubt,
        gap::GapSearch::within(limits),
    );
}

//! The clock was started: a game goes on, perhaps from a position that was put up or transferred meanwhile.

use super::{
    first_side::started_otherwise, next_game::look_for_begun_next, phase::Phase, play::Play, start::Setup,
    world::World,
};
use crate::{
    board::Orientation,
    event::{Resolution, notice},
    terms::IrregularityKind,
    time::Millis,
    watcher::game::{Open, unclocked::Unclocked},
};

/// The clock was started at `at`. Returns what is known of the next game where that has begun, and the present one waits for its result.
pub(super) fn clock_started(world: &mut World, play: &mut Play, at: Millis) -> Option<Setup> {
    let next = look_for_begun_next(world, play, at);
    if let Some(game) = play.phase.game() {
        started_otherwise(game, &mut world.clock);
    }
    look_for_transfer(world, play, at);
    let Some((game, mut ctx)) = play.game_and_ctx(world, at) else {
        return next;
    };
    let stood = game.course.lines.clock_started(at) || ctx.clock.stood();
    game.gap.restarts = stood && game.gap.is_open;
    game.course.lines.set_clock_runs(true);
    game.course.clock_used = true;
    game.unclocked = Unclocked::default();
    if let Some(side) = ctx.clock.running() {
        game.presses.sprang_back(&mut game.course.lines, side);
    }
    if game.is_watched() && !game.gap.is_open && !game.is_overruled(&mut ctx) {
        game.started_again(&mut ctx);
        game.course.lines.grow_all(at, ctx.sensed);
    }
    next
}

/// Where the position of the record stands on the board another way round, it was transferred, as 7.2.2 prescribes for a board
/// that lay sideways. The board lies so from now on, and the game goes on.
fn look_for_transfer(world: &mut World, play: &mut Play, now: Millis) {
    let (Phase::Game(game), Some(raw)) = (&play.phase, &world.board.raw) else {
        return;
    };
    let stand = game.course.record.stand().placement();
    if !game.is_watched() || game.unread.is_shown(stand, world.board.sensed.placement()) {
        return;
    }
    let mut ways = Orientation::ALL.into_iter();
    let Some(found) = ways.find(|way| game.unread.is_shown(stand, &way.placement(raw))) else {
        return;
    };
    world.board.turn_to(&mut play.phase, found);
    world.board.orientation_shown = true;
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    game.course.restart_lines(&ctx);
    let message = "The position stands on the board another way round: it was transferred, or the board was turned. The game goes on.";
    game.course
        .notice(&mut ctx, notice::POSITION_TRANSFERRED, message);
    let lay_sideways = |case: &Open| case.kind == IrregularityKind::BoardOrientationWrong;
    if !found.is_sideways()
        && let Some(index) = game.cases.find(lay_sideways)
    {
        game.cases
            .resolve(&mut ctx, &game.course, index, Resolution::Restored);
    }
}

//! A command begins another game, or sets the position.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color};

use super::{
    begin::start_game,
    beside::Beside,
    phase::Phase,
    play::Play,
    snapshot::stand_of_fen,
    take_over::{about_to_put_aside, next_has_begun, take_up_put_aside},
    world::World,
};
use crate::{
    board::{Placement, Stand},
    event::GameResult,
    time::Millis,
    watcher::{
        arrays::{is_full_array, is_playable, stand_of},
        at_rest::at_rest,
        command::CommandError,
        game::Game,
        not_now::NotNow,
    },
};

/// Ends the present game, and starts a new one from the position on the board.
pub(super) fn new_game(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
) -> Result<(), CommandError> {
    let placement = world.board.sensed.placement().clone();
    if world.board.raw.is_none() || !is_playable(&placement) {
        return Err(NotNow::NoKings.into());
    }
    if play.phase.is_parked() {
        end_game(world, play, now, "new_game_by_arbiter");
        next_has_begun(&world.settings, play, beside, now);
        if play.phase.game().is_some_and(Game::is_watched) {
            return Ok(());
        }
    }
    at_rest(&world.board.sensed, now)?;
    let aside = about_to_put_aside(world, play, beside, now);
    end_game(world, play, now, "new_game_by_arbiter");
    let stand = if is_full_array(&placement) {
        stand_of(&placement)
    } else {
        let turn = world.clock.running().unwrap_or(Color::White);
        Stand::of_placement(&placement, turn, CastlingMode::Standard)
    };
    beside.keep_up(world, play, |world, play| begin_from(world, play, now, stand));
    beside.put_aside(aside);
    Ok(())
}

/// Sets the position of the game to `fen`.
pub(super) fn set_position(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    fen: &str,
) -> Result<(), CommandError> {
    let parsed: shakmaty::fen::Fen = fen
        .parse()
        .map_err(|e: shakmaty::fen::ParseFenError| CommandError::BadFen(e.to_string()))?;
    let (placement, turn) = (Placement::from(&parsed.as_setup().board), parsed.as_setup().turn);
    let known = |game: &Game| {
        let stood = |ply: &usize| {
            let stand = game.course.record.stand_at(*ply);
            *stand.placement() == placement && stand.turn() == turn
        };
        (0..=game.course.record.plies()).rev().find(stood)
    };
    // The command before this one was a mistake.
    if beside.game_put_aside().and_then(known).is_some_and(|ply| ply > 0) {
        take_up_put_aside(world, play, beside, now, None);
    }
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now)
        && let Some(ply) = known(game)
    {
        game.outcome.take_up_again(&mut ctx, &game.course);
        game.takebacks().go_back(&mut ctx, ply, "position_set_by_arbiter");
        beside.unwatch_all();
        return Ok(());
    }
    let stand = stand_of_fen(fen, CastlingMode::Standard)
        .filter(|stand| stand.chess().is_some())
        .ok_or_else(|| CommandError::BadFen("no game can stand in this position".into()))?;
    let aside = about_to_put_aside(world, play, beside, now);
    end_game(world, play, now, "position_set_by_arbiter");
    beside.keep_up(world, play, |world, play| begin_from(world, play, now, stand));
    beside.put_aside(aside);
    Ok(())
}

fn begin_from(world: &World, play: &mut Play, now: Millis, stand: Stand) {
    start_game(world, play, now, Arc::new(stand));
    let runs = world.clock.runs();
    if let Phase::Game(game) = &mut play.phase {
        game.course.lines.set_clock_runs(runs);
        game.course.clock_used = runs;
    }
}

fn end_game(world: &World, play: &mut Play, now: Millis, reason: &str) {
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
        if game.is_watched() {
            game.settle_rest(&mut ctx);
        }
        game.end(&mut ctx, GameResult::Open, reason);
    }
}

//! An arbiter gives results and takes them back.

use std::sync::Arc;

use super::{
    begin::start_game,
    beside::Beside,
    phase::Phase,
    play::Play,
    take_over::{game_goes_on, leave_parked},
    world::World,
};
use crate::{
    board::Stand,
    event::{Body, GameResult},
    time::Millis,
    watcher::{
        command::{Command, CommandError, Note},
        not_now::NotNow,
    },
};

impl Command {
    /// True for a result that a game may have before it begins.
    pub(super) fn is_forfeit(&self) -> bool {
        matches!(self, Self::Result { result, .. } if result.is_forfeit())
    }
}

/// Gives the present game this result. A forfeit may be for the next one.
pub(super) fn set_result(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    result: GameResult,
    reason: Option<Note>,
    number: Option<u32>,
) -> Result<(), CommandError> {
    let note = reason.map(String::from);
    if result.is_forfeit() && number == Some(play.games + 1) {
        return forfeit(world, play, beside, now, result, note);
    }
    let next = play.games + 1;
    let none = if result.is_forfeit() {
        CommandError::NoGameYet(next)
    } else {
        CommandError::NoGame
    };
    let (game, mut ctx) = play.game_and_ctx(world, now).ok_or(none)?;
    let parked = game.outcome.parked;
    if game.outcome.result == Some(result) && game.outcome.confirmed && note.is_none() {
        return Ok(());
    }
    if game.is_watched() {
        game.settle_rest(&mut ctx);
    }
    // This result replaces one that the board showed, or an earlier one of the arbiter.
    game.end_with(&mut ctx, result, "arbiter", note);
    if parked {
        game.outcome.ended_by_hand = false;
        leave_parked(world, play, beside, now);
    }
    Ok(())
}

/// Enters a game for which a player did not appear. It has a number of its own, and no half-moves.
fn forfeit(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    result: GameResult,
    note: Option<String>,
) -> Result<(), CommandError> {
    if let Phase::Game(game) = &play.phase
        && game.outcome.result.is_none()
    {
        return Err(NotNow::GameGoesOn(game.course.number).into());
    }
    beside.keep_up(world, play, |world, play| {
        start_game(world, play, now, Arc::new(Stand::initial()));
    });
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
        game.end_with(&mut ctx, result, "arbiter", note);
        // What is played at the board now is another game.
        game.outcome.ended_by_hand = false;
    }
    Ok(())
}

/// Lets the game go on: its result was a mistake, or the pieces were set up anew by mistake.
pub(super) fn take_result_back(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    reason: Option<Note>,
) -> Result<(), CommandError> {
    let (game, mut ctx) = play.game_and_ctx(world, now).ok_or(CommandError::NoGame)?;
    if game.is_watched() {
        return Err(NotNow::NoResult.into());
    }
    let reason = reason.map(String::from);
    game.course.emit(&mut ctx, None, Body::GameResumed { reason });
    game_goes_on(world, play, beside, now);
    Ok(())
}

#[cfg(test)]
mod tests;

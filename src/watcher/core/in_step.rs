//! Keeps the copy of a game with a result in step: when a person puts the record right, the copy is put right
//! the same way. So nothing is missing if the result turns out to be a mistake.

use super::{
    beside::Beside,
    play::Play,
    take_over::case_of,
    unsaid::{Unsaid, is_unsaid},
    world::World,
};
use crate::{
    event::Body,
    time::Millis,
    watcher::{
        command::Correct,
        ctx::Ctx,
        game::correct::in_common,
        game::{Game, Made},
    },
};

/// A person put the record right by `order`. The copy follows, or is dropped where it cannot.
pub(super) fn keep_in_step(
    world: &mut World,
    play: &Play,
    beside: &mut Beside,
    now: Millis,
    order: &Correct,
) {
    let Some(game) = play.phase.game() else { return };
    let said = game.course.record.clone();
    let mut follows = false;
    beside.after_the_end(world, play.out.before, |world, copy, unsaid| {
        follows = follow(world, copy, now, order, &said, unsaid);
    });
    if !follows {
        beside.unwatch();
    }
}

/// Puts the copy right in `play`, and what it would have said.
fn follow(
    world: &World,
    play: &mut Play,
    now: Millis,
    order: &Correct,
    said: &[Made],
    unsaid: &mut Vec<Unsaid>,
) -> bool {
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return false;
    };
    // The copy may have seen the half-move that the person entered.
    let was_seen = !order.is_beyond_half_moves() && in_common(&game.course.record, said) == said.len();
    if !was_seen && !put_right_too(game, &mut ctx, order, said) {
        return false;
    }
    let done = take_said(play);
    unsaid.retain(|event| !event.is_of_record());
    if !was_seen {
        let others = unsaid.iter_mut().filter_map(Unsaid::other);
        others.for_each(|body| shift(body, order));
    }
    tell_from(world, play, now, said.len());
    unsaid.splice(..0, take_said(play));
    // Of what was said already the arbiter's own game has told the same.
    unsaid.extend(done.into_iter().filter_map(|mut event| {
        let case = event.other().and_then(case_of);
        let is_new = case.is_none_or(|case| is_unsaid(case));
        (is_new && !event.is_of_record()).then_some(event)
    }));
    true
}

/// What has just been said in place of the game.
fn take_said(play: &mut Play) -> Vec<Unsaid> {
    play.out.events.drain(..).map(Unsaid::from).collect()
}

/// Reports the half-moves after the first `known`.
fn tell_from(world: &World, play: &mut Play, now: Millis, known: usize) {
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    for (i, made) in game.course.record.iter().enumerate().skip(known) {
        game.course.emit(&mut ctx, Some(made.at), made.told(i + 1));
    }
}

/// Puts the record of `game` right as `said` was put right. Returns false if they do not agree afterwards.
fn put_right_too(game: &mut Game, ctx: &mut Ctx<'_>, order: &Correct, said: &[Made]) -> bool {
    // The half-moves that were played since are on the board, and must stay.
    let order = Correct {
        drop_rest: false,
        ..order.clone()
    };
    game.correct_record(ctx, &order).is_ok() && in_common(&game.course.record, said) == said.len()
}

/// Gives an irregularity the new number of its half-move.
fn shift(body: &mut Body, order: &Correct) {
    if let Body::Irregularity(found) = body
        && found.ply >= order.ply + order.delete
    {
        found.ply = found.ply + order.insert.len() as u32 - order.delete;
    }
}

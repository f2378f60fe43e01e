//! Keeps the copy of a game with a result in step: when a person puts the record right, the copy is put right
//! the same way. So nothing is missing if the result turns out to be a mistake.

use std::mem;

use super::{
    Core, Phase,
    meanwhile::{case_of, is_unsaid},
};
use crate::{
    event::{Body, Event},
    time::Millis,
    watcher::{
        command::Correct,
        ctx::Ctx,
        game::correct::{in_common, told},
        game::{Game, Made},
    },
};

impl Core {
    /// A person put the record right by `order`. The copy follows, or is dropped where it cannot.
    pub(super) fn keep_in_step(&mut self, now: Millis, order: &Correct) {
        let Phase::Game(game) = &self.phase else { return };
        let said = game.record.clone();
        let mut follows = false;
        self.after_the_end(|core| follows = core.put_right_too(now, order, &said));
        if !follows {
            self.unwatch();
        }
    }

    fn put_right_too(&mut self, now: Millis, order: &Correct, said: &[Made]) -> bool {
        let seen = self.out.events.len();
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return false;
        };
        // The copy may have seen the half-move that the person entered.
        let was_seen = in_common(&game.record, said) == said.len();
        if !was_seen && !game.put_right_too(&mut ctx, order, said) {
            return false;
        }
        let mut done = self.out.events.split_off(seen);
        let mut rest = mem::take(&mut self.out.events);
        rest.retain(|event| !is_of_record(event));
        if !was_seen {
            rest.iter_mut().for_each(|event| shift(event, order));
        }
        // The game itself has emitted the same events about cases that were reported already.
        done.retain_mut(|event| {
            !is_of_record(event) && case_of(&mut event.body).is_none_or(|case| is_unsaid(case))
        });
        rest.extend(done);
        self.tell_from(now, said.len());
        self.out.events.extend(rest);
        true
    }

    /// Reports the half-moves after the first `known`.
    fn tell_from(&mut self, now: Millis, known: usize) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        for (i, made) in game.record.iter().enumerate().skip(known) {
            game.emit(&mut ctx, Some(made.at), told(made, i + 1));
        }
    }
}

impl Game {
    /// Puts the record right as `said` was put right. Returns false if they do not agree afterwards.
    fn put_right_too(&mut self, ctx: &mut Ctx<'_>, order: &Correct, said: &[Made]) -> bool {
        // The half-moves that were played since are on the board, and must stay.
        let order = Correct {
            drop_rest: false,
            ..order.clone()
        };
        self.correct_record(ctx, &order).is_ok() && in_common(&self.record, said) == said.len()
    }
}

fn is_of_record(event: &Event) -> bool {
    matches!(event.body, Body::Move(_) | Body::MovesRetracted { .. })
}

/// Gives an irregularity the new number of its half-move.
fn shift(event: &mut Event, order: &Correct) {
    if let Body::Irregularity(found) = &mut event.body
        && found.ply >= order.ply + order.delete
    {
        found.ply = found.ply + order.insert.len() as u32 - order.delete;
    }
}

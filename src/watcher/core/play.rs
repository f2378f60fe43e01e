//! A game, or the wait for one, and what goes out for it. There are two of them while a copy is watched beside the game.

use super::{chips, first_side, phase::Phase, world::World};
use crate::{
    event::Body,
    time::Millis,
    watcher::{
        Settings,
        ctx::Ctx,
        game::{Game, review::review},
        outbox::{Heard, Outbox},
    },
};

/// A game, or the wait for one, and what goes out for it.
#[derive(Debug)]
pub(in crate::watcher) struct Play {
    pub(in crate::watcher) phase: Phase,
    pub(in crate::watcher) out: Outbox,
    /// How many games there were.
    pub(in crate::watcher) games: u32,
    pub(super) look_again: Option<Millis>,
    pub(super) dump_wanted: bool,
    /// The watcher is about to accuse a player, but a reading that excuses that player may be on its way. So
    /// the board has to give a sign of life.
    pub(super) sign_wanted: bool,
}

impl Play {
    pub(super) fn new(phase: Phase, out: Outbox, games: u32) -> Self {
        Self {
            phase,
            out,
            games,
            look_again: None,
            dump_wanted: false,
            sign_wanted: false,
        }
    }

    /// The present game, with the context of a step; none while there is no game.
    pub(super) fn game_and_ctx<'a>(
        &'a mut self,
        world: &'a World,
        now: Millis,
    ) -> Option<(&'a mut Game, Ctx<'a>)> {
        let game = self.phase.game_mut()?;
        let ctx = Ctx {
            now,
            settings: &world.settings,
            rules: game.rules.clone(),
            sensed: &world.board.sensed,
            clock: &world.clock,
            out: &mut self.out,
            look_again: &mut self.look_again,
            dump_wanted: &mut self.dump_wanted,
            sign_wanted: &mut self.sign_wanted,
            timing: world.timing,
        };
        Some((game, ctx))
    }

    /// Asks to be called again at `at`, or earlier if that was asked for.
    pub(super) fn look_at(&mut self, at: Millis) {
        self.look_again = Some(self.look_again.map_or(at, |known| known.min(at)));
    }

    pub(super) fn emit(&mut self, settings: &Settings, now: Millis, body: Body) -> String {
        let game = self.phase.game().map(|game| game.course.number);
        self.out.emit(settings, game, now, None, body)
    }

    /// Notes what was heard, if it belongs to a game that goes on or may begin.
    pub(super) fn heard(&mut self, heard: Heard) {
        if self.phase.is_worth_keeping() {
            self.out.heard = self.out.heard.max(Some(heard));
        }
    }

    /// Decides what can be decided of the game by now. Board and clock learn from it.
    pub(super) fn review(&mut self, world: &mut World, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(world, now) else {
            return;
        };
        let first = first_side::pressed_first(game, &mut ctx);
        if let Some(first) = first.or_else(|| first_side::turned_first(game, &mut ctx)) {
            first_side::runs_first(&mut world.clock, first);
            // No event tells of it.
            self.heard(Heard::Press);
        }
        let Some((game, mut ctx)) = self.game_and_ctx(world, now) else {
            return;
        };
        if let Some(white) = first_side::begin_otherwise(game, &mut ctx) {
            world.clock.guess(white);
        }
        let Some((game, mut ctx)) = self.game_and_ctx(world, now) else {
            return;
        };
        if review(game, &mut ctx) {
            let silent = game.unread.squares;
            let board = &mut world.board;
            board.sensed.give_up(silent);
            let (bodies, due) = chips::notices(&mut board.chips, board.orientation, self.games, now);
            for body in bodies {
                self.emit(&world.settings, now, body);
            }
            if let Some(due) = due {
                self.look_at(due);
            }
        }
    }
}

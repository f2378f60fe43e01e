//! Whether there is a copy, and its steps. The same code takes a step of the game and of the copy.

use std::mem;

use super::{
    meanwhile::{Meanwhile, Occasion},
    phase::Phase,
    play::Play,
    start::Setup,
    unsaid::Unsaid,
    world::World,
};
use crate::{
    time::Millis,
    watcher::{clock::Clock, game::Game},
};

/// The copy that is watched beside the present game; none where there is none.
#[derive(Debug, Default)]
pub(in crate::watcher) struct Beside(Option<Box<Meanwhile>>);

impl Beside {
    /// Takes a step of the present game, and keeps the copy up with it.
    pub(super) fn keep_up<T>(
        &mut self,
        world: &mut World,
        play: &mut Play,
        step: impl FnOnce(&mut World, &mut Play) -> T,
    ) -> T {
        let games = play.games;
        let done = step(world, play);
        if world.board.take_turned()
            && let Some(meanwhile) = &mut self.0
        {
            meanwhile.play.phase.start_over();
        }
        if play.games != games {
            // The copy belongs to a game that is no longer the present one.
            self.unwatch();
        }
        done
    }

    /// Takes a step of the copy. `before` is how far the core's time is ahead of the caller's.
    pub(super) fn step(&mut self, world: &mut World, before: u64, step: impl FnOnce(&mut World, &mut Play)) {
        let Some(mut meanwhile) = self.0.take() else {
            return;
        };
        meanwhile.play.out.before = before;
        // After a game, pieces that lie on the board show nothing of dead squares, and presses show nothing
        // of the sides of the clock. The next game has its own sides.
        let given_up = world.board.sensed.given_up();
        meanwhile.sit_as_now(&world.clock);
        step(world, &mut meanwhile.play);
        // The present game goes on.
        world.board.take_turned();
        world.board.sensed.give_up(given_up);
        if meanwhile.occasion != Occasion::SetUpAnew {
            meanwhile.sit_as_before(&mut world.clock);
        }
        self.0 = meanwhile.keep_unsaid().then_some(meanwhile);
    }

    /// Does it for what is watched in place of a game that a person has ended, and for what that would have said.
    pub(super) fn after_the_end(
        &mut self,
        world: &mut World,
        before: u64,
        step: impl FnOnce(&mut World, &mut Play, &mut Vec<Unsaid>),
    ) {
        let ended = self.0.as_mut().filter(|it| it.occasion == Occasion::Ended);
        let Some(mut unsaid) = ended.map(|meanwhile| mem::take(&mut meanwhile.unsaid)) else {
            return;
        };
        self.step(world, before, |world, play| step(world, play, &mut unsaid));
        if let Some(meanwhile) = &mut self.0 {
            meanwhile.unsaid = unsaid;
        }
    }

    /// The copy, if there is one.
    pub(super) fn get(&self) -> Option<&Meanwhile> {
        self.0.as_deref()
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self) -> Option<&mut Meanwhile> {
        self.0.as_deref_mut()
    }

    /// When it is to be looked at again.
    pub(super) fn look_again(&self) -> Option<Millis> {
        self.get()?.play.look_again
    }

    /// True where the board has to give a sign of life for it.
    pub(super) fn wants_sign(&self) -> bool {
        self.get().is_some_and(|meanwhile| meanwhile.play.sign_wanted)
    }

    /// The game that a command has put aside, while it is watched on.
    pub(super) fn game_put_aside(&self) -> Option<&Game> {
        self.get()?.game_put_aside()
    }

    /// Begins a copy for what is played after the pieces were set up anew, as `setup` has it.
    pub(super) fn watch_set_up(&mut self, setup: Setup, games: u32, clock: &Clock) {
        self.0 = Some(Meanwhile::waiting(Occasion::SetUpAnew, setup, games, clock));
    }

    /// The game is lost in a gap. Begins to watch what stands on the board as a game of its own, of which `setup` has what is
    /// known.
    pub(super) fn watch_beside_lost(&mut self, setup: Setup, games: u32, clock: &Clock) {
        self.0
            .get_or_insert_with(|| Meanwhile::waiting(Occasion::Lost, setup, games, clock));
    }

    /// Watches on what was put aside, until the game that a command has begun is over.
    pub(super) fn put_aside(&mut self, aside: Option<Box<Meanwhile>>) {
        if aside.is_some() {
            self.0 = aside;
        }
    }

    /// Begins a copy where a person has given a result, or where the pieces were set up anew before a
    /// restart.
    pub(super) fn watch_on(&mut self, play: &mut Play, clock: &Clock) {
        if play.phase.is_parked() && self.0.is_none() {
            self.watch_set_up(Setup::default(), play.games, clock);
        }
        let Phase::Game(game) = &mut play.phase else {
            self.unwatch();
            return;
        };
        if !game.is_watched() {
            self.0
                .take_if(|it| it.occasion == Occasion::Lost || it.is_put_aside());
        }
        if mem::take(&mut game.outcome.ended_by_hand) && self.0.is_none() {
            let mut on = leave(game);
            on.outcome.result = None;
            on.outcome.show_spent = true;
            self.0 = Some(Meanwhile::new(
                Occasion::Ended,
                Phase::Game(on),
                play.games,
                clock,
            ));
        }
    }

    /// Takes the copy away, if it is there for this.
    pub(super) fn take(&mut self, occasion: Occasion) -> Option<Box<Meanwhile>> {
        self.0.take_if(|meanwhile| meanwhile.occasion == occasion)
    }

    /// Takes away the game that a command has put aside.
    pub(super) fn take_aside(&mut self) -> Option<Box<Meanwhile>> {
        self.0.take_if(|meanwhile| meanwhile.is_put_aside())
    }

    /// What was put aside is over for itself where pieces were set up, or nothing explains a gap.
    pub(super) fn unwatch_aside_when_over(&mut self) {
        let is_over = self.game_put_aside().is_none_or(|game| !game.is_watched());
        self.0.take_if(|it| it.is_put_aside() && is_over);
    }

    /// Drops the copy of a game that has ended, or is lost, for example because its record was changed and the copy
    /// starts from another one. The copy beside a parked game stays.
    pub(super) fn unwatch(&mut self) {
        self.0
            .take_if(|meanwhile| meanwhile.occasion != Occasion::SetUpAnew);
    }

    /// Drops any copy that comes of the present game, whose record was changed.
    pub(super) fn unwatch_changed(&mut self) {
        let comes_of_it = |meanwhile: &mut Box<Meanwhile>| {
            matches!(meanwhile.occasion, Occasion::Ended | Occasion::SetUpAnew)
        };
        self.0.take_if(comes_of_it);
    }

    /// Drops any copy: the game itself is watched again, or nothing is.
    pub(super) fn unwatch_all(&mut self) {
        self.0 = None;
    }
}

/// What goes on from `game`, which is left with its likeliest hypothesis.
pub(super) fn leave(game: &mut Box<Game>) -> Box<Game> {
    let lines = game.course.lines.leave();
    game.course.record.shrink();
    let mut on = game.clone();
    on.course.lines = lines;
    on
}

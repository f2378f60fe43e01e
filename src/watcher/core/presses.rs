//! A player presses the clock.

use shakmaty::Color;

use super::{phase::Phase, play::Play, start::REMEMBERED, world::World};
use crate::{
    time::Millis,
    watcher::{clock::Fit, game::Press},
};

/// `side` has pressed at `at`.
pub(super) fn pressed(world: &mut World, play: &mut Play, at: Millis, side: Color) {
    let (sensed, clock) = (&world.board.sensed, &mut world.clock);
    let game = match &mut play.phase {
        Phase::Game(game) => game,
        Phase::Waiting(setup) => {
            if let Some(midway) = &mut setup.midway {
                midway.pressed(at, sensed, clock.side_of(side));
            }
            setup.presses.push(at);
            let old = setup.presses.len().saturating_sub(REMEMBERED);
            setup.presses.drain(..old);
            return;
        }
    };
    if !game.is_watched() || game.presses.bounced(&mut game.course, at, side, sensed) {
        return;
    }
    let fit = Fit::of(game.course.lines.best(), side, at);
    if fit.is_some_and(|fit| clock.fits(fit)) {
        // The watcher had assigned the sides of the clock the wrong way round.
        game.presses.judged = None;
        return;
    }
    game.course.lines.press(at, sensed, side);
    game.silence.pressed(side);
    game.presses.add(Press {
        side,
        at,
        clock: clock.state(),
        rest: None,
    });
}

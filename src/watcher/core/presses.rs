//! A player presses the clock.

use shakmaty::Color;

use super::{phase::Phase, start::REMEMBERED};
use crate::{
    board::Sensed,
    time::Millis,
    watcher::{
        clock::{Clock, Fit},
        game::Press,
    },
};

/// `side` has pressed at `at`.
pub(super) fn pressed(phase: &mut Phase, sensed: &Sensed, clock: &mut Clock, at: Millis, side: Color) {
    let game = match phase {
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

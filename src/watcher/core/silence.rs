//! A board that tells nothing although both players press is as good as not read.

use super::phase::Phase;
use crate::{board::Sensed, time::Millis};

/// When such a board last told anything.
pub(super) fn since(phase: &Phase, sensed: &Sensed) -> Option<Millis> {
    let game = phase.game()?;
    game.is_silent().then(|| sensed.last_told())
}

/// The board tells all its squares. Returns true where it had been silent.
pub(super) fn take(phase: &mut Phase) -> bool {
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

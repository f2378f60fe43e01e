//! What the first press shows of how the game began: a pawn stood astray in the initial position, or Black has begun.

use shakmaty::Color;

use super::Core;
use crate::{
    time::Millis,
    watcher::game::array::{begin_otherwise, begun_otherwise},
};

impl Core {
    /// The first press was for a half-move that the position does not allow in which the game began, as the watcher has it, and
    /// another beginning does: the game began so. Whoever pressed has the move there.
    pub(super) fn look_for_beginning(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if !game.is_watched() || game.gap.is_open {
            return;
        }
        let Some(beginning) = begun_otherwise(&ctx, &game.course, &game.cases, &game.presses) else {
            return;
        };
        let (pressed, turn) = (beginning.press.side, beginning.start.turn());
        if ctx.clock.is_configured() && pressed != turn {
            return;
        }
        let side = ctx.clock.side_of(pressed);
        if let Some(finding) = begin_otherwise(&mut ctx, &mut game.course, &mut game.presses, beginning) {
            game.accuse(&mut ctx, finding, None);
        }
        self.clock
            .guess(if turn == Color::White { side } else { side.other() });
    }
}

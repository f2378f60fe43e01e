//! What the first press shows of how the game began: a pawn stood astray in the initial position, and the watcher took it for the
//! first half-move, which nobody saw made; or Black has begun.

use super::Core;
use crate::time::Millis;

impl Core {
    /// The player who begins has made another half-move than the one that the watcher took for the first, and has pressed for it:
    /// the initial position was wrong.
    pub(super) fn look_for_pawn_astray(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if !game.is_watched() || game.gap {
            return;
        }
        let Some((start, press)) = game.begun_with_pawn_astray(&ctx) else {
            return;
        };
        if ctx.clock.is_configured() && press.side != start.turn() {
            return;
        }
        let whites = ctx.clock.side_of(press.side);
        game.begin_with_pawn_astray(&mut ctx, start, press);
        self.clock.guess(whites);
    }

    /// Black has made the first half-move and pressed for it.
    pub(super) fn look_for_black_first(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if !game.is_watched() || game.gap {
            return;
        }
        let Some((start, press)) = game.begun_by_black(&ctx) else {
            return;
        };
        // Whoever pressed has moved his own piece.
        let blacks = ctx.clock.side_of(press.side);
        if ctx.clock.is_configured() && press.side != start.turn() {
            return;
        }
        game.begin_by_black(&mut ctx, start, press);
        self.clock.guess(blacks.other());
    }
}

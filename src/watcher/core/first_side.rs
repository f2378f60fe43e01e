//! Whose time runs first, where somebody had started the wrong side before anything was played.

use shakmaty::Color;

use super::{Core, Phase};
use crate::time::Millis;

impl Core {
    /// Somebody had started the wrong side first, stopped the clock, and has started the other one before anything was played: that
    /// side is rather White's. A press has to bear it out.
    pub(super) fn started_otherwise(&mut self) {
        let Phase::Game(game) = &self.phase else { return };
        let first = game.start.turn();
        // After a gap the lever may have gone over by a press that nobody heard.
        if game.is_untouched() && !self.clock.was_found_running() {
            self.runs_first(first);
        }
    }

    /// Somebody had started the wrong side first, and has turned the lever before anything was played.
    pub(super) fn lever_turned(&mut self, now: Millis) {
        let is_known = self.clock.is_configured();
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if !is_known && game.is_watched() && game.was_pressed_first_of_all(&mut ctx) {
            game.press = None;
            game.lines.forget_presses();
            let first = game.start.turn();
            self.runs_first(first);
        }
    }

    /// The time that runs is that of `first`, the player who begins, unless White's side is known. A press has to bear it out.
    fn runs_first(&mut self, first: Color) {
        let Some(counting) = self.clock.counting() else {
            return;
        };
        let white = if first == Color::White {
            counting
        } else {
            counting.other()
        };
        if self.clock.white_side().is_some_and(|side| side != white) {
            self.clock.guess(white);
        }
    }
}

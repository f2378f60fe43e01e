//! When the board is asked for its log, and when it tells it.

use super::{Core, Phase};
use crate::{families::Protocol, time::Millis};

impl Core {
    /// The record is whole as far as is known, and what stands on the board goes with it.
    pub(super) fn note_whole(&mut self) {
        if let (Phase::Game(game), Some(raw)) = (&mut self.phase, &self.raw) {
            game.note_whole(raw, self.clock.presses());
        }
    }

    /// Whether the board is to be asked for its log now.
    pub(in crate::watcher) fn take_log_wanted(&mut self, now: Millis) -> bool {
        let has_log = self.settings.protocol == Protocol::Dgt;
        match &mut self.phase {
            Phase::Game(game) => game.recall.take_wanted(now, has_log),
            Phase::Waiting(_) => false,
        }
    }

    /// The board said something that is not its log.
    pub(super) fn spoken(&mut self, now: Millis) {
        if let Phase::Game(game) = &mut self.phase {
            game.recall.spoken(now);
        }
    }

    /// The board tells its log.
    pub(super) fn log_told(&mut self, now: Millis, payload: &[u8]) {
        let (orientation, raw) = (self.orientation, self.raw);
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.log_told(&mut ctx, payload, orientation, raw);
        }
    }
}

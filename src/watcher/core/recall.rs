//! When the watcher asks the board for its log, and what it does with it.

use super::{Core, Phase};
use crate::{families::Protocol, time::Millis};

impl Core {
    /// Keeps the record and the readings that go with it, if nothing is known to be missing.
    pub(super) fn note_whole(&mut self) {
        if let (Phase::Game(game), Some(raw)) = (&mut self.phase, &self.raw) {
            if !game.gap.is_open && game.gap.unbridged.is_none() {
                let plies = game.course.record.plies();
                game.gap.recall.note_whole(plies, raw, self.clock.presses());
            }
        }
    }

    /// Returns true if the board is to be asked for its log now, and notes that it is asked.
    pub(in crate::watcher) fn take_log_wanted(&mut self, now: Millis) -> bool {
        let has_log = self.settings.protocol == Protocol::Dgt;
        match &mut self.phase {
            Phase::Game(game) => game.gap.recall.take_wanted(now, has_log),
            Phase::Waiting(_) => false,
        }
    }

    /// The board sent something that is not its log.
    pub(super) fn spoken(&mut self, now: Millis) {
        if let Phase::Game(game) = &mut self.phase {
            game.gap.recall.spoken(now);
        }
    }

    /// Takes the log of the board.
    pub(super) fn log_told(&mut self, now: Millis, payload: &[u8]) {
        let (orientation, raw) = (self.orientation, self.raw);
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.log_told(&mut ctx, payload, orientation, raw);
        }
    }
}

//! What a step of the watcher has at hand, and how it asks for the next.

use super::{Settings, clock::Clock, outbox::Outbox};
use crate::{board::Sensed, time::Millis};

/// What was said in the last moment need not have come.
const MOMENT_MS: u64 = 100;

/// What a step of the watcher has at hand.
pub(super) struct Ctx<'a> {
    pub(super) now: Millis,
    pub(super) settings: &'a Settings,
    pub(super) sensed: &'a Sensed,
    pub(super) clock: &'a Clock,
    pub(super) out: &'a mut Outbox,
    /// When the watcher is to look again at the latest.
    pub(super) look_again: &'a mut Option<Millis>,
    /// The whole board is to be read.
    pub(super) dump_wanted: &'a mut bool,
    /// The board is to give a sign of life.
    pub(super) sign_wanted: &'a mut bool,
    /// Until when all that the board said has come.
    pub(super) told: Millis,
    /// What is read came together, and nobody knows when each of it happened.
    pub(super) catches_up: bool,
    /// When the first of it happened, about.
    pub(super) lump_began: Millis,
    /// Until when what was read last came in one lump, at times that nobody measured.
    pub(super) lumped: Option<Millis>,
    /// Until when the line may have gathered: what came at once need not have happened at once.
    pub(super) gathered_until: Option<Millis>,
}

impl Ctx<'_> {
    /// Something waits for `what`, which `replay --explain` tells.
    pub(super) fn wait_for(&mut self, what: &'static str) {
        if !self.out.waits.contains(&what) {
            self.out.waits.push(what);
        }
    }

    /// Asks to be called again at `at`.
    pub(super) fn at(&mut self, at: Millis) {
        let at = at.max(self.now + 1);
        *self.look_again = Some(self.look_again.map_or(at, |known| known.min(at)));
    }

    /// True when nothing has changed on the board for `ms`; else asks to be called again when that is so.
    pub(super) fn still_for(&mut self, ms: u64) -> bool {
        self.passed(self.sensed.last_change(), ms)
    }

    /// True when `ms` have passed since `since`; else asks to be called again when they have.
    pub(super) fn passed(&mut self, since: Millis, ms: u64) -> bool {
        if self.now.since(since) >= ms {
            return true;
        }
        self.at(since + ms);
        false
    }

    /// True when `ms` have passed since `since`, and what the board said meanwhile has come, but for the last moment; else asks
    /// to be called again, or the board for a sign of life. Nobody is accused while what excuses him may be on its way.
    pub(super) fn is_told(&mut self, since: Millis, ms: u64) -> bool {
        if !self.passed(since, ms) {
            return false;
        }
        let told = self.told >= since + ms - MOMENT_MS;
        *self.sign_wanted |= !told;
        told
    }
}

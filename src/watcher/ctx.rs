//! The context of one step of the watcher, and how the step asks for the next.

use std::sync::Arc;

use super::{Rules, Settings, clock::Clock, outbox::Outbox, timing::Timing};
use crate::{board::Sensed, time::Millis};

/// A message of the last moment need not have arrived.
const MOMENT_MS: u64 = 100;

/// The context of one step of the watcher.
pub(super) struct Ctx<'a> {
    pub(super) now: Millis,
    pub(super) settings: &'a Settings,
    /// The rules of the game.
    pub(super) rules: Arc<Rules>,
    pub(super) sensed: &'a Sensed,
    pub(super) clock: &'a Clock,
    pub(super) out: &'a mut Outbox,
    /// The latest time of the next review.
    pub(super) look_again: &'a mut Option<Millis>,
    /// The watcher needs a dump.
    pub(super) dump_wanted: &'a mut bool,
    /// The board has to give a sign of life.
    pub(super) sign_wanted: &'a mut bool,
    pub(super) timing: Timing,
}

impl Ctx<'_> {
    /// True while the clock stands that somebody has stopped since `pressed`: whoever does so has seen what the board may not have shown.
    pub(super) fn is_stopped_since(&self, pressed: Millis) -> bool {
        self.clock.stopped_at.is_some_and(|at| at >= pressed)
    }

    /// Notes for `replay --explain` that a decision waits for `what`.
    pub(super) fn wait_for(&mut self, what: &'static str) {
        if !self.out.waits.contains(&what) {
            self.out.waits.push(what);
        }
    }

    /// `value` where `is_so`. If not, notes that a decision waits for `what`.
    pub(super) fn once<T>(&mut self, is_so: bool, what: &'static str, value: T) -> Option<T> {
        if !is_so {
            self.wait_for(what);
        }
        is_so.then_some(value)
    }

    /// Asks to be called again at `at`.
    pub(super) fn at(&mut self, at: Millis) {
        let at = at.max(self.now + 1);
        *self.look_again = Some(self.look_again.map_or(at, |known| known.min(at)));
    }

    /// True when nothing has changed on the board for `ms`. If not, asks to be called again then.
    pub(super) fn still_for(&mut self, ms: u64) -> bool {
        self.passed(self.sensed.last_change(), ms)
    }

    /// True when `ms` have passed since `since`. If not, asks to be called again then.
    pub(super) fn passed(&mut self, since: Millis, ms: u64) -> bool {
        if self.now.since(since) >= ms {
            return true;
        }
        self.at(since + ms);
        false
    }

    /// True when `ms` have passed since `since`, and everything has arrived that the board sent meanwhile,
    /// except in the last moment. If not, asks to be called again, or asks the board for a sign of life. The
    /// watcher accuses no player while a reading that excuses that player may be on its way.
    pub(super) fn is_told(&mut self, since: Millis, ms: u64) -> bool {
        if !self.passed(since, ms) {
            return false;
        }
        let told = self.timing.told >= since + ms - MOMENT_MS;
        *self.sign_wanted |= !told;
        told
    }
}

//! What the clock shows at the beginning of a game, and of the next one.

use super::Clock;
use crate::{dgt::ClockSide, game::periods::Period};

/// A game in which no more of the first time was used than this has just begun, in seconds.
const JUST_BEGUN_S: u32 = 1;
/// No game begins with less time than this, in seconds.
const SHORTEST_S: u32 = 60;

impl Clock {
    /// True if nobody has pressed yet, although nobody heard when the clock was started: whole minutes stand on the side that
    /// does not run, or those and the first `increment` (seconds).
    pub(in crate::watcher) fn is_first_time(&self, increment: u32) -> bool {
        let stands = self.counted().map(|[_, stands]| stands);
        self.was_found_running() && stands.is_some_and(|seconds| is_first(seconds, increment))
    }

    /// True while a game goes on by the clock: it runs, or it stands and a player has used time.
    pub(in crate::watcher) fn is_under_way(&self, increment: u32) -> bool {
        self.runs() || self.shows_used_time(increment)
    }

    /// True where it stands and shows what a game with this first period begins with.
    pub(in crate::watcher) fn is_fresh(&self, first: Option<&Period>) -> bool {
        let (Some(times), Some(first)) = (self.times_at_rest(), first) else {
            return false;
        };
        times.into_iter().all(|seconds| first.begins_with(seconds))
    }

    /// The same after a game, where the first period need not be known: both players have the same time again.
    pub(in crate::watcher) fn is_set_anew(&self, first: Option<&Period>) -> bool {
        let is_set = |[left, right]: [u32; 2]| left == right && left >= SHORTEST_S;
        self.is_fresh(first) || first.is_none() && self.times_at_rest().is_some_and(is_set)
    }

    /// True in the first seconds of a game: the first time stands, and little less than that runs. `first` is the first period,
    /// where it is known.
    pub(in crate::watcher) fn has_just_begun(&self, first: Option<&Period>) -> bool {
        let is_first = |stands: u32| match first {
            Some(first) => first.begins_with(stands),
            None => stands.is_multiple_of(60),
        };
        self.has_hardly_run(is_first)
    }

    /// The same after a game, where the first period need not be known.
    pub(in crate::watcher) fn has_begun_anew(&self, first: Option<&Period>) -> bool {
        let is_first = |stands: u32| first.map_or(stands >= SHORTEST_S, |first| first.begins_with(stands));
        self.has_hardly_run(is_first)
    }

    /// True where a player has used time: the times differ, and one of them is none that a game begins with.
    pub(in crate::watcher) fn shows_used_time(&self, increment: u32) -> bool {
        let used = |[left, right]: [u32; 2]| {
            left != right
                && [left, right]
                    .into_iter()
                    .any(|seconds| !is_first(seconds, increment))
        };
        self.times().is_some_and(used)
    }

    /// True where a time stands of which `is_first` is true, and little less than that runs.
    fn has_hardly_run(&self, is_first: impl Fn(u32) -> bool) -> bool {
        let begun = |[runs, stands]: [u32; 2]| {
            is_first(stands) && stands.checked_sub(runs).is_some_and(|used| used <= JUST_BEGUN_S)
        };
        self.counted().is_some_and(begun)
    }

    /// The time that runs and the one that stands, in seconds.
    fn counted(&self) -> Option<[u32; 2]> {
        let (reading, counting) = self.reading().zip(self.counting())?;
        Some([counting, counting.other()].map(|side| reading.time(side).seconds))
    }

    /// What it shows on its left and right, in seconds.
    fn times(&self) -> Option<[u32; 2]> {
        let reading = self.reading()?;
        Some([ClockSide::Left, ClockSide::Right].map(|side| reading.time(side).seconds))
    }

    /// The same while it stands.
    fn times_at_rest(&self) -> Option<[u32; 2]> {
        self.times()
            .filter(|_| self.reading().is_some_and(|reading| !reading.running))
    }

    /// True where presses may have come in the last gap that nobody knows of: the clock runs, its times do not tell, and it has
    /// not just begun. A clock that is silent since may tell later, if it ran before.
    pub(in crate::watcher) fn may_have_missed(&self, first: Option<&Period>) -> bool {
        if self.is_silent() {
            self.shown.is_none_or(|shown| shown.stopped)
        } else {
            self.runs()
                && self.missed.and_then(|missed| missed.count).is_none()
                && !self.has_just_begun(first)
        }
    }
}

/// True of a time that a game may begin with: whole minutes, or those and the first increment, in seconds.
fn is_first(seconds: u32, increment: u32) -> bool {
    [0, increment].iter().any(|more| seconds % 60 == more % 60)
}

//! What the clocks of the boards show between half-moves, and when the public may see it.
//!
//! A viewer counts a running time down by itself. What it cannot know is that somebody added time, or stopped the clock
//! and set it: such a reading is due at once. All other readings only keep viewers right, so few of them are.

use std::collections::{BTreeMap, VecDeque};

use crate::{event::ClockState, terms::Side};

/// How often a reading is due that running explains. The files are on memory cards and go to servers of others, so a
/// game is not written for each second that its players think. The readings of all boards are due at the same times, so
/// their files are written together.
const ROUTINE_MS: i64 = 30_000;
/// How often one is due that running does not explain: whoever sets a clock changes it several times in a row.
const SUDDEN_MS: i64 = 1_000;
/// How far a time may be from where running takes it. Clocks show whole seconds, and a reading may come a second late.
const SLACK_MS: u64 = 3_000;
/// The most readings of a board. They are enough for the longest delay where nobody plays with the clock.
const MOST: usize = 1_500;

/// What the clock of a board shows, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedClock {
    /// Number of the game on its board.
    pub game: u32,
    /// Both times and the running side.
    pub clock: ClockState,
    /// When it was read, as Unix time in milliseconds.
    pub at_ms: i64,
}

/// The newest reading of each clock, by `GATEWAY/BOARD`.
pub type LatestClocks = BTreeMap<String, TimedClock>;

impl TimedClock {
    /// True where the clock has gone on as it did at `before`.
    fn goes_on_from(&self, before: &Self) -> bool {
        let passed = u64::try_from(self.at_ms - before.at_ms).unwrap_or(0);
        let is_near = |side: Side, before_ms: u64, now_ms: u64| {
            let ran = if before.clock.running == Some(side) {
                passed
            } else {
                0
            };
            before_ms.saturating_sub(ran).abs_diff(now_ms) <= SLACK_MS
        };
        self.clock.running == before.clock.running
            && is_near(Side::White, before.clock.white_ms, self.clock.white_ms)
            && is_near(Side::Black, before.clock.black_ms, self.clock.black_ms)
    }
}

/// The readings of one clock that may be shown, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings(VecDeque<Reading>);

#[derive(Clone, Copy, Debug)]
struct Reading {
    clock: TimedClock,
    /// When it becomes public where nothing is held back, as Unix time in milliseconds.
    due_ms: i64,
}

impl Readings {
    /// Takes a reading; `moved` is the clock at the last half-move. Returns when the reading is due, as Unix time in
    /// milliseconds. A newer one that is due by then takes its place.
    pub(super) fn take(&mut self, clock: TimedClock, moved: Option<TimedClock>) -> i64 {
        let is_told = |known: &&Reading| known.due_ms <= clock.at_ms + SUDDEN_MS;
        let told = self.0.iter().rev().find(is_told).map(|known| known.clock);
        let told = told
            .into_iter()
            .chain(moved)
            .filter(|told| told.game == clock.game);
        let told = told.max_by_key(|told| told.at_ms);
        let is_routine = told.is_some_and(|told| clock.goes_on_from(&told));
        let every_ms = if is_routine { ROUTINE_MS } else { SUDDEN_MS };
        let due_ms = (clock.at_ms.div_euclid(every_ms) + 1).saturating_mul(every_ms);
        while self.0.back().is_some_and(|known| known.due_ms >= due_ms) {
            self.0.pop_back();
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(Reading { clock, due_ms });
        due_ms
    }

    /// Drops the readings from before `at_ms`.
    pub(super) fn forget_before(&mut self, at_ms: i64) {
        while self.0.front().is_some_and(|known| known.clock.at_ms < at_ms) {
            self.0.pop_front();
        }
    }

    /// The readings that are due at `now_ms`, the newest first.
    pub(super) fn due(&self, now_ms: i64) -> impl Iterator<Item = &TimedClock> {
        let due = self.0.iter().rev().filter(move |known| known.due_ms <= now_ms);
        due.map(|known| &known.clock)
    }

    /// When the next reading is due after `now_ms`.
    pub(super) fn next_due_ms(&self, now_ms: i64) -> Option<i64> {
        let due = self.0.iter().map(|known| known.due_ms);
        due.filter(|due_ms| *due_ms > now_ms).min()
    }
}

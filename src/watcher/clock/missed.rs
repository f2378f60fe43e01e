//! Presses that came while nobody listened, as the times of the clock before and after tell of them.

use serde::{Deserialize, Serialize};

use super::ONE_PRESS_S;
use crate::{
    dgt::{ClockReading, ClockSide, Lever},
    time::Millis,
};

/// A smaller increment does not tell from two seconds of rounding how many presses there were, in seconds.
const LEAST_INCREMENT_S: i64 = 5;

/// Four displayed times and two frames, each up to a second old, may differ by this from what passed, in seconds.
const ROUNDED_S: i64 = 2;

/// Two clocks that agree on how long a gap was differ by no more, in milliseconds.
const SAME_MS: u64 = 1000;

/// In a gap that is no longer, nobody makes two half-moves more than the lever shows, in seconds,
const SHORT_GAP_S: i64 = 2;

/// if both players have this much time, in seconds.
const LEISURE_S: i64 = 600;

/// After a longer gap the number of presses tells nothing more, in seconds.
const LONGEST_GAP_S: i64 = 600;

/// What the clock showed last before nobody listened for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::watcher) struct LastShown {
    /// True if the left time ran, or would run if somebody started the clock.
    pub(super) left: bool,
    /// The seconds of the other time.
    pub(super) stood_s: u32,
    /// Those of the time that ran or would run. An older program did not keep what follows.
    #[serde(default)]
    pub(super) ran_s: u32,
    /// What a press of each side adds, in seconds: left, right; 0 where that is not known.
    #[serde(default)]
    pub(super) gains_s: [u32; 2],
    /// When it showed this; none where another program heard it.
    #[serde(skip)]
    pub(super) at: Option<Millis>,
    /// When it showed this, in milliseconds by the wall clock.
    #[serde(default)]
    pub(super) at_ms: Option<i64>,
    /// Somebody had stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) stopped: bool,
    /// When somebody had stopped it. An older program did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stopped_at: Option<Millis>,
    /// When somebody had started it.
    #[serde(default)]
    pub(super) started_at: Millis,
    /// From when to when it stood the last times, the latest first.
    #[serde(default)]
    pub(super) stood_in: [(Millis, Millis); 2],
    /// Until when nobody heard last whether it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unheard_until: Option<Millis>,
}

impl LastShown {
    /// The side whose time ran or would run.
    pub(super) fn side(self) -> ClockSide {
        if self.left {
            ClockSide::Left
        } else {
            ClockSide::Right
        }
    }

    /// What it showed, if it ran.
    pub(in crate::watcher) fn running(self) -> Option<ClockReading> {
        let [left, right] = if self.left {
            [self.ran_s, self.stood_s]
        } else {
            [self.stood_s, self.ran_s]
        };
        let lever = Lever::after_press(self.side().other());
        (!self.stopped).then(|| ClockReading::of_seconds(left, right, true, lever))
    }

    /// True where it stood until the gap, and stands with the same times or was started since.
    pub(super) fn has_stood_until(self, reading: &ClockReading) -> bool {
        let side = self.side();
        let shown = |side| reading.time(side).seconds;
        let is_same = (shown(side), shown(side.other())) == (self.ran_s, self.stood_s);
        self.stopped && (reading.running || is_same)
    }

    /// The presses before the clock shows `reading`, as its first word after the gap, at `now`, which is `at_ms` by the wall clock.
    pub(super) fn missed(self, reading: &ClockReading, now: Millis, at_ms: Option<i64>) -> MissedPresses {
        let side = self.side();
        let fell = self.stood_s.checked_sub(reading.time(side.other()).seconds);
        let once =
            !self.stopped && reading.lever.pressed() == side && fell.is_some_and(|fell| fell <= ONE_PRESS_S);
        MissedPresses {
            once: once.then_some(side),
            count: self
                .passed_ms(now, at_ms)
                .and_then(|passed| self.presses(reading, passed))
                .filter(|_| !self.stopped),
        }
    }

    /// What has passed since, in milliseconds: by the wall clock where another program heard it. None where the clocks do not agree: a
    /// machine slept, or its wall clock was set.
    fn passed_ms(self, now: Millis, at_ms: Option<i64>) -> Option<i64> {
        let here = self.at.and_then(|at| i64::try_from(now.since(at)).ok());
        let by_wall = at_ms
            .zip(self.at_ms)
            .and_then(|(now, then)| now.checked_sub(then));
        match (here, by_wall) {
            (Some(here), Some(by_wall)) => {
                let agree = here.abs_diff(by_wall) <= SAME_MS;
                agree.then_some(here)
            }
            (here, by_wall) => here.or(by_wall),
        }
    }

    /// How many presses came in the `passed_ms` before the clock shows `reading`. None where the times do not tell.
    fn presses(self, reading: &ClockReading, passed_ms: i64) -> Option<usize> {
        let passed = passed_ms.checked_add(500)?.div_euclid(1000);
        let is_odd = reading.counting()? != self.side();
        if let Some(increment) = self.increment() {
            self.presses_by_increment(reading, passed, increment)
                .filter(|presses| presses.is_multiple_of(2) != is_odd)
        } else {
            self.is_short(reading, passed).then_some(usize::from(is_odd))
        }
    }

    /// What a press adds, in seconds; none where that is too little to tell presses by, or not the same for both players.
    fn increment(self) -> Option<i64> {
        let [left, right] = self.gains_s;
        let increment = i64::from(left);
        (left.abs_diff(right) <= 1 && increment >= LEAST_INCREMENT_S).then_some(increment)
    }

    /// The times together fell by what passed, and rose by the increment of each press (all in seconds).
    fn presses_by_increment(self, reading: &ClockReading, passed: i64, increment: i64) -> Option<usize> {
        let shown = |side| i64::from(reading.time(side).seconds);
        let before = i64::from(self.stood_s) + i64::from(self.ran_s);
        let gained = shown(ClockSide::Left) + shown(ClockSide::Right) - before + passed;
        let presses = (gained + increment / 2).div_euclid(increment);
        let fits = (gained - presses * increment).abs() <= ROUNDED_S && (0..=LONGEST_GAP_S).contains(&passed);
        usize::try_from(presses).ok().filter(|_| fits)
    }

    /// True where there was no time for two presses more than the lever shows: hardly any passed, and nobody was short of it.
    fn is_short(self, reading: &ClockReading, passed: i64) -> bool {
        let shown = |side| i64::from(reading.time(side).seconds);
        let (stood, ran) = (i64::from(self.stood_s), i64::from(self.ran_s));
        let Some(counting) = reading.counting() else {
            return false;
        };
        let fell = if counting == self.side() {
            // A press of the other player would have changed the time that stood.
            (shown(counting.other()) == stood).then_some(ran - shown(counting))
        } else {
            Some(stood - shown(counting))
        };
        let is_short = (0..=SHORT_GAP_S).contains(&passed) && stood.min(ran) >= LEISURE_S;
        is_short && fell.is_some_and(|fell| (0..=SHORT_GAP_S + 1).contains(&fell))
    }
}

/// The presses in a gap, by the times before it and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::watcher) struct MissedPresses {
    /// The side that was pressed once.
    pub(in crate::watcher) once: Option<ClockSide>,
    /// How many there were. None where the times do not tell.
    pub(in crate::watcher) count: Option<usize>,
}

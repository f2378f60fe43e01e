//! How long ago the journal took something, whatever the wall clock says.
//!
//! The age of what this run took is the time since then, by a clock that nobody sets. The age of anything older is the
//! age by the wall clock at the beginning of the run, and the time since that beginning.
#![allow(clippy::disallowed_methods)] // its tests begin at some instant.

use std::time::{Duration, Instant};

/// Everything taken within this time shares one mark.
const STEP: Duration = Duration::from_secs(1);
/// When there are more marks than this, every other one goes.
const MOST_MARKS: usize = 4096;

/// When the journal took the things of one kind, by their positions.
#[derive(Debug)]
pub(crate) struct Taken {
    began: Instant,
    /// What the wall clock showed at the beginning of the run.
    wall_ms: i64,
    /// The last position before this run.
    last: u64,
    /// Times, each with the first position taken then.
    marks: Vec<(Instant, u64)>,
    step: Duration,
}

impl Taken {
    /// Begins a run, with things up to position `last` in the journal.
    pub(crate) fn begin(now: Instant, wall_ms: i64, last: u64) -> Self {
        Self {
            began: now,
            wall_ms,
            last,
            marks: Vec::new(),
            step: STEP,
        }
    }

    /// Notes that something is taken at position `n`, the highest so far.
    pub(crate) fn note(&mut self, now: Instant, n: u64) {
        if self
            .marks
            .last()
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) < self.step)
        {
            return;
        }
        if self.marks.len() >= MOST_MARKS {
            let mut even = false;
            self.marks.retain(|_| {
                even = !even;
                even
            });
            self.step *= 2;
        }
        self.marks.push((now, n));
    }

    /// The age of what is at position `n`, which was taken when the wall clock showed `wall_ms`.
    pub(crate) fn age(&self, now: Instant, n: u64, wall_ms: i64) -> Duration {
        if n <= self.last {
            let before = u64::try_from(self.wall_ms.saturating_sub(wall_ms)).unwrap_or(0);
            return now.saturating_duration_since(self.began) + Duration::from_millis(before);
        }
        let marked = self.marks.partition_point(|(_, first)| *first <= n);
        let at = marked
            .checked_sub(1)
            .map_or(self.began, |mark| self.marks[mark].0);
        now.saturating_duration_since(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01.
    const NOW: i64 = 1_767_225_600_000;
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn what_this_run_took_is_as_old_as_the_time_that_passed() {
        let start = Instant::now();
        let mut taken = Taken::begin(start, NOW, 7);
        taken.note(start + HOUR, 8);
        taken.note(start + HOUR + STEP / 2, 9);
        taken.note(start + HOUR + STEP, 10);
        for (n, wall_ms, age) in [
            (8, 0, 2 * HOUR),
            (9, i64::MAX, 2 * HOUR),
            (10, NOW, 2 * HOUR - STEP),
        ] {
            assert_eq!(taken.age(start + 3 * HOUR, n, wall_ms), age, "{n}");
        }
    }

    #[test]
    fn what_was_there_is_as_old_as_the_wall_clock_had_it_at_the_start() {
        let start = Instant::now();
        let taken = Taken::begin(start, NOW, 7);
        assert_eq!(taken.age(start + HOUR, 7, NOW - 3_600_000), 2 * HOUR);
        assert_eq!(taken.age(start + HOUR, 7, NOW + 3_600_000), HOUR, "of the future");
    }

    #[test]
    fn marks_are_few_however_long_it_runs() {
        let start = Instant::now();
        let mut taken = Taken::begin(start, NOW, 0);
        let day = 86_400;
        for second in 0..day {
            taken.note(start + Duration::from_secs(second), second + 1);
        }
        assert!(taken.marks.len() <= MOST_MARKS);
        let off = (0..day).map(|n| {
            let age = taken.age(start + Duration::from_secs(day), n + 1, 0);
            age.abs_diff(Duration::from_secs(day - n))
        });
        assert!(off.max() < Some(Duration::from_secs(64)));
    }
}

//! The daemon's time. Decisions go by a monotonic clock, and the wall clock is for people.

use std::time::{Duration, Instant};

use crate::time::Millis;

/// The beginning of 2024, as Unix time in milliseconds. A wall clock that shows less has not been set, as on a small
/// computer without a battery.
const PLAUSIBLE_MS: i64 = 1_704_067_200_000;
/// The wall clock has stepped if it is off by more than this.
const STEP_MS: u64 = 2_000;

/// Time since the daemon's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timebase {
    start: Instant,
}

impl Timebase {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> Millis {
        // Half a billion years of milliseconds fit.
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn instant(&self, at: Millis) -> tokio::time::Instant {
        (self.start + Duration::from_millis(at.0)).into()
    }

    /// Unix time in milliseconds at the start, according to the present wall clock; none if that is not set.
    pub(super) fn epoch_ms(&self) -> Option<i64> {
        let wall = jiff::Timestamp::now().as_millisecond();
        let since = i64::try_from(self.now().0).unwrap_or(i64::MAX);
        (wall >= PLAUSIBLE_MS).then(|| wall - since)
    }
}

/// True where the wall clock was set in the meantime. Slow drift is left alone, so that times stay in order.
pub(super) fn has_stepped(former: Option<i64>, now: Option<i64>) -> bool {
    match (former, now) {
        (Some(former), Some(now)) => former.abs_diff(now) > STEP_MS,
        (None, None) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_no_step() {
        assert!(!has_stepped(Some(1_000_000), Some(1_001_500)));
        assert!(has_stepped(Some(1_000_000), Some(997_000)));
        assert!(has_stepped(None, Some(1)));
        assert!(!has_stepped(None, None));
    }
}

//! The time of a broadcast: Unix time as the wall clock had it when the broadcast began, and since then by a clock that
//! nobody sets. So what is held back is held for as long as it should be, and nothing that was public goes.

use jiff::Timestamp;
use tokio::time::Instant;

use super::{clocks::TimedClock, runs::HeardAt};

/// A reading of a clock that seems older was labelled by a wall clock that somebody has set since. Clocks are told at
/// once.
const READ_WITHIN_MS: i64 = 60_000;

/// A clock that goes on whatever somebody sets the wall clock to.
#[derive(Clone, Copy, Debug)]
pub(super) struct SteadyClock {
    began: Instant,
    began_ms: i64,
}

impl SteadyClock {
    /// A clock that shows what the wall clock shows now.
    pub(super) fn start() -> Self {
        Self {
            began: Instant::now(),
            began_ms: Timestamp::now().as_millisecond(),
        }
    }

    /// Unix time in milliseconds.
    pub(super) fn now_ms(&self) -> i64 {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began_ms.saturating_add(passed)
    }

    /// An event that comes now and was written at `written_ms` by the wall clock.
    pub(super) fn heard(&self, written_ms: i64) -> HeardAt {
        let now_ms = self.now_ms();
        HeardAt {
            written_ms,
            now_ms,
            ahead_ms: now_ms.saturating_sub(Timestamp::now().as_millisecond()),
        }
    }

    /// A reading that comes now, with its time by this clock.
    pub(super) fn read(&self, clock: TimedClock) -> TimedClock {
        let HeardAt { now_ms, ahead_ms, .. } = self.heard(0);
        let told_ms = clock.at_ms.saturating_add(ahead_ms);
        let is_likely = (now_ms.saturating_sub(READ_WITHIN_MS)..=now_ms).contains(&told_ms);
        TimedClock {
            at_ms: if is_likely { told_ms } else { now_ms },
            ..clock
        }
    }
}

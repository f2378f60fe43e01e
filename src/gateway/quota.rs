//! Bounds the commands that a board takes and that lead to events. The bound is above what any arbiter gives, and below
//! a flood.

use std::time::Instant;

use crate::{mqtt::Refusal, throttle::Throttle, time::Millis};

/// How many such commands a board takes at once.
const BURST: u64 = 60;
/// How many milliseconds it takes until one more is allowed.
const EACH_MS: u64 = 2000;

/// The commands that a board may still take.
#[derive(Debug)]
pub(super) struct Quota {
    /// The time at which the whole of `BURST` is allowed again.
    full_at: Millis,
    said: Throttle,
}

impl Quota {
    pub(super) const fn new() -> Self {
        Self {
            full_at: Millis(0),
            said: Throttle::of(1),
        }
    }

    /// In how many seconds the next command is allowed; none when it is allowed now.
    pub(super) fn wait_s(&self, now: Millis) -> Option<u64> {
        let ahead = self.full_at.since(now);
        let over = (ahead + EACH_MS).saturating_sub(BURST * EACH_MS);
        (over > 0).then(|| over.div_ceil(1000))
    }

    /// Counts a command that led to events.
    pub(super) fn spend(&mut self, now: Millis) {
        self.full_at = self.full_at.max(now) + EACH_MS;
    }

    /// Counts a refusal. Returns how many there were since the log last told of them, if it is to tell now.
    pub(super) fn says(&self, now: Instant) -> Option<u64> {
        self.said.pass(now)
    }

    /// Tells how many refusals the log has not told of in the minute that is over; `place` says whose.
    pub(super) fn tell_left_out(&self, place: &str, now: Instant) {
        if let Some(count) = self.said.overdue(now) {
            tracing::warn!(
                code = Refusal::OverBudget(0).code(),
                "{place}: {count} more commands were refused because there were too many"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_what_an_arbiter_might_want() {
        let mut quota = Quota::new();
        let mut taken = 0;
        for ms in 0..60_000 {
            if quota.wait_s(Millis(ms)).is_none() {
                quota.spend(Millis(ms));
                taken += 1;
            }
        }
        assert_eq!(taken, BURST + 60_000 / EACH_MS - 1);
        assert_eq!(quota.wait_s(Millis(60_000)), None);
        quota.spend(Millis(60_000));
        assert_eq!(quota.wait_s(Millis(60_000)), Some(2));
        // After a quiet time the whole burst is allowed again, and no more.
        assert_eq!(quota.wait_s(Millis(10_000_000)), None);
        let many = (0..1000).take_while(|_| {
            let has_room = quota.wait_s(Millis(10_000_000)).is_none();
            quota.spend(Millis(10_000_000));
            has_room
        });
        assert_eq!(many.count() as u64, BURST);
    }

    #[test]
    fn a_flood_has_one_line_a_minute_and_every_refusal_is_counted() {
        let (quota, start) = (Quota::new(), Instant::now());
        let at = |tenths: u64| start + std::time::Duration::from_millis(tenths * 100);
        // Ten refusals a second for ten minutes.
        let lines: Vec<_> = (0..6000)
            .filter_map(|tenths| quota.says(at(tenths)).map(|left_out| (tenths, left_out)))
            .collect();
        let meant: Vec<_> = (0..10)
            .map(|minute| (minute * 600, if minute == 0 { 0 } else { 599 }))
            .collect();
        assert_eq!(
            lines, meant,
            "a line at the first refusal, and one in each minute after it"
        );
        assert_eq!(quota.says(at(6000) - std::time::Duration::from_millis(1)), None);
        assert_eq!(quota.says(at(6000)), Some(600), "none is left out of the count");
    }

    #[test]
    fn a_refusal_is_said_once_a_minute() {
        let (quota, now) = (Quota::new(), Instant::now());
        assert_eq!(quota.says(now), Some(0));
        assert_eq!((0..500).filter_map(|_| quota.says(now)).count(), 0);
        assert_eq!(quota.says(now + std::time::Duration::from_secs(60)), Some(500));
    }
}

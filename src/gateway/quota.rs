//! How many commands that lead to events a board takes: more than any arbiter gives, and fewer than a flood has.

use std::time::Instant;

use crate::{throttle::Throttle, time::Millis};

/// So many at once.
const BURST: u64 = 60;
/// And one more after so many milliseconds.
const EACH_MS: u64 = 2000;

/// What a board may still be told.
#[derive(Debug)]
pub(super) struct Quota {
    /// Until when all that it was told would have been too much at once, by so much as `BURST` allows.
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

    /// For how many seconds nothing more is taken; none when something is.
    pub(super) fn wait_s(&self, now: Millis) -> Option<u64> {
        let ahead = self.full_at.since(now);
        let over = (ahead + EACH_MS).saturating_sub(BURST * EACH_MS);
        (over > 0).then(|| over.div_ceil(1000))
    }

    /// A command led to events.
    pub(super) fn spend(&mut self, now: Millis) {
        self.full_at = self.full_at.max(now) + EACH_MS;
    }

    /// One was refused: whether that is said, and how many were refused since it was said last.
    pub(super) fn says(&self, now: Instant) -> Option<u64> {
        self.said.pass(now)
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
        // After a while of quiet there is room for many again, and no more than at first.
        assert_eq!(quota.wait_s(Millis(10_000_000)), None);
        let many = (0..1000).take_while(|_| {
            let has_room = quota.wait_s(Millis(10_000_000)).is_none();
            quota.spend(Millis(10_000_000));
            has_room
        });
        assert_eq!(many.count() as u64, BURST);
    }

    #[test]
    fn a_refusal_is_said_once_a_minute() {
        let (quota, now) = (Quota::new(), Instant::now());
        assert_eq!(quota.says(now), Some(0));
        assert_eq!((0..500).filter_map(|_| quota.says(now)).count(), 0);
        assert_eq!(quota.says(now + std::time::Duration::from_secs(60)), Some(500));
    }
}

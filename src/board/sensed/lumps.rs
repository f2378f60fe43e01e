//! Lumps of messages: the order of what they tell is right, and nobody measured its times.

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// The bounds of the last two lumps, the latest first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Lumps([(Millis, Millis); 2]);

impl Lumps {
    /// What happened between `from` and `until` comes in one lump.
    pub(super) fn add(&mut self, from: Millis, until: Millis) {
        let [last, _] = self.0;
        self.0 = [(from, until), last];
    }

    /// The lump in which what happened at `at` came.
    fn of(self, at: Millis) -> Option<(Millis, Millis)> {
        let mut lumps = self.0.into_iter();
        lumps.find(|(from, until)| *from < at && at <= *until)
    }

    /// The least time, in milliseconds, that may have passed between what happened at `one` and at `other`.
    pub(super) fn least_between(self, one: Millis, other: Millis) -> u64 {
        let (first, last) = (one.min(other), one.max(other));
        let latest = self.of(first).map_or(first, |(_, until)| until.min(last));
        let soonest = self.of(last).map_or(last, |(from, _)| from.max(first));
        soonest.since(latest)
    }

    /// The most time, in milliseconds, that may have passed from what happened at `first` to what happened at `last`.
    pub(super) fn most_between(self, first: Millis, last: Millis) -> u64 {
        let soonest = self.of(first).map_or(first, |(from, _)| from);
        let latest = self.of(last).map_or(last, |(_, until)| until);
        latest.since(soonest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_lump_no_time_need_have_passed() {
        let mut lumps = Lumps::default();
        let least = |lumps: Lumps, one, other| lumps.least_between(Millis(one), Millis(other));
        assert_eq!(least(lumps, 300, 1000), 700);
        lumps.add(Millis(200), Millis(900));
        assert_eq!(least(lumps, 400, 800), 0, "both came in it");
        assert_eq!(least(lumps, 800, 150), 50, "one came before it");
        assert_eq!(least(lumps, 400, 1000), 100, "one came after it");
        assert_eq!((least(lumps, 100, 1000), least(lumps, 50, 100)), (900, 50));
        lumps.add(Millis(900), Millis(1500));
        assert_eq!(
            least(lumps, 400, 1400),
            0,
            "at the end of one and the beginning of the next"
        );
        assert_eq!(least(lumps, 150, 1400), 750);
    }

    #[test]
    fn within_a_lump_all_its_time_may_have_passed() {
        let mut lumps = Lumps::default();
        let most = |lumps: Lumps, first, last| lumps.most_between(Millis(first), Millis(last));
        assert_eq!(most(lumps, 300, 1000), 700);
        lumps.add(Millis(200), Millis(900));
        assert_eq!(most(lumps, 400, 800), 700, "both came in it");
        assert_eq!(most(lumps, 100, 500), 800, "one came before it");
        assert_eq!(most(lumps, 400, 1000), 800, "one came after it");
    }
}

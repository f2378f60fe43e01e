//! When a snapshot was taken, and which time it is for the watcher that goes on from it.

use crate::time::Millis;

/// A gap in which no daemon ran is as long as the wall clock says, up to this, in milliseconds. In a longer one hands may have done
/// anything, and the wall clock of a machine that was just switched on may be wrong.
const KNOWN_GAP_MS: i64 = 5000;

/// When a snapshot was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenAt {
    /// By the time of the watcher.
    pub(super) own: Millis,
    /// By the wall clock, in Unix milliseconds, where that is known.
    pub(super) by_wall_ms: Option<i64>,
}

impl TakenAt {
    /// The time of the watcher that goes on from it when the wall clock shows `by_wall_ms`. As where a cable is out, time passes while
    /// nobody listens: what was heard last has stood since, or a dump shows that it has not.
    pub(super) fn goes_on(self, by_wall_ms: Option<i64>) -> Millis {
        let passed = by_wall_ms
            .zip(self.by_wall_ms)
            .and_then(|(now, then)| now.checked_sub(then));
        let passed = passed.unwrap_or_default().clamp(0, KNOWN_GAP_MS);
        self.own + passed.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_over_a_gap_as_far_as_the_wall_clock_is_to_be_believed() {
        const THEN: i64 = 1_800_000_000_000;
        let taken_at = |by_wall_ms| TakenAt {
            own: Millis(7000),
            by_wall_ms,
        };
        for (then, now, goes_on) in [
            (Some(THEN), Some(THEN + 600), 7600),
            (Some(THEN), Some(THEN + 3_600_000), 12_000),
            // The wall clock was set back, or is not known.
            (Some(THEN), Some(THEN - 600), 7000),
            (Some(THEN), None, 7000),
            (None, Some(THEN), 7000),
            (Some(i64::MIN), Some(i64::MAX), 7000),
        ] {
            assert_eq!(taken_at(then).goes_on(now), Millis(goes_on), "{then:?}, {now:?}");
        }
    }
}

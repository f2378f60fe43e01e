//! The clock of a board as pages show it. Between two readings a page counts on by itself, so that a reading which says
//! what is shown anyway need not be sent: the running clocks of a thousand boards are a thousand readings a second.

use crate::{event::ClockState, laws::Side};

/// How far a page may be off, in milliseconds. Clocks tell whole seconds, so that two readings of a clock that runs on
/// differ by less than this from what lies between them.
const OFF_MS: u64 = 1_000;

/// What a clock showed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) clock: ClockState,
    /// In milliseconds of the hall's own clock.
    pub(super) at_ms: u64,
}

impl Reading {
    /// True where who counts on from this reading shows the later one, as closely as a page must.
    pub(super) fn foretells(&self, later: &Self) -> bool {
        let passed = later.at_ms.saturating_sub(self.at_ms);
        let is_near = |side, before: u64, after: u64| {
            let runs = self.clock.running == Some(side);
            let shown = before.saturating_sub(if runs { passed } else { 0 });
            if runs {
                shown.abs_diff(after) < OFF_MS
            } else {
                shown == after
            }
        };
        self.clock.running == later.clock.running
            && is_near(Side::White, self.clock.white_ms, later.clock.white_ms)
            && is_near(Side::Black, self.clock.black_ms, later.clock.black_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(white_ms: u64, running: Option<Side>, at_ms: u64) -> Reading {
        let clock = ClockState {
            white_ms,
            black_ms: 60_000,
            running,
        };
        Reading { clock, at_ms }
    }

    #[test]
    fn only_a_clock_that_runs_on_is_foretold() {
        let first = reading(90_000, Some(Side::White), 5_000);
        for (white_ms, running, at_ms, foretold) in [
            (89_000, Some(Side::White), 6_000, true),
            // The message was late, or the second had just begun.
            (89_000, Some(Side::White), 6_900, true),
            (30_000, Some(Side::White), 65_200, true),
            (89_000, Some(Side::White), 7_000, false),
            (91_000, Some(Side::White), 6_000, false),
            (89_000, Some(Side::Black), 6_000, false),
            (89_000, None, 6_000, false),
        ] {
            let later = reading(white_ms, running, at_ms);
            assert_eq!(first.foretells(&later), foretold, "{later:?}");
        }
        let stands = reading(90_000, None, 5_000);
        assert!(stands.foretells(&reading(90_000, None, 9_000)));
        assert!(!stands.foretells(&reading(89_999, None, 5_001)));
    }
}

//! Time as the pure rooms know it: milliseconds since an origin that the caller chose.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the start of a capture or of the daemon (monotonic).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// The point as seconds, the unit of `t` and `at` in events.
    #[must_use]
    pub fn seconds(self) -> f64 {
        // Milliseconds of any evening fit a double exactly.
        self.0 as f64 / 1000.0
    }

    /// The earliest of `times`, of those that are one.
    #[must_use]
    pub fn earliest<const N: usize>(times: [Option<Self>; N]) -> Option<Self> {
        times
            .into_iter()
            .fold(None, |earliest, time| match (earliest, time) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            })
    }

    /// Milliseconds from `earlier` to this point; 0 when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Millis {
    type Output = Self;
    fn add(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl Sub<u64> for Millis {
    type Output = Self;
    fn sub(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }
}

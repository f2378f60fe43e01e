//! The host that records a board may stand still, because it is busy or the process was stopped: `# stood-still: 31.460 32.100`.
//!
//! What the board said meanwhile is in the capture when it was read. It was heard before what was due since. The line names its
//! times, so it may stand anywhere. Programs that do not know it take what was due to have been done when it was.

use std::fmt;

use super::value::{LONGEST, microseconds};
use crate::time::Millis;

/// A time in which the host did nothing that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoodStill {
    /// Milliseconds since the start of the capture.
    pub since: Millis,
    /// The same for its end. Something was due between.
    pub until: Millis,
}

impl StoodStill {
    /// Reads `SECONDS SECONDS`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut times = text.split_whitespace().map(|word| {
            let time = microseconds(word).filter(|time| *time <= LONGEST);
            time.map(|time| Millis(time / 1000))
        });
        match (times.next(), times.next(), times.next()) {
            (Some(Some(since)), Some(Some(until)), None) if since <= until => Ok(Self { since, until }),
            _ => Err("write two times in seconds, the earlier first".to_owned()),
        }
    }
}

impl fmt::Display for StoodStill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [since, until] = [self.since.0, self.until.0].map(|ms| (ms / 1000, ms % 1000));
        write!(f, "{}.{:03} {}.{:03}", since.0, since.1, until.0, until.1)
    }
}

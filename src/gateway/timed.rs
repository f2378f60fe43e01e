//! A line that tells when its bytes were read. A network that hangs delays them and does not change their times.

use crate::{
    capture::{
        ParseError,
        stream::{Heard, Stream},
    },
    time::Millis,
};

/// A line that tells nothing for this long (in milliseconds), not even that nothing was heard, is gone.
const SILENT_MS: u64 = 120_000;

/// The reader of such a line. Its times are late by the delay of the fastest message, which is some milliseconds.
#[derive(Debug)]
pub(super) struct Timed {
    stream: Stream,
    /// By how many milliseconds our clock is ahead of the other side's, as far as known. The fastest message tells it
    /// best.
    ahead: Option<i64>,
    /// The time up to which the line has told what happened, by our clock.
    told: Millis,
    spoke: Millis,
}

impl Timed {
    pub(super) fn new(now: Millis) -> Self {
        Self {
            stream: Stream::default(),
            ahead: None,
            told: now,
            spoke: now,
        }
    }

    /// When the line must be given up, by our clock.
    pub(super) fn silent_at(&self) -> Millis {
        self.spoke + SILENT_MS
    }

    /// What was heard by `bytes`, which came at `now`, with times of our clock. These never go back.
    pub(super) fn hear(&mut self, now: Millis, bytes: &[u8]) -> Result<Vec<Heard>, ParseError> {
        self.spoke = now;
        let mut heard = self.stream.push(bytes)?;
        // A process runs for less than 292 million years.
        let signed = |time: Millis| i64::try_from(time.0).unwrap_or(i64::MAX);
        for part in &heard {
            let ahead = signed(now) - signed(part.at);
            self.ahead = Some(self.ahead.map_or(ahead, |known| known.min(ahead)));
        }
        for part in &mut heard {
            let at = signed(part.at) + self.ahead.unwrap_or_default();
            self.told = self.told.max(Millis(u64::try_from(at).unwrap_or(0)));
            part.at = self.told;
        }
        Ok(heard)
    }
}

/// A command in the form that such a line takes.
pub(super) fn to_board(bytes: &[u8]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("> {}\n", hex.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(heard: &[Heard]) -> Vec<u64> {
        heard.iter().map(|heard| heard.at.0).collect()
    }

    #[test]
    fn what_comes_late_in_a_lump_has_the_times_at_which_it_was_read() {
        let mut line = Timed::new(Millis(100_000));
        let begun = line.hear(Millis(100_050), b"# dgtcap 1\n# now: 5.0\n").unwrap();
        assert_eq!(times(&begun), [100_050]);
        // This message is faster than the first, so it tells the difference of the clocks better.
        let faster = line.hear(Millis(101_010), b"# now: 6.0\n").unwrap();
        assert_eq!(times(&faster), [101_010]);
        let lump = line
            .hear(Millis(120_000), b"6.5 < 01\n8.25 < 02\n# now: 20.0\n")
            .unwrap();
        assert_eq!(times(&lump), [101_510, 103_260, 115_010]);
        assert_eq!(line.silent_at(), Millis(240_000));
    }

    #[test]
    fn times_never_go_back_when_the_clocks_are_better_known() {
        let mut line = Timed::new(Millis(0));
        let slow = line.hear(Millis(9_000), b"# dgtcap 1\n0.5 < 01\n").unwrap();
        assert_eq!(times(&slow), [9_000]);
        let fast = line.hear(Millis(9_100), b"8.9 < 02\n9.0 < 03\n").unwrap();
        assert_eq!(times(&fast), [9_000, 9_100]);
    }
}

//! A capture that comes over a line while it is being written. Its records have the times of the machine that reads the
//! board.
//!
//! The stream has one line that other captures do not have: `# now: SECONDS` says that nothing was heard until then.

use super::{Act, Flaw, ParseError, flaw::MOST_LINE_BYTES, parse::Reader};
use crate::time::Millis;

/// The beginning of a line that says that nothing was heard until then.
pub const NOW: &str = "# now: ";

/// What was heard at a time; no bytes where only time passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The time by the clock of the machine that read the bytes.
    pub at: Millis,
    /// What the board sent.
    pub bytes: Vec<u8>,
}

/// The state of reading such a stream.
#[derive(Default)]
pub struct Stream {
    reader: Reader,
    line: Vec<u8>,
    lines: usize,
    last: Millis,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("lines", &self.lines)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// The records that `bytes` complete, which are the next of the stream in any split.
    ///
    /// # Errors
    /// When the bytes break the rules. The stream cannot be followed any further.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Heard>, ParseError> {
        let mut heard = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() > MOST_LINE_BYTES {
                return Err(self.flaw(Flaw::LongLine));
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take(&line, &mut heard)?;
            }
        }
        Ok(heard)
    }

    fn take(&mut self, line: &[u8], heard: &mut Vec<Heard>) -> Result<(), ParseError> {
        if let Some(at) = now_of(line) {
            self.add(at, Vec::new(), heard)?;
        } else {
            let records = self.reader.next_line(self.lines, line);
            for record in records.map_err(|flaw| self.flaw(flaw))? {
                let bytes = match record.act {
                    Act::FromBoard(bytes) => bytes,
                    Act::ToBoard(_) | Act::LinkUp | Act::LinkDown => Vec::new(),
                };
                self.add(record.at, bytes, heard)?;
            }
        }
        self.lines += 1;
        Ok(())
    }

    /// The error for `flaw` in the line that is being read.
    fn flaw(&self, flaw: Flaw) -> ParseError {
        ParseError {
            line: self.lines + 1,
            flaw,
        }
    }

    fn add(&mut self, at: Millis, bytes: Vec<u8>, heard: &mut Vec<Heard>) -> Result<(), ParseError> {
        if at < self.last {
            return Err(self.flaw(Flaw::TimeGoesBack));
        }
        self.last = at;
        heard.push(Heard { at, bytes });
        Ok(())
    }
}

fn now_of(line: &[u8]) -> Option<Millis> {
    let text = std::str::from_utf8(line).ok()?;
    let seconds: f64 = text.strip_prefix(NOW)?.trim().parse().ok()?;
    // Ten years: no board runs for longer.
    (0.0..315_360_000.0)
        .contains(&seconds)
        .then_some(Millis((seconds * 1000.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, split: usize) -> Result<Vec<(u64, Vec<u8>)>, ParseError> {
        let mut stream = Stream::default();
        let mut all = Vec::new();
        for part in text.as_bytes().chunks(split) {
            all.extend(stream.push(part)?);
        }
        Ok(all.into_iter().map(|heard| (heard.at.0, heard.bytes)).collect())
    }

    #[test]
    fn records_come_with_their_times_in_any_split() {
        let text = "# dgtcap 1\n# board: 7\n0.100 > 42\n0.250 < 8e 00 05 24 01\n# now: 0.5\n1.000 ! down\n1.5 < 01\n2.0 < 0";
        for split in [1, 3, 7, 1000] {
            assert_eq!(
                told(text, split).unwrap(),
                [
                    (100, vec![]),
                    (250, vec![0x8e, 0, 5, 0x24, 1]),
                    (500, vec![]),
                    (1000, vec![]),
                    (1500, vec![1]),
                ]
            );
        }
    }

    #[test]
    fn what_is_no_capture_is_refused() {
        let refused = |text: &str| told(text, 64).unwrap_err().to_string();
        assert!(
            refused("HTTP/1.1 400 Bad Request\r\n").contains("line 1"),
            "{}",
            refused("x\n")
        );
        assert!(refused("# dgtcap 1\n1.0 < zz\n").contains("line 2"));
        assert!(refused("# dgtcap 1\n# now: 3\n1.0 < 01\n").contains("goes back"));
        assert!(refused(&"x".repeat(MOST_LINE_BYTES + 1)).contains("longer"));
    }
}

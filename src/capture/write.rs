//! Writing a capture.

use std::fmt::{self, Write};

use super::{Act, Header, Record};

/// Writes the first line and the header's lines.
///
/// # Errors
/// The errors of `out`.
pub fn write_header(out: &mut impl Write, header: &Header) -> fmt::Result {
    writeln!(out, "# dgtcap 1")?;
    for (key, value) in header.lines() {
        writeln!(out, "# {key}: {value}")?;
    }
    Ok(())
}

/// Writes one record as a line.
///
/// # Errors
/// The errors of `out`.
pub fn write_record(out: &mut impl Write, record: &Record) -> fmt::Result {
    let ms = record.at.0;
    write!(out, "{}.{:03} ", ms / 1000, ms % 1000)?;
    let (direction, bytes) = match &record.act {
        Act::FromBoard(bytes) => ('<', bytes),
        Act::ToBoard(bytes) => ('>', bytes),
        Act::LinkUp => return writeln!(out, "! up"),
        Act::LinkDown => return writeln!(out, "! down"),
    };
    write!(out, "{direction}")?;
    for byte in bytes {
        write!(out, " {byte:02x}")?;
    }
    writeln!(out)
}

impl fmt::Display for super::Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_header(f, &self.header)?;
        self.records.iter().try_for_each(|record| write_record(f, record))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Capture;
    use super::*;
    use crate::time::Millis;

    fn act() -> impl Strategy<Value = Act> {
        let bytes = || prop::collection::vec(any::<u8>(), 1..90);
        prop_oneof![
            bytes().prop_map(Act::FromBoard),
            bytes().prop_map(Act::ToBoard),
            Just(Act::LinkUp),
            Just(Act::LinkDown),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(acts in prop::collection::vec((0u64..100_000, act()), 0..50)) {
            let mut capture = Capture::default();
            capture.header.push("board", "7").unwrap();
            capture.header.push("note", "kept: as it is").unwrap();
            let mut now = 0;
            for (step, act) in acts {
                now += step;
                capture.records.push(Record { at: Millis(now), act });
            }
            prop_assert_eq!(Capture::parse(capture.to_string().as_bytes()), Ok(capture));
        }

        #[test]
        fn nothing_panics(text in "(# dgtcap 1\n)?(.*\n){0,4}[0-9. <>!a-f]*") {
            let _ = Capture::parse(text.as_bytes());
        }
    }
}

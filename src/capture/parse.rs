//! Reads a capture strictly; an error has the line number and the reason.

use std::str::from_utf8;

use super::{
    Act, Capture, Flaw, Header, ParseError, Record,
    flaw::{MOST_HEADERS, MOST_RECORDS},
    value::{LONGEST, microseconds},
};
use crate::time::Millis;

impl Capture {
    /// Reads a capture.
    ///
    /// # Errors
    /// The first line that breaks the rules.
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::default();
        // Some editors begin every UTF-8 text with a byte order mark.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for (index, line) in text.split(|&b| b == b'\n').enumerate() {
            reader.line(index, line).map_err(|flaw| ParseError {
                line: index + 1,
                flaw,
            })?;
        }
        Ok(reader.capture)
    }
}

#[derive(Default)]
pub(super) struct Reader {
    capture: Capture,
    /// Microseconds of the last record. Two times within a millisecond still have an order.
    last: u64,
}

impl Reader {
    /// The records of the next line of a capture that is still being written: one, or none.
    pub(super) fn next_line(&mut self, index: usize, line: &[u8]) -> Result<Vec<Record>, Flaw> {
        self.line(index, line)?;
        Ok(std::mem::take(&mut self.capture.records))
    }

    fn line(&mut self, index: usize, line: &[u8]) -> Result<(), Flaw> {
        let line = from_utf8(line);
        if index == 0 {
            return first_line(line.unwrap_or_default());
        }
        // `trim` takes the CR of a CRLF as well.
        let line = line.map_err(|_| Flaw::NotText)?.trim();
        match line.strip_prefix('#') {
            Some(rest) => self.header(rest),
            None if line.is_empty() => Ok(()),
            None => self.record(line),
        }
    }

    fn header(&mut self, rest: &str) -> Result<(), Flaw> {
        let (key, value) = rest.split_once(':').ok_or(Flaw::NotAHeader)?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            return Err(Flaw::NotAHeader);
        }
        if !self.capture.records.is_empty() && Header::KNOWN.contains(&key) {
            return Err(Flaw::LateHeader(key.to_owned()));
        }
        if self.capture.header.lines().len() >= MOST_HEADERS {
            return Err(Flaw::TooMany);
        }
        self.capture.header.push(key, value)
    }

    fn record(&mut self, line: &str) -> Result<(), Flaw> {
        let (seconds, rest) = line.split_once(char::is_whitespace).ok_or(Flaw::Incomplete)?;
        let micros = microseconds(seconds).ok_or_else(|| Flaw::Time(seconds.to_owned()))?;
        if micros < self.last {
            return Err(Flaw::TimeGoesBack);
        }
        if micros > LONGEST {
            return Err(Flaw::TooLate(seconds.to_owned()));
        }
        if self.capture.records.len() >= MOST_RECORDS {
            return Err(Flaw::TooMany);
        }
        let (direction, rest) = rest
            .trim_start()
            .split_once(char::is_whitespace)
            .ok_or(Flaw::Incomplete)?;
        let act = match direction {
            "<" => Act::FromBoard(bytes(rest)?),
            ">" => Act::ToBoard(bytes(rest)?),
            "!" => match rest.trim() {
                "up" => Act::LinkUp,
                "down" => Act::LinkDown,
                other => return Err(Flaw::Link(other.to_owned())),
            },
            other => return Err(Flaw::Direction(other.to_owned())),
        };
        self.last = micros;
        self.capture.records.push(Record {
            at: Millis(micros / 1000),
            act,
        });
        Ok(())
    }
}

fn first_line(line: &str) -> Result<(), Flaw> {
    let version = line
        .strip_prefix('#')
        .and_then(|l| l.trim().strip_prefix("dgtcap "))
        .ok_or(Flaw::NotACapture)?
        .trim();
    if version == "1" {
        Ok(())
    } else {
        Err(Flaw::Version(version.to_owned()))
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, Flaw> {
    let mut bytes = Vec::with_capacity(text.len() / 3 + 1);
    for group in text.split_whitespace() {
        let bad = || Flaw::Hex(group.to_owned());
        if group.len() % 2 != 0 {
            return Err(bad());
        }
        for pair in group.as_bytes().chunks_exact(2) {
            let [high, low] = [pair[0], pair[1]].map(|b| char::from(b).to_digit(16));
            let (high, low) = (high.ok_or_else(bad)?, low.ok_or_else(bad)?);
            bytes.push((high << 4 | low) as u8);
        }
    }
    if bytes.is_empty() {
        Err(Flaw::Incomplete)
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(body: &str) -> (usize, Flaw) {
        let error = Capture::parse(format!("# dgtcap 1\n{body}").as_bytes()).unwrap_err();
        (error.line, error.flaw)
    }

    #[test]
    fn reads_every_kind_of_record() {
        let text = "# dgtcap 1\r\n# board: 7\r\n# origin: my kitchen: table\r\n# gathered: 1000 ms\r\n\r\n\
                    0.000 > 42\r\n0.09 < 8E0005 24 01\r\n40 ! down\r\n47.2509 ! up";
        let capture = Capture::parse(text.as_bytes()).unwrap();
        assert_eq!(capture.header.board(), Some("7"));
        assert_eq!(capture.header.gathered_ms(), Some(1000));
        assert_eq!(
            capture.header.lines()[1],
            ("origin".into(), "my kitchen: table".into())
        );
        let records: Vec<_> = capture.records.into_iter().map(|r| (r.at.0, r.act)).collect();
        assert_eq!(
            records,
            [
                (0, Act::ToBoard(vec![0x42])),
                (90, Act::FromBoard(vec![0x8e, 0, 5, 0x24, 1])),
                (40_000, Act::LinkDown),
                (47_250, Act::LinkUp),
            ]
        );
    }

    #[test]
    fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
        let plain = "# dgtcap 1\n# board: 7\n0.000 > 42\n";
        let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
        assert_eq!(
            Capture::parse(windows.as_bytes()).unwrap(),
            Capture::parse(plain.as_bytes()).unwrap()
        );
        // Anywhere else the mark is a character like any other.
        assert_eq!(
            flaw("\u{feff}0.000 > 42").1,
            Flaw::Time("\u{feff}0.000".to_owned())
        );
    }

    #[test]
    fn a_remark_is_a_key_like_any_other_and_one_without_a_key_is_told_how() {
        let text = "# dgtcap 1\n# note: the black king wobbles\n0.000 > 42\n# note: here\n";
        let capture = Capture::parse(text.as_bytes()).unwrap();
        assert_eq!(capture.header.lines().len(), 2);
        let (line, flaw) = flaw("0.000 > 42\n# a remark");
        assert_eq!(line, 3);
        assert!(flaw.to_string().contains("`# note: ...`"), "{flaw}");
    }

    #[test]
    fn other_rules_have_their_time_wherever_they_stand() {
        let text = "# dgtcap 1\n# laws: 2018\n# rules-change: 40.5 game 2023 blitz not_adequate 5+3\n0.0 < 80\n\
                    # rules-change: 30 next 1997-fritz rapid adequate\n50 < 80\n# rules-change: 60 game 2023 standard adequate 40/90+30, 15\n";
        let capture = Capture::parse(text.as_bytes()).unwrap();
        let changes = capture.header.rules_changes();
        let times: Vec<_> = changes
            .iter()
            .map(|change| (change.at.0, change.of_game))
            .collect();
        assert_eq!(times, [(40_500, true), (30_000, false), (60_000, true)]);
        assert_eq!(changes[2].rules.periods.len(), 2);
        assert_eq!(Capture::parse(capture.to_string().as_bytes()).unwrap(), capture);
        for bad in [
            "",
            "game 2023 blitz adequate",
            "1 ever 2023 blitz adequate",
            "1 next 2019 blitz adequate",
            "1 next 2023 blitz adequate 5 apples",
        ] {
            assert!(
                matches!(flaw(&format!("# rules-change: {bad}")), (2, Flaw::Value { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn standstills_have_their_times_wherever_they_stand() {
        let text = "# dgtcap 1\n# boards-on-line: 8\n0.0 < 80\n# stood-still: 3.5 4\n# stood-still: 1 2.250\n5 < 80\n";
        let capture = Capture::parse(text.as_bytes()).unwrap();
        assert_eq!(capture.header.boards_on_line(), Some(8));
        let times = capture.header.stood_still().iter().map(ToString::to_string);
        assert_eq!(times.collect::<Vec<_>>(), ["3.500 4.000", "1.000 2.250"]);
        assert_eq!(Capture::parse(capture.to_string().as_bytes()).unwrap(), capture);
        for bad in [
            "stood-still: 1",
            "stood-still: 2 1",
            "stood-still: 1 2 3",
            "boards-on-line: all",
            "boards-on-line: 18446744073709551615",
            "orientation: flat",
        ] {
            assert!(
                matches!(flaw(&format!("# {bad}")), (2, Flaw::Value { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn refuses_bad_lines_with_their_number() {
        assert_eq!(flaw("1.0 < 80\n0.999 < 80"), (3, Flaw::TimeGoesBack));
        assert_eq!(flaw("1.0009 < 80\n1.0001 < 80"), (3, Flaw::TimeGoesBack));
        assert_eq!(flaw("1.0 < 8"), (2, Flaw::Hex("8".into())));
        assert_eq!(flaw("1.0 < 0x80"), (2, Flaw::Hex("0x80".into())));
        assert_eq!(flaw("1.0 <"), (2, Flaw::Incomplete));
        assert_eq!(flaw("1.0 < "), (2, Flaw::Incomplete));
        assert_eq!(flaw("\n-1 < 80"), (3, Flaw::Time("-1".into())));
        assert_eq!(flaw("1e3 < 80"), (2, Flaw::Time("1e3".into())));
        assert_eq!(
            flaw("99999999999999 < 80"),
            (2, Flaw::Time("99999999999999".into()))
        );
        let late = flaw("2678400 < 80\n2678400.001 < 80");
        assert_eq!(late, (3, Flaw::TooLate("2678400.001".into())));
        let remarks = "# note: x\n".repeat(MOST_HEADERS + 1);
        assert_eq!(flaw(&remarks), (MOST_HEADERS + 2, Flaw::TooMany));
        assert_eq!(flaw("1.0 = 80"), (2, Flaw::Direction("=".into())));
        assert_eq!(flaw("1.0 ! left"), (2, Flaw::Link("left".into())));
        assert_eq!(flaw("# no key"), (2, Flaw::NotAHeader));
        assert_eq!(
            flaw("1.0 < 80\n# laws: 2018"),
            (3, Flaw::LateHeader("laws".into()))
        );
        assert_eq!(flaw("# laws: 2018\n# laws: 2023").0, 3);
        assert_eq!(flaw("# laws: 2019").0, 2);
        for gathered in ["1 s", "1000", "-1 ms", "2001 ms", "ms"] {
            let (line, flaw) = flaw(&format!("# gathered: {gathered}"));
            assert!(line == 2 && flaw.to_string().contains("`1000 ms`"), "{flaw}");
        }
        let late = flaw("0.0 < 80\n# gathered: 1000 ms");
        assert_eq!(late, (3, Flaw::LateHeader("gathered".into())));
        assert_eq!(flaw("# board: a/b").0, 2);
        assert_eq!(flaw("# start: yesterday").0, 2);
    }

    #[test]
    fn refuses_more_records_than_a_month_has() {
        let mut text = "# dgtcap 1\n".to_owned();
        (0..MOST_RECORDS).for_each(|_| text += "1 < 00\n");
        assert!(Capture::parse(text.as_bytes()).is_ok());
        text += "1 < 00\n";
        let flaw = Capture::parse(text.as_bytes()).unwrap_err();
        assert_eq!((flaw.line, flaw.flaw), (MOST_RECORDS + 2, Flaw::TooMany));
    }

    #[test]
    fn refuses_what_is_no_capture() {
        assert_eq!(Capture::parse(b"").unwrap_err().flaw, Flaw::NotACapture);
        assert_eq!(Capture::parse(b"1.0 < 80").unwrap_err().flaw, Flaw::NotACapture);
        assert_eq!(
            Capture::parse(b"# dgtcap 2").unwrap_err().flaw,
            Flaw::Version("2".into())
        );
        let not_text = Capture::parse(b"# dgtcap 1\n1.0 < \xff\xff").unwrap_err();
        assert_eq!((not_text.line, not_text.flaw), (2, Flaw::NotText));
    }
}

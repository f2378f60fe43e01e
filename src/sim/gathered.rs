//! What becomes of a capture on a line that gathers: it hands on once a period what the board has said.

use crate::{
    capture::{Act, Capture},
    time::Millis,
};

/// `capture` as a line that gathers would have it: what the board says within a period of `ms` milliseconds
/// comes at the end of the period. If the link goes before, it comes just before the link goes.
#[must_use]
pub fn gathered(capture: &Capture, ms: u64) -> Capture {
    let mut later = capture.clone();
    let mut end = Millis(u64::MAX);
    for record in later.records.iter_mut().rev() {
        match record.act {
            Act::FromBoard(_) => record.at = Millis(record.at.0.next_multiple_of(ms.max(1))).min(end),
            Act::LinkDown | Act::LinkUp => end = record.at,
            Act::ToBoard(_) => {}
        }
    }
    later.records.sort_by_key(|record| record.at);
    later
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_at_the_end_of_their_period_and_before_the_link_goes() {
        let text = "# dgtcap 1\n0.100 < 01\n0.300 > 42\n0.900 < 02\n1.000 < 03\n1.200 < 04\n1.500 ! down\n2.100 < 05\n";
        let capture = Capture::parse(text.as_bytes()).expect("the text is a capture");
        let later = gathered(&capture, 1000).to_string();
        let lines: Vec<&str> = later.lines().skip(1).collect();
        let wanted = [
            "0.300 > 42",
            "1.000 < 01",
            "1.000 < 02",
            "1.000 < 03",
            "1.500 < 04",
            "1.500 ! down",
            "3.000 < 05",
        ];
        assert_eq!(lines, wanted);
    }
}

//! What a line makes of a capture that gathers what the board says and hands it on once a period.

use crate::{
    capture::{Act, Capture},
    time::Millis,
};

/// The same capture with what the board said until the end of each period of `ms` milliseconds coming then. A link that
/// goes takes nothing with it.
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
    fn what_is_said_comes_at_the_end_of_its_period_and_before_the_link_goes() {
        let text = "# dgtcap 1\n0.100 < 01\n0.300 > 42\n0.900 < 02\n1.000 < 03\n1.200 < 04\n1.500 ! down\n2.100 < 05\n";
        let capture = Capture::parse(text.as_bytes()).expect("it is one");
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

//! Lines of the log that somebody outside can provoke: so many a minute, and then only their number.
#![allow(clippy::disallowed_methods)] // its tests begin at some instant.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Lines a minute, unless it is said otherwise.
const MOST: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);

/// Lines of one kind.
#[derive(Debug)]
pub(crate) struct Throttle {
    most: u32,
    minute: Mutex<Minute>,
}

#[derive(Debug)]
struct Minute {
    began: Option<Instant>,
    said: u32,
    left_out: u64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self::new()
    }
}

impl Throttle {
    /// Nothing was said yet.
    pub(crate) const fn new() -> Self {
        Self::of(MOST)
    }

    /// The same for `most` lines a minute.
    pub(crate) const fn of(most: u32) -> Self {
        let minute = Minute {
            began: None,
            said: 0,
            left_out: 0,
        };
        Self {
            most,
            minute: Mutex::new(minute),
        }
    }

    /// Whether a line may be said now: how many were left out before it, or none when it may not.
    pub(crate) fn pass(&self, now: Instant) -> Option<u64> {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        if minute
            .began
            .is_none_or(|began| now.saturating_duration_since(began) >= MINUTE)
        {
            minute.began = Some(now);
            minute.said = 0;
        }
        if minute.said >= self.most {
            minute.left_out += 1;
            return None;
        }
        minute.said += 1;
        Some(std::mem::take(&mut minute.left_out))
    }

    /// How many lines were left out in a minute that is over, if no line has told of them since. Whoever has such lines asks now and
    /// then: otherwise the number would wait for the next line, which may never come.
    pub(crate) fn overdue(&self, now: Instant) -> Option<u64> {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = minute
            .began
            .is_some_and(|began| now.saturating_duration_since(began) >= MINUTE);
        (is_over && minute.left_out > 0).then(|| std::mem::take(&mut minute.left_out))
    }
}

/// The beginning of a text that may be long, for a person.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let throttle = Throttle::new();
        let start = Instant::now();
        let said = (0..50).filter(|_| throttle.pass(start).is_some()).count();
        assert_eq!(said, 20);
        assert_eq!(throttle.pass(start + MINUTE), Some(30));
        assert_eq!(throttle.pass(start + MINUTE), Some(0));
    }

    #[test]
    fn what_was_left_out_is_told_when_the_minute_is_over_and_once() {
        let throttle = Throttle::of(1);
        let start = Instant::now();
        assert_eq!(throttle.overdue(start), None);
        for _ in 0..3 {
            throttle.pass(start);
        }
        assert_eq!(throttle.overdue(start + MINUTE / 2), None, "the minute goes on");
        assert_eq!(throttle.overdue(start + MINUTE), Some(2));
        assert_eq!(throttle.overdue(start + MINUTE), None);
        assert_eq!(throttle.pass(start + MINUTE), Some(0));
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("жжжж", 2), "жж... (8 bytes)");
    }
}

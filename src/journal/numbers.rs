//! Numbers that nobody can have given out, and events under other numbers.
//!
//! A journal that was lost, or is older than what was sent, does not know which numbers were used. Who goes on from
//! the Unix time in seconds, or well above the highest number known, is above all that a board can have given out one
//! by one. Consumers see a gap, never a number twice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::Known;
use crate::event::Event;

/// Added to the highest number known where the wall clock does not help.
const MARGIN: u64 = 1_000_000;
/// A wall clock before 2024 has not been set.
const SET_CLOCK: u64 = 1_704_067_200;

/// A number above all that can have been given out by somebody of whom `highest` is known.
pub(super) fn fresh_range(highest: u64) -> u64 {
    range_at(u64::try_from(super::wall_ms() / 1000).unwrap_or(0), highest)
}

fn range_at(seconds: u64, highest: u64) -> u64 {
    let start = if seconds >= SET_CLOCK {
        seconds
    } else {
        // Without a clock two losses would begin at the same number.
        fastrand::u64(1 << 31..1 << 32)
    };
    start.max(highest + MARGIN)
}

impl Known {
    /// Where a board must go on above, whose journal ends before what is known.
    pub(super) fn base(&self) -> u64 {
        if self.ceiling >= self.last {
            self.ceiling
        } else {
            fresh_range(self.last)
        }
    }

    /// True when numbers above `seq` were given out.
    pub(super) fn is_above(&self, seq: u64) -> bool {
        self.last.max(self.ceiling) > seq
    }
}

/// A board's numbers above `floor` become those above `base`.
#[derive(Clone, Debug)]
pub(super) struct Lift {
    /// What its ids begin with: `GATEWAY/BOARD/`.
    pub(super) prefix: String,
    pub(super) floor: u64,
    pub(super) base: u64,
}

impl Lift {
    /// The new number.
    pub(super) fn seq(&self, seq: u64) -> u64 {
        if seq > self.floor {
            self.base + (seq - self.floor)
        } else {
            seq
        }
    }

    /// An event, and all events that it speaks of, under their new numbers, also as JSON; none where it cannot be read.
    pub(super) fn event(&self, json: &str) -> Option<(Event, String)> {
        let mut value: Value = serde_json::from_str(json).ok()?;
        let before = value.get("formerly").or_else(|| value.get("id"));
        let before = before.and_then(Value::as_str).map(str::to_owned);
        self.rename(&mut value);
        let mut event: Event = serde_json::from_value(value).ok()?;
        event.seq = self.seq(event.seq);
        event.formerly = before;
        let json = serde_json::to_string(&event).ok()?;
        Some((event, json))
    }

    /// The state of a watcher with the new ids of the events that it speaks of.
    pub(super) fn snapshot(&self, json: &str) -> Option<String> {
        let mut value = serde_json::from_str(json).ok()?;
        self.rename(&mut value);
        Some(value.to_string())
    }

    /// Every id within `value`.
    fn rename(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let seq = text.strip_prefix(&self.prefix).and_then(|seq| seq.parse().ok());
                if let Some(seq) = seq {
                    *text = format!("{}{}", self.prefix, self.seq(seq));
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.rename(value)),
            Value::Object(fields) => {
                let former = std::mem::take(fields);
                for (mut key, mut value) in former {
                    self.rename(&mut value);
                    if let Some(seq) = key.strip_prefix(&self.prefix).and_then(|seq| seq.parse().ok()) {
                        key = format!("{}{}", self.prefix, self.seq(seq));
                    }
                    fields.insert(key, value);
                }
            }
            _ => {}
        }
    }
}

/// What is known of boards whose numbers go beyond `floors`, where a board without a floor has `base`.
pub(super) fn beyond(
    known: BTreeMap<String, Known>,
    floors: &BTreeMap<String, u64>,
    base: u64,
) -> BTreeMap<String, Known> {
    known
        .into_iter()
        .filter(|(board, known)| known.is_above(floors.get(board).copied().unwrap_or(base)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_a_lifted_event_is_lifted_too() {
        let lift = Lift {
            prefix: "gw/7/".to_owned(),
            floor: 10,
            base: 500,
        };
        let json = r#"{"v":1,"id":"gw/7/12","seq":12,"type":"irregularity_resolved","irregularity":"gw/7/11","how":"restored","board":"7","game":1,"t":1.5,"time":null}"#;
        let (_, event) = lift.event(json).unwrap();
        let lifted = json
            .replace("/12", "/502")
            .replace("/11", "/501")
            .replace(":12", ":502")
            .replace("\"v\":1,", "\"v\":1,\"formerly\":\"gw/7/12\",");
        assert_eq!(event, lifted);
        let higher = Lift {
            floor: 501,
            base: 900,
            ..lift.clone()
        };
        let (again, _) = higher.event(&event).unwrap();
        assert_eq!((again.seq, again.formerly.as_deref()), (901, Some("gw/7/12")));
        let snapshot = r#"{"open":["gw/7/9","gw/7/11","gw/8/11"],"by":{"gw/7/12":1}}"#;
        let lifted = lift.snapshot(snapshot).unwrap();
        let wanted: Value =
            serde_json::from_str(r#"{"open":["gw/7/9","gw/7/501","gw/8/11"],"by":{"gw/7/502":1}}"#).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&lifted).unwrap(), wanted);
    }

    #[test]
    fn without_a_clock_two_ranges_do_not_begin_alike() {
        assert_eq!(range_at(SET_CLOCK, 5), SET_CLOCK);
        assert_eq!(range_at(SET_CLOCK, SET_CLOCK), SET_CLOCK + MARGIN);
        let first = range_at(0, 0);
        assert!(first > SET_CLOCK && (0..20).all(|_| range_at(0, 0) != first));
    }

    #[test]
    fn a_ceiling_is_enough_unless_more_is_known() {
        let known = |last, ceiling| Known { last, ceiling };
        assert_eq!(known(140, 192).base(), 192);
        assert!(known(140, 0).base() >= 140 + MARGIN);
        assert!(known(140, 100).base() >= 140 + MARGIN);
        assert!(known(140, 0).is_above(139) && !known(140, 0).is_above(140));
    }
}

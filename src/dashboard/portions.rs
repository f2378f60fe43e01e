//! Has a broker tell what it retains in portions. A broker keeps only so many messages for a client that has not taken
//! those before, mosquitto a thousand unless it is told otherwise, and drops what is more without a word. A hall of a
//! thousand boards has six thousand.

use std::collections::{BTreeSet, VecDeque};

use super::hall::{MAX_GATEWAYS, STATES};
use crate::config::{BaseTopic, Id};

/// About how many messages a portion may have.
const PORTION: usize = 600;
/// How many boards a gateway is taken to have that does not say.
const UNTOLD: usize = 16;
/// After so many looks at which nothing came a portion has come, even if it is less than expected: not every board has
/// every state.
const QUIET: u32 = 3;

/// What is listened to at once: a gateway retains little of it, or nothing.
const AT_ONCE: [&str; 6] = [
    "+/status",
    "+/info",
    "+/health",
    "+/reply/+",
    "+/board/+/reply/+",
    "+/board/+/event/+",
];

/// What of one broker is still to be listened to.
#[derive(Clone, Debug, Default)]
pub(super) struct Portions {
    /// The gateways that were heard of.
    gateways: BTreeSet<String>,
    /// States of gateways that are not listened to yet.
    waiting: VecDeque<(String, &'static str)>,
    /// How much of the last portion has not come.
    expected: usize,
    quiet: u32,
}

impl Portions {
    /// Begins anew, with what is listened to at once.
    pub(super) fn begin(&mut self, base: &BaseTopic) -> Vec<String> {
        *self = Self {
            waiting: self.gateways.iter().flat_map(|gateway| states(gateway)).collect(),
            gateways: std::mem::take(&mut self.gateways),
            expected: 0,
            quiet: 0,
        };
        AT_ONCE.iter().map(|levels| format!("{base}/{levels}")).collect()
    }

    /// Notes a message; `topic` is without the base. Whatever it says, its gateway has boards.
    pub(super) fn heard(&mut self, topic: &str, retained: bool) {
        let gateway = topic.split('/').next().unwrap_or_default();
        if !self.gateways.contains(gateway)
            && self.gateways.len() < MAX_GATEWAYS
            && gateway.parse::<Id>().is_ok()
        {
            self.gateways.insert(gateway.to_owned());
            self.waiting.extend(states(gateway));
        }
        if retained {
            self.expected = self.expected.saturating_sub(1);
            self.quiet = 0;
        }
    }

    /// The next portion, once the last one has come; `boards` tells how many boards a gateway has, if it says.
    pub(super) fn next(&mut self, base: &BaseTopic, boards: impl Fn(&str) -> Option<usize>) -> Vec<String> {
        self.quiet += 1;
        if self.expected > 0 && self.quiet <= QUIET {
            return Vec::new();
        }
        (self.expected, self.quiet) = (0, 0);
        let mut filters = Vec::new();
        while let Some((gateway, state)) = self.waiting.front() {
            let more = boards(gateway).unwrap_or(UNTOLD);
            // One gateway may have more boards than a portion.
            if self.expected + more > PORTION && !filters.is_empty() {
                break;
            }
            self.expected += more;
            filters.push(format!("{base}/{gateway}/board/+/{state}"));
            self.waiting.pop_front();
        }
        filters
    }
}

fn states(gateway: &str) -> impl Iterator<Item = (String, &'static str)> {
    STATES.into_iter().map(|state| (gateway.to_owned(), state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_portion_is_larger_than_a_broker_keeps() {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        assert!(portions.begin(&base).contains(&"base/+/info".to_owned()));
        for gateway in 1..=80 {
            portions.heard(&format!("gw{gateway}/info"), true);
            portions.heard(&format!("gw{gateway}/status"), true);
        }
        let mut seen = BTreeSet::new();
        let mut looks = 0;
        while seen.len() < 80 * STATES.len() {
            let filters = portions.next(&base, |_| Some(13));
            assert!(filters.len() * 13 <= PORTION, "{}", filters.len());
            for filter in filters {
                assert!(
                    portions.next(&base, |_| Some(13)).is_empty(),
                    "the last one is still to come"
                );
                for _ in 0..13 {
                    portions.heard(&filter.replace("base/", ""), true);
                }
                seen.insert(filter);
            }
            looks += 1;
            assert!(looks < 1_000, "{}", seen.len());
        }
        assert!(portions.next(&base, |_| Some(13)).is_empty());
        assert!(!portions.begin(&base).is_empty());
        assert!(
            !portions.next(&base, |_| Some(13)).is_empty(),
            "a new connection hears all again"
        );
    }

    #[test]
    fn what_never_comes_is_not_waited_for() {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        portions.heard("gw/board/1/event/move", false);
        portions.heard("not a name/board/1/status", false);
        let count = |filters: Vec<String>| filters.len();
        // Of 500 boards a portion has one state.
        assert_eq!(portions.next(&base, |_| Some(500)), ["base/gw/board/+/status"]);
        let looks: Vec<usize> = (0..8)
            .map(|_| count(portions.next(&base, |_| Some(500))))
            .collect();
        assert_eq!(looks, [0, 0, 0, 1, 0, 0, 0, 1]);
    }
}

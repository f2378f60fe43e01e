//! Results that somebody entered by hand in the pairings. They are held back as all results are, from the time at which
//! they were put in force.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tournament::{Delay, Pairings};

/// The results by the numbers of their games, from 1: those of each game in the order in which they were entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ByHand(BTreeMap<usize, Vec<Entered>>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entered {
    /// Unix time in milliseconds.
    at_ms: i64,
    /// None where a result was taken back.
    result: Option<String>,
}

impl Entered {
    fn public_ms(&self, delay: Delay) -> i64 {
        self.at_ms
            .saturating_add(delay.ms)
            .saturating_add(delay.result_ms)
    }
}

impl ByHand {
    /// Takes the results of `pairings`, of which those that are new are in force since `now_ms`.
    pub(super) fn take(&mut self, pairings: &Pairings, now_ms: i64) {
        let known = self.0.keys().next_back().copied().unwrap_or_default();
        for game in 1..=known.max(pairings.boards.len()) {
            let pairing = pairings.boards.get(game - 1).and_then(Option::as_ref);
            let result = pairing.and_then(|pairing| pairing.result.clone());
            let former = self
                .0
                .get(&game)
                .and_then(|entered| entered.last()?.result.as_ref());
            if former != result.as_ref() {
                self.0.entry(game).or_default().push(Entered {
                    at_ms: now_ms,
                    result,
                });
            }
        }
    }

    /// The result of a game that is public at `now_ms`.
    pub(super) fn shown(&self, game: usize, now_ms: i64, delay: Delay) -> Option<&str> {
        let entered = self.0.get(&game)?.iter().rev();
        let mut public = entered.filter(|entered| entered.public_ms(delay) <= now_ms);
        public.next()?.result.as_deref()
    }

    /// When the next result becomes public, as Unix time in milliseconds.
    pub(super) fn next_change_ms(&self, now_ms: i64, delay: Delay) -> Option<i64> {
        let times = self.0.values().flatten().map(|entered| entered.public_ms(delay));
        times.filter(|at| *at > now_ms).min()
    }
}

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

    /// Takes the results that seem to come after `now_ms` for public: somebody has set the wall clock back since, and a
    /// result that was public must not go.
    pub(super) fn put_before(&mut self, now_ms: i64) {
        for entered in self.0.values_mut().flatten() {
            if entered.at_ms > now_ms {
                entered.at_ms = 0;
            }
        }
    }

    /// The result of a game that is public at `now_ms`. What was changed while it was held back never was one.
    pub(super) fn shown(&self, game: usize, now_ms: i64, delay: Delay) -> Option<&str> {
        let held = held(self.0.get(&game)?, delay);
        let public = held.filter(|entered| entered.public_ms(delay) <= now_ms);
        public.last()?.result.as_deref()
    }

    /// When the next result becomes public, as Unix time in milliseconds.
    pub(super) fn next_change_ms(&self, now_ms: i64, delay: Delay) -> Option<i64> {
        let all = self.0.values().flat_map(|entered| held(entered, delay));
        let times = all.map(|entered| entered.public_ms(delay));
        times.filter(|at| *at > now_ms).min()
    }
}

/// The results that nobody changed while they were held back.
fn held(entered: &[Entered], delay: Delay) -> impl Iterator<Item = &Entered> {
    (0..entered.len()).filter_map(move |i| {
        let one = &entered[i];
        let next = entered.get(i + 1);
        let stood = next.is_none_or(|next| next.at_ms >= one.at_ms.saturating_add(delay.result_ms));
        stood.then_some(one)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_taken_back_while_it_is_held_is_never_public() {
        let of = |result: &str| {
            Pairings::parse(&format!("board,white,black,result\n1,A,B,{result}\n"), 1).unwrap()
        };
        let delay = Delay {
            ms: 10_000,
            result_ms: 120_000,
            ..Delay::default()
        };
        let mut by_hand = ByHand::default();
        by_hand.take(&of("1-0"), 0);
        by_hand.take(&of("*"), 60_000);
        by_hand.take(&of("0-1"), 400_000);
        for now_ms in (0..530_000).step_by(1_000) {
            assert_eq!(by_hand.shown(1, now_ms, delay), None, "{now_ms}");
        }
        assert_eq!(by_hand.shown(1, 530_000, delay), Some("0-1"));
        assert_eq!(
            by_hand.next_change_ms(0, delay),
            Some(190_000),
            "nothing comes of the mistake"
        );
    }
}

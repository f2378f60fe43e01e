//! The numbers of the boards' last events, as `health` of a gateway tells them. Where the broker lost an event and the
//! state of its game, nothing else tells of it until the next half-move.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Hall;

/// An event whose number is told may be on its way for so long, in milliseconds.
const ON_ITS_WAY_MS: u64 = 1_500;

/// Numbers that were told a moment ago: since when, and by board, of each gateway.
pub(super) type ToldNumbers = BTreeMap<String, (u64, BTreeMap<String, u64>)>;

impl Hall {
    /// Takes `last_seq` of a gateway's `health`. Of several messages within a moment the first counts.
    pub(super) fn take_numbers(&mut self, gateway: &str, last_seq: &Value, now_ms: u64) {
        if self.numbers.contains_key(gateway) {
            return;
        }
        let keys = self.boards.keys().filter(|key| key.gateway == gateway);
        let numbers: BTreeMap<String, u64> = keys
            .filter_map(|key| Some((key.board.clone(), last_seq[&key.board].as_u64()?)))
            .collect();
        if !numbers.is_empty() {
            self.numbers.insert(gateway.to_owned(), (now_ms, numbers));
        }
    }

    /// Believes the numbers of which no event is on its way any more, and looks which games lag behind their events: what
    /// is lacking is to be asked for.
    pub(crate) fn settle_numbers(&mut self, now_ms: u64) {
        for board in self.boards.values_mut() {
            board.look_for_lag(now_ms);
        }
        let is_due = |_: &String, (since, _): &mut (u64, _)| now_ms.saturating_sub(*since) >= ON_ITS_WAY_MS;
        let due: Vec<_> = self.numbers.extract_if(.., is_due).collect();
        for (gateway, (_, numbers)) in due {
            let boards = self.boards.iter_mut().filter(|(key, _)| key.gateway == gateway);
            for (key, board) in boards {
                if let Some(last) = numbers.get(&key.board) {
                    board.given_out = *last;
                }
            }
        }
    }
}

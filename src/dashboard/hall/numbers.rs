//! The numbers of the boards' last events, as `health` of a gateway tells them. Where the broker lost an event and the
//! state of its game, nothing else tells of it until the next half-move.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Hall;

/// An event whose number is told may be on its way for so long, in milliseconds.
const ON_ITS_WAY_MS: u64 = 1_500;

/// What gateways told of themselves a moment ago.
#[derive(Clone, Debug, Default)]
pub(super) struct GatewayNumbers {
    /// Numbers of last events: since when, and by board, of each gateway.
    fresh: BTreeMap<String, (u64, BTreeMap<String, u64>)>,
    /// For how long each gateway had worked at its last `health`, in seconds.
    uptimes: BTreeMap<String, f64>,
}

impl Hall {
    /// True of a `health` that the gateway says just now. A bridge says an old one again when it comes back.
    pub(crate) fn is_alive(&self, gateway: &str, health: &[u8]) -> bool {
        let health: Value = serde_json::from_slice(health).unwrap_or_default();
        let before = self.numbers.uptimes.get(gateway);
        before.is_some()
            && health["uptime_s"]
                .as_f64()
                .is_some_and(|now| Some(&now) != before)
    }

    /// Takes the numbers of a gateway's `health`. Of several messages within a moment the first counts.
    pub(super) fn take_health(&mut self, gateway: &str, health: &Value, now_ms: u64) {
        if let Some(uptime) = health["uptime_s"].as_f64() {
            self.numbers.uptimes.insert(gateway.to_owned(), uptime);
        }
        if self.numbers.fresh.contains_key(gateway) {
            return;
        }
        let last = |board: &str| health["last_seq"][board].as_u64();
        let keys = self.boards.keys().filter(|key| key.gateway == gateway);
        let numbers: BTreeMap<String, u64> = keys
            .filter_map(|key| Some((key.board.clone(), last(&key.board)?)))
            .collect();
        if !numbers.is_empty() {
            self.numbers.fresh.insert(gateway.to_owned(), (now_ms, numbers));
        }
    }

    /// Believes the numbers of which no event is on its way any more, and looks which games lag behind their events: what
    /// is lacking is to be asked for. Of the games it looks at those of gateways that `tell_games` over `broker`.
    pub(crate) fn settle_numbers(&mut self, broker: &str, tell_games: impl Fn(&str) -> bool, now_ms: u64) {
        for (key, board) in &mut self.boards {
            if self.owners.broker_of(&key.gateway) == Some(broker) && tell_games(&key.gateway) {
                board.look_for_lag(now_ms);
            }
        }
        let is_due = |_: &String, (since, _): &mut (u64, _)| now_ms.saturating_sub(*since) >= ON_ITS_WAY_MS;
        let due: Vec<_> = self.numbers.fresh.extract_if(.., is_due).collect();
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

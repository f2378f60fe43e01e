//! Bounds the memory for each gateway. A broker that is not ours must not fill the memory, and a gateway that floods it
//! must not displace the others.

use std::collections::{BTreeMap, BTreeSet};

/// The most boards of all gateways.
const MAX_BOARDS: usize = 2_000;
/// The most weight of all gateways, which is about the bytes that are kept.
const MAX_WEIGHT: usize = 96 << 20;

/// What is kept of one gateway.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    boards: usize,
    weight: usize,
}

/// The shares of all gateways.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    by_gateway: BTreeMap<String, Share>,
    boards: usize,
    weight: usize,
    /// Gateways of which something had to go.
    cut: BTreeSet<String>,
}

impl Shares {
    /// Notes that something of a gateway weighs `after` in place of `before`.
    pub(super) fn weighed(&mut self, gateway: &str, before: usize, after: usize) {
        if before == after {
            return;
        }
        let share = self.by_gateway.entry(gateway.to_owned()).or_default();
        share.weight = share.weight + after - before;
        self.weight = self.weight + after - before;
    }

    /// Notes that a gateway has a board more.
    pub(super) fn board_came(&mut self, gateway: &str) {
        self.by_gateway.entry(gateway.to_owned()).or_default().boards += 1;
        self.boards += 1;
    }

    /// Notes that a gateway has a board less, of `weight`.
    pub(super) fn board_went(&mut self, gateway: &str, weight: usize) {
        self.weighed(gateway, weight, 0);
        if let Some(share) = self.by_gateway.get_mut(gateway) {
            share.boards -= 1;
            self.boards -= 1;
        }
    }

    fn with_most(&self, measure: fn(&Share) -> usize) -> Option<String> {
        let most = self.by_gateway.iter().max_by_key(|(_, share)| measure(share));
        most.map(|(gateway, _)| gateway.clone())
    }

    /// The gateway that weighs most, if all of them weigh too much.
    pub(super) fn too_heavy(&self) -> Option<String> {
        let is_too_heavy = self.weight > MAX_WEIGHT;
        is_too_heavy
            .then(|| self.with_most(|share| share.weight))
            .flatten()
    }

    /// The gateway that must lose a board, if there are too many: the one with the most.
    pub(super) fn too_much(&mut self) -> Option<String> {
        let gateway = if self.boards > MAX_BOARDS {
            self.with_most(|share| share.boards)
        } else {
            self.too_heavy()
        }?;
        self.cut.insert(gateway.clone());
        Some(gateway)
    }

    /// True where something of a gateway had to go.
    pub(super) fn is_cut(&self, gateway: &str) -> bool {
        self.cut.contains(gateway)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_most_gives_room() {
        let mut shares = Shares::default();
        for _ in 0..MAX_BOARDS {
            shares.board_came("flood");
        }
        assert_eq!(shares.too_much(), None);
        shares.board_came("hall");
        assert_eq!(shares.too_much().as_deref(), Some("flood"));
        shares.board_went("flood", 0);
        assert_eq!(shares.too_much(), None);
        shares.weighed("heavy", 0, MAX_WEIGHT - 10);
        shares.weighed("hall", 0, 20);
        assert_eq!(shares.too_much().as_deref(), Some("heavy"));
        shares.weighed("heavy", MAX_WEIGHT - 10, 0);
        assert_eq!(shares.too_much(), None);
        assert!(shares.is_cut("flood") && !shares.is_cut("hall"));
    }
}

//! Decides at which broker each gateway is, where the page shows gateways of several brokers.
//!
//! Ids of events begin with the name of the gateway, so one name must be one gateway. If two brokers have a gateway of
//! one name (two halls that were set up alike), the page shows one of them and says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::mqtt::{Claim, Sign, Whereabouts};

/// How many names are taken in: a broker that is not ours must not fill the memory.
const MAX_GATEWAYS: usize = 2_000;

/// The brokers, by the names of their gateways.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    gateways: BTreeMap<String, Whereabouts<String>>,
    /// Names that another broker has, too.
    doubled: BTreeSet<String>,
}

impl Owners {
    /// Which gateway a message over `broker` is from.
    pub(super) fn claim(&mut self, broker: &str, gateway: &str, sign: Sign<'_>, now_ms: u64) -> Claim {
        if self.gateways.len() >= MAX_GATEWAYS && !self.gateways.contains_key(gateway) {
            return Claim::Foreign;
        }
        let known = self.gateways.entry(gateway.to_owned()).or_default();
        known.take(&broker.to_owned(), sign, now_ms)
    }

    /// Gateways that have moved to `broker` without a message that said so.
    pub(super) fn moved_to(&mut self, broker: &str, now_ms: u64) -> Vec<String> {
        let broker = broker.to_owned();
        let moved = self
            .gateways
            .iter_mut()
            .filter_map(|(name, known)| known.has_moved_to(&broker, now_ms).then(|| name.clone()));
        moved.collect()
    }

    /// Notes that the connection to a broker is over.
    pub(super) fn lost(&mut self, broker: &str) {
        let broker = broker.to_owned();
        for known in self.gateways.values_mut() {
            known.lost(&broker);
        }
    }

    /// Looks again which names two gateways have; true where that has changed.
    pub(super) fn look(&mut self, now_ms: u64) -> bool {
        let doubled = self.gateways.iter().filter(|(_, known)| known.is_doubled(now_ms));
        let doubled = doubled.map(|(name, _)| name.clone()).collect();
        let before = std::mem::replace(&mut self.doubled, doubled);
        before != self.doubled
    }

    /// The broker of a gateway.
    pub(super) fn broker_of(&self, gateway: &str) -> Option<&str> {
        self.gateways.get(gateway)?.broker().map(String::as_str)
    }

    /// True where another broker has a gateway of the same name.
    pub(super) fn is_doubled(&self, gateway: &str) -> bool {
        self.doubled.contains(gateway)
    }
}

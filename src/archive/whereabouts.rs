//! At which brokers a gateway is, and whether it is one gateway.

use std::collections::BTreeMap;

/// How long two starts of one name may be seen: a bridge tells of a restart later.
const BRIDGE_MS: u64 = 5_000;

/// A gateway at one broker.
#[derive(Clone, Debug, Default)]
struct Seen {
    is_online: bool,
    /// What a start of the gateway is called.
    boot: Option<String>,
}

/// A gateway, or several of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Whereabouts {
    /// The brokers, by their place in the configuration.
    at: BTreeMap<usize, Seen>,
    /// Where it came online first, of those where it is online.
    owner: Option<usize>,
    /// Since when two have the name.
    doubled_since: Option<u64>,
    /// True once a person was told so.
    is_told: bool,
    /// True once a person was told that it does not answer.
    pub(super) is_mute: bool,
}

impl Whereabouts {
    /// Takes its status at a broker. True where it came online.
    pub(super) fn status(&mut self, broker: usize, is_online: bool) -> bool {
        let seen = self.at.entry(broker).or_default();
        let came = is_online && !seen.is_online;
        seen.is_online = is_online;
        self.settle();
        came
    }

    /// Takes the name of its start.
    pub(super) fn boot(&mut self, broker: usize, boot: &str) {
        self.at.entry(broker).or_default().boot = Some(boot.to_owned());
    }

    /// Takes note that the connection to a broker is over.
    pub(super) fn lost(&mut self, broker: usize) {
        self.at.remove(&broker);
        self.settle();
    }

    /// The broker over which it is asked.
    pub(super) fn broker(&self) -> Option<usize> {
        self.owner
    }

    /// Leaves the owner as it is while the gateway is online there.
    fn settle(&mut self) {
        let is_online = |broker: &usize| self.at.get(broker).is_some_and(|seen| seen.is_online);
        let owner = self.owner.filter(is_online);
        self.owner = owner.or_else(|| self.at.keys().copied().find(is_online));
    }

    /// True once, where two gateways have had the name for a while.
    pub(super) fn is_doubled(&mut self, now: u64) -> bool {
        if !self.at.keys().any(|broker| self.is_foreign(*broker)) {
            self.doubled_since = None;
            return false;
        }
        let since = *self.doubled_since.get_or_insert(now);
        now >= since + BRIDGE_MS && !std::mem::replace(&mut self.is_told, true)
    }

    /// True where what `broker` tells is of another gateway of the name: both are online, of different starts. A bridge
    /// between brokers shows one gateway at both.
    pub(super) fn is_foreign(&self, broker: usize) -> bool {
        let owner = self.owner.filter(|owner| *owner != broker);
        let pair = owner
            .and_then(|owner| self.at.get(&owner))
            .zip(self.at.get(&broker));
        pair.is_some_and(|(own, other)| {
            let both = own.boot.as_ref().zip(other.boot.as_ref());
            other.is_online && both.is_some_and(|(own, other)| own != other)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_shows_one_gateway_twice_and_two_halls_may_have_two_of_one_name() {
        let mut gateway = Whereabouts::default();
        assert!(gateway.status(0, true) && !gateway.status(0, true));
        gateway.boot(0, "a");
        gateway.status(1, true);
        assert!(!gateway.is_foreign(1), "nothing says so yet");
        gateway.boot(1, "a");
        assert!(!gateway.is_foreign(1) && !gateway.is_foreign(0));
        assert!(!gateway.is_doubled(0));
        gateway.boot(1, "b");
        assert!(!gateway.is_doubled(0) && gateway.is_doubled(9_000) && !gateway.is_doubled(19_000));
        assert!(gateway.is_foreign(1) && !gateway.is_foreign(0));
        gateway.status(0, false);
        assert_eq!(gateway.broker(), Some(1));
        assert!(
            !gateway.is_foreign(1) && !gateway.is_foreign(0),
            "the first one is gone"
        );
        gateway.status(0, true);
        assert!(
            gateway.is_foreign(0) && !gateway.is_foreign(1),
            "it comes second now"
        );
        gateway.lost(1);
        gateway.lost(0);
        assert_eq!(gateway.broker(), None);
    }
}

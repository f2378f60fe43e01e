//! At which brokers a gateway is, and whether it is one gateway.

use std::collections::BTreeMap;

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
    /// True once a person was told that two have the name.
    pub(super) is_doubled: bool,
    /// True once a person was told that it does not answer.
    pub(super) is_mute: bool,
}

impl Whereabouts {
    /// Takes its status at a broker. True where it came online.
    pub(super) fn status(&mut self, broker: usize, is_online: bool) -> bool {
        let seen = self.at.entry(broker).or_default();
        let came = is_online && !seen.is_online;
        seen.is_online = is_online;
        came
    }

    /// Takes the name of its start.
    pub(super) fn boot(&mut self, broker: usize, boot: &str) {
        self.at.entry(broker).or_default().boot = Some(boot.to_owned());
    }

    /// Takes note that the connection to a broker is over.
    pub(super) fn lost(&mut self, broker: usize) {
        self.at.remove(&broker);
    }

    /// The broker over which it is asked.
    pub(super) fn broker(&self) -> Option<usize> {
        let mut online = self.at.iter().filter(|(_, seen)| seen.is_online);
        online.next().map(|(broker, _)| *broker)
    }

    /// True where what `broker` tells is of another gateway of the name: both are online, of different starts. A bridge
    /// between brokers shows one gateway at both.
    pub(super) fn is_foreign(&self, broker: usize) -> bool {
        let owner = self.broker().filter(|owner| *owner != broker);
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
        gateway.boot(1, "b");
        assert!(gateway.is_foreign(1) && !gateway.is_foreign(0));
        gateway.status(0, false);
        assert_eq!(gateway.broker(), Some(1));
        assert!(
            !gateway.is_foreign(1) && !gateway.is_foreign(0),
            "the first one is gone"
        );
        gateway.lost(1);
        assert_eq!(gateway.broker(), None);
    }
}

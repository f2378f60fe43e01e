//! At which of several brokers a gateway is, and whether two gateways have its name.
//!
//! Each broker retains what a gateway told it last, also after the gateway has gone to another broker. A broker that was
//! killed forgets that it should say so, and tells `online` for ever. So what a broker *retained* proves little. A
//! *live* message proves that the gateway is at this broker, or that a bridge leads to it.

use std::collections::BTreeMap;

/// For so long the owner may be silent while the same start of the gateway is heard at another broker: a bridge shows one
/// gateway at both, nearly at the same time.
const BRIDGE_MS: u64 = 3_000;
/// Whoever is silent for so long is gone. A gateway tells its health more often, by default.
const SILENT_MS: u64 = 45_000;

/// What a message says of the gateway from which it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sign<'a> {
    /// That it comes online, or goes.
    pub comes: Option<bool>,
    /// What its start is called (`boot_id` of `info`).
    pub boot: Option<&'a str>,
    /// False for what the broker had retained.
    pub is_live: bool,
}

/// Which gateway a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// From the gateway, at its broker.
    Own,
    /// From the gateway, which was at another broker until now.
    Moved,
    /// From the same start of the gateway, at another broker: a bridge leads there, or it is about to move.
    Copy,
    /// From another gateway of the name, as far as is known.
    Foreign,
}

/// What is known of a name at one broker.
#[derive(Clone, Debug, Default)]
struct Seen {
    is_online: bool,
    boot: Option<String>,
    /// When the last live message came.
    live_ms: Option<u64>,
}

impl Seen {
    fn is_silent(&self, for_ms: u64, now_ms: u64) -> bool {
        self.live_ms.is_none_or(|live| now_ms >= live + for_ms)
    }

    fn is_same_start(&self, other: &Self) -> bool {
        self.boot.is_some() && self.boot == other.boot
    }

    fn is_other_start(&self, other: &Self) -> bool {
        self.boot.is_some() && other.boot.is_some() && self.boot != other.boot
    }
}

/// A gateway, or several of one name, by brokers.
#[derive(Clone, Debug)]
pub struct Whereabouts<K> {
    /// The brokers that are connected.
    at: BTreeMap<K, Seen>,
    owner: Option<K>,
}

impl<K> Default for Whereabouts<K> {
    fn default() -> Self {
        Self {
            at: BTreeMap::new(),
            owner: None,
        }
    }
}

impl<K: Ord + Clone> Whereabouts<K> {
    /// Takes a message. The first gateway to speak has the name. `now_ms` is any clock that runs evenly.
    pub fn take(&mut self, broker: &K, sign: Sign<'_>, now_ms: u64) -> Claim {
        let seen = self.at.entry(broker.clone()).or_default();
        seen.is_online = sign.comes.unwrap_or(seen.is_online);
        if let Some(boot) = sign.boot {
            seen.boot = Some(boot.to_owned());
        }
        if sign.is_live {
            seen.live_ms = Some(now_ms);
        }
        let owner = self.owner.get_or_insert_with(|| broker.clone());
        if owner == broker {
            return Claim::Own;
        }
        if self.moves(broker, now_ms) {
            self.owner = Some(broker.clone());
            return Claim::Moved;
        }
        if self.is_same_start(broker) {
            Claim::Copy
        } else {
            Claim::Foreign
        }
    }

    /// True where the gateway is at `broker`, and not where it was. Whoever listens must hear its retained states again.
    pub fn has_moved_to(&mut self, broker: &K, now_ms: u64) -> bool {
        let moves = self.owner.as_ref().is_some_and(|owner| owner != broker) && self.moves(broker, now_ms);
        if moves {
            self.owner = Some(broker.clone());
        }
        moves
    }

    /// Takes note that the connection to a broker is over.
    pub fn lost(&mut self, broker: &K) {
        self.at.remove(broker);
    }

    /// The broker at which the gateway is.
    #[must_use]
    pub fn broker(&self) -> Option<&K> {
        self.owner.as_ref()
    }

    /// True where the gateway is online at its broker.
    #[must_use]
    pub fn is_online(&self) -> bool {
        self.owner_seen().is_some_and(|seen| seen.is_online)
    }

    /// True where a second gateway of the name is online at another broker, and both are heard.
    #[must_use]
    pub fn is_doubled(&self, now_ms: u64) -> bool {
        let is_heard = |seen: &Seen| seen.is_online && !seen.is_silent(SILENT_MS, now_ms);
        let others = self
            .at
            .iter()
            .filter(|(broker, _)| Some(*broker) != self.owner.as_ref());
        let own = self.owner_seen().filter(|seen| is_heard(seen));
        own.is_some_and(|own| {
            others
                .into_iter()
                .any(|(_, seen)| is_heard(seen) && seen.is_other_start(own))
        })
    }

    fn owner_seen(&self) -> Option<&Seen> {
        self.owner.as_ref().and_then(|owner| self.at.get(owner))
    }

    fn is_same_start(&self, broker: &K) -> bool {
        self.owner_seen()
            .zip(self.at.get(broker))
            .is_some_and(|(own, other)| own.is_same_start(other))
    }

    /// True where what is known speaks for `broker` and against the owner.
    fn moves(&self, broker: &K, now_ms: u64) -> bool {
        let Some(there) = self.at.get(broker).filter(|seen| seen.is_online) else {
            return false;
        };
        let is_heard = !there.is_silent(BRIDGE_MS, now_ms);
        match self.owner_seen() {
            // Nothing says where it is now, and what another broker retains may be old.
            None => is_heard,
            Some(own) if !own.is_online => true,
            Some(own) => {
                let patience = if own.is_same_start(there) {
                    BRIDGE_MS
                } else {
                    SILENT_MS
                };
                is_heard && own.is_silent(patience, now_ms)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONLINE: Sign<'_> = Sign {
        comes: Some(true),
        boot: None,
        is_live: true,
    };
    const OFFLINE: Sign<'_> = Sign {
        comes: Some(false),
        ..ONLINE
    };

    fn boot(boot: &str) -> Sign<'_> {
        Sign {
            comes: None,
            boot: Some(boot),
            is_live: true,
        }
    }

    fn retained(sign: Sign<'_>) -> Sign<'_> {
        Sign {
            is_live: false,
            ..sign
        }
    }

    const LIVE: Sign<'_> = Sign {
        comes: None,
        boot: None,
        is_live: true,
    };

    #[test]
    fn two_gateways_of_one_name_are_told_apart() {
        let mut gateway = Whereabouts::default();
        assert_eq!(gateway.take(&1, ONLINE, 0), Claim::Own);
        assert_eq!(gateway.take(&1, boot("a"), 0), Claim::Own);
        assert_eq!(gateway.take(&2, ONLINE, 0), Claim::Foreign);
        assert_eq!(gateway.take(&2, boot("b"), 0), Claim::Foreign);
        assert!(gateway.is_doubled(0) && gateway.is_online());
        for now in (0..200_000).step_by(10_000) {
            assert_eq!(gateway.take(&1, LIVE, now), Claim::Own);
            assert_eq!(gateway.take(&2, LIVE, now), Claim::Foreign);
        }
        assert!(!gateway.has_moved_to(&2, 200_000));
        // The first has gone, and says so.
        gateway.take(&1, OFFLINE, 200_000);
        assert!(gateway.has_moved_to(&2, 200_000) && !gateway.has_moved_to(&2, 200_000));
        assert_eq!(gateway.broker(), Some(&2));
        assert!(!gateway.is_doubled(200_000));
        // It comes second now.
        assert_eq!(gateway.take(&1, ONLINE, 200_001), Claim::Foreign);
    }

    #[test]
    fn a_bridge_shows_one_gateway_twice() {
        let mut gateway = Whereabouts::default();
        for now in (0..100_000).step_by(1_000) {
            for (broker, claim) in [(1, Claim::Own), (2, Claim::Copy)] {
                gateway.take(&broker, ONLINE, now);
                assert_eq!(gateway.take(&broker, boot("a"), now), claim);
                assert!(!gateway.is_doubled(now));
            }
        }
    }

    /// The first broker is killed and comes back with what it had kept: that the gateway is online there.
    #[test]
    fn a_broker_that_was_killed_is_not_believed() {
        let mut gateway = Whereabouts::default();
        gateway.take(&1, ONLINE, 0);
        gateway.take(&1, boot("a"), 0);
        gateway.take(&2, retained(ONLINE), 0);
        gateway.take(&2, retained(boot("a")), 0);
        gateway.lost(&1);
        assert!(!gateway.has_moved_to(&2, 1_000), "that was told long ago");
        assert_eq!(gateway.take(&2, ONLINE, 1_500), Claim::Moved);
        assert_eq!(gateway.take(&1, retained(ONLINE), 2_000), Claim::Foreign);
        assert_eq!(gateway.take(&1, retained(boot("a")), 2_000), Claim::Copy);
        assert!(!gateway.is_doubled(2_000));
        for now in (2_000..100_000).step_by(500) {
            assert_eq!(gateway.take(&2, LIVE, now), Claim::Own);
        }
        assert!(!gateway.has_moved_to(&1, 100_000));
    }

    /// The old broker retains that it is online, of another start.
    #[test]
    fn a_gateway_that_was_started_anew_elsewhere_is_believed_when_nothing_is_heard_of_the_old_one() {
        let mut gateway = Whereabouts::default();
        gateway.take(&1, retained(ONLINE), 0);
        gateway.take(&1, retained(boot("old")), 0);
        assert_eq!(gateway.take(&2, ONLINE, 0), Claim::Moved);
        gateway.take(&2, boot("new"), 0);
        // It goes over, and the will of its former start is not heard.
        gateway.take(&1, ONLINE, 10_000);
        gateway.take(&1, boot("newer"), 10_000);
        assert!(!gateway.has_moved_to(&1, 10_000), "there may be two");
        for now in (10_000..44_000).step_by(1_000) {
            assert_eq!(gateway.take(&1, LIVE, now), Claim::Foreign, "{now}");
        }
        assert_eq!(gateway.take(&1, LIVE, 45_000), Claim::Moved);
    }
}

//! Decides at which broker each gateway is, where the page shows gateways of several brokers.
//!
//! Ids of events begin with the name of the gateway, so one name must be one gateway. If two brokers have a gateway of
//! one name (two halls that were set up alike, or a bridge between the brokers), the page shows one of them and says
//! so.

use std::collections::{BTreeMap, BTreeSet};

/// How many names are taken in: a broker that is not ours must not fill the memory.
const MAX_GATEWAYS: usize = 2_000;

/// Which gateway a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// From a gateway at this broker.
    Own,
    /// From a gateway that was at another broker until now and is offline there.
    Moved,
    /// From another gateway, which has the name of one at another broker.
    Foreign,
}

/// The brokers, by the names of their gateways.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    brokers: BTreeMap<String, String>,
    /// Other brokers at which a gateway of the name is online. No set is empty.
    doubled: BTreeMap<String, BTreeSet<String>>,
}

impl Owners {
    /// Which gateway a message over `broker` is from. `comes` is set where the message says that the gateway comes
    /// online, or goes. The first gateway to speak has the name. It loses the name to another that is online while it
    /// is not (`is_online`).
    pub(super) fn claim(
        &mut self,
        broker: &str,
        gateway: &str,
        comes: Option<bool>,
        is_online: bool,
    ) -> Claim {
        match self.brokers.get(gateway) {
            Some(owner) if owner == broker => Claim::Own,
            Some(_) if comes == Some(true) && !is_online => {
                self.brokers.insert(gateway.to_owned(), broker.to_owned());
                self.left(broker, gateway);
                Claim::Moved
            }
            Some(_) => {
                // An offline gateway of that name at another broker troubles nobody.
                match comes {
                    Some(true) => drop(
                        self.doubled
                            .entry(gateway.to_owned())
                            .or_default()
                            .insert(broker.to_owned()),
                    ),
                    Some(false) => self.left(broker, gateway),
                    None => {}
                }
                Claim::Foreign
            }
            None if self.brokers.len() >= MAX_GATEWAYS => Claim::Foreign,
            None => {
                self.brokers.insert(gateway.to_owned(), broker.to_owned());
                Claim::Own
            }
        }
    }

    /// Names of which a gateway is online at `broker`, while the page shows one of another broker.
    pub(super) fn waiting_at(&self, broker: &str) -> impl Iterator<Item = &str> {
        let at = self
            .doubled
            .iter()
            .filter(move |(_, brokers)| brokers.contains(broker));
        at.map(|(gateway, _)| gateway.as_str())
    }

    /// Notes that `broker` has no second gateway of the name, or must say again that it has.
    pub(super) fn left(&mut self, broker: &str, gateway: &str) {
        if let Some(brokers) = self.doubled.get_mut(gateway) {
            brokers.remove(broker);
            if brokers.is_empty() {
                self.doubled.remove(gateway);
            }
        }
    }

    /// The broker of a gateway.
    pub(super) fn broker_of(&self, gateway: &str) -> Option<&str> {
        self.brokers.get(gateway).map(String::as_str)
    }

    /// True where another broker has a gateway of the same name.
    pub(super) fn is_doubled(&self, gateway: &str) -> bool {
        self.doubled.contains_key(gateway)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_gateway() {
        let mut owners = Owners::default();
        let (online, offline) = (Some(true), Some(false));
        assert_eq!(owners.claim("one", "hall", None, false), Claim::Own);
        assert_eq!(owners.claim("one", "hall", online, false), Claim::Own);
        // The states that another broker retains of the name count for nothing.
        assert_eq!(owners.claim("two", "hall", None, true), Claim::Foreign);
        assert!(!owners.is_doubled("hall"));
        assert_eq!(owners.claim("two", "hall", online, true), Claim::Foreign);
        assert!(owners.is_doubled("hall"));
        assert_eq!(owners.waiting_at("two").collect::<Vec<_>>(), ["hall"]);
        assert_eq!(owners.broker_of("hall"), Some("one"));
        // The gateway has moved.
        assert_eq!(owners.claim("two", "hall", online, false), Claim::Moved);
        assert_eq!(owners.broker_of("hall"), Some("two"));
        assert!(!owners.is_doubled("hall"));
        assert_eq!(owners.claim("one", "hall", offline, true), Claim::Foreign);
        // The gateway goes offline at a broker where it was not known.
        assert_eq!(owners.claim("one", "hall", online, true), Claim::Foreign);
        assert_eq!(owners.claim("one", "hall", offline, true), Claim::Foreign);
        assert_eq!(owners.waiting_at("one").count(), 0);
    }
}

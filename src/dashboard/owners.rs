//! At which broker each gateway is, where the page shows those of several.
//!
//! Ids of events begin with the name of the gateway, so one name must be one gateway. Where two brokers
//! have the same (two halls that were set up alike, or a bridge between them), one of them is shown and
//! the page says so.

use std::collections::{BTreeMap, BTreeSet};

/// Names beyond this are not taken: a broker that is not ours must not fill memory.
const MAX_GATEWAYS: usize = 2_000;

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Of a gateway at this broker.
    Own,
    /// Of one that was at another broker until now, where it is offline.
    Moved,
    /// Of one of the same name at another broker.
    Foreign,
}

/// Brokers by the names of their gateways.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    brokers: BTreeMap<String, String>,
    /// Other brokers at which a gateway of the name is online; none is empty.
    doubled: BTreeMap<String, BTreeSet<String>>,
}

impl Owners {
    /// Whose a message is that came over `broker`; `comes` where it is the word that the gateway comes online, or goes.
    /// The first that speaks has the name; it loses it to one that is online while it is not (`is_online`).
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
                // What an offline one has left behind is nobody's trouble.
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

    /// Names of which one is online at `broker`, which has them not.
    pub(super) fn waiting_at(&self, broker: &str) -> impl Iterator<Item = &str> {
        let at = self
            .doubled
            .iter()
            .filter(move |(_, brokers)| brokers.contains(broker));
        at.map(|(gateway, _)| gateway.as_str())
    }

    /// There is none of the name at `broker` besides, or it is to say again that there is.
    pub(super) fn left(&mut self, broker: &str, gateway: &str) {
        if let Some(brokers) = self.doubled.get_mut(gateway) {
            brokers.remove(broker);
            if brokers.is_empty() {
                self.doubled.remove(gateway);
            }
        }
    }

    /// The broker at which a gateway is.
    pub(super) fn broker_of(&self, gateway: &str) -> Option<&str> {
        self.brokers.get(gateway).map(String::as_str)
    }

    /// Whether another broker has one of the same name.
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
        // What another broker has kept of a gateway of this name says nothing.
        assert_eq!(owners.claim("two", "hall", None, true), Claim::Foreign);
        assert!(!owners.is_doubled("hall"));
        assert_eq!(owners.claim("two", "hall", online, true), Claim::Foreign);
        assert!(owners.is_doubled("hall"));
        assert_eq!(owners.waiting_at("two").collect::<Vec<_>>(), ["hall"]);
        assert_eq!(owners.broker_of("hall"), Some("one"));
        // It has moved.
        assert_eq!(owners.claim("two", "hall", online, false), Claim::Moved);
        assert_eq!(owners.broker_of("hall"), Some("two"));
        assert!(!owners.is_doubled("hall"));
        assert_eq!(owners.claim("one", "hall", offline, true), Claim::Foreign);
        // It goes away from where it was not known.
        assert_eq!(owners.claim("one", "hall", online, true), Claim::Foreign);
        assert_eq!(owners.claim("one", "hall", offline, true), Claim::Foreign);
        assert_eq!(owners.waiting_at("one").count(), 0);
    }
}

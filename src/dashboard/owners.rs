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
    /// Names that came from another broker besides.
    doubled: BTreeSet<String>,
}

impl Owners {
    /// Whose a message is that came over `broker`. The first that speaks has the name; it loses it to one
    /// that comes online (`comes`) while it is not (`is_online`).
    pub(super) fn claim(&mut self, broker: &str, gateway: &str, comes: bool, is_online: bool) -> Claim {
        match self.brokers.get(gateway) {
            Some(owner) if owner == broker => Claim::Own,
            Some(_) if comes && !is_online => {
                self.brokers.insert(gateway.to_owned(), broker.to_owned());
                self.doubled.remove(gateway);
                Claim::Moved
            }
            Some(_) => {
                // What an offline one has left behind is nobody's trouble.
                if comes {
                    self.doubled.insert(gateway.to_owned());
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

    /// The broker at which a gateway is.
    pub(super) fn broker_of(&self, gateway: &str) -> Option<&str> {
        self.brokers.get(gateway).map(String::as_str)
    }

    /// Whether another broker has one of the same name.
    pub(super) fn is_doubled(&self, gateway: &str) -> bool {
        self.doubled.contains(gateway)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_gateway() {
        let mut owners = Owners::default();
        assert_eq!(owners.claim("one", "hall", false, false), Claim::Own);
        assert_eq!(owners.claim("one", "hall", true, false), Claim::Own);
        // What another broker has kept of a gateway of this name says nothing.
        assert_eq!(owners.claim("two", "hall", false, true), Claim::Foreign);
        assert!(!owners.is_doubled("hall"));
        assert_eq!(owners.claim("two", "hall", true, true), Claim::Foreign);
        assert!(owners.is_doubled("hall"));
        assert_eq!(owners.broker_of("hall"), Some("one"));
        // It has moved.
        assert_eq!(owners.claim("two", "hall", true, false), Claim::Moved);
        assert_eq!(owners.broker_of("hall"), Some("two"));
        assert_eq!(owners.claim("one", "hall", false, true), Claim::Foreign);
    }
}

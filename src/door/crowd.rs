//! Bounds the number of connections. When there are too many, the oldest connection of the address that has most is
//! closed. So a new connection is never turned away, and whoever opens many closes his own first.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use tokio_util::sync::CancellationToken;

/// The connections, by a number that grows.
#[derive(Debug)]
pub(crate) struct Crowd {
    most: usize,
    inside: BTreeMap<u64, (IpAddr, CancellationToken)>,
}

impl Crowd {
    /// A crowd of at most `most` connections.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            inside: BTreeMap::new(),
        }
    }

    /// Adds a connection; `close` ends it when it must make room.
    pub(crate) fn enter(&mut self, number: u64, address: IpAddr, close: CancellationToken) {
        self.inside.insert(number, (address, close));
        if self.inside.len() > self.most
            && let Some(oldest) = self.oldest_of_the_many()
            && let Some((_, close)) = self.inside.remove(&oldest)
        {
            close.cancel();
        }
    }

    /// Removes a connection that ended, or that another crowd counts now.
    pub(crate) fn leave(&mut self, number: u64) -> Option<(IpAddr, CancellationToken)> {
        self.inside.remove(&number)
    }

    fn oldest_of_the_many(&self) -> Option<u64> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for (address, _) in self.inside.values() {
            *counts.entry(*address).or_default() += 1;
        }
        let many = counts.values().max()?;
        let mut of_the_many = self
            .inside
            .iter()
            .filter(|(_, (address, _))| counts.get(address) == Some(many));
        of_the_many.next().map(|(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_address_with_most_makes_room() {
        let mut crowd = Crowd::new(3);
        let tokens: Vec<_> = (0..5).map(|_| CancellationToken::new()).collect();
        let [one, two] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap());
        for (number, (address, token)) in (0..).zip([one, two, two, two, one].iter().zip(&tokens)) {
            crowd.enter(number, *address, token.clone());
        }
        let closed: Vec<_> = tokens.iter().map(CancellationToken::is_cancelled).collect();
        // With the fourth connection `two` has the most. With the fifth both have as many, and the oldest goes.
        assert_eq!(closed, [true, true, false, false, false]);
        assert!(crowd.leave(0).is_none());
        assert!(crowd.leave(4).is_some());
    }
}

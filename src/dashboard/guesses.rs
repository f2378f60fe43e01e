//! Slows down whoever guesses tokens: after several wrong tokens from an address, each check of a token from it takes
//! longer for a while.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

/// How many wrong tokens of an address cost nothing: a tablet may show yesterday's.
const FREE: u32 = 10;
/// An address without a wrong token for this long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// How much longer each check takes beyond them.
pub(super) const SLOW: Duration = Duration::from_secs(1);
/// How many addresses are remembered. Beyond that the address goes whose last wrong token is the oldest.
const ADDRESSES: usize = 256;

/// Wrong tokens by address, or by network where everybody has many addresses.
#[derive(Debug, Default)]
pub(super) struct Guesses(HashMap<IpAddr, (u32, Instant)>);

impl Guesses {
    /// Notes so many `wrong` tokens from `address`.
    pub(super) fn wrong(&mut self, address: IpAddr, wrong: u32, now: Instant) {
        if wrong == 0 {
            return;
        }
        let address = network(address);
        self.0
            .retain(|_, (_, last)| now.saturating_duration_since(*last) < FORGOTTEN);
        if self.0.len() >= ADDRESSES && !self.0.contains_key(&address) {
            let oldest = self.0.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.0.remove(&oldest);
            }
        }
        let (count, last) = self.0.entry(address).or_insert((0, now));
        *count = count.saturating_add(wrong);
        *last = now;
    }

    /// True where checks of tokens from `address` are slow.
    pub(super) fn is_slow(&self, address: IpAddr, now: Instant) -> bool {
        self.0
            .get(&network(address))
            .is_some_and(|(count, last)| *count >= FREE && now.saturating_duration_since(*last) < FORGOTTEN)
    }
}

/// What stands for all addresses of one guesser: by IPv6 everybody has a network of 64 bits. Devices on one cable have link-local
/// addresses, one each, in one network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_unicast_link_local() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_guesses_is_slow_for_a_minute_and_nobody_else() {
        let mut guesses = Guesses::default();
        let start = Instant::now();
        let [bad, good] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap());
        for _ in 0..FREE {
            assert!(!guesses.is_slow(bad, start));
            guesses.wrong(bad, 1, start);
        }
        assert!(guesses.is_slow(bad, start));
        assert!(!guesses.is_slow(good, start));
        assert!(!guesses.is_slow(bad, start + FORGOTTEN));
    }

    #[test]
    fn many_addresses_do_not_fill_the_memory() {
        let mut guesses = Guesses::default();
        let start = Instant::now();
        for number in 0..10_000_u32 {
            guesses.wrong(IpAddr::V4(number.into()), 1, start);
        }
        assert_eq!(guesses.0.len(), ADDRESSES);
    }

    #[test]
    fn tokens_of_one_request_and_of_one_network_count_together() {
        let mut guesses = Guesses::default();
        let start = Instant::now();
        let [here, there, elsewhere] =
            ["2001:db8::1", "2001:db8::2:3", "2001:db8:1::1"].map(|text| text.parse().unwrap());
        guesses.wrong(here, FREE, start);
        assert!(guesses.is_slow(there, start));
        assert!(!guesses.is_slow(elsewhere, start));
        let [one, other] = ["fe80::1", "fe80::2"].map(|text| text.parse().unwrap());
        guesses.wrong(one, FREE, start);
        assert!(!guesses.is_slow(other, start));
        let [mapped, plain] = ["::ffff:10.0.0.1", "10.0.0.1"].map(|text| text.parse().unwrap());
        guesses.wrong(mapped, FREE, start);
        assert!(guesses.is_slow(plain, start));
        assert!(!guesses.is_slow("10.0.0.2".parse().unwrap(), start));
    }
}

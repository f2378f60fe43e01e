//! Finds the gateways that announce themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::{Duration, Instant},
};

use mdns_sd::{Error, ResolvedService, ServiceDaemon, ServiceEvent};

use super::{Announcement, SERVICE};

/// How many gateways are listed. A network in which more are announced has somebody in it who makes them up.
const MOST: usize = 1000;
/// After so many answers the search ends, because the library remembers what it was told.
const MOST_ANSWERS: usize = 4 * MOST;
/// How many addresses of a gateway are kept.
const MOST_ADDRESSES: usize = 16;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// The gateways by the names of their services, each with its addresses.
    gateways: BTreeMap<String, (Announcement, BTreeSet<IpAddr>)>,
    /// How many services announced what no gateway does.
    pub(crate) unfit: usize,
    answers: usize,
}

impl Neighbours {
    /// The gateways by name, each with its addresses.
    pub(crate) fn gateways(&self) -> Vec<&(Announcement, BTreeSet<IpAddr>)> {
        let mut gateways: Vec<_> = self.gateways.values().collect();
        gateways.sort_by_key(|(told, addresses)| (told.name.to_string(), addresses.first()));
        gateways
    }

    /// True where the search ended because there were too many answers.
    pub(crate) fn is_full(&self) -> bool {
        self.answers >= MOST_ANSWERS || self.gateways.len() >= MOST
    }

    fn take(&mut self, event: ServiceEvent) {
        self.answers += 1;
        match event {
            ServiceEvent::ServiceResolved(service) => self.resolved(&service),
            ServiceEvent::ServiceRemoved(_, name) => drop(self.gateways.remove(&name)),
            _ => {}
        }
    }

    fn resolved(&mut self, service: &ResolvedService) {
        let Some(told) = Announcement::read(|key| service.get_property_val_str(key)) else {
            self.unfit += 1;
            return;
        };
        if self.is_full() {
            return;
        }
        let (known, addresses) = self
            .gateways
            .entry(service.fullname.clone())
            .or_insert_with(|| (told.clone(), BTreeSet::new()));
        *known = told;
        let fresh = service.addresses.iter().map(mdns_sd::ScopedIp::to_ip_addr);
        addresses.extend(fresh.take(MOST_ADDRESSES));
        while addresses.len() > MOST_ADDRESSES {
            addresses.pop_last();
        }
    }
}

/// Listens for `patience`, and returns the gateways that answered.
///
/// # Errors
/// When the library cannot start.
pub(crate) fn find(patience: Duration) -> Result<Neighbours, Error> {
    let library = ServiceDaemon::new()?;
    let events = library.browse(SERVICE)?;
    let deadline = Instant::now() + patience;
    let mut found = Neighbours::default();
    while let Ok(event) = events.recv_deadline(deadline) {
        found.take(event);
        if found.is_full() {
            break;
        }
    }
    let _ = library.shutdown(); // the process ends anyway
    Ok(found)
}

#[cfg(test)]
mod tests {
    use mdns_sd::ServiceInfo;

    use super::*;

    fn service(name: &str, machine: &str) -> ServiceEvent {
        let pairs = [
            ("name", name),
            ("base", "dgt2mqtt"),
            ("version", "0.1.0"),
            ("boards", "3"),
            ("machine", machine),
        ];
        let service = ServiceInfo::new(SERVICE, name, "host.local.", "192.0.2.7", 0, &pairs[..]).unwrap();
        ServiceEvent::ServiceResolved(Box::new(service.as_resolved_service()))
    }

    #[test]
    fn ten_thousand_made_up_gateways_end_the_search_and_fill_no_memory() {
        let mut found = Neighbours::default();
        for index in 0..10_000 {
            found.take(service(&format!("gw-{index}"), "pi"));
        }
        assert!(found.is_full());
        assert_eq!(found.gateways().len(), MOST);
        let mut unfit = Neighbours::default();
        for index in 0..10_000 {
            unfit.take(service(&format!("gw-{index}"), "\u{1b}[31mpi"));
        }
        assert!(unfit.is_full() && unfit.gateways().is_empty());
    }

    #[test]
    fn a_gateway_that_says_farewell_is_gone() {
        let mut found = Neighbours::default();
        found.take(service("row-1", "pi"));
        found.take(service("row-1", "pi"));
        assert_eq!(found.gateways().len(), 1);
        assert_eq!(
            found.gateways()[0].1,
            BTreeSet::from(["192.0.2.7".parse().unwrap()])
        );
        found.take(ServiceEvent::ServiceRemoved(
            SERVICE.to_owned(),
            format!("row-1.{SERVICE}"),
        ));
        assert!(found.gateways().is_empty());
    }
}

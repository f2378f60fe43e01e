//! Tells the local network of a gateway, until it ends.

use std::{
    thread,
    time::{Duration, Instant},
};

use mdns_sd::{DaemonEvent, Error, Receiver, ServiceDaemon, ServiceInfo};

use super::{Announcement, SERVICE};

/// After so long without an announcement that went out the log says so.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the farewell may take.
const FAREWELL: Duration = Duration::from_millis(500);

/// A gateway that is announced.
pub(crate) struct Voice {
    library: ServiceDaemon,
    told: Announcement,
    /// The name of the service.
    service: String,
}

impl Voice {
    /// Begins to announce.
    ///
    /// # Errors
    /// When the library cannot start, or refuses the announcement.
    pub(crate) fn begin(told: Announcement) -> Result<Self, Error> {
        let library = ServiceDaemon::new()?;
        let (events, name) = (library.monitor()?, told.name.to_string());
        let log = thread::Builder::new().name("announced".to_owned());
        log.spawn(move || log_events(&events, &name))
            .map_err(|error| Error::Msg(error.to_string()))?;
        let service = register(&library, &told)?;
        Ok(Self {
            library,
            told,
            service,
        })
    }

    /// What is announced.
    pub(crate) fn told(&self) -> &Announcement {
        &self.told
    }

    /// Says farewell, so that nobody waits for the announcement to expire. This takes up to a second.
    pub(crate) fn end(self) {
        if let Ok(done) = self.library.unregister(&self.service) {
            let _ = done.recv_timeout(FAREWELL); // the announcement expires by itself
        }
        if let Ok(done) = self.library.shutdown() {
            let _ = done.recv_timeout(FAREWELL); // the process ends anyway
        }
    }
}

fn register(library: &ServiceDaemon, told: &Announcement) -> Result<String, Error> {
    // A name of our own, because the machine's belongs to the responder of its system.
    let host = format!("{}-dgt2mqtt.local.", told.name);
    let pairs = told.pairs();
    // The gateway itself has no port that others could open.
    let service = ServiceInfo::new(SERVICE, told.name.as_str(), &host, "", 0, &pairs[..])?.enable_addr_auto();
    let name = service.get_fullname().to_owned();
    library.register(service)?;
    Ok(name)
}

/// Logs what an operator should know of the announcement, each once. Ends with the library.
fn log_events(events: &Receiver<DaemonEvent>, name: &str) {
    let begin = Instant::now();
    let (mut is_out, mut is_silent, mut is_doubled) = (false, false, false);
    loop {
        match events.recv_timeout(PATIENCE) {
            Ok(DaemonEvent::Announce(_, interface)) if !is_out => {
                tracing::info!("this gateway is announced in the local network: {interface}");
                is_out = true;
            }
            Ok(DaemonEvent::NameChange(change)) if !is_doubled && change.original.contains(SERVICE) => {
                tracing::warn!(
                    "another gateway is announced as {name} in the local network: two gateways of one broker must not share a name; \
                     `dgt2mqtt gateways` lists both"
                );
                is_doubled = true;
            }
            Ok(_) => {}
            Err(_) if events.is_disconnected() => return,
            Err(_) => {}
        }
        if !is_out && !is_silent && begin.elapsed() >= PATIENCE {
            tracing::warn!(
                "this gateway is not announced: no network here takes multicast. Look at the interfaces (`ip address`), at the firewall (UDP 5353), \
                 and under systemd for RestrictAddressFamilies=AF_NETLINK (docs/halls.md)"
            );
            is_silent = true;
        }
    }
}

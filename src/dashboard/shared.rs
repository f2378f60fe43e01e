//! The hall as several tasks share it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::watch;

use super::hall::{BroadcastRound, GatewayRound, Hall, NotGone};
use crate::broadcast::Pushed;

/// The hall, and the number of its last change for tasks that wait for one.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    hall: Arc<Mutex<Hall>>,
    revision: Arc<watch::Sender<u64>>,
    start: Instant,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            hall: Arc::default(),
            revision: Arc::new(watch::Sender::new(0)),
            start: Instant::now(),
        }
    }
}

impl Shared {
    /// The hall as it is now.
    pub(crate) fn hall(&self) -> MutexGuard<'_, Hall> {
        // A task that panicked while it held the hall left at most one message half taken.
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A receiver that wakes up at changes.
    #[must_use]
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Milliseconds since the start.
    #[must_use]
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes what lichess says of the games of a group that this program broadcasts; none if it pushes nothing.
    pub(crate) fn pushed(&self, group: &str, pushed: Option<Pushed>) {
        self.change(|hall, _| hall.take_pushed(group, pushed));
    }

    /// The rounds of the gateways, also of those that are not online.
    #[must_use]
    pub(crate) fn rounds(&self) -> Vec<GatewayRound> {
        self.hall().rounds()
    }

    /// Takes the round of this program's broadcast of a group; none where there is no such broadcast any more.
    pub(crate) fn own_round(&self, group: &str, round: Option<BroadcastRound>) {
        self.change(|hall, _| hall.take_own_round(group, round));
    }

    /// Takes a gateway off the page that is gone for good.
    ///
    /// # Errors
    /// While the gateway is online, or where there is none.
    pub(crate) fn remove_gateway(&self, gateway: &str) -> Result<(), NotGone> {
        let mut outcome = Ok(());
        self.change(|hall, _| outcome = hall.remove_gateway(gateway));
        outcome
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Hall, u64)) {
        let now = self.now_ms();
        let mut hall = self.hall();
        change(&mut hall, now);
        let revision = hall.revision();
        drop(hall);
        self.revision.send_if_modified(|known| {
            let is_new = *known != revision;
            *known = revision;
            is_new
        });
    }
}

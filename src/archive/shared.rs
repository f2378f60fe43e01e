//! The desk, shared by the listeners and the writer.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::Notify;

use super::desk::Desk;

/// The desk, and a bell for the writer.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    desk: Arc<Mutex<Desk>>,
    bell: Arc<Notify>,
    start: Instant,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            desk: Arc::default(),
            bell: Arc::default(),
            start: Instant::now(),
        }
    }
}

impl Shared {
    /// The desk; never held while something is awaited.
    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        // A task that panicked while it held the desk left at most one message half taken.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the writer.
    pub(super) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Waits until somebody rings.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Milliseconds since the start.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

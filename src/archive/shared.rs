//! The intake, shared by the listeners and the writer.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::Notify;

use super::intake::Intake;

/// The intake, and a bell for the writer.
#[derive(Clone, Debug)]
pub(crate) struct SharedIntake {
    intake: Arc<Mutex<Intake>>,
    bell: Arc<Notify>,
    start: Instant,
}

impl Default for SharedIntake {
    fn default() -> Self {
        Self {
            intake: Arc::default(),
            bell: Arc::default(),
            start: Instant::now(),
        }
    }
}

impl SharedIntake {
    /// The intake; never held while something is awaited.
    pub(super) fn intake(&self) -> MutexGuard<'_, Intake> {
        // A task that panicked while it held the intake left at most one message half taken.
        self.intake.lock().unwrap_or_else(PoisonError::into_inner)
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

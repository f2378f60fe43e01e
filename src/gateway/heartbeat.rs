//! Watches which tasks work, for the system's watchdog.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::clock::Timebase;

/// A task that has not shown for this long (in milliseconds) that it works is stuck.
const STUCK_MS: u64 = 15_000;

/// One task's pulse.
#[derive(Clone, Debug)]
pub(super) struct Pulse {
    clock: Timebase,
    last: Arc<AtomicU64>,
}

impl Pulse {
    /// Shows that the task works.
    pub(super) fn beat(&self) {
        self.last.store(self.clock.now().0, Ordering::Relaxed);
    }
}

/// All tasks' pulses.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    clock: Timebase,
    pulses: Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>,
}

impl Heartbeat {
    pub(super) fn new(clock: Timebase) -> Self {
        Self {
            clock,
            pulses: Arc::default(),
        }
    }

    /// The pulse of a task, beating once now. A task that was started again takes its old place.
    pub(super) fn pulse(&self, task: &str) -> Pulse {
        let last = Arc::new(AtomicU64::new(self.clock.now().0));
        self.pulses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(task.to_owned(), last.clone());
        Pulse {
            clock: self.clock,
            last,
        }
    }

    /// Forgets a task that has ended and need not beat.
    pub(super) fn forget(&self, task: &str) {
        self.pulses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(task);
    }

    /// The tasks that are stuck.
    pub(super) fn stuck(&self) -> Vec<String> {
        self.stuck_at(self.clock.now().0)
    }

    fn stuck_at(&self, now: u64) -> Vec<String> {
        let pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stuck = |last: &AtomicU64| now.saturating_sub(last.load(Ordering::Relaxed)) > STUCK_MS;
        pulses
            .iter()
            .filter(|(_, last)| is_stuck(last))
            .map(|(task, _)| task.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_task_is_named() {
        let heartbeat = Heartbeat::new(Timebase::start());
        let seven = heartbeat.pulse("board 7");
        heartbeat.pulse("board 8");
        seven.last.store(STUCK_MS, Ordering::Relaxed);
        assert!(heartbeat.stuck_at(STUCK_MS).is_empty());
        assert_eq!(heartbeat.stuck_at(STUCK_MS + 1_000), ["board 8"]);
        heartbeat.forget("board 8");
        assert!(heartbeat.stuck_at(STUCK_MS + 1_000).is_empty());
    }
}

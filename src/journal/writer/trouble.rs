//! What is said of a disk that refuses, and of one that takes writes again.

use std::time::{Duration, Instant};

use super::{JournalWriter, leave::Leaving};
use crate::{
    event::notice,
    journal::{entry::Notice, error::is_damage},
};

/// How often a refusing disk is tried again. Each time that it begins to refuse numbers jump, and boards stand still for it. So one that
/// has taken writes for a moment only is left alone for longer and longer.
pub(super) const RETRY: Duration = Duration::from_secs(1);
pub(super) const MOST_RETRY: Duration = Duration::from_secs(60);

impl JournalWriter {
    /// Makes a notice when the disk begins to refuse.
    pub(super) fn fail(&mut self, notice: Notice) {
        if self.failing_since.is_some() {
            return;
        }
        let again = self.recovered_at.is_some_and(|at| at.elapsed() < MOST_RETRY);
        self.retry = if again {
            MOST_RETRY.min(2 * self.retry)
        } else {
            RETRY
        };
        self.failing_since = Some(Instant::now());
        tracing::error!(code = notice.code, "{}", notice.message);
        self.trouble.send_modify(|troubles| troubles.push(notice));
    }

    /// What a refused write says of the disk.
    pub(super) fn trouble_of(&self, error: &rusqlite::Error) -> Notice {
        let path = self.settings.path.display();
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) {
            Notice::new(
                notice::DISK_FULL,
                format!(
                    "no room for the journal {path}: events are sent from memory until there is; make room"
                ),
            )
        } else if is_damage(error) {
            Notice::new(
                notice::JOURNAL_DAMAGED,
                format!(
                    "the journal {path} is damaged ({error}): events are sent from memory until a new one can begin"
                ),
            )
        } else {
            Notice::new(
                notice::JOURNAL_FAILING,
                format!(
                    "cannot write the journal {path} ({error}): events are sent from memory until it can be written"
                ),
            )
        }
    }

    /// What waited in memory is on the disk.
    pub(super) fn recover(&mut self) {
        let Some(since) = self.failing_since.take() else {
            return;
        };
        tracing::info!(
            seconds = since.elapsed().as_secs(),
            "the journal can be written again, and has what waited in memory"
        );
        self.is_losing = false;
        self.recovered_at = Some(Instant::now());
        if self.healed_at.is_none() {
            self.forget_troubles();
        }
        if self.unsecured.send_if_modified(std::mem::take)
            && self.leaving != Some(Leaving::Trails)
            && let Err(error) = self.store.say_secured()
        {
            tracing::debug!(%error, "the next run takes numbers for unsecured");
        }
        self.stay();
    }

    /// Takes back what notices told of the disk.
    pub(super) fn forget_troubles(&mut self) {
        self.healed_at = None;
        self.trouble
            .send_modify(|troubles| troubles.retain(|notice| notice.code == notice::OUTBOX_FILLING));
    }
}

//! Keeps the journal within its limits of age and size.

use super::JournalWriter;
use crate::{
    event::notice,
    journal::{entry::Notice, wall_ms},
};

impl JournalWriter {
    /// Drops events that are too old or too many.
    pub(super) fn tidy(&mut self) {
        match self.drop_old_and_many() {
            Ok(0) => {}
            Ok(count) => {
                self.pruned += count;
                tracing::info!(
                    count,
                    "acknowledged events dropped from the journal for age or size"
                );
            }
            // Dropping needs room on the disk as well. A failure is no news while writing works.
            Err(error) => tracing::debug!(%error, "cannot drop old events"),
        }
        self.watch_size();
    }

    fn drop_old_and_many(&mut self) -> rusqlite::Result<u64> {
        let mut dropped = self.store.prune(&self.settings)?;
        if let Some(ran) = self.hours.over() {
            let max_age = self.settings.max_age;
            dropped += self.store.note_hour(&mut self.hours, ran, wall_ms(), max_age)?;
        }
        if dropped > 0 {
            self.store.give_back()?;
        }
        Ok(dropped)
    }

    /// Makes a notice of an outbox that alone exceeds the limit, and keeps its events.
    fn watch_size(&mut self) {
        let bytes = self.store.bytes().unwrap_or(0);
        let is_over = bytes > self.settings.max_bytes;
        let is_said = self
            .trouble
            .borrow()
            .iter()
            .any(|notice| notice.code == notice::OUTBOX_FILLING);
        if is_over && !is_said {
            let notice = Notice::new(
                notice::OUTBOX_FILLING,
                format!(
                    "{} events wait for the broker and take {bytes} bytes, more than the journal's limit of {}: they are kept; see to the broker",
                    self.depth, self.settings.max_bytes
                ),
            );
            tracing::warn!(code = notice.code, "{}", notice.message);
            self.trouble.send_modify(|troubles| troubles.push(notice));
        } else if !is_over && is_said {
            tracing::info!("the outbox is within its limit again");
            self.trouble
                .send_modify(|troubles| troubles.retain(|notice| notice.code != notice::OUTBOX_FILLING));
        }
    }
}

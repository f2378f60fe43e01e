//! The events that wait for the broker and the commands that were given, from disk and memory as one.

use std::time::{Duration, Instant};

use super::JournalWriter;
use crate::journal::{
    batch::NewCommand,
    entry::{CommandRecord, JournalStats, OutboxRow},
};

/// How long a caller's reference stands for the same command.
const REFERENCE: Duration = Duration::from_secs(10 * 60);

impl JournalWriter {
    pub(super) fn unacked(&self, after: u64, limit: usize) -> Vec<OutboxRow> {
        let acked = &self.pending.acked;
        // Acknowledged events that the disk does not know as such yet would fill places in the answer. Most of them lie
        // before `after`.
        let in_the_way = acked.range(after.saturating_add(1)..).count();
        let on_disk = self
            .store
            .unacked(after, limit + in_the_way)
            .unwrap_or_else(|error| {
                tracing::error!(%error, "cannot read the outbox");
                Vec::new()
            });
        let in_memory = self
            .pending
            .rows
            .iter()
            .map(|new| &new.row)
            .filter(|row| row.n > after && self.leaving.is_none());
        on_disk
            .into_iter()
            .map(|row| self.by_now(row))
            .chain(in_memory.map(|row| OutboxRow {
                unsecured: self.shifts_of(&row.board),
                ..row.clone()
            }))
            .filter(|row| !acked.contains(&row.n))
            .take(limit)
            .collect()
    }

    /// A row of the disk as it is by now. The disk does not know a number that the row has got since.
    fn by_now(&self, row: OutboxRow) -> OutboxRow {
        let was = row.seq;
        let row = self.pending.by_now(row);
        let unsecured = (row.seq != was).then(|| self.shifts_of(&row.board)).flatten();
        OutboxRow { unsecured, ..row }
    }

    pub(super) fn latest(&self, after: u64, limit: usize) -> Vec<(OutboxRow, bool)> {
        let rows = self.unacked(after, limit).into_iter();
        rows.map(|row| {
            let first = !self.waits_before(&row);
            (row, first)
        })
        .collect()
    }

    /// True when an earlier event of the row's board waits.
    fn waits_before(&self, row: &OutboxRow) -> bool {
        let acked = &self.pending.acked;
        let in_memory = self.pending.rows.iter().map(|new| &new.row);
        let on_disk = self
            .store
            .unacked_before(&row.board, row.seq)
            .unwrap_or_else(|error| {
                tracing::error!(%error, "cannot read the outbox");
                // The publisher sends it in its turn.
                vec![u64::MAX]
            });
        in_memory
            .filter(|other| other.board == row.board && other.seq < row.seq)
            .map(|other| other.n)
            .chain(on_disk)
            .any(|n| !acked.contains(&n))
    }

    pub(super) fn command(&self, board: &str, reference: &str) -> Option<CommandRecord> {
        let pending = self.pending.commands.iter().rev();
        let in_memory = pending
            .filter(|c| c.board == board)
            .find(|c| c.record.reference.as_deref() == Some(reference));
        let on_disk = || {
            self.store.command(board, reference).unwrap_or_else(|error| {
                tracing::error!(%error, "cannot look up a command");
                None
            })
        };
        let now = Instant::now();
        let age = |found: &NewCommand| self.commands_taken.age(now, found.n, found.received_ms);
        let found = in_memory.cloned().or_else(on_disk);
        found
            .filter(|found| age(found) < REFERENCE)
            .map(|found| found.record)
    }

    pub(super) fn stats(&self) -> JournalStats {
        let oldest = self.unacked(0, 1).first().map(|row| row.n);
        let in_pending = |n| self.pending.rows.iter().find(|new| new.row.n == n);
        let created = |n| match in_pending(n) {
            Some(new) => Some(new.created_ms),
            None => self.store.created_ms(n).ok().flatten(),
        };
        let oldest = oldest.and_then(|n| Some((n, created(n)?)));
        let now = Instant::now();
        let in_memory = self
            .pending
            .rows
            .iter()
            .filter(|new| !self.pending.acked.contains(&new.row.n))
            .count();
        JournalStats {
            depth: self.depth,
            oldest_ms: oldest.map(|(_, created_ms)| created_ms),
            oldest_age: oldest.map(|(n, created_ms)| self.events_taken.age(now, n, created_ms)),
            bytes: self.store.bytes().unwrap_or(0),
            in_memory: in_memory as u64,
            pruned: self.pruned,
            refused: self.refused,
        }
    }
}

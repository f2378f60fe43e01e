//! Which events commands led to: what they may take of the journal is bounded.

use serde::Deserialize;

use super::JournalWriter;
use crate::journal::{batch::NewRow, entry::OutboxRow};

/// The one field that counts here of what became of an irregularity.
#[derive(Deserialize)]
struct Answer {
    irregularity: String,
}

impl JournalWriter {
    /// Takes note of those of `rows` that a command led to: all of them, or what became of those before.
    pub(super) fn note_commanded(&mut self, rows: &[NewRow], is_commanded: bool) {
        let rows = rows.iter().map(|new| &new.row);
        let commanded = rows.filter(|row| is_commanded || self.answers_commanded(row));
        let commanded: Vec<_> = commanded.map(|row| row.n).collect();
        self.pending.commanded.extend(commanded);
    }

    /// Whether an event says what became of an irregularity that a person reported: as many of these come as are reported.
    fn answers_commanded(&self, row: &OutboxRow) -> bool {
        if !["ruling_amended", "irregularity_resolved"].contains(&row.kind.as_str()) {
            return false;
        }
        let seq = serde_json::from_slice::<Answer>(&row.json).ok();
        let seq = seq.and_then(|answer| answer.irregularity.rsplit('/').next()?.parse().ok());
        seq.is_some_and(|seq| self.is_commanded(&row.board, seq))
    }

    fn is_commanded(&self, board: &str, seq: u64) -> bool {
        let mut rows = self.pending.rows.iter().map(|new| &new.row);
        let in_memory = rows.find(|row| row.board == board && row.seq == seq);
        in_memory.map_or_else(
            || self.store.is_commanded(board, seq).unwrap_or(false),
            |row| self.pending.commanded.contains(&row.n),
        )
    }
}

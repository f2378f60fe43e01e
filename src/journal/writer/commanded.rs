//! Notes commands, and which events they led to, since their part of the journal is bounded.

use std::time::Instant;

use serde::Deserialize;

use super::JournalWriter;
use crate::journal::{
    batch::{NewCommand, NewRow},
    entry::{CommandRecord, OutboxRow},
};

/// How many commands wait in memory while the disk refuses: nothing else bounds those that lead to no event.
const MOST_COMMANDS: usize = 1_000;

/// The one field that counts here of an answer to an irregularity.
#[derive(Deserialize)]
struct Answer {
    irregularity: String,
}

impl JournalWriter {
    /// Puts a command among what is to be written. While the disk refuses, the last ones stay.
    pub(super) fn note_command(&mut self, board: String, record: CommandRecord, now_ms: i64) {
        self.command += 1;
        self.commands_taken.note(Instant::now(), self.command);
        self.pending.commands.push(NewCommand {
            n: self.command,
            board,
            record,
            received_ms: now_ms,
        });
        if self.failing_since.is_some() {
            let too_many = self.pending.commands.len().saturating_sub(MOST_COMMANDS);
            self.pending.commands.drain(..too_many);
        }
    }

    /// Notes those of `rows` that a command led to. These are all rows of a command's entry, and later answers to what
    /// a command reported.
    pub(super) fn note_commanded(&mut self, rows: &[NewRow], is_commanded: bool) {
        let rows = rows.iter().map(|new| &new.row);
        let commanded = rows.filter(|row| is_commanded || self.answers_commanded(row));
        let commanded: Vec<_> = commanded.map(|row| row.n).collect();
        self.pending.commanded.extend(commanded);
    }

    /// True where an event tells what became of an irregularity that a person reported. There are as many such events
    /// as reports.
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

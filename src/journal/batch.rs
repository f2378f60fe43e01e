//! The events and commands that the journal writes in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::{
    entry::{AppendError, CommandRecord, OutboxRow},
    jump::Jumps,
    runs::KnownRuns,
};
use crate::event::Event;

/// An accepted event that is not on the disk yet.
#[derive(Clone, Debug)]
pub(crate) struct NewRow {
    pub(crate) row: OutboxRow,
    pub(crate) id: String,
    pub(crate) game: Option<u32>,
    pub(crate) created_ms: i64,
}

impl NewRow {
    /// The row of `event`, whose JSON is `json`, at position `n`.
    pub(super) fn of(n: u64, event: Event, json: Vec<u8>, created_ms: i64) -> Self {
        Self {
            row: OutboxRow {
                n,
                seq: event.seq,
                kind: event.body.type_name().to_owned(),
                board: event.board,
                json: json.into(),
                unsecured: None,
            },
            id: event.id,
            game: event.game,
            created_ms,
        }
    }
}

/// A command with its position, its board (empty for the gateway's own) and time.
#[derive(Clone, Debug)]
pub(crate) struct NewCommand {
    pub(crate) n: u64,
    pub(crate) board: String,
    pub(crate) record: CommandRecord,
    pub(crate) received_ms: i64,
}

/// What an event on the disk has become under its new number.
#[derive(Debug)]
pub(crate) struct Renumbered {
    pub(crate) board: String,
    pub(crate) seq: u64,
    pub(crate) id: String,
    pub(crate) game: Option<u32>,
    pub(crate) json: String,
}

/// Events on the disk that have other numbers, by their positions, and the jumps that boards have to tell. The disk has all of it or
/// nothing: a process that found a part would name other numbers than those that were given out.
#[derive(Debug, Default)]
pub(crate) struct Lifted {
    pub(crate) rows: BTreeMap<u64, Renumbered>,
    pub(crate) jumps: Jumps,
    /// The number after which boards go on that have told nothing.
    pub(crate) seq_base: u64,
}

/// A comparison of the numbers: they are settled, and this run may send what it has once the broker knows of it.
#[derive(Debug)]
pub(crate) struct Compared {
    /// What tells the time since then from any other.
    pub(crate) era: String,
    /// The runs that may send, this one among them.
    pub(crate) runs: KnownRuns,
}

/// What the journal writes in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) lifted: Option<Lifted>,
    /// A comparison of the numbers of which the disk does not know yet.
    pub(crate) compared: Option<Compared>,
    /// The last number of each board that can have been sent, where the disk does not know yet that later ones cannot.
    pub(crate) floors: Option<BTreeMap<String, u64>>,
    /// True where from now on all that the journal has can be sent, and the disk does not know yet. Of `floors` nothing counts then.
    pub(crate) sends: bool,
    /// True where no disk secures the numbers: more may have been given out than the batch has.
    pub(crate) is_unsecured: bool,
    pub(crate) rows: Vec<NewRow>,
    /// Per board: last `seq` and, if it changed, the snapshot.
    pub(crate) snapshots: BTreeMap<String, (u64, Option<String>)>,
    pub(crate) commands: Vec<NewCommand>,
    /// Positions of the rows that a command led to.
    pub(crate) commanded: BTreeSet<u64>,
    pub(crate) acked: BTreeSet<u64>,
}

impl Batch {
    /// True when the batch holds something that must be durable now. Acknowledgements may wait.
    pub(crate) fn is_urgent(&self) -> bool {
        let has_entries = !self.rows.is_empty() || !self.snapshots.is_empty() || !self.commands.is_empty();
        has_entries || self.lifted.is_some() || self.compared.is_some() || self.floors.is_some() || self.sends
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_urgent() && self.acked.is_empty()
    }

    /// A row of the disk as it is by now.
    pub(super) fn by_now(&self, mut row: OutboxRow) -> OutboxRow {
        if let Some(new) = self.lifted.as_ref().and_then(|lifted| lifted.rows.get(&row.n)) {
            row.seq = new.seq;
            row.json = new.json.clone().into();
        }
        row
    }

    pub(super) fn write_events(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO events (n, board, seq, id, type, game, json, created_ms, acked)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for new in &self.rows {
            let row = &new.row;
            insert.execute(params![
                row.n,
                row.board,
                row.seq,
                new.id,
                row.kind,
                new.game,
                String::from_utf8_lossy(&row.json),
                new.created_ms,
                self.acked.contains(&row.n)
            ])?;
        }
        Ok(())
    }

    pub(super) fn write_snapshots(&self, connection: &Connection, now_ms: i64) -> rusqlite::Result<()> {
        let mut resume = connection.prepare_cached(
            "INSERT INTO snapshots (board, last_seq, json, written_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (board) DO UPDATE SET last_seq = excluded.last_seq,
             json = coalesce(excluded.json, json), written_ms = excluded.written_ms",
        )?;
        for (board, (last_seq, json)) in &self.snapshots {
            resume.execute(params![board, last_seq, json, now_ms])?;
        }
        Ok(())
    }

    pub(super) fn write_commands(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut command = connection.prepare_cached(
            "INSERT OR REPLACE INTO commands (n, board, ref, verb, payload, reply, received_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for new in &self.commands {
            let record = &new.record;
            command.execute(params![
                new.n,
                new.board,
                record.reference,
                record.verb,
                record.payload,
                record.reply,
                new.received_ms
            ])?;
        }
        Ok(())
    }

    pub(super) fn write_acknowledgements(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut ack = connection.prepare_cached("UPDATE events SET acked = 1 WHERE n = ?1")?;
        for n in &self.acked {
            ack.execute([n])?;
        }
        Ok(())
    }
}

/// The events of `board` as rows behind `position`; each goes on from `last_seq`, which follows them.
pub(super) fn numbered(
    board: &str,
    events: Vec<Event>,
    last_seq: &mut u64,
    position: u64,
    now_ms: i64,
) -> Result<Vec<NewRow>, AppendError> {
    let mut rows = Vec::with_capacity(events.len());
    for (n, event) in (position + 1..).zip(events) {
        if event.board != board {
            return Err(AppendError::OtherBoard {
                board: board.to_owned(),
                id: event.id,
            });
        }
        if event.seq != *last_seq + 1 {
            return Err(AppendError::OutOfSequence {
                board: board.to_owned(),
                last: *last_seq,
                got: event.seq,
            });
        }
        *last_seq = event.seq;
        let json = serde_json::to_vec(&event).map_err(|error| AppendError::Unwritable {
            id: event.id.clone(),
            reason: error.to_string(),
        })?;
        rows.push(NewRow::of(n, event, json, now_ms));
    }
    Ok(rows)
}

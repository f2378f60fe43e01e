//! What can still be read of a damaged journal, and a fresh one that begins with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use rusqlite::Connection;

use super::{
    batch::{Batch, NewRow},
    copied::Copied,
    entry::Notice,
    jump::Jumps,
    numbers::fresh_range,
    runs::KnownRuns,
    store::{self, Store},
};
use crate::event::Event;

/// What can still be read of a damaged file.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    identity: Option<String>,
    era: Option<String>,
    /// The runs that may have sent events of it.
    runs: KnownRuns,
    /// The last number of each board that can have been sent, and of all others; none where all can.
    floors: Option<(BTreeMap<String, u64>, u64)>,
    /// Where its boards stood when the copy was made that it is.
    copied: BTreeMap<String, Copied>,
    highest: u64,
    pub(super) rows: Vec<NewRow>,
}

impl Salvage {
    pub(super) fn from(path: &Path) -> Self {
        Self::by(|salvage| salvage.read(path))
    }

    /// The unsent events of a file that is open.
    pub(super) fn of(store: &Store) -> Self {
        // The damage may be among those that were sent.
        Self::by(|salvage| salvage.read_events(&store.connection, "WHERE acked = 0"))
    }

    fn by(read: impl FnOnce(&mut Self) -> rusqlite::Result<()>) -> Self {
        let mut salvage = Self::default();
        if let Err(error) = read(&mut salvage) {
            tracing::warn!(%error, "the damaged journal could be read in part only");
        }
        salvage
    }

    fn read(&mut self, path: &Path) -> rusqlite::Result<()> {
        let store = Store::open(path)?;
        // Without it the fresh file is another journal.
        self.identity = store.identity().ok().flatten();
        self.era = store.era().ok().flatten();
        if self.identity.is_some() {
            self.runs = store.runs().unwrap_or_else(|_| KnownRuns::unnoted());
        }
        self.copied = store.copied().unwrap_or_default();
        let floors = store.floors().ok().flatten();
        self.floors = floors.map(|floors| (floors, store.seq_base().unwrap_or(0)));
        let connection = &store.connection;
        let mut boards = connection.prepare("SELECT last_seq FROM snapshots")?;
        let mut rows = boards.query([])?;
        while let Some(row) = rows.next()? {
            self.highest = self.highest.max(row.get(0)?);
        }
        self.read_events(connection, "")
    }

    /// Reads row by row, so that all rows before the damage count.
    fn read_events(&mut self, connection: &Connection, which: &str) -> rusqlite::Result<()> {
        let sql = format!("SELECT n, json, created_ms, acked FROM events {which} ORDER BY n");
        let mut events = connection.prepare(&sql)?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            // A row without a readable event is part of the damage.
            let Ok(json) = row.get::<_, String>(1) else {
                continue;
            };
            let Ok(event) = serde_json::from_str::<Event>(&json) else {
                continue;
            };
            self.highest = self.highest.max(event.seq);
            if row.get::<_, bool>(3)? {
                continue;
            }
            let row = NewRow::of(row.get(0)?, event, json.into_bytes(), row.get(2)?);
            self.rows.push(row);
        }
        Ok(())
    }

    /// Goes on in the tables of a fresh file, with these events and with numbers above all that were used, because the
    /// journal before was `lost`.
    pub(super) fn put_into(self, tables: &Connection, lost: &Notice) -> rusqlite::Result<()> {
        let base = fresh_range(self.highest);
        if let Some(identity) = &self.identity {
            store::set_identity(tables, identity)?;
        }
        if let Some(era) = &self.era {
            store::set_era(tables, era)?;
        }
        store::set_runs(tables, &self.runs)?;
        if let Some(floors) = self.floors_of_unsent() {
            store::set_floors(tables, &floors)?;
        }
        let moved = |copied: &Copied| Copied { base, ..*copied };
        let copied = self.copied.iter().map(|(board, it)| (board.clone(), moved(it)));
        store::set_copied(tables, &copied.collect())?;
        store::set_seq_base(tables, base)?;
        let batch = self.into_batch(base);
        let mut jumps = Jumps::default();
        jumps.note_others([base; 2], lost);
        store::set_jumps(tables, &jumps)?;
        batch.write_events(tables)?;
        batch.write_snapshots(tables, super::wall_ms())
    }

    /// The last number that can have been sent of each board that goes on with what it has not sent; none where all can. The others go on
    /// above all numbers.
    fn floors_of_unsent(&self) -> Option<BTreeMap<String, u64>> {
        let (floors, others) = self.floors.as_ref()?;
        let boards = self.rows.iter().map(|new| &new.row.board);
        let floor = |board: &String| floors.get(board).copied().unwrap_or(*others);
        Some(boards.map(|board| (board.clone(), floor(board))).collect())
    }

    /// The unsent events, each number once.
    pub(super) fn unsent(mut self) -> Vec<NewRow> {
        let mut seen = BTreeSet::new();
        self.rows
            .retain(|new| seen.insert((new.row.board.clone(), new.row.seq)));
        self.rows
    }

    fn into_batch(self, base: u64) -> Batch {
        let rows = self.unsent();
        let boards: BTreeSet<_> = rows.iter().map(|new| new.row.board.clone()).collect();
        Batch {
            snapshots: boards.into_iter().map(|board| (board, (base, None))).collect(),
            rows,
            ..Batch::default()
        }
    }
}

//! The SQLite file: tables, and the few statements that touch them.

mod meta;

use std::{collections::BTreeMap, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::{
    batch::{Batch, Lifted, NewCommand},
    entry::{CommandRecord, OutboxRow, Resume},
    runs::KnownRuns,
};
use meta::{remove_meta, set_meta, set_unsecured};
pub(crate) use meta::{set_copied, set_era, set_floors, set_identity, set_jumps, set_runs, set_seq_base};

/// Version of the tables, kept in `user_version`.
pub(crate) const TABLES_VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    n INTEGER PRIMARY KEY,
    board TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    game INTEGER,
    json TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    acked INTEGER NOT NULL DEFAULT 0,
    UNIQUE (board, seq)
);
CREATE INDEX outbox ON events (n) WHERE acked = 0;
CREATE INDEX delivered ON events (n) WHERE acked = 1;
CREATE TABLE snapshots (
    board TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    json TEXT,
    written_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE commands (
    n INTEGER PRIMARY KEY,
    board TEXT NOT NULL,
    ref TEXT,
    verb TEXT NOT NULL,
    payload TEXT NOT NULL,
    reply TEXT NOT NULL,
    received_ms INTEGER NOT NULL
);
CREATE INDEX commands_ref ON commands (board, ref);
PRAGMA user_version = 1;
";

/// The highest numbers come first, so that no two numbers meet.
fn write_lifted(connection: &Connection, lifted: &Lifted) -> rusqlite::Result<()> {
    let mut update = connection
        .prepare_cached("UPDATE events SET seq = ?2, id = ?3, game = ?4, json = ?5 WHERE n = ?1")?;
    for (n, new) in lifted.rows.iter().rev() {
        update.execute(params![n, new.seq, new.id, new.game, new.json])?;
    }
    set_jumps(connection, &lifted.jumps)?;
    set_seq_base(connection, lifted.seq_base)
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Store {
    pub(super) connection: Connection,
    /// True where commands were written since their size was last looked at.
    pub(super) has_new_commands: bool,
}

impl Store {
    /// Opens or creates the file, without changing anything in it.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        Ok(Self::of(connection))
    }

    fn of(connection: Connection) -> Self {
        Self {
            connection,
            has_new_commands: true,
        }
    }

    /// Opens the file where nothing can be written; none where it cannot be read either.
    pub(crate) fn open_read_only(path: &Path) -> Option<Self> {
        let reading = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let as_it_is = || Connection::open_with_flags(path, reading);
        // Whoever has the file alone needs no index of the write-ahead log beside it, for which a full disk has no room.
        let alone = || {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        // If it has no write-ahead log beside it, SQLite reads it only as a file that nobody changes.
        let unchanging =
            || Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), reading);
        let ways: [&dyn Fn() -> rusqlite::Result<Connection>; 3] = [&as_it_is, &alone, &unchanging];
        for way in ways {
            let store = way().map(Self::of);
            match store.and_then(|store| store.resumes().map(|_| store)) {
                Ok(store) => return Some(store),
                Err(error) => tracing::debug!(%error, "cannot read the journal so"),
            }
        }
        None
    }

    /// False for a journal in memory.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.connection.path().is_some_and(|path| !path.is_empty())
    }

    /// An empty journal in memory, to which nobody can write.
    pub(crate) fn in_memory(gateway: &str) -> rusqlite::Result<Self> {
        let mut store = Self::of(Connection::open_in_memory()?);
        store.create_tables(gateway)?;
        store.connection.pragma_update(None, "query_only", true)?;
        Ok(store)
    }

    /// Writes all its tables into a fresh file.
    pub(crate) fn copy_to(&self, path: &Path) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "query_only", false)?;
        let name = path.to_string_lossy();
        self.connection.execute("VACUUM INTO ?1", [name])?;
        Ok(())
    }

    /// The events of `board` behind number `seq`: position, number and text, newest first.
    pub(crate) fn behind(&self, board: &str, seq: u64) -> rusqlite::Result<Vec<(u64, u64, String)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT n, seq, json FROM events WHERE board = ?1 AND seq > ?2 ORDER BY seq DESC",
        )?;
        let rows = statement.query_map(params![board, seq], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        rows.collect()
    }

    /// The numbers of `board` above `seq`, by position.
    pub(crate) fn numbers_behind(&self, board: &str, seq: u64) -> rusqlite::Result<BTreeMap<u64, u64>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT n, seq FROM events WHERE board = ?1 AND seq > ?2")?;
        let rows = statement.query_map(params![board, seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// The first event of each board that no broker has acknowledged.
    pub(crate) fn unacknowledged(&self) -> rusqlite::Result<BTreeMap<String, u64>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT board, MIN(seq) FROM events WHERE acked = 0 GROUP BY board")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// The highest number of a game in the last events of `board` up to number `seq`. Some of these events may be of
    /// earlier games.
    pub(crate) fn last_game(&self, board: &str, seq: u64) -> rusqlite::Result<Option<u32>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT MAX(game) FROM (SELECT game FROM events WHERE board = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1000)",
        )?;
        statement.query_row(params![board, seq], |row| row.get(0))
    }

    /// Sets how SQLite writes the file, and for a fresh file how it is laid out.
    pub(crate) fn configure(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        // This must come before the first table, so that the space of dropped events can be given back page by page.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "journal_size_limit", 4 << 20)
    }

    pub(crate) fn tables_version(&self) -> rusqlite::Result<i64> {
        self.connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
    }

    /// Creates the tables of a fresh file, with what `filled` puts into it: all of it or nothing.
    pub(crate) fn create_tables_with(
        &mut self,
        gateway: &str,
        fill: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        set_meta(&transaction, "gateway", gateway)?;
        set_runs(&transaction, &KnownRuns::default())?;
        fill(&transaction)?;
        transaction.commit()
    }

    /// Creates the tables of a fresh file.
    pub(crate) fn create_tables(&mut self, gateway: &str) -> rusqlite::Result<()> {
        self.create_tables_with(gateway, |_| Ok(()))
    }

    /// True when the file has any tables.
    pub(crate) fn has_tables(&self) -> rusqlite::Result<bool> {
        self.connection
            .query_row("SELECT count(*) > 0 FROM sqlite_master", [], |row| row.get(0))
    }

    /// The last number that the file has of `board`.
    pub(crate) fn last_seq(&self, board: &str) -> rusqlite::Result<Option<u64>> {
        self.connection
            .prepare_cached("SELECT last_seq FROM snapshots WHERE board = ?1")?
            .query_row([board], |row| row.get(0))
            .optional()
    }

    /// What SQLite finds wrong with the file; none when it is sound.
    pub(crate) fn damage(&self) -> rusqlite::Result<Option<String>> {
        let verdict: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok((verdict != "ok").then_some(verdict))
    }

    /// Writes a batch: all of it or nothing.
    pub(crate) fn write(&mut self, batch: &Batch, now_ms: i64) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        if let Some(compared) = &batch.compared {
            remove_meta(&transaction, "copied")?;
            set_era(&transaction, &compared.era)?;
            set_runs(&transaction, &compared.runs)?;
            remove_meta(&transaction, "unsecured")?;
        }
        if let Some(floors) = &batch.floors {
            set_floors(&transaction, floors)?;
        }
        if batch.sends {
            remove_meta(&transaction, "floors")?;
        }
        if batch.is_unsecured {
            set_unsecured(&transaction)?;
        }
        batch
            .lifted
            .iter()
            .try_for_each(|lifted| write_lifted(&transaction, lifted))?;
        batch.write_events(&transaction)?;
        batch.write_snapshots(&transaction, now_ms)?;
        batch.write_commands(&transaction)?;
        batch.write_commanded(&transaction)?;
        self.has_new_commands |= !batch.commands.is_empty();
        batch.write_acknowledgements(&transaction)?;
        transaction.commit()
    }

    /// Up to `limit` events after position `after` that are not acknowledged, in order.
    pub(crate) fn unacked(&self, after: u64, limit: usize) -> rusqlite::Result<Vec<OutboxRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT n, board, seq, type, json FROM events WHERE acked = 0 AND n > ?1 ORDER BY n LIMIT ?2",
        )?;
        let rows = statement.query_map(params![after, limit], |row| {
            Ok(OutboxRow {
                n: row.get(0)?,
                board: row.get(1)?,
                seq: row.get(2)?,
                kind: row.get(3)?,
                json: row.get::<_, String>(4)?.into(),
                unsecured: None,
            })
        })?;
        rows.collect()
    }

    /// Positions of unacknowledged events among the last ones of `board` before number `seq`. Acknowledgements come in
    /// the order of a board's events, except for events that are under way at once, which are fewer than this looks at.
    pub(crate) fn unacked_before(&self, board: &str, seq: u64) -> rusqlite::Result<Vec<u64>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT n FROM (SELECT n, acked FROM events WHERE board = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT 64)
             WHERE acked = 0",
        )?;
        let rows = statement.query_map(params![board, seq], |row| row.get(0))?;
        rows.collect()
    }

    /// Number of events without acknowledgement.
    pub(crate) fn outbox(&self) -> rusqlite::Result<u64> {
        let depth = self
            .connection
            .query_row("SELECT count(*) FROM events WHERE acked = 0", [], |row| {
                row.get(0)
            })?;
        Ok(depth)
    }

    /// When the event at position `n` was taken.
    pub(crate) fn created_ms(&self, n: u64) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached("SELECT created_ms FROM events WHERE n = ?1")?
            .query_row([n], |row| row.get(0))
            .optional()
    }

    /// Highest position given out so far.
    pub(crate) fn last_position(&self) -> rusqlite::Result<u64> {
        self.connection
            .query_row("SELECT coalesce(max(n), 0) FROM events", [], |row| row.get(0))
    }

    /// Highest position of a command so far.
    pub(crate) fn last_command(&self) -> rusqlite::Result<u64> {
        self.connection
            .query_row("SELECT coalesce(max(n), 0) FROM commands", [], |row| row.get(0))
    }

    /// Where the numbering of every board goes on.
    pub(crate) fn resumes(&self) -> rusqlite::Result<BTreeMap<String, Resume>> {
        let mut statement = self
            .connection
            .prepare("SELECT board, last_seq, json FROM snapshots")?;
        let rows = statement.query_map([], |row| {
            let resume = Resume {
                last_seq: row.get(1)?,
                snapshot: row.get(2)?,
                ..Resume::default()
            };
            Ok((row.get(0)?, resume))
        })?;
        rows.collect()
    }

    /// The latest command with this reference on this board.
    pub(crate) fn command(&self, board: &str, reference: &str) -> rusqlite::Result<Option<NewCommand>> {
        self.connection
            .prepare_cached(
                "SELECT n, received_ms, ref, verb, payload, reply FROM commands
                 WHERE board = ?1 AND ref = ?2 ORDER BY n DESC LIMIT 1",
            )?
            .query_row(params![board, reference], |row| {
                Ok(NewCommand {
                    n: row.get(0)?,
                    board: board.to_owned(),
                    received_ms: row.get(1)?,
                    record: CommandRecord {
                        reference: row.get(2)?,
                        verb: row.get(3)?,
                        payload: row.get(4)?,
                        reply: row.get(5)?,
                    },
                })
            })
            .optional()
    }

    /// Bytes that the content takes. Free pages do not count, because SQLite uses them again.
    pub(crate) fn bytes(&self) -> rusqlite::Result<u64> {
        let pragma = |name: &str| -> rusqlite::Result<u64> {
            self.connection
                .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        };
        let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
        Ok(pages * pragma("page_size")?)
    }

    /// Folds the write-ahead log into the file, so that a clean stop leaves one file.
    pub(crate) fn checkpoint(&self) -> rusqlite::Result<()> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }
}

/// Escapes a path for a file name that SQLite reads as an address.
fn escaped(path: &Path) -> String {
    path.to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

//! Bounds the part of the journal that commands and the events that they lead to may take: a flood of commands never
//! displaces an event of a game.

use rusqlite::Connection;

use super::{batch::Batch, store::Store};

/// The divisor of the journal's size that gives the part for commands, and the part for their events.
const PART: u64 = 8;
/// How many commands one step drops.
const AT_ONCE: u32 = 500;

/// Events that commands led to, by their positions, with their size.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS commanded (n INTEGER PRIMARY KEY, bytes INTEGER NOT NULL)";

impl Batch {
    pub(super) fn write_commanded(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.commanded.is_empty() {
            return Ok(());
        }
        let mut insert = connection.prepare_cached(
            "INSERT OR REPLACE INTO commanded SELECT n, length(json) + 100 FROM events WHERE n = ?1",
        )?;
        for n in &self.commanded {
            insert.execute([n])?;
        }
        Ok(())
    }
}

impl Store {
    /// Makes the table of those events. Files of older programs do not have it.
    pub(super) fn prepare_commanded(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(TABLE)?;
        self.forget_dropped()
    }

    /// Removes dropped events from the table, because their positions may be given to others.
    fn forget_dropped(&self) -> rusqlite::Result<()> {
        let sql = "DELETE FROM commanded WHERE n NOT IN (SELECT n FROM events)";
        self.connection.execute(sql, []).map(|_| ())
    }

    /// True where a command led to event `seq` of `board`.
    pub(super) fn is_commanded(&self, board: &str, seq: u64) -> rusqlite::Result<bool> {
        self.connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM events JOIN commanded USING (n) WHERE board = ?1 AND seq = ?2)",
            )?
            .query_row(rusqlite::params![board, seq], |row| row.get(0))
    }

    /// Drops the oldest acknowledged events that commands led to, if such events take more than their part of
    /// `max_bytes`. Returns how many went.
    pub(super) fn drop_commanded(&mut self, max_bytes: u64) -> rusqlite::Result<usize> {
        self.forget_dropped()?;
        let bytes: u64 =
            self.connection
                .query_row("SELECT coalesce(sum(bytes), 0) FROM commanded", [], |row| {
                    row.get(0)
                })?;
        if bytes <= max_bytes / PART {
            return Ok(0);
        }
        self.connection.execute(
            "DELETE FROM events WHERE n IN (SELECT n FROM commanded JOIN events USING (n)
             WHERE acked = 1 ORDER BY n LIMIT 100)",
            [],
        )
    }

    /// Drops commands beyond their part of `max_bytes`: refused commands first, then the oldest.
    pub(super) fn prune_commands(&mut self, max_bytes: u64) -> rusqlite::Result<()> {
        if !std::mem::take(&mut self.has_new_commands) {
            return Ok(());
        }
        while self.command_bytes()? > max_bytes / PART {
            let gone = self.connection.execute(
                "DELETE FROM commands WHERE n IN (SELECT n FROM commands
                 ORDER BY json_valid(reply) AND json_extract(reply, '$.ok') IS NOT 0, n LIMIT ?1)",
                [AT_ONCE],
            )?;
            if gone == 0 {
                break;
            }
        }
        Ok(())
    }

    fn command_bytes(&self) -> rusqlite::Result<u64> {
        self.connection
            .prepare_cached("SELECT coalesce(sum(length(payload) + length(reply) + 100), 0) FROM commands")?
            .query_row([], |row| row.get(0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use super::*;
    use crate::journal::{
        batch::NewRow,
        entry::{JournalSettings, OutboxRow},
    };

    /// Takes acknowledged events of 1,000 bytes each.
    fn take(store: &mut Store, numbers: std::ops::Range<u64>, is_commanded: bool) {
        let row = |n| NewRow {
            row: OutboxRow {
                n,
                board: "7".to_owned(),
                seq: n,
                kind: "move".to_owned(),
                json: "x".repeat(1000).into(),
                unsecured: None,
            },
            id: format!("gw/7/{n}"),
            game: Some(1),
            created_ms: 0,
        };
        let batch = Batch {
            rows: numbers.clone().map(row).collect(),
            commanded: numbers.clone().filter(|_| is_commanded).collect(),
            acked: numbers.collect(),
            ..Batch::default()
        };
        store.write(&batch, 0).unwrap();
    }

    #[test]
    fn events_of_commands_go_before_those_of_games() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("j.sqlite")).unwrap();
        store.configure().unwrap();
        store.create_tables("gw").unwrap();
        store.prepare_commanded().unwrap();
        let settings = JournalSettings {
            max_bytes: 1 << 20,
            ..JournalSettings::at("j")
        };
        take(&mut store, 1..301, false);
        for round in 0..20 {
            let first = 301 + round * 250;
            take(&mut store, first..first + 250, true);
            store.prune(&settings).unwrap();
        }
        assert!(store.bytes().unwrap() <= settings.max_bytes);
        let kept = |condition: &str| -> u64 {
            let sql = format!("SELECT count(*) FROM events WHERE {condition}");
            store.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(kept("n <= 300"), 300);
        assert!(kept("n > 300") > 10, "they have their part");
        assert!(store.is_commanded("7", 5300).unwrap() && !store.is_commanded("7", 300).unwrap());
    }
}

//! Reading a journal beside the daemon that writes it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params_from_iter, types::Value};

/// The time that an event names, in Unix milliseconds, or else the time at which it was written.
pub(super) const TIME_OF_EVENT: &str =
    "coalesce(CAST(round(1000 * unixepoch(json ->> '$.time', 'subsec')) AS INTEGER), created_ms)";

/// Which events to show. An event must meet every condition that is set.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this board.
    pub board: Option<String>,
    /// Only this game on its board.
    pub game: Option<u32>,
    /// Only this type.
    pub kind: Option<String>,
    /// Only events with at least this number on their board.
    pub since_seq: Option<u64>,
    /// Only events with a smaller number on their board.
    pub before_seq: Option<u64>,
    /// Only from this Unix time in milliseconds on. The time of an event is that which it names, or else that at which it
    /// was written.
    pub since_ms: Option<i64>,
    /// Only before this one.
    pub until_ms: Option<i64>,
    /// Only events after this one in the order of the journal, see [`KeptEvent::position`].
    pub after: Option<u64>,
    /// Only the last so many of the events that meet the other conditions, still oldest first.
    pub last: Option<u64>,
}

/// An event as the journal has it.
#[derive(Clone, Copy, Debug)]
pub struct KeptEvent<'a> {
    /// Its place in the order of the journal.
    pub position: u64,
    /// When it was written, as Unix time in milliseconds.
    pub written_ms: i64,
    /// The event.
    pub json: &'a str,
}

impl Filter {
    /// The SQL condition, and the values for its question marks; `time` is the expression for the time of a row.
    fn condition(&self, time: &str) -> (String, Vec<Value>) {
        let mut conditions = String::new();
        let mut values = Vec::new();
        let mut add = |condition: &str, value: Value| {
            conditions.push_str(if values.is_empty() { " WHERE " } else { " AND " });
            conditions.push_str(condition);
            values.push(value);
        };
        if let Some(board) = &self.board {
            add("board = ?", Value::Text(board.clone()));
        }
        if let Some(game) = self.game {
            add("game = ?", Value::Integer(game.into()));
        }
        if let Some(kind) = &self.kind {
            add("type = ?", Value::Text(kind.clone()));
        }
        if let Some(seq) = self.since_seq {
            add("seq >= ?", Value::Integer(i64::try_from(seq).unwrap_or(i64::MAX)));
        }
        if let Some(seq) = self.before_seq {
            add("seq < ?", Value::Integer(i64::try_from(seq).unwrap_or(i64::MAX)));
        }
        for (bound, is) in [(self.since_ms, ">="), (self.until_ms, "<")] {
            if let Some(bound) = bound {
                add(&format!("{time} {is} ?"), Value::Integer(bound));
            }
        }
        if let Some(position) = self.after {
            add(
                "n > ?",
                Value::Integer(i64::try_from(position).unwrap_or(i64::MAX)),
            );
        }
        (conditions, values)
    }

    /// The SQL for `columns` of the rows of `table` that meet the condition, oldest first.
    pub(super) fn sql(&self, columns: &str, table: &str, time: &str) -> (String, Vec<Value>) {
        let (condition, values) = self.condition(time);
        let sql = match self.last {
            None => format!("SELECT {columns} FROM {table}{condition} ORDER BY n"),
            Some(last) => format!(
                "SELECT {columns} FROM (SELECT * FROM {table}{condition} ORDER BY n DESC LIMIT {last}) ORDER BY n"
            ),
        };
        (sql, values)
    }
}

/// How many events are read at first before they are shown; each time twice as many, up to the second number.
const PORTIONS: (usize, usize) = (256, 16_384);

/// An event that was read and is not shown yet: position, time of writing, JSON.
type Unshown = (u64, i64, String);

/// Calls `show` with each event, oldest first, until it returns false. While `show` works no read transaction is open: SQLite
/// cannot reuse the write-ahead log before readers are done, and `show` may wait for somebody who reads a page an hour.
///
/// # Errors
/// When the file is missing, is no journal or cannot be read.
pub fn each_event(
    path: &Path,
    filter: &Filter,
    mut show: impl FnMut(KeptEvent<'_>) -> bool,
) -> rusqlite::Result<()> {
    let connection = open(path)?;
    let (first, most) = PORTIONS;
    let mut left = filter.last.unwrap_or(u64::MAX);
    let mut from = Filter {
        after: first_of_last(&connection, filter)?.or(filter.after),
        last: None,
        ..filter.clone()
    };
    let mut size = first;
    loop {
        let portion = portion(&connection, &from, size)?;
        for (position, written_ms, json) in &portion {
            let kept = KeptEvent {
                position: *position,
                written_ms: *written_ms,
                json,
            };
            // Others may have come while these were shown.
            if left == 0 || !show(kept) {
                return Ok(());
            }
            left -= 1;
            from.after = Some(*position);
        }
        if portion.len() < size {
            return Ok(());
        }
        size = (2 * size).min(most);
    }
}

/// The position before the first of the last events that the filter asks for; none where it asks for all.
fn first_of_last(connection: &Connection, filter: &Filter) -> rusqlite::Result<Option<u64>> {
    if filter.last.is_none() {
        return Ok(None);
    }
    let (sql, values) = filter.sql("n", "events", TIME_OF_EVENT);
    let sql = format!("SELECT min(n) - 1 FROM ({sql})");
    connection.query_row(&sql, params_from_iter(values), |row| row.get(0))
}

fn portion(connection: &Connection, filter: &Filter, size: usize) -> rusqlite::Result<Vec<Unshown>> {
    let (sql, values) = filter.sql("n, created_ms, json", "events", TIME_OF_EVENT);
    let mut statement = connection.prepare_cached(&format!("{sql} LIMIT {size}"))?;
    let rows = statement.query_map(params_from_iter(values), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    rows.collect()
}

/// A board's events and snapshot in the journal.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The board's id.
    pub board: String,
    /// The last number of its events.
    pub last_seq: u64,
    /// The number of its events.
    pub events: u64,
    /// The number of its events that no broker has acknowledged.
    pub unacknowledged: u64,
    /// The snapshot of its watcher, as JSON.
    pub state: Option<String>,
}

/// Calls `show` with each board.
///
/// # Errors
/// When the file is missing, is no journal or cannot be read.
pub fn each_standing(path: &Path, mut show: impl FnMut(Standing)) -> rusqlite::Result<()> {
    let connection = open(path)?;
    let mut statement = connection.prepare(
        "SELECT s.board, s.last_seq, count(e.n), count(e.n) FILTER (WHERE e.acked = 0), s.json
         FROM snapshots s LEFT JOIN events e ON e.board = s.board GROUP BY s.board ORDER BY s.board",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        show(Standing {
            board: row.get(0)?,
            last_seq: row.get(1)?,
            events: row.get(2)?,
            unacknowledged: row.get(3)?,
            state: row.get(4)?,
        });
    }
    Ok(())
}

/// The boards of which the journal has anything.
///
/// # Errors
/// When the file is missing, is no journal or cannot be read.
pub fn boards(path: &Path) -> rusqlite::Result<Vec<String>> {
    let connection = open(path)?;
    let mut statement = connection.prepare("SELECT board FROM snapshots ORDER BY board")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The boot id of the last daemon that wrote the journal; none where there is no journal, or where it does not tell.
#[must_use]
pub fn boot(path: &Path) -> Option<String> {
    let sql = "SELECT value FROM meta WHERE key = 'boot'";
    open(path).ok()?.query_row(sql, [], |row| row.get(0)).ok()
}

pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::journal::{
        batch::{Batch, NewRow},
        entry::OutboxRow,
        store::Store,
    };

    fn row(n: u64, created_ms: i64, json: &str) -> NewRow {
        NewRow {
            row: OutboxRow {
                n,
                board: "7".to_owned(),
                seq: n,
                kind: "move".to_owned(),
                json: json.to_owned().into(),
                unsecured: None,
            },
            id: format!("gw/7/{n}"),
            game: Some(1),
            created_ms,
        }
    }

    #[test]
    fn a_stretch_goes_by_the_times_of_the_events() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.create_tables("gw").unwrap();
        store.prepare_commanded().unwrap();
        let batch = Batch {
            rows: vec![
                row(1, 0, r#"{"time":"2026-11-26T20:13:59.999Z"}"#),
                row(2, 0, r#"{"time":"2026-11-26T20:14:00.000Z"}"#),
                // Nobody had set the wall clock, by which it was written all the same.
                row(3, 1_795_724_045_000, r#"{"time":null}"#),
                row(4, 0, r#"{"time":"2026-11-26T20:15:00.000Z"}"#),
            ],
            ..Batch::default()
        };
        store.write(&batch, 0).unwrap();
        let found = |since: Option<&str>, until: Option<&str>| {
            let ms = |text: Option<&str>| {
                text.map(|text| text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
            };
            let filter = Filter {
                board: Some("7".to_owned()),
                since_ms: ms(since),
                until_ms: ms(until),
                ..Filter::default()
            };
            let mut found = Vec::new();
            each_event(&path, &filter, |kept| {
                found.push(kept.position);
                true
            })
            .unwrap();
            found
        };
        let (since, until) = ("2026-11-26T20:14:00Z", "2026-11-26T20:15:00Z");
        assert_eq!(found(None, None), [1, 2, 3, 4]);
        assert_eq!(found(Some(since), None), [2, 3, 4]);
        assert_eq!(found(Some(since), Some(until)), [2, 3]);
        assert_eq!(found(None, Some(since)), [1]);
    }

    fn journal_of(folder: &Path, events: u64) -> (PathBuf, Store) {
        let path = folder.join("journal.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.configure().unwrap();
        store.create_tables("gw").unwrap();
        store.prepare_commanded().unwrap();
        let batch = Batch {
            rows: (1..=events).map(|n| row(n, 0, "{}")).collect(),
            ..Batch::default()
        };
        store.write(&batch, 0).unwrap();
        (path, store)
    }

    #[test]
    fn portions_are_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _store) = journal_of(folder.path(), 2000);
        let found = |after, last| {
            let filter = Filter {
                after,
                last,
                ..Filter::default()
            };
            let mut found = Vec::new();
            let each = each_event(&path, &filter, |kept| {
                found.push(kept.position);
                true
            });
            each.unwrap();
            found
        };
        let range = |first| (first..=2000).collect::<Vec<u64>>();
        assert_eq!(found(None, None), range(1));
        assert_eq!(found(Some(1999), None), [2000]);
        assert_eq!(found(None, Some(1500)), range(501));
        assert_eq!(found(Some(1000), Some(1500)), range(1001));
        assert!(found(Some(2000), Some(7)).is_empty());
    }

    #[test]
    fn whoever_looks_at_an_event_for_an_hour_does_not_make_the_log_grow() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _store) = journal_of(folder.path(), 1000);
        let mut shown = 0;
        let each = each_event(&path, &Filter::default(), |_| {
            shown += 1;
            if shown == 600 {
                let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                let daemon = Connection::open(&path).unwrap();
                let is_hindered: bool = daemon.query_row(checkpoint, [], |row| row.get(0)).unwrap();
                assert!(!is_hindered);
            }
            true
        });
        each.unwrap();
        assert_eq!(shown, 1000);
    }
}

//! Who vouches for the numbers of a journal: that no higher one was sent.
//!
//! A process whose disk takes no writes goes on from memory, and then only a broker knows its last numbers. The next
//! process asks the broker (`writer/lift.rs`). But a broker may have forgotten, or come back as it was before.
//!
//! * The journal vouches for itself where the last process ended with everything on the disk, and says so in the file. The next process
//!   takes that back before it sends anything.
//! * The broker vouches for it where it has told the end of the last process that sent anything, by `offline` and the
//!   boot id in `info`, and shows no less of a board than it did before.
//!
//! Where nobody vouches, the boards go on in a range that nobody can have come to.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, OptionalExtension};

use super::{batch::Batch, place, store::Store};

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS shown (board TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;";

/// Who vouches for the numbers of a journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vouching {
    /// True where the journal has all that processes with it have sent.
    pub(crate) is_whole: bool,
    /// True where the file says so, and this process has sent nothing yet.
    pub(crate) says_whole: bool,
    /// True where another gateway has given out our numbers.
    pub(crate) had_rival: bool,
    /// True where another gateway may give out our numbers after this process.
    pub(crate) met_rival: bool,
    /// True once this process may send events.
    pub(crate) sends: bool,
    /// The boot id of the last process before this one that may have sent events; none where none has.
    pub(crate) sender: Option<String>,
    /// The last number of each board that the broker had in its retained states.
    pub(crate) shown: BTreeMap<String, u64>,
    /// The boot id of the process whose end the broker has told: it has known all that came from that process.
    pub(crate) seen_off: Option<String>,
}

impl Vouching {
    /// True where the journal will have all that was sent until the next process begins.
    pub(super) fn lasts(&self) -> bool {
        self.is_whole && !self.met_rival
    }

    /// True where the numbers are compared, and all that was sent is known.
    pub(super) fn settle(&mut self) {
        (self.is_whole, self.had_rival) = (true, false);
    }

    /// True where somebody knows which boards there were, and what was sent of those that nobody has heard of.
    pub(super) fn knows_boards(&self) -> bool {
        self.is_whole || self.sender.is_none() || self.has_seen_all()
    }

    /// True where somebody vouches for the numbers of a board of which the broker shows number `now`. `floor` is the last number that
    /// former processes may have sent.
    pub(super) fn is_vouched(&self, board: &str, now: u64, floor: u64) -> bool {
        let shown = self.shown.get(board).copied().unwrap_or(0);
        let is_ours = self.is_whole || self.sender.is_none() || self.has_seen_all() && shown <= now;
        // Where another gave out numbers, the broker must have some.
        is_ours && (!self.had_rival || now > 0 || floor == 0)
    }

    fn has_seen_all(&self) -> bool {
        self.seen_off.is_some() && self.seen_off == self.sender
    }
}

impl Store {
    /// Makes the table of what the broker has shown. Files of older programs do not have it.
    pub(super) fn prepare_shown(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(TABLE)
    }

    /// The last number of each board that the broker had in its retained states; empty in files of older programs.
    pub(super) fn shown(&self) -> rusqlite::Result<BTreeMap<String, u64>> {
        let sql = "SELECT count(*) > 0 FROM sqlite_master WHERE name = 'shown'";
        if !self.connection.query_row(sql, [], |row| row.get(0))? {
            return Ok(BTreeMap::new());
        }
        let mut statement = self.connection.prepare("SELECT board, seq FROM shown")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// The boot id of the last process that may have sent events; none where none has.
    pub(super) fn sender(&self) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT value FROM meta WHERE key = 'sender'";
        self.connection.query_row(sql, [], |row| row.get(0)).optional()
    }

    /// Notes that the process with that boot id may send events from now on, of which the file may not have all.
    pub(super) fn note_sender(&mut self, boot: &str) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('sender', ?1)",
            [boot],
        )?;
        transaction.execute("DELETE FROM meta WHERE key = 'ended'", [])?;
        transaction.commit()
    }

    /// Notes that nothing was sent with the numbers of the file.
    pub(super) fn forget_sender(&self) -> rusqlite::Result<()> {
        self.connection
            .execute_batch("DELETE FROM meta WHERE key = 'sender'; DELETE FROM shown;")
    }

    /// Notes that the file at `path` has everything, and that the process of that boot id was the last one.
    pub(super) fn note_end(&self, path: &Path, boot: &str) -> rusqlite::Result<()> {
        let Some(birth) = place::birth(path) else {
            return Ok(());
        };
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES ('ended', ?1)";
        self.connection
            .execute(sql, [format!("{birth} {boot}")])
            .map(|_| ())
    }

    /// True where the last process ended with everything in this file. A copy of the file may be an old one, and an older program does
    /// not take the note back.
    pub(super) fn has_ended(&self, path: &Path) -> rusqlite::Result<bool> {
        let meta = |key: &str| -> rusqlite::Result<Option<String>> {
            let sql = "SELECT value FROM meta WHERE key = ?1";
            self.connection.query_row(sql, [key], |row| row.get(0)).optional()
        };
        let boot = meta("boot")?.unwrap_or_default();
        let noted = place::birth(path).map(|birth| format!("{birth} {boot}"));
        Ok(noted.is_some() && meta("ended")? == noted)
    }
}

impl Batch {
    /// Writes what the broker has shown; 0 stands for a board whose states were taken from it.
    pub(super) fn write_shown(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.shown.is_empty() {
            return Ok(());
        }
        let mut show =
            connection.prepare_cached("INSERT OR REPLACE INTO shown (board, seq) VALUES (?1, ?2)")?;
        let mut forget = connection.prepare_cached("DELETE FROM shown WHERE board = ?1")?;
        for (board, seq) in &self.shown {
            if *seq > 0 {
                show.execute(rusqlite::params![board, seq])?;
            } else {
                forget.execute([board])?;
            }
        }
        Ok(())
    }
}

//! What the file says of itself, beside events and snapshots.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::Store;
use crate::journal::{copied::Copied, jump::Jumps, runs::KnownRuns};

fn meta(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    connection.query_row(sql, [key], |row| row.get(0)).optional()
}

pub(super) fn set_meta(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
    connection.execute(sql, [key, value]).map(|_| ())
}

/// Writes nothing where there is nothing to remove.
pub(super) fn remove_meta(connection: &Connection, key: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM meta WHERE key = ?1";
    connection.execute(sql, [key]).map(|_| ())
}

/// Sets the number after which boards go on that have no row in `snapshots`.
pub(crate) fn set_seq_base(connection: &Connection, base: u64) -> rusqlite::Result<()> {
    set_meta(connection, "seq_base", &base.to_string())
}

pub(crate) fn set_identity(connection: &Connection, identity: &str) -> rusqlite::Result<()> {
    set_meta(connection, "journal", identity)
}

/// Notes the jumps that boards have not told, instead of those noted before.
pub(crate) fn set_jumps(connection: &Connection, jumps: &Jumps) -> rusqlite::Result<()> {
    match serde_json::to_string(jumps) {
        Ok(json) if *jumps != Jumps::default() => set_meta(connection, "jumps", &json),
        _ => remove_meta(connection, "jumps"),
    }
}

pub(crate) fn set_era(connection: &Connection, era: &str) -> rusqlite::Result<()> {
    set_meta(connection, "era", era)
}

pub(crate) fn set_runs(connection: &Connection, runs: &KnownRuns) -> rusqlite::Result<()> {
    serde_json::to_string(runs).map_or(Ok(()), |json| set_meta(connection, "runs", &json))
}

pub(crate) fn set_floors(connection: &Connection, floors: &BTreeMap<String, u64>) -> rusqlite::Result<()> {
    serde_json::to_string(floors).map_or(Ok(()), |json| set_meta(connection, "floors", &json))
}

pub(crate) fn set_copied(connection: &Connection, copied: &BTreeMap<String, Copied>) -> rusqlite::Result<()> {
    serde_json::to_string(copied).map_or(Ok(()), |json| set_meta(connection, "copied", &json))
}

pub(super) fn set_unsecured(connection: &Connection) -> rusqlite::Result<()> {
    set_meta(connection, "unsecured", "1")
}

impl Store {
    /// The gateway the file belongs to.
    pub(crate) fn gateway(&self) -> rusqlite::Result<Option<String>> {
        meta(&self.connection, "gateway")
    }

    pub(crate) fn set_gateway(&self, gateway: &str) -> rusqlite::Result<()> {
        set_meta(&self.connection, "gateway", gateway)
    }

    /// The number after which boards go on that have no row in `snapshots`: 0 unless a former journal was lost.
    pub(crate) fn seq_base(&self) -> rusqlite::Result<u64> {
        let base = meta(&self.connection, "seq_base")?;
        Ok(base.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    pub(crate) fn set_seq_base(&self, base: u64) -> rusqlite::Result<()> {
        set_seq_base(&self.connection, base)
    }

    /// Writes for the next start that the file is a restored copy, whose boards go on above `base`.
    pub(crate) fn say_restored(&self, base: u64) -> rusqlite::Result<()> {
        set_meta(&self.connection, "restored", &base.to_string())
    }

    /// What [`Self::say_restored`] wrote.
    pub(crate) fn restored(&self) -> rusqlite::Result<Option<String>> {
        meta(&self.connection, "restored")
    }

    /// Removes what [`Self::say_restored`] wrote.
    pub(crate) fn forget_restored(&self) -> rusqlite::Result<()> {
        remove_meta(&self.connection, "restored")
    }

    /// The jumps of numbers that boards may not have told yet.
    pub(crate) fn jumps(&self) -> rusqlite::Result<Jumps> {
        let json = meta(&self.connection, "jumps")?;
        Ok(json
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default())
    }

    pub(crate) fn set_jumps(&self, jumps: &Jumps) -> rusqlite::Result<()> {
        set_jumps(&self.connection, jumps)
    }

    /// What tells this journal from any other, also of a gateway of the same name; none where that was never written.
    pub(crate) fn identity(&self) -> rusqlite::Result<Option<String>> {
        meta(&self.connection, "journal")
    }

    pub(crate) fn set_identity(&self, identity: &str) -> rusqlite::Result<()> {
        set_identity(&self.connection, identity)
    }

    /// Writes the boot id of the present daemon.
    pub(crate) fn set_boot(&self, boot: &str) -> rusqlite::Result<()> {
        set_meta(&self.connection, "boot", boot)
    }

    /// In which run of the machine a daemon had the file last; none where that is not known.
    pub(crate) fn machine(&self) -> rusqlite::Result<Option<String>> {
        meta(&self.connection, "machine")
    }

    pub(crate) fn set_machine(&self, machine: &str) -> rusqlite::Result<()> {
        set_meta(&self.connection, "machine", machine)
    }

    /// The runs that may have sent, and the one that had the file last.
    pub(crate) fn runs(&self) -> rusqlite::Result<KnownRuns> {
        let json = meta(&self.connection, "runs")?;
        let mut runs: KnownRuns = json
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_else(KnownRuns::unnoted);
        // Where any may be known, one that began and compared no numbers tells nothing of those before it.
        if !runs.is_empty()
            && let Some(boot) = meta(&self.connection, "boot")?
        {
            runs.note(&boot);
        }
        Ok(runs)
    }

    pub(crate) fn set_runs(&self, runs: &KnownRuns) -> rusqlite::Result<()> {
        set_runs(&self.connection, runs)
    }

    /// Keeps them in a copy, and has it know no other: its own copies have the same runs, and go on from the same numbers.
    pub(crate) fn keep_runs(&self) -> rusqlite::Result<()> {
        self.set_runs(&self.runs()?.or_unnoted())?;
        remove_meta(&self.connection, "boot")
    }

    /// What tells the time since the numbers were compared last from any other; none where they never were.
    pub(crate) fn era(&self) -> rusqlite::Result<Option<String>> {
        meta(&self.connection, "era")
    }

    /// True where more numbers may have been given out than the file has: it took what it had refused before, and nobody knew.
    pub(crate) fn is_unsecured(&self) -> rusqlite::Result<bool> {
        Ok(meta(&self.connection, "unsecured")?.is_some())
    }

    /// Notes that more numbers may have been given out than the file has.
    pub(crate) fn say_unsecured(&self) -> rusqlite::Result<()> {
        set_unsecured(&self.connection)
    }

    /// Notes that the file has all numbers that were given out.
    pub(crate) fn say_secured(&self) -> rusqlite::Result<()> {
        remove_meta(&self.connection, "unsecured")
    }

    /// The last number of each board that can have been sent; none where all can.
    pub(crate) fn floors(&self) -> rusqlite::Result<Option<BTreeMap<String, u64>>> {
        let json = meta(&self.connection, "floors")?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
    }

    pub(crate) fn set_floors(&self, floors: &BTreeMap<String, u64>) -> rusqlite::Result<()> {
        set_floors(&self.connection, floors)
    }

    /// Where boards stood when the copy was made that the file is; none of a file that is no copy, or that had sent all.
    pub(crate) fn copied(&self) -> rusqlite::Result<BTreeMap<String, Copied>> {
        let json = meta(&self.connection, "copied")?;
        Ok(json
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default())
    }

    pub(crate) fn set_copied(&self, copied: &BTreeMap<String, Copied>) -> rusqlite::Result<()> {
        set_copied(&self.connection, copied)
    }

    /// Notes that all numbers can have been sent.
    pub(crate) fn forget_floors(&self) -> rusqlite::Result<()> {
        remove_meta(&self.connection, "floors")
    }

    pub(crate) fn set_era(&self, era: &str) -> rusqlite::Result<()> {
        set_era(&self.connection, era)
    }
}

//! What commands may take of the journal: a flood of them never displaces an event.

use super::store::Store;

/// The part of the journal's size that commands may take.
const PART: u64 = 8;
/// Rows that go at a time.
const AT_ONCE: u32 = 500;

impl Store {
    /// Drops commands beyond their part of `max_bytes`: those that were refused first, then the oldest.
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

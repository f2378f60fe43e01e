//! The age of events, whatever the wall clock says.
//!
//! The journal counts the time that it sees pass. After each hour it notes how much that is, and up to which event it
//! had got. Somebody who sets the wall clock in between does not change the count. A pause between two runs counts as
//! long as the wall clock says, if that clock went steadily for the first hour of a run. A wall clock may be wrong all
//! the same, and for long. So each board's last game stays, and so do the events of the last hours in which the journal
//! took any.

use std::time::{Duration, Instant};

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::{entry::JournalSettings, store::Store};

const HOUR: Duration = Duration::from_secs(3600);
/// The wall clock was steady in an hour if it differed from the time that passed by less than this.
const DRIFT_MS: u64 = 60_000;
/// The beginning of 2024, as Unix time in milliseconds. No computer ran this program before, so a wall clock that shows
/// less has not been set.
const SET_MS: i64 = 1_704_067_200_000;
/// How many of the last notes count: what came after them stays. There is one for each hour in which the journal took
/// anything, so they reach back over more than an evening.
const LAST_HOURS: u64 = 24;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS ages (
    id INTEGER PRIMARY KEY,
    n INTEGER NOT NULL,
    command INTEGER NOT NULL,
    passed_ms INTEGER NOT NULL
)";

/// Drops acknowledged events that were there at a note and are not of the last game of their board.
const DROP: &str = "
WITH last AS MATERIALIZED (
    SELECT board, (SELECT game FROM events WHERE board = snapshots.board AND game IS NOT NULL
                   ORDER BY seq DESC LIMIT 1) AS game
    FROM snapshots
)
DELETE FROM events WHERE acked = 1 AND n <= ?1
AND NOT EXISTS (SELECT 1 FROM last WHERE last.board = events.board AND last.game = events.game)";

/// The time that has passed for the journal, in milliseconds.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Passed {
    /// Since the first hour of the journal.
    ms: i64,
    /// What a wall clock that goes steadily shows at this time.
    wall_ms: i64,
}

/// The hours of a run of the daemon.
#[derive(Debug)]
pub(super) struct Hours {
    since: Instant,
    /// What the wall clock showed at the beginning of this hour.
    wall_ms: i64,
    /// True once the pause before this run was counted.
    has_paused: bool,
}

impl Hours {
    pub(super) fn begin(wall_ms: i64) -> Self {
        Self {
            since: Instant::now(),
            wall_ms,
            has_paused: false,
        }
    }

    /// How long the hour took, once it is over.
    pub(super) fn over(&self) -> Option<Duration> {
        let ran = self.since.elapsed();
        (ran >= HOUR).then_some(ran)
    }

    fn is_steady(&self, ran_ms: i64, wall_ms: i64) -> bool {
        let went = wall_ms.saturating_sub(self.wall_ms);
        wall_ms >= SET_MS && went.abs_diff(ran_ms) < DRIFT_MS
    }
}

impl Passed {
    /// Counts an hour that is over.
    fn add(&mut self, hours: &mut Hours, ran: Duration, wall_ms: i64) {
        let ran_ms = i64::try_from(ran.as_millis()).unwrap_or(i64::MAX);
        self.ms = self.ms.saturating_add(ran_ms);
        self.wall_ms = self.wall_ms.saturating_add(ran_ms);
        if hours.is_steady(ran_ms, wall_ms) {
            if !hours.has_paused && self.wall_ms >= SET_MS {
                let pause = wall_ms.saturating_sub(self.wall_ms).max(0);
                self.ms = self.ms.saturating_add(pause);
            }
            hours.has_paused = true;
            self.wall_ms = wall_ms;
        }
        hours.since = Instant::now();
        hours.wall_ms = wall_ms;
    }
}

impl Store {
    /// Makes the table of notes. Files of older programs do not have it.
    pub(super) fn prepare_ages(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(TABLE)
    }

    /// Notes that an hour is over, and drops what has become too old. Returns how many events went.
    pub(super) fn note_hour(
        &mut self,
        hours: &mut Hours,
        ran: Duration,
        wall_ms: i64,
        max_age: Duration,
    ) -> rusqlite::Result<u64> {
        let mut passed = self.passed()?;
        passed.add(hours, ran, wall_ms);
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('passed', ?1)",
            [serde_json::to_string(&passed).unwrap_or_default()],
        )?;
        transaction.execute(
            "INSERT INTO ages (n, command, passed_ms)
             SELECT newest.n, newest.command, ?1
             FROM (SELECT (SELECT coalesce(max(n), 0) FROM events) AS n,
                          (SELECT coalesce(max(n), 0) FROM commands) AS command) AS newest
             WHERE NOT EXISTS
             (SELECT 1 FROM ages WHERE ages.n >= newest.n AND ages.command >= newest.command)",
            [passed.ms],
        )?;
        transaction.commit()?;
        let age_ms = i64::try_from(max_age.as_millis()).unwrap_or(i64::MAX);
        self.drop_before(passed.ms.saturating_sub(age_ms))
    }

    fn passed(&self) -> rusqlite::Result<Passed> {
        let json: Option<String> = self
            .connection
            .query_row("SELECT value FROM meta WHERE key = 'passed'", [], |row| {
                row.get(0)
            })
            .optional()?;
        Ok(json
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default())
    }

    /// Drops the events that were there when `passed_ms` had passed, except those that stay.
    fn drop_before(&mut self, passed_ms: i64) -> rusqlite::Result<u64> {
        let note: Option<(i64, i64, i64)> = self
            .connection
            .query_row(
                "SELECT id, n, command FROM ages
                 WHERE passed_ms <= ?1 AND id <= (SELECT max(id) FROM ages) - ?2 ORDER BY id DESC LIMIT 1",
                params![passed_ms, LAST_HOURS],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()?;
        let Some((id, n, command)) = note else {
            return Ok(0);
        };
        let gone = self.connection.execute(DROP, [n])?;
        self.connection
            .execute("DELETE FROM commands WHERE n <= ?1", [command])?;
        self.connection.execute("DELETE FROM ages WHERE id < ?1", [id])?;
        Ok(gone as u64)
    }

    /// Drops acknowledged events (and commands) beyond what the journal may take. Returns how many events went.
    pub(super) fn prune(&mut self, settings: &JournalSettings) -> rusqlite::Result<u64> {
        self.prune_commands(settings.max_bytes)?;
        let mut dropped = 0;
        while self.bytes()? > settings.max_bytes {
            let mut gone = self.drop_commanded(settings.max_bytes)?;
            if gone == 0 {
                gone = self.connection.execute(
                    "DELETE FROM events WHERE n IN (SELECT n FROM events WHERE acked = 1 ORDER BY n LIMIT 100)",
                    [],
                )?;
            }
            if gone == 0 {
                break;
            }
            dropped += gone as u64;
        }
        Ok(dropped)
    }

    /// Gives the space of dropped events back to the file system, one page at each step.
    pub(super) fn give_back(&mut self) -> rusqlite::Result<()> {
        let mut vacuum = self.connection.prepare_cached("PRAGMA incremental_vacuum")?;
        let mut pages = vacuum.query([])?;
        while pages.next()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use super::*;
    use crate::journal::{
        batch::{Batch, NewCommand, NewRow},
        entry::{CommandRecord, OutboxRow},
    };

    const HOUR_MS: i64 = 3_600_000;
    const DAY_MS: i64 = 24 * HOUR_MS;
    /// 2026-01-01.
    const NOW: i64 = 1_767_225_600_000;
    const MAX_AGE: Duration = Duration::from_secs(10 * 24 * 3600);

    /// A journal with its wall clock and the number of events that it took.
    struct Hall {
        store: Store,
        hours: Hours,
        wall_ms: i64,
        n: u64,
        folder: tempfile::TempDir,
    }

    impl Hall {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut store = Store::open(&folder.path().join("j.sqlite")).unwrap();
            store.configure().unwrap();
            store.create_tables("gw").unwrap();
            store.prepare_ages().unwrap();
            Self {
                store,
                hours: Hours::begin(NOW),
                wall_ms: NOW,
                n: 0,
                folder,
            }
        }

        /// Ends the daemon and starts it again when the wall clock shows `later_ms` more.
        fn restart(&mut self, later_ms: i64) {
            self.store = Store::open(&self.folder.path().join("j.sqlite")).unwrap();
            self.store.prepare_ages().unwrap();
            self.wall_ms += later_ms;
            self.hours = Hours::begin(self.wall_ms);
        }

        /// Takes an acknowledged event of a game, and a command.
        fn take(&mut self, game: u32) {
            self.n += 1;
            let record = CommandRecord {
                reference: None,
                verb: "ping".to_owned(),
                payload: String::new(),
                reply: String::new(),
            };
            let row = OutboxRow {
                n: self.n,
                board: "7".to_owned(),
                seq: self.n,
                kind: "move".to_owned(),
                json: "{}".into(),
                unsecured: None,
            };
            let batch = Batch {
                rows: vec![NewRow {
                    row,
                    id: format!("gw/7/{}", self.n),
                    game: Some(game),
                    created_ms: self.wall_ms,
                }],
                snapshots: [("7".to_owned(), (self.n, None))].into(),
                commands: vec![NewCommand {
                    n: self.n,
                    board: "7".to_owned(),
                    record,
                    received_ms: self.wall_ms,
                }],
                acked: [self.n].into(),
                ..Batch::default()
            };
            self.store.write(&batch, self.wall_ms).unwrap();
        }

        /// Lets an hour pass in which the wall clock goes on by `went_ms`; returns how many events went.
        fn hour(&mut self, went_ms: i64) -> u64 {
            self.wall_ms += went_ms;
            self.store
                .note_hour(&mut self.hours, HOUR, self.wall_ms, MAX_AGE)
                .unwrap()
        }

        fn hours(&mut self, count: i64) -> u64 {
            (0..count).map(|_| self.hour(HOUR_MS)).sum()
        }

        /// Takes an event an hour, each of a game of its own.
        fn evening(&mut self, games: std::ops::Range<u32>) {
            for game in games {
                self.take(game);
                self.hours(1);
            }
        }

        fn passed_hours(&self) -> i64 {
            self.store.passed().unwrap().ms / HOUR_MS
        }

        fn kept(&self, table: &str) -> Vec<u64> {
            let sql = format!("SELECT n FROM {table} ORDER BY n");
            let mut statement = self.store.connection.prepare(&sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        }
    }

    fn all(numbers: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        numbers.collect()
    }

    #[test]
    fn what_is_older_than_it_may_be_goes() {
        let mut hall = Hall::new();
        hall.evening(0..30);
        hall.hours(9 * 24);
        hall.evening(30..60);
        assert_eq!(hall.kept("events"), all(31..=60));
        assert_eq!(hall.kept("commands"), all(31..=60));
        assert_eq!(hall.kept("ages").len(), 31, "notes do not pile up");
    }

    #[test]
    fn a_pause_counts_as_the_wall_clock_has_it() {
        let mut hall = Hall::new();
        hall.evening(0..30);
        hall.restart(20 * DAY_MS);
        hall.evening(30..60);
        assert_eq!(hall.kept("events"), all(31..=60));
    }

    #[test]
    fn a_wall_clock_that_jumps_while_it_runs_counts_for_nothing() {
        for jump in [100 * DAY_MS, 36_500 * DAY_MS, -700 * DAY_MS, -21_000 * DAY_MS] {
            let mut hall = Hall::new();
            hall.evening(0..30);
            hall.hour(HOUR_MS + jump);
            hall.evening(30..60);
            hall.hour(HOUR_MS - jump);
            hall.evening(60..90);
            assert_eq!(hall.passed_hours(), 92, "{jump}");
            assert_eq!(hall.kept("events"), all(1..=90), "{jump}");
        }
    }

    #[test]
    fn a_clock_that_is_set_soon_after_the_start_tells_the_pause_then() {
        let decades = 18_000 * DAY_MS;
        let mut hall = Hall::new();
        hall.evening(0..30);
        hall.restart(-decades);
        hall.hour(decades + DAY_MS + HOUR_MS);
        hall.hours(2);
        assert_eq!(hall.passed_hours(), 30 + 24 + 3);
        // The wall clock is wrong for less than an hour when the run ends.
        hall.hour(HOUR_MS - 700 * DAY_MS);
        hall.restart(700 * DAY_MS);
        hall.hours(1);
        assert_eq!(hall.passed_hours(), 30 + 24 + 5);
    }

    #[test]
    fn the_last_evening_and_the_last_game_stay_whatever_the_wall_clock_says() {
        let mut hall = Hall::new();
        hall.evening(0..30);
        // One game goes on and on.
        hall.evening(30..31);
        for _ in 0..20 {
            hall.evening(31..32);
        }
        hall.restart(36_500 * DAY_MS);
        hall.hours(48);
        assert_eq!(
            hall.kept("events"),
            all(28..=51),
            "24 hours in which anything was"
        );
        for _ in 0..30 {
            hall.evening(31..32);
        }
        assert_eq!(hall.kept("events"), all(32..=81), "the game that runs");
    }
}

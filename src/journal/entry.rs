//! The types that go into the journal and come out of it.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::bytes::Bytes;

use crate::event::Event;

/// Where the journal lies and how much it may keep.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// The SQLite file.
    pub path: PathBuf,
    /// Acknowledged events are dropped, oldest first, when the file's content exceeds this (bytes).
    pub max_bytes: u64,
    /// Acknowledged events older than this are dropped.
    pub max_age: Duration,
    /// How many events may wait in memory while the disk refuses.
    pub max_in_memory: usize,
}

impl JournalSettings {
    /// 256 MiB, a year, and 10,000 events in memory.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            max_bytes: 256 << 20,
            max_age: Duration::from_secs(365 * 24 * 3600),
            max_in_memory: 10_000,
        }
    }
}

/// What one board has to write at once: the journal takes all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The board's id.
    pub board: String,
    /// Its new events, `seq` going on from the last.
    pub events: Vec<Event>,
    /// The watcher's snapshot after them, as JSON.
    pub snapshot: Option<String>,
    /// The command that led to them.
    pub command: Option<CommandRecord>,
}

/// A command as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// The caller's reference, as JSON text; none when he gave none.
    pub reference: Option<String>,
    /// The verb.
    pub verb: String,
    /// The payload as it came, without the reference.
    pub payload: String,
    /// The answer, as JSON.
    pub reply: String,
}

/// An event that waits for its acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Position in the journal: the order in which events are to be sent.
    pub n: u64,
    /// The board's id.
    pub board: String,
    /// The event's number on its board.
    pub seq: u64,
    /// `type` of the event.
    pub kind: String,
    /// The event itself, as JSON.
    pub json: Bytes,
    /// How the numbers of its board left their range, where no disk holds anything that keeps this one from being given out again;
    /// none where a disk does.
    pub unsecured: Option<Shifts>,
}

/// How the numbers of a board left their range, because no disk secured them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shifts {
    /// What tells the journal from any other, and the time since its numbers were compared from any other: two where the disk may have
    /// either.
    pub eras: Vec<String>,
    /// The oldest first.
    pub shifts: Vec<Shift>,
}

impl Shifts {
    /// How many are kept, the first among them: so many processes have had no disk.
    pub(crate) const MOST: usize = 16;
}

/// A change of numbers: those above `floor` became those above `base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// The last number that stays.
    pub floor: u64,
    /// The last number that is left out.
    pub base: u64,
    /// The last number with which an event may have been sent before.
    pub sent: u64,
    /// The last number that the disk had of the board. Up to it the disk has events under the numbers of before.
    pub stored: u64,
}

/// What a broker knows of the numbers of a board, and of its last game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNumbers {
    /// The last number in the states that the broker retains of the board; 0 when there is none.
    pub last: u64,
    /// The ceiling at the broker: no higher number was sent while no disk could be written. 0 when there is none.
    pub ceiling: u64,
    /// How the numbers left their range while no disk secured them; none where one did.
    pub left: Option<Shifts>,
    /// The number of the last game in the states of the board; 0 before the first.
    pub game: u32,
    /// That game, as its board published it; none before the first.
    pub shown: Option<serde_json::Value>,
    /// True of a board that is configured.
    pub is_ours: bool,
}

/// Where a board's numbering and its watcher go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The last `seq` given out; 0 when none was.
    pub last_seq: u64,
    /// The last snapshot, as JSON.
    pub snapshot: Option<String>,
    /// What befell its numbers, or the journal, and what the board has not told: it tells that before anything else.
    pub untold: Vec<Notice>,
    /// The machine was started since a daemon had the journal, or nobody knows: its ports may have other names now.
    pub is_after_start: bool,
}

/// Where accepted events are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// On the disk.
    Disk,
    /// In memory, because the disk refuses.
    Memory,
}

/// Figures for the health report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JournalStats {
    /// Events without acknowledgement.
    pub depth: u64,
    /// Unix time in milliseconds at which the oldest of them was taken.
    pub oldest_ms: Option<i64>,
    /// How long it waits, whatever the wall clock says.
    #[serde(skip)]
    pub oldest_age: Option<Duration>,
    /// Bytes the journal's content takes.
    pub bytes: u64,
    /// Events in memory only, because the disk refuses.
    pub in_memory: u64,
    /// Acknowledged events dropped for age or size since the start.
    pub pruned: u64,
    /// Events refused since the start because memory was full as well.
    pub refused: u64,
}

/// Something an operator should know about the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notice {
    /// Stable code: one of [`crate::event::notice`].
    pub code: &'static str,
    /// What happened and what to do.
    pub message: String,
    /// The board it concerns; all boards when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
}

impl Notice {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            board: None,
        }
    }
}

/// Why the journal did not take an entry. It kept nothing of the entry, except the snapshot for [`Self::MemoryFull`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum AppendError {
    /// Its numbers do not go on from the last one: a repeated or a missing event.
    #[error("board {board}: event {got} does not follow {last}")]
    OutOfSequence { board: String, last: u64, got: u64 },
    /// An event of another board.
    #[error("event {id} does not belong to board {board}")]
    OtherBoard { board: String, id: String },
    /// The disk refuses, and so many events wait in memory that these are lost. Their numbers are used up and the
    /// journal keeps the snapshot, so that the board can go on.
    #[error("the disk refuses and {0} events wait in memory: no more can")]
    MemoryFull(usize),
    /// An event that cannot be written as JSON.
    #[error("cannot write event {id} as JSON: {reason}")]
    Unwritable { id: String, reason: String },
    /// The journal's thread is gone.
    #[error("the journal is closed")]
    Closed,
}

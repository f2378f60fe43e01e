//! The journal: every event on disk before the broker gets it, and the state to resume from.
//!
//! One SQLite file in WAL mode with `synchronous=FULL`, one thread that owns it, one bounded
//! channel to that thread. What arrives while the disk is busy goes down in one transaction, so a
//! hundred boards cost hardly more than one. The journal knows nothing of MQTT: it keeps an outbox
//! of events that nobody has acknowledged yet, and forgets by age and size only what was
//! acknowledged.
//!
//! When the disk refuses (full, failing), accepted events wait in memory, bounded, and go down in
//! order as soon as there is room; `writer/leave.rs` says how their numbers stay unique even if the
//! process dies before that.
#![allow(clippy::disallowed_methods)] // a thread of its own, and rows carry the wall clock.

mod age;
pub mod alerted;
pub mod backup;
mod batch;
mod budget;
pub mod commands;
mod copied;
mod entry;
mod error;
mod handle;
mod jump;
mod lock;
mod machine;
mod numbers;
mod open;
mod place;
pub mod query;
mod request;
mod runs;
mod salvage;
mod store;
mod taken;
mod writer;

pub use entry::{
    AppendError, CommandRecord, Entry, JournalSettings, JournalStats, KnownNumbers, Notice, OutboxRow,
    Resume, Shift, Shifts, Written,
};
pub use error::JournalError;
pub use handle::{Committed, Journal};
pub(crate) use lock::process_in;
pub(crate) use machine::run_of_machine;
pub use place::captures;
pub(crate) use place::former;
pub use runs::LastRun;
pub(crate) use taken::Taken;

/// Unix time in milliseconds.
pub(crate) fn wall_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

//! The daemon: a task for each board, the journal, the broker, and the system's service manager.
//!
//! All tasks run on one thread, except for the journal's writing. Every task has an owner, and every stop has a bound.
//! A board whose task fails starts again from its last snapshot, and the others do not notice.
#![allow(clippy::disallowed_methods)] // the daemon is where the wall clock and the tasks are.

mod alerts;
mod announce;
mod board;
mod caster;
mod clock;
mod clocks;
mod commands;
mod daemon;
mod desk;
mod discovery;
mod disk;
mod error;
mod hardware;
mod health;
mod heartbeat;
mod history;
mod lines;
mod losses;
mod mates;
mod metrics;
mod needs;
mod ports;
mod presence;
mod quota;
mod serials;
mod standing;
mod tape;
mod timed;
mod told;
mod trouble;

pub use daemon::{Controls, LogSwitch, run, run_changing};
pub use error::GatewayError;
pub use health::{GatewayInfo, Health};

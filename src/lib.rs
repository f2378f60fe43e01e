//! Watches electronic chess boards and their clocks, works out the moves, and says what the
//! Laws of Chess call an irregularity.
//!
//! The rooms from [`dgt`] to [`watcher`] are pure: bytes and time in, events out. They do no
//! I/O, ask no clock and know nothing of tokio, so that a five-hour game is a test of
//! milliseconds and `replay` and `run` are the same code. See `ARCHITECTURE.md`.
#![forbid(unsafe_code)]

pub mod board;
pub mod capture;
pub mod dgt;
pub mod event;
pub mod families;
pub mod game;
pub mod laws;
pub mod mate;
pub mod sim;
pub mod terms;
pub mod time;
pub mod watcher;

#[cfg(feature = "daemon")]
pub mod alert;
#[cfg(feature = "daemon")]
pub mod broadcast;
#[cfg(feature = "daemon")]
pub mod cli;
#[cfg(feature = "daemon")]
pub mod config;
#[cfg(feature = "daemon")]
pub mod dashboard;
#[cfg(feature = "daemon")]
mod descriptors;
#[cfg(feature = "daemon")]
mod door;
#[cfg(feature = "daemon")]
mod files;
#[cfg(feature = "daemon")]
pub mod gateway;
#[cfg(feature = "daemon")]
pub mod journal;
#[cfg(feature = "daemon")]
pub mod link;
#[cfg(feature = "daemon")]
pub mod mqtt;
#[cfg(feature = "daemon")]
mod notify;
#[cfg(feature = "daemon")]
mod outgoing;
#[cfg(feature = "daemon")]
mod throttle;
#[cfg(feature = "daemon")]
mod tls;
#[cfg(feature = "daemon")]
pub mod tournament;

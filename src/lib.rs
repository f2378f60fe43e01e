//! Watches electronic chess boards and their clocks, works out the moves, and says what the
//! Laws of Chess call an irregularity.
//!
//! The rooms from [`dgt`] to [`watcher`] are pure: bytes and time in, events out. They do no
//! I/O, ask no clock and know nothing of tokio, so that a five-hour game is a test of
//! milliseconds and `replay` and `run` are the same code. See `ARCHITECTURE.md`.
#![forbid(unsafe_code)]

pub mod alert;
pub mod board;
pub mod broadcast;
pub mod capture;
pub mod cli;
pub mod config;
pub mod dashboard;
mod descriptors;
pub mod dgt;
mod door;
pub mod event;
pub mod families;
pub mod game;
pub mod gateway;
pub mod journal;
pub mod laws;
pub mod link;
pub mod mate;
pub mod mqtt;
mod notify;
mod outgoing;
pub mod sim;
mod throttle;
pub mod time;
pub mod watcher;

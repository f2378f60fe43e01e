//! Watches electronic chess boards and their clocks, works out the moves, and says what the
//! Laws of Chess call an irregularity.
//!
//! A [`Watcher`](watcher::Watcher) is told the bytes that a board sent, with the times at which they were read, and gives events. It opens
//! nothing, starts nothing and asks no clock, so that a game of five hours is a test of some milliseconds, and a recording of a board tells
//! the same as the board itself:
//!
//! ```
//! use dgt2mqtt::{
//!     capture::{Capture, replay::replay},
//!     event::{Body, Event},
//!     laws::IrregularityKind,
//!     watcher::{Rules, Settings, Watcher},
//! };
//!
//! let recorded = std::fs::read("fixtures/illegal-stands-rapid.dgtcap")?;
//! let capture = Capture::parse(&recorded)?;
//! let settings = Settings {
//!     rules: Rules {
//!         time_control: capture.header.time_control().unwrap_or_default(),
//!         ..Rules::default()
//!     },
//!     ..Settings::default()
//! };
//! let mut found = Vec::new();
//! replay(&mut Watcher::new(settings, None), &capture, |event: Event| {
//!     println!("{}", serde_json::to_string(&event)?);
//!     if let Body::Irregularity(irregularity) = event.body {
//!         found.push(irregularity.kind);
//!     }
//!     Ok::<(), serde_json::Error>(())
//! })?;
//! assert_eq!(found, [IrregularityKind::IllegalMove]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! At a live board the program makes the same calls as [`replay`](capture::replay::replay): `handle_bytes` with what was read,
//! `handle_timeout` when `poll_timeout` is due, and after each of them it sends what `poll_transmit` gives and tells what `poll_event` gives.
//!
//! # Features
//!
//! * `daemon` (on by default): the program, and all that does I/O: ports, journal, broker, the arbiter's page. Without it
//!   (`default-features = false`) the crate is the pure core of [`watcher`] and what that is made of, and has no dependency that does I/O.
//! * `demo` (on by default, brings `daemon`): the broker that `dgt2mqtt demo` carries within itself.
//!
//! # What stays
//!
//! Events keep their schema within a major version ([`event::SCHEMA_VERSION`]), captures their format (its number is in their first line),
//! and a watcher takes up the snapshots of older versions. The interface in Rust is that of a program's library: of [`capture`], [`event`],
//! [`laws`], [`mate`], [`time`] and [`watcher`] no version 0.x.y takes something away that an earlier one with the same x had. What else is public is so
//! for the program's own tests, examples and benchmarks, and may change at any time. `ARCHITECTURE.md` shows how it is built.
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
mod alert;
#[cfg(feature = "daemon")]
mod archive;
#[cfg(feature = "daemon")]
pub mod broadcast;
#[cfg(feature = "daemon")]
pub mod cli;
#[cfg(feature = "daemon")]
pub mod config;
#[cfg(feature = "daemon")]
mod dashboard;
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
mod neighbours;
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
#[cfg(feature = "daemon")]
mod zone;

//! Games for the public: the folder of PGN files that broadcasting tools know, with pairings and delay.
//!
//! The core is pure: events and a time in, contents of files out ([`Round`]). Around it [`Writer`] puts
//! them on the disk, [`follow`] brings it the events of a journal, and [`push`] sends the games to lichess.
#![allow(clippy::disallowed_methods)] // the writer runs on the wall clock and has the disk wait elsewhere.

pub mod folder;
pub mod lichess;
pub mod pairings;
pub mod record;
pub mod round;
pub mod tail;
pub mod writer;

pub use folder::{Folder, FolderError};
pub use lichess::push;
pub use pairings::{Pairing, Pairings, PairingsError, Player};
pub use record::{Delay, Record, Shown};
pub use round::{Files, Round, Tournament};
pub use tail::follow;
pub use writer::{Told, Writer};

//! Games for the public: the folder of PGN files that broadcasting tools know, with pairings and delay.
//!
//! The core is pure: events and a time in, contents of files out ([`Round`]). [`Folder`] puts them on
//! the disk.

pub mod folder;
pub mod pairings;
pub mod record;
pub mod round;

pub use folder::{Folder, FolderError};
pub use pairings::{Pairing, Pairings, PairingsError, Player};
pub use record::{Delay, Record, Shown};
pub use round::{Files, Round, Tournament};

//! Games for the public: the folder of PGN files that broadcasting tools know, with pairings and delay.
//!
//! The core is pure: events, readings of clocks and a time in, contents of files out ([`Round`]). Around it, [`follow`]
//! brings the events of a journal, `Writer` puts the files on the disk, `public` shows them in browsers, and [`push`] sends the games to
//! lichess. [`broadcast`] makes all of these work together.
#![allow(clippy::disallowed_methods)] // the writer runs on the wall clock and has the disk wait elsewhere.

mod by_hand;
pub mod clocks;
pub mod folder;
mod index;
mod kept;
pub mod lichess;
mod lock;
mod mark;
mod needs;
mod note;
mod open;
mod past;
mod patient;
mod public;
pub mod record;
mod renumbered;
pub mod round;
mod rounds;
mod run;
mod runs;
mod steady;
pub mod tail;
mod teams;
mod writer;

pub use clocks::{LatestClocks, TimedClock};
pub use folder::{Folder, FolderError};
pub use kept::has_games;
pub use lichess::{Pacer, Pacers, Pushed, PushedGame, push};
pub(crate) use needs::descriptors;
pub use note::{began_ms, noted};
pub use record::{PublicRecord, ShownGame};
pub use round::{Files, Published, Round};
pub use run::broadcast;
pub use runs::{GameDate, HeardAt};
pub use tail::follow;
pub use writer::Bundle;

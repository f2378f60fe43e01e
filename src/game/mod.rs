//! The record of a game, as programs of others read it. Nothing in here knows of sensors.

pub mod periods;
pub mod pgn;

pub use periods::Period;
pub use pgn::{Pgn, PgnMove, PgnStart};

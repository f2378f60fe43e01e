//! The record of a game as others read it. Knows no sensors.

pub mod periods;
pub mod pgn;

pub use periods::Period;
pub use pgn::{Pgn, PgnMove, PgnStart};

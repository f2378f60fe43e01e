//! The record of a game as others read it. Knows no sensors.

pub mod pgn;

pub use pgn::{Pgn, PgnMove};

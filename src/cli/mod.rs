//! The commands of the program.

pub mod mate;
pub mod rule;

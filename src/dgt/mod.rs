//! The wire: frames, messages and commands of an electronic board and its clock, and the state
//! machine that keeps a board talking. Knows no chess rules, no time source, no tokio.

pub mod clock;
pub mod command;
pub mod message;

pub use clock::{ClockReading, ClockTime, Lever};
pub use command::Command;
pub use message::{Message, PieceCode};

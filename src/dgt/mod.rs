//! The wire: frames, messages and commands of an electronic board and its clock, and the state machine that
//! keeps a board talking. This room knows no chess rules, no time source and no tokio.
//!
//! From board to host, [`Decoder`] turns bytes into [`Message`]s, and [`Message::encode`] is its mirror for a
//! simulated board. From host to board, [`Command::bytes`] makes bytes, and [`HostDecoder`] is its mirror.
//! [`Session`] decides which command to send and when. [`bus`] is another dialect with its own codec, because
//! ids mean other things there.

pub mod ack;
mod anonymous;
mod battery;
pub mod bus;
pub mod clock;
pub mod clock_command;
pub mod command;
mod command_bytes;
pub mod decoder;
pub mod encode;
pub mod eventlog;
mod framing;
pub mod host;
pub mod identity;
pub mod line;
pub mod message;
pub mod session;

pub use ack::{AckMeaning, ClockAck};
pub use anonymous::Mask;
pub use clock::{ClockReading, ClockSide, ClockTime, Lever};
pub use clock_command::ClockCommand;
pub use command::Command;
pub use command_bytes::CommandBytes;
pub use decoder::Decoder;
pub use framing::Stats;
pub use host::{HostDecoder, HostWord};
pub use identity::Identity;
pub use message::{Battery, Message, PieceCode, Squares};
pub use session::{Session, SessionState, Wish};

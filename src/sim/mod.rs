//! A simulated board, its clock and the hands at them: for the demo, for load tests, and for people
//! without hardware. It marks itself as simulated and never sends another's identification. What opens ports or asks a
//! clock is the daemon's.

pub mod board;
pub mod clock;
pub mod games;
pub mod gathered;
pub mod hands;
pub mod line;
pub mod mess;
mod other;
pub mod player;
#[cfg(feature = "daemon")]
pub mod port;
#[cfg(feature = "daemon")]
pub mod pty;
pub mod rehearsal;
pub mod sensors;
#[cfg(feature = "daemon")]
pub mod serve;
pub mod slave;
pub mod story;
pub mod whole;

//! A simulated board, its clock and the hands at them: for the demo, for load tests, and for people
//! without hardware. It marks itself as simulated and never sends another's identification.
#![allow(clippy::disallowed_methods)] // pty and serve run on the wall clock; the rest is pure.

pub mod board;
pub mod clock;
pub mod games;
pub mod gathered;
pub mod hands;
pub mod line;
pub mod mess;
mod other;
pub mod player;
pub mod port;
pub mod pty;
pub mod sensors;
pub mod serve;
pub mod slave;
pub mod story;
pub mod whole;

//! Hands, boards, clocks, cables and lines, and watchers that rehearse with them: for the demo, for load
//! tests, for the project's own tests, and for people without hardware. A [`script`] or a game is played at a
//! [`tabletop`]. A [`mess`] is made up as a whole, because its hands overlap in time. Both use one [`hand`].
//! A [`player`] is the board at the other end of a wire.
//!
//! A simulated board says that it is simulated, and never sends the identification of a maker. The modules
//! that open ports or ask the time of day need the feature `daemon`.

pub mod board;
pub mod clock;
pub mod games;
pub mod gathered;
pub mod hand;
pub mod line;
pub mod mess;
mod other;
pub mod player;
#[cfg(feature = "daemon")]
pub mod port;
#[cfg(feature = "daemon")]
pub mod pty;
pub mod rehearsal;
pub mod script;
pub mod sensors;
#[cfg(feature = "daemon")]
pub mod serve;
pub mod shown;
pub mod slave;
pub mod story;
pub mod tabletop;
pub mod whole;

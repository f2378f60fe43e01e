//! Games as people play them: hands that slip, sensors that fail, offences. A seed makes up each game
//! together with the truth, so that what a watcher makes of the game can be judged. A *fair question* asks
//! only what board and clock can tell; a game does nothing that would ask another.
//!
//! A [`game`] decides which piece stands where, and when, and when the clock is touched. The `stage` turns
//! that into what a board would have told. [`truth`] is what should come out.

mod arbiter;
mod broken;
mod director;
mod fallen;
pub mod fault;
pub mod game;
mod offence;
mod outage;
mod playout;
mod silent;
mod stage;
mod tempo;
#[cfg(test)]
mod tests;
mod timeline;
mod trouble;
pub mod truth;
mod turns;

pub use fault::{Fault, FaultError, FaultRates};
pub use game::{SimulatedGame, play};
pub use truth::{HalfMove, Knowable, Offence, Truth};

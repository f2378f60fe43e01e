//! Games as people play them: hands that slip, sensors that fail, offences. Made up from a seed, together with
//! the truth, so that what a watcher makes of them can be judged.
//!
//! A [`game`] fixes when which piece stands where and when the clock is touched; the `stage` turns that into what a
//! board would have told; [`truth`] is what should come out.

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

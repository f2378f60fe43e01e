//! The readings of the sensors and the hypotheses that explain them: the placement on the board, which way
//! round the board lies, the presses of the clock, and the lines of play that account for all of it.
//!
//! This room knows no bytes and no MQTT. Time is an argument.

pub mod act;
mod agree;
mod astray;
pub mod bill;
pub mod bridge;
pub mod candidate;
pub mod chips;
mod evidence;
pub mod fall;
pub mod faults;
mod history;
pub mod kept;
pub mod lever;
pub mod line;
pub mod lines;
mod occupancy;
pub mod orientation;
pub mod placement;
pub mod ply;
mod presses;
mod put_back;
pub mod row;
pub mod sensed;
mod sleeve;
pub mod stand;
mod suspect;
pub mod weight;
mod wrong_since;

pub use act::{Explanation, IllegalAct, explain};
pub use bill::{Bill, Item};
pub use fall::Fall;
pub use faults::Faults;
pub use lever::{ClockSignal, LeverWatch};
pub use line::Line;
pub use lines::{KeptLines, Lines};
pub use orientation::Orientation;
pub use placement::{Code, Placement};
pub use ply::{Ply, PlyKind};
pub use sensed::Sensed;
pub use stand::Stand;
pub use suspect::stands_back;

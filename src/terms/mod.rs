//! The terms of the Laws that several rooms share: players, irregularities, penalties. Values alone: [`laws`](crate::laws) rules on
//! them, [`event`](crate::event) tells them, and [`board`](crate::board) finds them.

mod irregularity;
mod penalty;
mod reason;
mod side;

pub use irregularity::IrregularityKind;
pub use penalty::{Penalty, PenaltyKind, PositionRuling};
pub use reason::IllegalReason;
pub use side::Side;

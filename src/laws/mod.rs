//! What the Laws of Chess say of a case: a pure function from facts to a ruling.

pub mod case;
pub mod ruling;

pub use case::{Edition, IrregularityKind, Side, Supervision, TimeControl};
pub use ruling::{Penalty, PenaltyKind, PositionRuling, Ruling};

//! What the Laws of Chess say of a case: a pure function from facts to a ruling.
//!
//! [`edition`] holds the Laws as tables, and [`decide()`] reads them. Nothing in here knows of sensors, and nothing in
//! here decides a game: a ruling is advice to an arbiter.

pub mod case;
pub mod clock_proposal;
pub mod decide;
pub mod edition;
pub mod facts;
pub mod offence;
pub mod options;
pub mod parse;
pub mod provision;
pub mod ruling;
pub mod words;

pub use case::{Case, Edition, Supervision, TimeControl};
pub use decide::decide;
pub use facts::{Facts, FirstFlag, MovesCompleted, Observed, RaisedBy, ResponseTo};
pub use options::Options;
pub use parse::CaseError;
pub use ruling::Ruling;
pub use words::{Occurrence, SparePart, spare, spare_of_amendment, words};

pub use crate::terms::{IllegalReason, IrregularityKind, Penalty, PenaltyKind, PositionRuling, Side};

#[cfg(test)]
mod tests;

//! What really happened.

use crate::{
    event::GameResult,
    laws::{IrregularityKind, Side},
};

/// A half-move as it was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfMove {
    /// UCI, as in the events.
    pub uci: String,
    /// The position after it: the placement field of a FEN.
    pub placement: String,
    /// When it was completed, in milliseconds.
    pub at: u64,
    /// Several lines of play lead to what is known (a gap in the record): another order is as good.
    pub open: bool,
}

/// Something that an arbiter should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offence {
    /// Any of these says it.
    pub kinds: Vec<IrregularityKind>,
    /// Who did it.
    pub offender: Option<Side>,
    /// The half-move it concerns, as in the events.
    pub ply: usize,
    /// When, in milliseconds.
    pub at: u64,
}

/// A game as it was played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// What stood there at the start: the placement field of a FEN.
    pub start: String,
    /// Those that were not taken back.
    pub moves: Vec<HalfMove>,
    /// In order of time.
    pub offences: Vec<Offence>,
    /// When the board, the position or the kings showed one.
    pub result: Option<GameResult>,
}

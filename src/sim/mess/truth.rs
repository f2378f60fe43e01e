//! What really happened.

use crate::{
    event::GameResult,
    laws::{IrregularityKind, Side},
};

/// What can be known of a half-move from what board and clock tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowable {
    /// All of it.
    #[default]
    Fully,
    /// All of it but the order. It was made in a gap, and several orders of play lead to the same position.
    InAnyOrder,
    /// Which piece left its square. It went to a square that reads nothing, and nothing later proves which.
    Origin,
    /// Where a piece arrived. It came from a square that reads nothing, and nothing proves which.
    Goal,
    /// Nothing. It was made in a gap of which no log tells.
    Nothing,
}

/// A half-move as it was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfMove {
    /// UCI, as in the events.
    pub uci: String,
    /// The position after it: the placement field of a FEN.
    pub placement: String,
    /// When it was completed, in milliseconds.
    pub at: u64,
    /// What can be known of it, and so may be asked.
    pub known: Knowable,
}

/// An offence of which an arbiter should hear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offence {
    /// The kinds of irregularity that report it: any of them is right.
    pub kinds: Vec<IrregularityKind>,
    /// The offender, if there is one.
    pub offender: Option<Side>,
    /// The half-move that it concerns, as in the events.
    pub ply: usize,
    /// When, in milliseconds.
    pub at: u64,
    /// In which of several ways it happened. Empty if there is only one.
    pub how: &'static str,
}

/// A game as it was played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// The position at the start: the placement field of a FEN.
    pub start: String,
    /// The half-moves that were not taken back.
    pub moves: Vec<HalfMove>,
    /// The offences, in order of time.
    pub offences: Vec<Offence>,
    /// The result, if the position or the kings showed one.
    pub result: Option<GameResult>,
    /// A piece was not read. Nobody could know all half-moves, so only this is asked: nobody is accused.
    pub calm: bool,
    /// Irregularities that may be reported nevertheless, if they are withdrawn when play goes on.
    pub may: Vec<IrregularityKind>,
}

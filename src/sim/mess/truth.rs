//! What really happened.

use crate::{
    event::GameResult,
    laws::{IrregularityKind, Side},
};

/// What somebody can know of a half-move who sees no more than board and clock tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowable {
    /// All of it.
    #[default]
    Fully,
    /// Several lines of play lead to what is known (a gap in the record): another order is as good.
    InAnyOrder,
    /// Which piece left its square. Where it went nothing is read, and nothing later proves which square that is.
    Origin,
    /// Where a piece arrived that came from such a square.
    Goal,
    /// Nothing: it was made in a gap of which no log tells.
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
    /// What of it is a fair question.
    pub known: Knowable,
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
    /// Which of several ways it went; empty where there is one.
    pub how: &'static str,
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
    /// A piece was not read. Nobody could tell all half-moves; what counts is that nobody is accused.
    pub calm: bool,
    /// What may be said for all that, if it is withdrawn when play goes on.
    pub may: Vec<IrregularityKind>,
}

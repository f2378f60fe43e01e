//! A half-move of a hypothesis, with what the hypothesis assumes of it.

mod kept;
mod plies;

use std::sync::Arc;

pub(in crate::board) use kept::{Grown, KeptPlies, Tree};
pub use plies::Plies;
pub(in crate::board) use plies::Pruning;

use shakmaty::{Move, Square};

use super::{act::IllegalAct, stand::Stand};
use crate::time::Millis;

/// What a half-move of a line is.
#[derive(Clone, Debug, PartialEq)]
pub enum PlyKind {
    /// A legal half-move.
    Legal(Move),
    /// A half-move as the Laws prescribe it after an irregularity (a queen for an unreplaced pawn).
    Ruled(Move),
    /// A half-move found by search after a gap in the record.
    Recovered(Move),
    /// An illegal act that was reported and has not been put right.
    Illegal(Box<IllegalAct>),
    /// What seems to be an illegal act. Nobody is accused of it yet.
    Suspect(Box<IllegalAct>),
}

impl PlyKind {
    /// The move, where it is a legal one.
    #[inline]
    #[must_use]
    pub fn legal(&self) -> Option<Move> {
        match self {
            Self::Legal(mv) | Self::Ruled(mv) | Self::Recovered(mv) => Some(*mv),
            Self::Illegal(_) | Self::Suspect(_) => None,
        }
    }

    /// From where to where one piece alone went.
    #[must_use]
    pub fn from_to(&self) -> Option<(Square, Square)> {
        match self {
            Self::Legal(mv) | Self::Ruled(mv) | Self::Recovered(mv) if !mv.is_castle() => {
                Some((mv.from()?, mv.to()))
            }
            Self::Illegal(act) | Self::Suspect(act) => act.from_to(),
            _ => None,
        }
    }

    /// True when both put the same pieces on the same squares, however they were found.
    #[inline]
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        use PlyKind::{Legal, Recovered, Ruled};
        match (self, other) {
            (Legal(a) | Ruled(a) | Recovered(a), Legal(b) | Ruled(b) | Recovered(b)) => a == b,
            (Legal(_) | Ruled(_) | Recovered(_), _) | (_, Legal(_) | Ruled(_) | Recovered(_)) => false,
            _ => self == other,
        }
    }
}

/// A half-move of a line.
#[derive(Clone, Debug)]
pub struct Ply {
    /// What was played.
    pub kind: PlyKind,
    /// When its last update came. Without an update: when it was assumed.
    pub at: Millis,
    /// When its first update came. Without an update: when it was assumed.
    pub began: Millis,
    /// An update told of it, and not only a dump.
    pub seen: bool,
    /// The piece was read on its new square.
    pub landed: bool,
    /// When its player pressed the clock.
    pub pressed: Option<Millis>,
    /// What its line has paid because play went on without a press for it.
    pub missed: f32,
    /// The position after it.
    pub stand: Arc<Stand>,
}

impl Ply {
    /// True when both are the same half-move, and both were pressed or neither.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.kind.same_as(&other.kind) && self.pressed.is_some() == other.pressed.is_some()
    }
}

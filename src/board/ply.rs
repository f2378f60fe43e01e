//! A half-move of a hypothesis, with what the hypothesis assumes of it.

mod kept;
mod plies;

use std::sync::Arc;

pub(in crate::board) use kept::{Grown, KeptPlies, Tree};
pub use plies::Plies;
pub(in crate::board) use plies::Pruning;

use shakmaty::{Move, Role, Square, attacks};

use super::{
    act::IllegalAct,
    candidate::castled,
    placement::Placement,
    sensed::Sensed,
    stand::{Stand, targets},
};
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

    /// True when the piece of this half-move, played on `before`, could have gone further on the same way: where it was read last may
    /// be a square between.
    #[must_use]
    pub fn may_slide_on(&self, before: &Stand) -> bool {
        let Some((from, to)) = self.from_to() else {
            return false;
        };
        let Some(piece) = before.board().piece_at(from) else {
            return false;
        };
        // A piece that has captured goes no further than the square of the captured piece.
        if self.legal().is_some_and(Move::is_capture) {
            return false;
        }
        let passes = |end: Square| attacks::between(from, end).contains(to);
        let ends = targets(before.board(), from, piece) & !before.board().by_color(piece.color);
        let is_castling =
            |mv: &Move| matches!(*mv, Move::Castle { king, rook } if passes(castled(king, rook)[0]));
        ends.into_iter().any(passes) || piece.role == Role::King && before.moves().iter().any(is_castling)
    }

    /// True when the piece of this half-move, played on `before`, could have come from further back on the same way: where it was read
    /// first may be a square between.
    #[must_use]
    pub fn may_have_slid_from_behind(&self, before: &Stand) -> bool {
        let Some((from, to)) = self.from_to() else {
            return false;
        };
        let mut board = before.board().clone();
        let Some(piece) = board.remove_piece_at(from) else {
            return false;
        };
        let behind = attacks::ray(from, to) & !board.occupied();
        let mut starts = behind
            .into_iter()
            .filter(|start| attacks::between(*start, to).contains(from));
        starts.any(|start| targets(&board, start, piece).contains(to))
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
    /// The position in which it was made, where that is not the one after the half-move before: pieces had been displaced, and nobody
    /// had put them back.
    pub made_in: Option<Arc<Stand>>,
}

impl Ply {
    /// True of a legal half-move that was seen to be played, and that nobody has pressed for.
    #[must_use]
    pub fn is_unpressed(&self) -> bool {
        self.pressed.is_none() && matches!(self.kind, PlyKind::Legal(_))
    }

    /// True when both are the same half-move, and both were pressed or neither.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.kind.same_as(&other.kind) && self.pressed.is_some() == other.pressed.is_some()
    }

    /// True where the half-move is a castling played on `before`, and the board reads the rook where it stood and not where it belongs.
    #[must_use]
    pub fn leaves_rook(&self, before: &Placement, sensed: &Sensed) -> bool {
        let Some(Move::Castle { king, rook }) = self.kind.legal() else {
            return false;
        };
        let [_, to] = castled(king, rook);
        sensed.at(rook) == before.at(rook) && sensed.at(to) != before.at(rook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use shakmaty::CastlingMode;

    /// Whether the piece that went from `from` to `to` could have gone further on the same way.
    fn played(fen: &str, from: Square, to: Square) -> (Stand, PlyKind) {
        let before = Stand::of_start(fen.parse().unwrap(), CastlingMode::Standard);
        let mut moves = before.moves().into_iter();
        let found = moves.find(|mv| mv.from() == Some(from) && mv.to() == to && !mv.is_castle());
        (before, PlyKind::Legal(found.expect("a legal half-move")))
    }

    fn slides_on(fen: &str, from: Square, to: Square) -> bool {
        let (before, kind) = played(fen, from, to);
        kind.may_slide_on(&before)
    }

    #[test]
    fn a_piece_slides_on_where_its_own_way_leads() {
        const ARRAY: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert!(slides_on(ARRAY, Square::E2, Square::E3));
        assert!(!slides_on(ARRAY, Square::E2, Square::E4));
        assert!(!slides_on(ARRAY, Square::G1, Square::F3));
        let ways = "4k3/8/8/8/8/4P3/p3K3/R2n2B1 w - - 0 1";
        assert!(!slides_on(ways, Square::E3, Square::E4));
        assert!(!slides_on(ways, Square::E2, Square::F3));
        assert!(slides_on(ways, Square::A1, Square::B1));
        assert!(slides_on(ways, Square::A1, Square::C1), "it may take on d1");
        assert!(!slides_on(ways, Square::A1, Square::A2), "it has taken");
        assert!(!slides_on(ways, Square::G1, Square::F2), "his own pawn is next");
    }

    fn came_from_behind(fen: &str, from: Square, to: Square) -> bool {
        let (before, kind) = played(fen, from, to);
        kind.may_have_slid_from_behind(&before)
    }

    #[test]
    fn a_piece_has_come_from_behind_where_its_way_is_free() {
        const MIDWAY: &str = "rnbqk1nr/ppppbppp/8/4p3/8/3P4/PPP1PPPP/RNBQKBNR b KQkq - 0 1";
        assert!(came_from_behind(MIDWAY, Square::E7, Square::D6), "from f8");
        assert!(
            !came_from_behind(MIDWAY, Square::E7, Square::F6),
            "d8 is the queen's"
        );
        assert!(
            !came_from_behind(MIDWAY, Square::G8, Square::F6),
            "a knight has no way"
        );
        assert!(
            !came_from_behind(MIDWAY, Square::E5, Square::E4),
            "e7 is the bishop's"
        );
        assert!(
            !came_from_behind(MIDWAY, Square::E8, Square::F8),
            "a king goes one square"
        );
        let pawns = "4k3/8/8/8/8/4P3/3P4/4K3 w - - 0 1";
        assert!(came_from_behind(pawns, Square::E3, Square::E4), "from e2");
        assert!(!came_from_behind(pawns, Square::D2, Square::D3));
    }

    #[test]
    fn a_king_slides_on_to_castle() {
        let home = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1";
        assert!(slides_on(home, Square::E1, Square::D1));
        assert!(!slides_on(home, Square::E1, Square::F1));
        let no_more = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1";
        assert!(!slides_on(no_more, Square::E1, Square::D1));
    }
}

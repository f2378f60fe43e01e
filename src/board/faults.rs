//! Why a board does not show the position of a hypothesis: pieces that are not read, and pieces that fell.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Move, Square};

use super::{
    candidate::castled,
    fall::Fall,
    kept::bits,
    placement::{Code, Placement},
};

/// The sensor faults and the fall that a hypothesis assumes. As a rule it assumes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Squares of the position whose piece is not read: it has no working chip, or the square reads nothing.
    #[serde(with = "bits")]
    pub hidden: Bitboard,
    /// Squares on which a piece was put and is not read. If the square is to blame, the next piece is not
    /// read there either.
    #[serde(with = "bits")]
    pub silent: Bitboard,
    /// Pieces that a player's hand or sleeve took from their squares.
    pub fall: Option<Fall>,
}

impl Faults {
    /// What `square` shows where a sound board would show `stands`.
    #[must_use]
    pub fn shown(&self, square: Square, stands: Code) -> Code {
        if let Some(shown) = self.fall.as_ref().and_then(|fall| fall.shows(square)) {
            shown
        } else if self.hidden.contains(square) {
            Code::EMPTY
        } else {
            stands
        }
    }

    /// The squares that show something where a sound board would show pieces on `stands`.
    #[inline]
    #[must_use]
    pub fn shown_on(&self, stands: Bitboard) -> Bitboard {
        let mut shown = stands & !self.hidden;
        if let Some(fall) = &self.fall {
            for square in fall.squares() {
                if let Some(code) = fall.shows(square) {
                    shown.set(square, !code.is_empty());
                }
            }
        }
        shown
    }

    /// These faults after the legal half-move `mv`. `reads` tells whether the piece is read on a square;
    /// `dead` are the squares that are known to read nothing.
    #[must_use]
    pub(super) fn after(&self, mv: Move, dead: Bitboard, reads: impl Fn(Square) -> bool) -> Self {
        let mut next = *self;
        let mut carry = |from: Square, to: Square| {
            let known = self.hidden.contains(from);
            let hidden = known || dead.contains(to) || self.silent.contains(to);
            next.forget(from);
            next.forget(to);
            if known && reads(to) {
                // The piece is read now, so the square that it left was to blame.
                next.silent.add(from);
            }
            if !known && !reads(to) {
                next.silent.add(to);
            }
            if hidden && !reads(to) {
                next.hidden.add(to);
            }
        };
        match mv {
            Move::Castle { king, rook } => {
                let [king_to, rook_to] = castled(king, rook);
                carry(king, king_to);
                carry(rook, rook_to);
            }
            Move::EnPassant { from, to } => {
                carry(from, to);
                next.forget(Square::from_coords(to.file(), from.rank()));
            }
            Move::Normal { from, to, .. } => carry(from, to),
            Move::Put { .. } => {}
        }
        next
    }

    /// Assumes nothing to be wrong on `square` any more.
    pub(super) fn forget(&mut self, square: Square) {
        self.hidden.discard(square);
        self.fall = self.fall.filter(|fall| !fall.misses(square));
    }

    /// `square` came to show `code`, in a position in which pieces stand as in `stands`. `is_other`: a piece of the same kind has left
    /// another square. `is_put`: somebody has put a piece there that fell ([`Fall::is_put`]). Returns what that costs.
    pub(super) fn seen(
        &mut self,
        (square, code): (Square, Code),
        stands: &Placement,
        is_other: bool,
        is_put: bool,
    ) -> f32 {
        if !code.is_empty() && stands.at(square).agrees(code) {
            self.hidden.discard(square);
        }
        if !code.is_empty() {
            self.silent.discard(square);
        }
        let goes_on = is_other || is_put;
        self.fall = self.fall.filter(|fall| goes_on || !fall.is_carried(square, code));
        let Some(fall) = &mut self.fall else {
            return 0.0;
        };
        fall.seen(square, code);
        if is_put { fall.put(square, code) } else { 0.0 }
    }
}

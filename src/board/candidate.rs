//! A half-move that may be played from a position, as the sensors would see it.

use shakmaty::{Bitboard, File, Move, Square};

use super::placement::{Code, Placement};

/// A half-move with the squares that it changes.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The move.
    pub mv: Move,
    /// The squares it changes and what they show afterwards: at most four (castling).
    changes: [(Square, Code); 4],
    len: u8,
    squares: Bitboard,
}

impl Candidate {
    /// The candidate for `mv` played on `before`.
    #[must_use]
    pub fn new(before: &Placement, mv: Move) -> Self {
        let mut candidate = Self {
            mv,
            changes: [(Square::A1, Code::EMPTY); 4],
            len: 0,
            squares: Bitboard::EMPTY,
        };
        let piece = |square| before.at(square);
        match mv {
            Move::Normal {
                from, to, promotion, ..
            } => {
                let lands = match (promotion, piece(from).color()) {
                    (Some(role), Some(color)) => Code::from(role.of(color)),
                    _ => piece(from),
                };
                candidate.push(from, Code::EMPTY);
                candidate.push(to, lands);
            }
            Move::EnPassant { from, to } => {
                candidate.push(from, Code::EMPTY);
                candidate.push(to, piece(from));
                candidate.push(Square::from_coords(to.file(), from.rank()), Code::EMPTY);
            }
            Move::Castle { king, rook } => {
                let [king_to, rook_to] = castled(king, rook);
                candidate.push(king_to, piece(king));
                candidate.push(rook_to, piece(rook));
                for square in [king, rook] {
                    if square != king_to && square != rook_to {
                        candidate.push(square, Code::EMPTY);
                    }
                }
            }
            Move::Put { .. } => {}
        }
        candidate
    }

    /// The squares that `mv` changes: [`Self::squares`] without making the candidate.
    #[inline]
    #[must_use]
    pub fn touched(mv: Move) -> Bitboard {
        match mv {
            Move::Normal { from, to, .. } => Bitboard::from_square(from).with(to),
            Move::EnPassant { from, to } => {
                let victim = Square::from_coords(to.file(), from.rank());
                Bitboard::from_square(from).with(to).with(victim)
            }
            Move::Castle { king, rook } => {
                let [king_to, rook_to] = castled(king, rook);
                Bitboard::from_square(king).with(rook).with(king_to).with(rook_to)
            }
            Move::Put { .. } => Bitboard::EMPTY,
        }
    }

    fn push(&mut self, square: Square, code: Code) {
        self.changes[usize::from(self.len)] = (square, code);
        self.len += 1;
        self.squares.add(square);
    }

    /// The squares it changes and what they show afterwards.
    #[must_use]
    pub fn changes(&self) -> &[(Square, Code)] {
        &self.changes[..usize::from(self.len)]
    }

    /// The squares it changes.
    #[must_use]
    pub fn squares(&self) -> Bitboard {
        self.squares
    }

    /// The placement after it.
    #[must_use]
    pub fn after(&self, before: &Placement) -> Placement {
        let mut after = before.clone();
        for (square, code) in self.changes() {
            after.set(*square, *code);
        }
        after
    }
}

/// Where king and rook stand after they castled.
pub fn castled(king: Square, rook: Square) -> [Square; 2] {
    let files = if rook > king {
        [File::G, File::F]
    } else {
        [File::C, File::D]
    };
    files.map(|file| Square::from_coords(file, king.rank()))
}

//! A hand over a board: what it can do, and the motion that comes of it.

use std::ops::Range;

use fastrand::Rng;
use shakmaty::{Square, attacks};

use super::figure::{Men, TaggedPiece};

/// What the hand does besides, decided for each half-move.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slips {
    pub(super) drag: bool,
    pub(super) swept: bool,
    pub(super) place_first: bool,
    pub(super) any_castling: bool,
    pub(super) any_promotion: bool,
    pub(super) any_en_passant: bool,
    /// The queen that comes for a pawn is of another set and is never read.
    pub(super) spare_queen: bool,
}

/// What happens on squares, in milliseconds since the hand went up, in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Motion {
    pub(super) steps: Vec<(u64, Square, Option<TaggedPiece>)>,
    /// Where the hand is in time.
    pub(super) at: u64,
}

impl Motion {
    pub(super) fn put(&mut self, square: Square, piece: Option<TaggedPiece>) {
        self.steps.push((self.at, square, piece));
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.at += ms;
    }
}

/// A hand over a board.
pub(super) struct Hand<'a> {
    /// What stands on the squares now.
    pub(super) men: Men,
    /// How long a piece is in it.
    pub(super) pace: Range<u64>,
    pub(super) slips: Slips,
    pub(super) rng: &'a mut Rng,
    pub(super) motion: Motion,
}

impl Hand<'_> {
    /// A piece in the hand, in tenths of the usual time.
    pub(super) fn pass(&mut self, tenths: u64) {
        let ms = self.rng.u64(self.pace.clone()) * tenths / 10;
        self.motion.wait(ms);
    }

    pub(super) fn lift(&mut self, square: Square) {
        self.place(square, None);
    }

    pub(super) fn place(&mut self, square: Square, piece: Option<TaggedPiece>) {
        self.motion.put(square, piece);
        self.men[usize::from(square)] = piece;
    }

    /// Whether nothing stands on `square`.
    pub(super) fn free(&self, square: Square) -> bool {
        self.men[usize::from(square)].is_none()
    }

    /// The piece on `from` goes to `to`, lifted cleanly.
    pub(super) fn transfer(&mut self, from: Square, to: Square) {
        let man = self.men[usize::from(from)];
        self.lift(from);
        self.pass(10);
        self.place(to, man);
    }

    /// What stands on `square` goes off the board, perhaps over a neighbouring square.
    pub(super) fn take(&mut self, square: Square) {
        let victim = self.men[usize::from(square)];
        self.lift(square);
        if !self.slips.swept {
            return;
        }
        let near = attacks::king_attacks(square)
            .into_iter()
            .filter(|&s| self.free(s))
            .collect::<Vec<_>>();
        if let Some(&over) = self.rng.choice(&near) {
            self.motion.wait(self.rng.u64(20..120));
            self.place(over, victim);
            self.motion.wait(self.rng.u64(60..260));
            self.lift(over);
        }
    }
}

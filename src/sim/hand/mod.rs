//! A hand over a board: what it can do, and the motion that results.

mod castle;
pub(in crate::sim) mod figure;
mod motion;

use std::ops::Range;

use fastrand::Rng;
use shakmaty::{Square, attacks};

use figure::{Men, TaggedPiece};

/// What else the hand does. It is decided for each half-move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slips {
    /// The piece slides over squares on its way, or brushes over one beside its new square.
    pub drag: bool,
    /// The captured piece is swept over a square beside its own.
    pub swept: bool,
    /// The piece stands on its new square before it has left the old one.
    pub place_first: bool,
    /// The captured piece is lifted before its square is taken.
    pub lifts_victim: bool,
    /// King and rook go in any order.
    pub any_castling: bool,
    /// In a promotion the pawn and the new piece go and come in any order.
    pub any_promotion: bool,
    /// The two pawns go in any order.
    pub any_en_passant: bool,
    /// The piece that replaces a pawn is of another set and is never read.
    pub spare_piece: bool,
}

/// How long a hand takes.
#[derive(Clone, Debug)]
pub(in crate::sim) enum HandPace {
    /// The hand always takes the same time and the plainest way.
    Even,
    /// The hand holds a piece for so many milliseconds.
    Drawn(Range<u64>),
}

/// Why a hand waits.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Pause {
    /// The hand holds a piece for so many tenths of the usual time.
    InHand(u64),
    /// A captured pawn is still to go.
    Victim,
    /// The other piece of a castling is still to go.
    Castler,
    /// Castling is done.
    Castled,
}

impl Pause {
    /// Milliseconds of a hand that always takes the same time.
    fn even(self) -> u64 {
        match self {
            Self::InHand(tenths) => tenths * 25,
            Self::Victim => 150,
            Self::Castler | Self::Castled => 200,
        }
    }

    fn tenths(self) -> Option<u64> {
        match self {
            Self::InHand(tenths) => Some(tenths),
            Self::Victim => Some(8),
            Self::Castler => Some(7),
            Self::Castled => None,
        }
    }
}

/// What a hand does on squares, in order of time.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Motion {
    /// Milliseconds since the hand went up, the square, and what stands on it from then on.
    pub(in crate::sim) steps: Vec<(u64, Square, Option<TaggedPiece>)>,
    /// Milliseconds since the hand went up, by now.
    pub(in crate::sim) at: u64,
}

impl Motion {
    fn put(&mut self, square: Square, piece: Option<TaggedPiece>) {
        self.steps.push((self.at, square, piece));
    }

    fn wait(&mut self, ms: u64) {
        self.at += ms;
    }
}

/// A hand over a board.
pub(in crate::sim) struct Hand<'a> {
    /// What stands on the squares now.
    pub(in crate::sim) men: Men,
    pub(in crate::sim) pace: HandPace,
    pub(in crate::sim) slips: Slips,
    pub(in crate::sim) rng: &'a mut Rng,
    pub(in crate::sim) motion: Motion,
}

impl Hand<'_> {
    /// The hand holds a piece for so many tenths of the usual time.
    fn pass(&mut self, tenths: u64) {
        self.pause(Pause::InHand(tenths));
    }

    fn pause(&mut self, why: Pause) {
        let ms = match &self.pace {
            HandPace::Even => why.even(),
            HandPace::Drawn(range) => why
                .tenths()
                .map_or(0, |tenths| self.rng.u64(range.clone()) * tenths / 10),
        };
        self.motion.wait(ms);
    }

    /// Whether the hand always takes the plainest way.
    fn is_even(&self) -> bool {
        matches!(self.pace, HandPace::Even)
    }

    fn lift(&mut self, square: Square) {
        self.place(square, None);
    }

    fn place(&mut self, square: Square, piece: Option<TaggedPiece>) {
        self.motion.put(square, piece);
        self.men[usize::from(square)] = piece;
    }

    /// Whether nothing stands on `square`.
    fn free(&self, square: Square) -> bool {
        self.men[usize::from(square)].is_none()
    }

    /// Lifts the piece on `from` cleanly and puts it on `to`.
    fn transfer(&mut self, from: Square, to: Square) {
        let man = self.men[usize::from(from)];
        self.lift(from);
        self.pass(10);
        self.place(to, man);
    }

    /// Takes what stands on `square` off the board, perhaps over a neighbouring square.
    fn take(&mut self, square: Square) {
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

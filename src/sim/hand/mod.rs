//! A hand over a board: what it can do, and the motion that comes of it.

mod castle;
pub(in crate::sim) mod figure;
mod motion;

use std::ops::Range;

use fastrand::Rng;
use shakmaty::{Square, attacks};

use figure::{Men, TaggedPiece};

/// What the hand does besides, decided for each half-move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slips {
    /// The piece slides over squares, or brushes over one.
    pub drag: bool,
    /// What is captured is swept over a square beside.
    pub swept: bool,
    /// The piece is over its new square before it has left the old one.
    pub place_first: bool,
    /// What is captured is lifted before its square is taken.
    pub lifts_victim: bool,
    /// King and rook go in any order.
    pub any_castling: bool,
    /// Pawn and new piece come and go in any order.
    pub any_promotion: bool,
    /// The two pawns go in any order.
    pub any_en_passant: bool,
    /// What comes for a pawn is of another set and is never read.
    pub spare_piece: bool,
}

/// How long a hand takes.
#[derive(Clone, Debug)]
pub(in crate::sim) enum HandPace {
    /// Always the same, and always the plainest way.
    Even,
    /// A piece is in it for so many milliseconds.
    Drawn(Range<u64>),
}

/// Why it waits.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Pause {
    /// A piece is in it, for so many tenths of the usual time.
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

/// What happens on squares, in milliseconds since the hand went up, in order of time.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Motion {
    pub(in crate::sim) steps: Vec<(u64, Square, Option<TaggedPiece>)>,
    /// Where the hand is in time.
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
    /// A piece in the hand, in tenths of the usual time.
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

    /// Always the plainest way.
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

    /// The piece on `from` goes to `to`, lifted cleanly.
    fn transfer(&mut self, from: Square, to: Square) {
        let man = self.men[usize::from(from)];
        self.lift(from);
        self.pass(10);
        self.place(to, man);
    }

    /// What stands on `square` goes off the board, perhaps over a neighbouring square.
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

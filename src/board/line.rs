//! One explanation of what was seen: a line of half-moves from a common base.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move, Square};

use super::{
    act::Act,
    candidate::Candidate,
    placement::{Code, Placement},
    sensed::Sensed,
    stand::Stand,
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
    /// An illegal act that was completed and has not been put right.
    Illegal(Box<Act>),
}

impl PlyKind {
    /// The move, where it is a legal one.
    #[must_use]
    pub fn legal(&self) -> Option<Move> {
        match self {
            Self::Legal(mv) | Self::Ruled(mv) | Self::Recovered(mv) => Some(*mv),
            Self::Illegal(_) => None,
        }
    }

    /// True when both put the same pieces on the same squares, however they were found.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        match (self.legal(), other.legal()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self == other,
            _ => false,
        }
    }
}

/// A half-move of a line.
#[derive(Clone, Debug)]
pub struct Ply {
    /// What was played.
    pub kind: PlyKind,
    /// When the board showed it.
    pub at: Millis,
    /// When its player pressed the clock.
    pub pressed: Option<Millis>,
    /// The position after it.
    pub stand: Arc<Stand>,
}

/// Weights of the observation model, in nats: what it costs an explanation that something is
/// otherwise than it says. See `docs/recognition.md` for where each comes from.
pub mod weight {
    /// A half-move.
    pub const PLY: f32 = 1.0;
    /// A piece is not seen where the line has one: in a hand, or not read.
    pub const MISSING: f32 = 1.0;
    /// A piece is seen where the line has none.
    pub const EXTRA: f32 = 2.0;
    /// Another piece is seen than the line has.
    pub const WRONG: f32 = 2.5;
    /// A code that is no piece is seen where the line has one.
    pub const GARBLED: f32 = 1.2;
    /// A half-move was not pressed although the clock ran.
    pub const UNPRESSED: f32 = 1.5;
    /// A press came after the opponent had replied.
    pub const LATE_PRESS: f32 = 0.2;
    /// A press for which the line has no half-move.
    pub const EMPTY_PRESS: f32 = 3.0;
    /// A half-move of which nothing but the lifting was seen.
    pub const BLIND: f32 = 2.5;
    /// A piece arrived and was taken before the square was scanned.
    pub const TAKEN_AT_ONCE: f32 = 0.8;
    /// Rate at which a lasting difference adds to a line, per second.
    pub const LASTING_RATE: f32 = 0.25;
    /// For how long it does, in milliseconds.
    pub const LASTING_MS: u64 = 3000;
}

/// Squares are scanned one after the other: what happened later may be seen earlier by this.
const SCAN_MS: u64 = 250;
/// A press this soon after a half-move is for it, even when the opponent has replied.
const SOON_MS: u64 = 2500;

/// What it costs that a square shows `seen` where the line has `expected`.
fn difference(seen: Code, expected: Code) -> f32 {
    if seen.is_empty() {
        weight::MISSING
    } else if seen.piece().is_none() {
        weight::GARBLED
    } else if expected.is_empty() {
        weight::EXTRA
    } else {
        weight::WRONG
    }
}

/// One explanation of what was seen.
#[derive(Clone, Debug)]
pub struct Line {
    /// The half-moves since the base.
    pub plies: Vec<Ply>,
    /// Where they lead.
    pub stand: Arc<Stand>,
    /// A press by the side to move whose half-move has not been seen yet.
    pub pending: Option<Millis>,
    /// What it has cost so far.
    pub(super) cost: f32,
    /// Squares that show something else than the line says.
    pub(super) differing: Bitboard,
    pub(super) born: Millis,
}

impl Line {
    /// A line without half-moves.
    #[must_use]
    pub fn new(stand: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let differing = sensed.placement().differing(stand.placement());
        Self {
            plies: Vec::new(),
            stand,
            pending: None,
            cost: 0.0,
            differing,
            born: now,
        }
    }

    /// Squares that show something else than the line says.
    #[must_use]
    pub fn differing(&self) -> Bitboard {
        self.differing
    }

    /// Who is to move.
    #[must_use]
    pub fn turn(&self) -> Color {
        self.stand.turn()
    }

    /// A half-move is added.
    #[must_use]
    pub fn played(&self, kind: PlyKind, stand: Arc<Stand>, sensed: &Sensed, now: Millis, cost: f32) -> Self {
        let mut line = self.clone();
        line.plies.push(Ply {
            kind,
            at: now,
            pressed: line.pending.take(),
            stand: stand.clone(),
        });
        line.differing = sensed.placement().differing(stand.placement());
        line.stand = stand;
        line.cost += cost;
        line.born = now;
        line
    }

    /// What decides how the line goes on: the position, and which presses are still owed.
    pub(super) fn state(&self) -> (u64, bool, bool, bool) {
        let n = self.plies.len();
        let owed = |back: usize| n >= back && self.plies[n - back].pressed.is_none();
        (self.stand.key(), self.pending.is_some(), owed(1), owed(2))
    }

    /// `side` pressed the clock.
    pub(super) fn pressed_by(&mut self, side: Color, now: Millis) {
        let mover_of_last = !self.turn();
        let n = self.plies.len();
        // Presses come in the order of the half-moves: the first one that is owed, if it is fresh.
        let since = self
            .plies
            .iter()
            .rposition(|p| p.pressed.is_some())
            .map_or(0, |i| i + 1);
        let own = |i: usize| ((n - 1 - i) % 2 == 0) == (side == mover_of_last);
        let fresh = (since..n).find(|i| own(*i) && now.since(self.plies[*i].at) <= SOON_MS);
        let owed = fresh.or_else(|| (since..n).rev().find(|i| own(*i)).filter(|i| i + 2 >= n));
        if let Some(i) = owed {
            if i + 1 < n {
                self.cost += weight::LATE_PRESS - weight::UNPRESSED;
            }
            self.plies[i].pressed = Some(now);
            if side == mover_of_last {
                self.unanswered_press();
            }
        } else if self.turn() == side {
            self.pending = Some(now);
        } else {
            self.unanswered_press();
            if n > 0 {
                self.cost += weight::EMPTY_PRESS;
            }
        }
    }

    /// The other side has pressed since: a press that still waits for its half-move had none.
    fn unanswered_press(&mut self) {
        if self.pending.take().is_some() {
            self.cost += weight::EMPTY_PRESS;
        }
    }

    /// Adds a cost: what speaks against the line besides the board.
    pub fn charge(&mut self, cost: f32) {
        self.cost += cost;
    }

    /// A square changed.
    pub(super) fn seen(&mut self, square: Square, code: Code) {
        if self.stand.placement().at(square) == code {
            self.differing.discard(square);
        } else {
            self.differing.add(square);
        }
    }

    /// Adds what lasting differences cost between `from` and `to`.
    pub(super) fn age(&mut self, sensed: &Sensed, from: Millis, to: Millis) {
        for square in self.differing {
            let since = sensed.since(square).max(self.born);
            let until = to.min(since + weight::LASTING_MS);
            let span = until.since(from.max(since));
            if span > 0 {
                let each = difference(sensed.at(square), self.stand.placement().at(square));
                self.cost += each * weight::LASTING_RATE * span as f32 / 1000.0;
            }
        }
    }

    /// What the line costs at `now`, with what differs now.
    #[must_use]
    pub fn total(&self, sensed: &Sensed, now: Millis) -> f32 {
        let mut total = self.cost;
        for square in self.differing {
            total += difference(sensed.at(square), self.stand.placement().at(square));
        }
        if let Some(at) = self.pending {
            // A press without a half-move becomes unlikely as time passes.
            let late = now.since(at).saturating_sub(300).min(900) as f32 / 900.0;
            total += weight::EMPTY_PRESS * late;
        }
        total
    }

    /// The squares that show a chess piece which the line does not have there: what a hand or a
    /// dead square cannot explain.
    #[must_use]
    pub fn misplaced(&self, sensed: &Sensed) -> Bitboard {
        self.differing
            .into_iter()
            .filter(|s| sensed.at(*s).piece().is_some())
            .collect()
    }

    /// True when what is seen speaks for `candidate`: a piece arrived where it puts one.
    #[must_use]
    pub(super) fn speaks_for(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        candidate.changes().iter().any(|(square, code)| {
            !code.is_empty() && self.differing.contains(*square) && sensed.at(*square) == *code
        })
    }

    /// True when the piece that `candidate` moves has left its square and one of the opponent's
    /// has arrived where it goes: it may have been taken there before it was seen.
    #[must_use]
    pub(super) fn taken_at_once(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        let Some(from) = candidate.mv.from() else {
            return false;
        };
        let to = candidate.mv.to();
        let arrived = sensed.at(to).color() == Some(!self.turn())
            && sensed.since(to) + SCAN_MS >= sensed.since(from).max(self.born);
        arrived && self.differing.contains(from) && sensed.at(from) != self.placement().at(from)
    }

    /// The placement the line says.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        self.stand.placement()
    }
}

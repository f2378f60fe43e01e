//! Several explanations at once: the lines of play that account for what was seen, ranked by
//! what must have gone wrong if they were true. Nothing is decided here; a later reading or
//! press decides between them. Bounded in number.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Square};

use super::{
    candidate::Candidate,
    line::{Line, PlyKind, weight},
    sensed::Sensed,
    stand::Stand,
};
use crate::time::Millis;

/// How many lines are kept.
const MOST_LINES: usize = 40;
/// How much worse than the best a line may be and stay.
const BEHIND: f32 = 9.0;
/// A press whose half-move has not been seen for this long when the opponent presses: its updates
/// may be lost.
const OVERDUE_MS: u64 = 400;
/// Half-moves that one reading may add to a line.
const DEPTH: usize = 4;

/// The lines. The board that they explain is the caller's and comes as an argument.
#[derive(Clone, Debug)]
pub struct Lines {
    lines: Vec<Line>,
    aged: Millis,
    /// True while presses are to be expected: a half-move without one costs something.
    clock_runs: bool,
    /// While true half-moves are found after a gap in the record: nobody saw them made.
    pub recovering: bool,
    /// While true nothing is explained: the clock is stopped and pieces may be moved freely.
    pub frozen: bool,
}

impl Lines {
    /// Lines from one position.
    #[must_use]
    pub fn new(stand: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let line = Line::new(stand, sensed, now);
        let mut lines = Self {
            lines: vec![line],
            aged: now,
            clock_runs: false,
            recovering: false,
            frozen: false,
        };
        lines.grow_all(now, sensed);
        lines
    }

    /// The clock was started, or is gone: presses are to be expected, or not.
    pub fn set_clock_runs(&mut self, runs: bool) {
        self.clock_runs = runs;
        for line in &mut self.lines {
            line.clock_runs = runs;
        }
    }

    /// All lines, the best first.
    #[must_use]
    pub fn all(&self) -> &[Line] {
        &self.lines
    }

    /// The best line.
    #[must_use]
    pub fn best(&self) -> &Line {
        &self.lines[0]
    }

    /// Squares changed: `sensed` shows them as they are now. [`Self::tick`] was called before.
    pub fn changed(&mut self, now: Millis, sensed: &Sensed, squares: Bitboard) {
        for line in &mut self.lines {
            for square in squares {
                line.seen(square, sensed.at(square));
            }
        }
        if !self.frozen {
            self.grow(now, sensed, squares);
        }
        self.rank(now, sensed);
    }

    /// `square` was reported empty although it was empty before: the arrival of a piece there was
    /// lost, for a board reports changes only.
    pub fn left_unseen(&mut self, now: Millis, sensed: &Sensed, square: Square) {
        for line in &mut self.lines {
            if line.placement().at(square).is_empty() {
                line.charge(weight::NEVER_THERE);
            }
        }
        self.rank(now, sensed);
    }

    /// `side` pressed the clock.
    pub fn press(&mut self, now: Millis, sensed: &Sensed, side: Color) {
        self.age(now, sensed);
        let overdue = |line: &Line| line.awaits().is_some_and(|at| now.since(at) >= OVERDUE_MS);
        if self.lines.iter().any(overdue) {
            self.grow_blind(now, sensed);
        }
        for line in &mut self.lines {
            line.pressed_by(side, now);
        }
        self.rank(now, sensed);
    }

    /// Presses that still wait for their half-moves had none.
    pub fn forget_presses(&mut self) {
        for line in &mut self.lines {
            line.forget_presses();
        }
    }

    /// Adds lines for half-moves of pieces that were lifted before an unexplained press and whose
    /// arrival was not seen: an update may be lost.
    pub fn grow_blind(&mut self, now: Millis, sensed: &Sensed) {
        let mut grown = Vec::new();
        for line in self.lines.iter().filter(|l| l.awaits().is_some()) {
            for candidate in line.stand.candidates() {
                let leaves = candidate.changes().first();
                let lifted = leaves
                    .is_some_and(|(from, _)| line.differing.contains(*from) && sensed.at(*from).is_empty());
                if lifted && !line.speaks_for(candidate, sensed) {
                    grown.push(self.child(line, candidate, now, sensed, weight::PLY + weight::BLIND));
                }
            }
        }
        let mut fresh = false;
        for line in grown {
            fresh |= self.offer(line);
        }
        if fresh {
            // What is seen may be the reply to a half-move that was not.
            self.grow(now, sensed, Bitboard::FULL);
        }
        self.rank(now, sensed);
    }

    /// Looks for half-moves that speak for what is seen, on every square.
    pub fn grow_all(&mut self, now: Millis, sensed: &Sensed) {
        self.age(now, sensed);
        self.grow(now, sensed, Bitboard::FULL);
        self.rank(now, sensed);
    }

    /// Adds a line found otherwise (by search after a gap, by a ruling).
    pub fn add(&mut self, now: Millis, sensed: &Sensed, mut line: Line, extra_cost: f32) {
        line.cost += extra_cost;
        self.offer(line);
        self.rank(now, sensed);
    }

    /// Adds a line that starts from another position than the others.
    pub fn add_root(&mut self, now: Millis, sensed: &Sensed, line: Line) {
        self.lines.push(line);
        self.rank(now, sensed);
    }

    /// Keeps the lines from the root where `turn` was to move.
    pub fn keep_parity(&mut self, turn: Color) {
        let from_root = |line: &Line| (line.turn() == turn) == line.plies.len().is_multiple_of(2);
        if self.lines.iter().any(from_root) {
            self.lines.retain(from_root);
        }
    }

    /// Replaces all lines.
    pub fn reset(&mut self, now: Millis, sensed: &Sensed, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        self.aged = now;
        self.lines = lines;
        self.set_clock_runs(self.clock_runs);
        self.grow_all(now, sensed);
    }

    /// How many leading half-moves all lines within `margin` of the best share.
    #[must_use]
    pub fn agreed(&self, now: Millis, sensed: &Sensed, margin: f32) -> usize {
        let best = self.best();
        let limit = best.total(sensed, now) + margin;
        let mut agreed = best.plies.len();
        for line in &self.lines[1..] {
            if line.total(sensed, now) <= limit {
                agreed = agreed.min(shared(best, line));
            }
        }
        agreed
    }

    /// The first `n` half-moves of the best line are past doubt: other lines go, and the base
    /// moves on.
    pub fn advance(&mut self, n: usize) {
        if n == 0 {
            return;
        }
        let best = self.best().clone();
        self.lines.retain(|line| shared(&best, line) >= n);
        for line in &mut self.lines {
            line.plies.drain(..n);
        }
        let least = self.lines.iter().map(|l| l.cost).fold(f32::INFINITY, f32::min);
        for line in &mut self.lines {
            line.cost -= least;
        }
    }

    /// Time passes.
    pub fn tick(&mut self, now: Millis, sensed: &Sensed) {
        self.age(now, sensed);
        self.rank(now, sensed);
    }

    fn age(&mut self, now: Millis, sensed: &Sensed) {
        if now > self.aged {
            if !self.frozen {
                for line in &mut self.lines {
                    line.age(sensed, self.aged, now);
                }
            }
            self.aged = now;
        }
    }

    fn grow(&mut self, now: Millis, sensed: &Sensed, squares: Bitboard) {
        let mut fresh = Vec::new();
        for line in &self.lines {
            self.children(line, squares, now, sensed, &mut fresh);
        }
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for line in fresh.drain(..) {
                if self.offer(line.clone()) {
                    self.children(&line, Bitboard::FULL, now, sensed, &mut next);
                }
            }
            if next.len() > 4 * MOST_LINES {
                next.sort_by(|a, b| a.cost.total_cmp(&b.cost));
                next.truncate(4 * MOST_LINES);
            }
            fresh = next;
            if fresh.is_empty() {
                break;
            }
        }
    }

    fn children(&self, line: &Line, squares: Bitboard, now: Millis, sensed: &Sensed, into: &mut Vec<Line>) {
        if line.differing.is_empty() {
            return;
        }
        for candidate in line.stand.candidates() {
            if (candidate.squares() & squares).is_empty() {
                continue;
            }
            if line.speaks_for(candidate, sensed) {
                into.push(self.child(line, candidate, now, sensed, weight::PLY));
            } else if line.taken_at_once(candidate, sensed) {
                into.push(self.child(line, candidate, now, sensed, weight::PLY + weight::TAKEN_AT_ONCE));
            }
        }
    }

    fn child(&self, line: &Line, candidate: &Candidate, now: Millis, sensed: &Sensed, mut cost: f32) -> Line {
        let unpressed = line.plies.last().is_some_and(|ply| ply.pressed.is_none());
        if self.clock_runs && unpressed {
            cost += weight::UNPRESSED;
        }
        cost += line.too_early(candidate, sensed) + line.at_once(candidate, sensed);
        let stand = Arc::new(line.stand.after(candidate));
        let kind = if self.recovering {
            PlyKind::Recovered(candidate.mv)
        } else {
            PlyKind::Legal(candidate.mv)
        };
        line.played(kind, stand, sensed, now, cost)
    }

    /// Takes a line in unless the same half-moves are there at no higher cost.
    fn offer(&mut self, line: Line) -> bool {
        let same = |other: &Line| {
            other.plies.len() == line.plies.len()
                && other.turn() == line.turn()
                && shared(other, &line) == line.plies.len()
        };
        if let Some(known) = self.lines.iter_mut().find(|other| same(other)) {
            if line.cost < known.cost {
                let pressed: Vec<_> = known.plies.iter().map(|p| p.pressed).collect();
                *known = line;
                for (ply, pressed) in known.plies.iter_mut().zip(pressed) {
                    ply.pressed = ply.pressed.or(pressed);
                }
            }
            return false;
        }
        self.lines.push(line);
        true
    }

    fn rank(&mut self, now: Millis, sensed: &Sensed) {
        self.lines.sort_by(|a, b| {
            a.total(sensed, now)
                .total_cmp(&b.total(sensed, now))
                .then(a.plies.len().cmp(&b.plies.len()))
        });
        // Lines that reach the same position go on alike: the likelier way there is kept.
        let mut reached = Vec::with_capacity(self.lines.len());
        self.lines.retain(|line| {
            let state = line.state();
            let fresh = !reached.contains(&state);
            if fresh {
                reached.push(state);
            }
            fresh
        });
        let limit = self.lines[0].total(sensed, now) + BEHIND;
        let keep = self
            .lines
            .iter()
            .take(MOST_LINES)
            .take_while(|l| l.total(sensed, now) <= limit)
            .count();
        self.lines.truncate(keep.max(1));
    }
}

/// How many leading half-moves two lines share.
#[must_use]
pub fn shared(a: &Line, b: &Line) -> usize {
    a.plies
        .iter()
        .zip(&b.plies)
        .take_while(|(x, y)| x.kind.same_as(&y.kind))
        .count()
}

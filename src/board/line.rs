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
    /// An illegal act that was said and has not been put right.
    Illegal(Box<Act>),
    /// What seems to be an illegal act, of which nobody is accused yet.
    Suspect(Box<Act>),
}

impl PlyKind {
    /// The move, where it is a legal one.
    #[must_use]
    pub fn legal(&self) -> Option<Move> {
        match self {
            Self::Legal(mv) | Self::Ruled(mv) | Self::Recovered(mv) => Some(*mv),
            Self::Illegal(_) | Self::Suspect(_) => None,
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
    /// When its first update came.
    pub began: Millis,
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
    /// A piece was carried where it may not go.
    pub const ILLEGAL: f32 = 4.5;
    /// A piece arrived and was taken before the square was scanned.
    pub const TAKEN_AT_ONCE: f32 = 1.0;
    /// A piece arrived before the half-move that it answers was begun.
    pub const BEFORE: f32 = 2.0;
    /// The last half-move has not been pressed although the clock runs.
    pub const OWED: f32 = 1.0;
    /// A piece left a square on which the line has none.
    pub const NEVER_THERE: f32 = 3.0;
    /// Share of its weight that a difference keeps once it is old.
    pub const GHOST: f32 = 0.6;
    /// A piece arrived well before the opponent's half-move that it answers, per second.
    pub const EARLY: f32 = 1.5;
    /// A piece left one square and arrived on another at once, as if knocked.
    pub const AT_ONCE: f32 = 0.3;
    /// Rate at which a lasting difference adds to a line, per second.
    pub const LASTING_RATE: f32 = 0.25;
    /// For how long it does, in milliseconds.
    pub const LASTING_MS: u64 = 8000;
}

/// Squares are scanned one after the other: what happened later may be seen earlier by this.
const SCAN_MS: u64 = 250;
/// A reply may arrive this long before the half-move that it answers is seen.
const EARLY_MS: u64 = 1500;
/// A piece that leaves and arrives within this time was knocked, or fell between two scans.
const AT_ONCE_MS: u64 = 60;
/// A press this soon after a half-move is for it, even when the opponent has replied.
const SOON_MS: u64 = 2500;

/// The last update of a half-move may arrive this long after its press.
const LATE_MS: u64 = 1000;
/// The first one may come this long after it.
const BEGUN_MS: u64 = 350;
/// A press that waits this long for its half-move is given up.
const GIVE_UP_MS: u64 = 20_000;
/// A difference that has lasted this long is a ghost: it says little of what was played since.
const GHOST_MS: u64 = 5000;

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

/// When the first and the last of the updates that speak for the step to `stand` had come, if any
/// did. `steps` are the squares that it changes.
fn seen_at(steps: Bitboard, stand: &Stand, sensed: &Sensed) -> (Option<Millis>, Option<Millis>) {
    let shown = steps
        .into_iter()
        .filter(|s| sensed.at(*s) == stand.placement().at(*s));
    let times = shown.filter_map(|s| sensed.seen_at(s));
    (times.clone().min(), times.max())
}

/// True when half-moves of the same number are the same; differences are looked for from the end.
fn begins_alike(a: &[Ply], b: &[Ply]) -> bool {
    a.iter().zip(b).rev().all(|(x, y)| x.kind.same_as(&y.kind))
}

/// One explanation of what was seen.
#[derive(Clone, Debug)]
pub struct Line {
    /// The half-moves since the base.
    pub plies: Vec<Ply>,
    /// Where they lead.
    pub stand: Arc<Stand>,
    /// Presses whose half-moves have not been seen yet, the oldest first.
    pending: Vec<(Color, Millis)>,
    /// What it has cost so far.
    pub(super) cost: f32,
    /// Squares that show something else than the line says.
    pub(super) differing: Bitboard,
    pub(super) born: Millis,
    /// The clock runs: half-moves are pressed for.
    pub(super) clock_runs: bool,
    /// What it cost when it was last ranked.
    pub(super) ranked: f32,
}

impl Line {
    /// A line without half-moves.
    #[must_use]
    pub fn new(stand: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let differing = sensed.placement().differing(stand.placement());
        Self {
            plies: Vec::new(),
            stand,
            pending: Vec::new(),
            cost: 0.0,
            differing,
            born: now,
            clock_runs: false,
            ranked: 0.0,
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
        let mover = self.turn();
        let steps = self.placement().differing(stand.placement());
        let (began, at) = seen_at(steps, &stand, sensed);
        // What is seen long after a press was not played before it; a dump does not say when.
        let in_time = |pressed: Millis| {
            began.is_none_or(|began| began.since(pressed) <= BEGUN_MS)
                && at.is_none_or(|at| at.since(pressed) <= LATE_MS)
        };
        let mut pending = self.pending.clone();
        let owed = pending
            .iter()
            .position(|(side, pressed)| *side == mover && in_time(*pressed));
        let pressed = owed.map(|i| pending.remove(i).1);
        let mut plies = Vec::with_capacity(self.plies.len() + 1);
        plies.extend_from_slice(&self.plies);
        plies.push(Ply {
            kind,
            at: at.unwrap_or(now),
            began: began.unwrap_or(now),
            pressed,
            stand: stand.clone(),
        });
        Self {
            plies,
            pending,
            cost: self.cost + cost,
            differing: sensed.placement().differing(stand.placement()),
            stand,
            born: now,
            clock_runs: self.clock_runs,
            ranked: self.ranked,
        }
    }

    /// True when this line is `parent` with the half-move `mv`.
    pub(super) fn is_child(&self, parent: &Self, mv: Move) -> bool {
        let n = parent.plies.len();
        // The last half-moves first: they tell most lines apart.
        self.plies.len() == n + 1
            && self.plies[n].kind.legal() == Some(mv)
            && self.turn() != parent.turn()
            && begins_alike(&self.plies[..n], &parent.plies)
    }

    /// True when both are the same half-moves from the same base.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.plies.len() == other.plies.len()
            && self.turn() == other.turn()
            && begins_alike(&self.plies, &other.plies)
    }

    /// What decides how the line goes on: the position, and which presses are still owed.
    pub(super) fn state(&self) -> (u64, bool, bool, bool) {
        let n = self.plies.len();
        let owed = |back: usize| n >= back && self.plies[n - back].pressed.is_none();
        (self.stand.key(), !self.pending.is_empty(), owed(1), owed(2))
    }

    /// The line without its last half-move, whose squares then are as they should not be.
    #[must_use]
    pub fn without_last(&self, base: &Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let mut line = self.clone();
        line.plies.pop();
        line.stand = line
            .plies
            .last()
            .map_or_else(|| base.clone(), |ply| ply.stand.clone());
        line.differing = sensed.placement().differing(line.stand.placement());
        line.born = now;
        line
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
        let own = |i: usize| (n - 1 - i).is_multiple_of(2) == (side == mover_of_last);
        let fresh = (since..n).find(|i| own(*i) && now.since(self.plies[*i].at) <= SOON_MS);
        let owed = fresh.or_else(|| (since..n).rev().find(|i| own(*i)).filter(|i| i + 2 >= n));
        if let Some(i) = owed {
            if i + 1 < n {
                self.cost += weight::LATE_PRESS - weight::UNPRESSED;
            }
            self.plies[i].pressed = Some(now);
        } else if self.turn() == side || !self.pending.is_empty() {
            self.pending.push((side, now));
        } else if n > 0 {
            self.cost += weight::EMPTY_PRESS;
        }
    }

    /// The press of the side to move whose half-move has not been seen yet.
    #[must_use]
    pub fn awaits(&self) -> Option<Millis> {
        self.pending
            .first()
            .filter(|(side, _)| *side == self.turn())
            .map(|(_, at)| *at)
    }

    /// Presses that still wait for their half-moves are given up.
    pub fn forget_presses(&mut self) {
        self.pending.clear();
    }

    /// What the line had cost before its half-moves, about.
    #[must_use]
    pub fn cost_before_plies(&self) -> f32 {
        self.cost - weight::PLY * self.plies.len() as f32
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
        while let Some((_, at)) = self.pending.first()
            && to.since(*at) > GIVE_UP_MS
        {
            self.pending.remove(0);
            self.cost += weight::EMPTY_PRESS;
        }
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
            let each = difference(sensed.at(square), self.stand.placement().at(square));
            let ghost = now.since(sensed.since(square)) > GHOST_MS;
            total += if ghost { each * weight::GHOST } else { each };
        }
        if let Some(last) = self.plies.last()
            && self.clock_runs
            && last.pressed.is_none()
        {
            let late = now.since(last.at).saturating_sub(800).min(1000) as f32 / 1000.0;
            total += weight::OWED * late;
        }
        for (_, at) in &self.pending {
            // A press without a half-move becomes unlikely as time passes.
            let late = now.since(*at).saturating_sub(300).min(900) as f32 / 900.0;
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

    /// False when no half-move can speak for what is seen: nothing has arrived where the line does not
    /// have it, nor lately enough to have been taken ([`Self::taken_at_once`]).
    pub(super) fn may_go_on(&self, sensed: &Sensed) -> bool {
        self.differing.into_iter().any(|square| {
            let left = sensed.since(square).max(self.born);
            !sensed.at(square).is_empty() || sensed.last_arrival() + SCAN_MS >= left
        })
    }

    /// True when what is seen speaks for `candidate`: a piece arrived where it puts one.
    #[must_use]
    pub(super) fn speaks_for(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        candidate.changes().iter().any(|(square, code)| {
            !code.is_empty() && self.differing.contains(*square) && sensed.at(*square) == *code
        })
    }

    /// True when the piece of `candidate` was lifted before the press that waits, and has not been
    /// seen since: the update that told where it went may be lost.
    #[must_use]
    pub(super) fn may_be_unseen(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        let (Some(pressed), Some((from, _))) = (self.awaits(), candidate.changes().first()) else {
            return false;
        };
        let piece = self.placement().at(*from);
        let lifted = self.differing.contains(*from) && sensed.at(*from).is_empty();
        let in_time = sensed.since(*from).since(pressed) <= BEGUN_MS;
        // A piece of the kind that stands where none should is the one that was lifted.
        let astray = self.differing.into_iter().any(|s| sensed.at(s) == piece);
        lifted && in_time && !astray && !self.speaks_for(candidate, sensed)
    }

    /// What it costs that the piece of `candidate` arrived well before the half-move it answers was
    /// made, and more when it did so before that half-move was begun.
    #[must_use]
    pub(super) fn too_early(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
        let Some(last) = self.plies.last() else {
            return 0.0;
        };
        let arrived = candidate
            .changes()
            .iter()
            .filter(|(s, code)| !code.is_empty() && sensed.at(*s) == *code);
        let Some(latest) = arrived.filter_map(|(s, _)| sensed.seen_at(*s)).max() else {
            return 0.0;
        };
        let early = last.at.since(latest + EARLY_MS);
        let before = if last.began > latest + SCAN_MS {
            weight::BEFORE
        } else {
            0.0
        };
        before + weight::EARLY * early.min(3000) as f32 / 1000.0
    }

    /// What it costs that the piece of `candidate` went from square to square at once: a hand
    /// takes its time, a knock does not.
    #[must_use]
    pub(super) fn at_once(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
        let Some(from) = candidate.mv.from() else {
            return 0.0;
        };
        let (Some(left), Some(arrived)) = (sensed.seen_at(from), sensed.seen_at(candidate.mv.to())) else {
            return 0.0;
        };
        let both = sensed.at(from).is_empty() && !sensed.at(candidate.mv.to()).is_empty();
        if both && arrived.since(left).max(left.since(arrived)) < AT_ONCE_MS {
            weight::AT_ONCE
        } else {
            0.0
        }
    }

    /// True when the piece that `candidate` moves has left its square and one of the opponent's
    /// has arrived where it goes: it may have been taken there before it was seen.
    #[must_use]
    pub(super) fn taken_at_once(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        let Some(from) = candidate.mv.from() else {
            return false;
        };
        let to = candidate.mv.to();
        let seen = sensed.at(to);
        // The opponent's piece, or one of the own that has taken it in turn.
        let arrived = seen.piece().is_some()
            && seen != self.placement().at(from)
            && sensed.since(to) + SCAN_MS >= sensed.since(from).max(self.born);
        arrived && self.differing.contains(from) && sensed.at(from) != self.placement().at(from)
    }

    /// The placement the line says.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        self.stand.placement()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::board::placement::Placement;

    fn board() -> (Arc<Stand>, Sensed) {
        let stand = Arc::new(Stand::initial());
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), &Placement::from(stand.board()));
        (stand, sensed)
    }

    /// What the line of the initial position costs when e2 shows `code` for `ms`.
    fn cost_of(code: u8, ms: u64) -> f32 {
        let (stand, mut sensed) = board();
        sensed.set(Millis(1000), Square::E2, Code(code));
        let mut line = Line::new(stand, &sensed, Millis(1000));
        line.age(&sensed, Millis(1000), Millis(1000 + ms));
        line.total(&sensed, Millis(1000 + ms))
    }

    #[test]
    fn a_missing_piece_costs_less_than_a_wrong_one() {
        assert!(cost_of(0, 0) < cost_of(13, 0));
        assert!(cost_of(13, 0) < cost_of(2, 0));
    }

    #[test]
    fn what_lasts_costs_more_up_to_a_bound() {
        assert!(cost_of(0, 0) < cost_of(0, 3000));
        assert!((cost_of(0, 60_000) - cost_of(0, 600_000)).abs() < 1e-3);
    }

    #[test]
    fn a_press_of_the_wrong_side_completes_nothing() {
        let (stand, sensed) = board();
        let mut line = Line::new(stand, &sensed, Millis(0));
        line.pressed_by(Color::Black, Millis(1000));
        assert_eq!(line.awaits(), None);
    }

    #[test]
    fn a_press_that_nothing_answers_is_given_up() {
        let (stand, sensed) = board();
        let mut line = Line::new(stand, &sensed, Millis(0));
        line.pressed_by(Color::White, Millis(1000));
        assert_eq!(line.awaits(), Some(Millis(1000)));
        line.age(&sensed, Millis(1000), Millis(1001 + GIVE_UP_MS));
        assert_eq!(line.awaits(), None);
        assert!(line.total(&sensed, Millis(1001 + GIVE_UP_MS)) >= weight::EMPTY_PRESS);
    }
}

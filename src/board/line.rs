//! One explanation of what was seen: a line of half-moves from a common base.

mod kept;

use std::sync::Arc;

pub use kept::KeptLine;

use shakmaty::{Bitboard, Color, Move, Rank, Square, attacks};

use super::{
    bill::{Bill, Item},
    faults::Faults,
    placement::{Code, Placement},
    ply::{Plies, Ply, PlyKind},
    sensed::{SCAN_MS, Sensed},
    stand::Stand,
    weight,
};
use crate::time::Millis;

/// The last update of a half-move may arrive this long after its press.
const LATE_MS: u64 = 1000;
/// As a rule it has come this long after it.
const READ_MS: u64 = 300;
/// The first one may come this long after it.
pub(super) const BEGUN_MS: u64 = 350;
/// A press that waits this long for its half-move is given up.
pub(super) const GIVE_UP_MS: u64 = 20_000;
/// A piece that was read on a square for less than this was on its way.
const SLID_MS: u64 = 600;
/// A piece that has been missing for so long is in no hand.
const HIDDEN_MS: u64 = 10_000;
/// A difference that has lasted this long is a ghost: it says little of what was played since.
const GHOST_MS: u64 = 5000;

/// Where the piece that went from `from` to `to` was seen on its way and not seen to leave: an update is
/// lost, for it cannot stand on both squares, and it was seen on `to` last.
fn trail(from: Square, to: Square, stand: &Stand, sensed: &Sensed) -> Bitboard {
    let piece = sensed.at(to);
    if piece != stand.placement().at(to) || sensed.is_felt() {
        return Bitboard::EMPTY;
    }
    let passed = |s: &Square| {
        sensed.at(*s) == piece
            && sensed.since(*s) < sensed.since(to)
            && sensed.since(*s) + SCAN_MS >= sensed.since(from)
    };
    attacks::between(from, to).into_iter().filter(passed).collect()
}

/// One explanation of what was seen.
#[derive(Clone, Debug)]
pub struct Line {
    /// The half-moves since the base.
    pub plies: Plies,
    /// Where they lead.
    pub stand: Arc<Stand>,
    /// Presses whose half-moves have not been seen yet, the oldest first.
    pub(super) pending: Vec<(Color, Millis)>,
    /// What it has cost so far.
    pub(super) bill: Bill,
    /// Squares that show something else than the line says.
    pub(super) differing: Bitboard,
    /// Of these, where a piece was seen on its way and is not gone, though it has been seen further on since.
    trail: Bitboard,
    /// Why squares read nothing where a piece stands.
    pub(super) faults: Faults,
    pub(super) born: Millis,
    /// Since when each square that differs does, by this line.
    wrong_since: [Millis; 64],
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
            plies: Plies::default(),
            stand,
            pending: Vec::new(),
            bill: Bill::default(),
            differing,
            trail: Bitboard::EMPTY,
            faults: Faults::default(),
            born: now,
            wrong_since: [now; 64],
            clock_runs: false,
            ranked: 0.0,
        }
    }

    /// Squares that show something else than the line says.
    #[must_use]
    pub fn differing(&self) -> Bitboard {
        self.differing
    }

    /// Why squares read nothing where a piece stands.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What `square` is to show: the piece that stands there, unless that is not read.
    #[must_use]
    pub fn expects(&self, square: Square) -> Code {
        self.faults.shown(square, self.placement().at(square))
    }

    /// The same with pieces on `squares` that are not read.
    pub(super) fn hide(&mut self, squares: Bitboard, sensed: &Sensed) {
        self.faults.hidden |= squares;
        self.hold_against(squares, sensed);
    }

    /// The same with a piece on `square` that is not read.
    #[must_use]
    pub fn with_unread(mut self, square: Square, sensed: &Sensed) -> Self {
        self.hide(Bitboard::from_square(square), sensed);
        self
    }

    /// What has been missing for so long is in no hand any more: it is not read.
    pub(super) fn hide_lasting(&mut self, sensed: &Sensed, now: Millis) {
        let lasts = |s: &Square| {
            let since = sensed.since(*s).max(self.wrong_since[usize::from(*s)]);
            sensed.at(*s).is_empty() && now.since(since) >= HIDDEN_MS
        };
        let missing: Bitboard = (self.differing & !sensed.placement().occupied())
            .into_iter()
            .filter(lasts)
            .collect();
        if missing.any() && !sensed.is_felt() {
            let slid =
                |s: &Square| sensed.before(*s) == self.placement().at(*s) && sensed.stood_for(*s) < SLID_MS;
            let slid = missing.into_iter().filter(slid).count() as f32;
            self.bill.pay(Item::SensorFault, weight::READ_IN_PASSING * slid);
            self.hide(missing, sensed);
        }
    }

    /// Holds `squares` against what is read there.
    pub(super) fn hold_against(&mut self, squares: Bitboard, sensed: &Sensed) {
        let wrong = |s: &Square| !sensed.at(*s).agrees(self.expects(*s));
        let wrong: Bitboard = squares.into_iter().filter(wrong).collect();
        self.differing = (self.differing & !squares) | wrong;
    }

    /// Who is to move.
    #[must_use]
    pub fn turn(&self) -> Color {
        self.stand.turn()
    }

    /// A half-move is added, at the price of `step`, which has what a missing press before it costs.
    #[must_use]
    pub fn played(
        &self,
        kind: PlyKind,
        stand: Arc<Stand>,
        sensed: &Sensed,
        now: Millis,
        step: &Bill,
    ) -> Self {
        let mover = self.turn();
        let steps = self.placement().differing(stand.placement());
        let (began, at) = self.seen_at(steps, &stand, sensed);
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
        let mut faults = match kind.legal() {
            Some(mv) => self.faults.after(mv, sensed.dead(), |to| {
                sensed.at(to).agrees(stand.placement().at(to)) && !sensed.at(to).is_empty()
            }),
            None => self.faults,
        };
        // What was put right is past.
        let last = self.plies.last().and_then(|last| last.pressed);
        faults.fall = faults.fall.filter(|fall| !fall.is_past(last));
        if kind.legal().is_none() {
            steps.into_iter().for_each(|square| faults.forget(square));
        }
        let expected = |s: Square| faults.shown(s, stand.placement().at(s));
        let wrong = |s: &Square| !sensed.at(*s).agrees(expected(*s));
        let differing = (self.differing & !steps) | steps.into_iter().filter(wrong).collect::<Bitboard>();
        let landed = kind
            .from_to()
            .is_none_or(|(_, to)| !differing.contains(to) && !expected(to).is_empty());
        let slid = kind.from_to().filter(|_| kind.legal().is_some());
        let trail = slid.map_or(Bitboard::EMPTY, |(from, to)| {
            trail(from, to, &stand, sensed) & differing
        });
        let mut wrong_since = self.wrong_since;
        for square in steps {
            wrong_since[usize::from(square)] = now;
        }
        let mut plies = self.plies.clone();
        let missed = self.unpressed();
        if plies.last().is_some_and(|last| last.missed != missed) {
            plies.change_last(|last| last.missed = missed);
        }
        let mut bill = self.bill;
        bill.add(step);
        if let (Some(pressed), Some(at)) = (pressed, at) {
            let late = at.since(pressed + READ_MS);
            bill.pay(Item::Late, weight::LATE * late as f32 / 1000.0);
        }
        plies.push(Ply {
            kind,
            at: at.unwrap_or(now),
            began: began.unwrap_or(now),
            seen: at.is_some(),
            landed,
            pressed,
            missed: 0.0,
            stand: stand.clone(),
        });
        Self {
            plies,
            pending,
            bill,
            trail: (self.trail | trail) & differing,
            differing,
            faults,
            stand,
            born: now,
            wrong_since,
            clock_runs: self.clock_runs,
            ranked: self.ranked,
        }
    }

    /// True when this line is `parent` with the half-move `mv`.
    pub(super) fn is_child(&self, parent: &Self, mv: Move) -> bool {
        let n = parent.plies.len();
        // The last half-moves first: they tell most lines apart.
        self.plies.len() == n + 1
            && self
                .plies
                .last()
                .is_some_and(|last| last.kind.legal() == Some(mv))
            && self.turn() != parent.turn()
            && self.faults.fall.is_some() == parent.faults.fall.is_some()
            && self.takes_over(&parent.pending)
            && self.plies.begin_alike(&parent.plies, n, Ply::is_alike)
    }

    /// True when both are the same half-moves from the same base, with the same presses.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.plies.len() == other.plies.len()
            && self.plies.may_be(&other.plies, None)
            && self.turn() == other.turn()
            && self.pending == other.pending
            && self.faults == other.faults
            && self
                .plies
                .begin_alike(&other.plies, self.plies.len(), Ply::is_alike)
    }

    /// True when half-move number `k` is the same in both.
    pub(super) fn has_same(&self, k: usize, other: &Self) -> bool {
        let (own, other) = (self.plies.get(k), other.plies.get(k));
        own.zip(other).is_some_and(|(a, b)| a.kind.same_as(&b.kind))
    }

    /// What decides how the line goes on: the position, and which presses are still owed.
    pub(super) fn state(&self) -> (u64, bool, bool, bool, Faults) {
        let mut last = self.plies.backwards();
        let mut owed = || last.next().is_some_and(|ply| ply.pressed.is_none());
        let (last_owed, one_before_owed) = (owed(), owed());
        (
            self.stand.key(),
            !self.pending.is_empty(),
            last_owed,
            one_before_owed,
            self.faults,
        )
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
        line.hold_against(Bitboard::FULL, sensed);
        line.trail &= line.differing;
        line.born = now;
        line
    }

    /// How many of the half-moves after the first `n` nobody saw who looks since `start`.
    #[must_use]
    pub fn unseen_since(&self, n: usize, start: Millis) -> usize {
        let unseen = |ply: &&Ply| !ply.seen || ply.at <= start;
        self.plies.iter().skip(n).filter(unseen).count()
    }

    /// What the line had cost before its half-moves, about.
    #[must_use]
    pub fn cost_before_plies(&self) -> f32 {
        self.bill.total() - weight::PLY * self.plies.len() as f32
    }

    /// Adds a cost: what speaks against the line besides the board.
    pub fn charge(&mut self, item: Item, nats: f32) {
        self.bill.pay(item, nats);
    }

    /// When the first and the last of the updates that speak for the step to `stand` had come, if
    /// any did. `steps` are the squares that it changes.
    fn seen_at(&self, steps: Bitboard, stand: &Stand, sensed: &Sensed) -> (Option<Millis>, Option<Millis>) {
        let shown = steps.into_iter().filter(|s| {
            let code = stand.placement().at(*s);
            sensed.at(*s).agrees(code) && (code.is_empty() || self.came(*s, sensed))
        });
        let times = shown.filter_map(|s| match stand.placement().at(s) {
            // What brushed over the square since did not empty it.
            Code::EMPTY => sensed.left_at(s, self.placement().at(s)),
            _ => sensed.seen_at(s),
        });
        (times.clone().min(), times.max())
    }

    /// A square changed.
    pub(super) fn seen(&mut self, square: Square, code: Code) {
        self.trail.discard(square);
        if self.faults.hidden.contains(square) && self.placement().at(square) == code {
            // It is read after all.
            self.bill.pay(Item::SensorFault, weight::READ_AFTER_ALL);
        }
        // Another piece like it has left its square.
        let other = |s: Square| s != square && self.expects(s) == code;
        let explained = self.differing.into_iter().any(other);
        self.faults
            .seen(square, code, self.stand.placement().at(square), explained);
        if self.expects(square).agrees(code) {
            self.differing.discard(square);
            if !code.is_empty() {
                self.landed(square);
            }
        } else {
            self.differing.add(square);
        }
    }

    /// The piece that stands on `square` is read there.
    fn landed(&mut self, square: Square) {
        let went = |ply: &Ply| ply.kind.from_to().is_some_and(|(_, to)| to == square);
        if let Some(k) = self.plies.rposition(went)
            && !self.plies[k].landed
        {
            self.plies[k].landed = true;
        }
    }

    /// Squares that a piece has left unseen: one more of its kind is read than there are, or else
    /// another one has been displaced.
    fn trail(&self, sensed: &Sensed) -> Bitboard {
        let surplus = |s: &Square| {
            let piece = sensed.at(*s);
            let (read, expected) = (sensed.placement(), self.placement());
            read.squares_of(piece).count() > expected.squares_of(piece).count()
        };
        self.trail.into_iter().filter(surplus).collect()
    }

    /// Where a pawn stands on the last rank that the player to move may have moved there: it is about to be
    /// replaced.
    pub(crate) fn promoting(&self, sensed: &Sensed) -> Bitboard {
        let us = self.turn();
        let pawn = Code::from(us.pawn());
        let empty = self.differing & !sensed.placement().occupied();
        let left = empty & us.fold_wb(Rank::Seventh, Rank::Second);
        let last = self.differing & us.fold_wb(Rank::Eighth, Rank::First);
        let pushed = |to: &Square| {
            let mut moves = self.stand.moves().iter();
            sensed.at(*to) == pawn
                && moves.any(|mv| {
                    mv.is_promotion() && mv.to() == *to && mv.from().is_some_and(|from| left.contains(from))
                })
        };
        if left.is_empty() {
            return Bitboard::EMPTY;
        }
        last.into_iter().filter(pushed).collect()
    }

    /// Squares that cost little and no more with time, for it is known how they came to differ.
    fn passing(&self, sensed: &Sensed) -> Bitboard {
        self.trail(sensed) | self.promoting(sensed)
    }

    /// Adds what lasting differences cost between `from` and `to`.
    pub(super) fn age(&mut self, sensed: &Sensed, from: Millis, to: Millis) {
        while let Some((_, at)) = self.pending.first()
            && to.since(*at) > GIVE_UP_MS
        {
            self.pending.remove(0);
            self.bill.pay(Item::EmptyPress, weight::EMPTY_PRESS);
        }
        let (rate, lasting) = if sensed.is_felt() {
            (weight::FELT_RATE, weight::FELT_MS)
        } else {
            (weight::LASTING_RATE, weight::LASTING_MS)
        };
        let expected = self.faults.shown_on(self.placement().occupied());
        for square in self.differing & !self.passing(sensed) {
            let since = sensed.since(square).max(self.wrong_since[usize::from(square)]);
            let until = to.min(since + lasting);
            let span = until.since(from.max(since));
            if span > 0 {
                let square = Bitboard::from_square(square);
                let each = weight::differences(square, sensed.placement(), expected);
                self.bill.pay(Item::Lasted, each * rate * span as f32 / 1000.0);
            }
        }
    }

    /// What the line costs at `now`, with what differs now, in nats.
    #[must_use]
    pub fn total(&self, sensed: &Sensed, now: Millis) -> f32 {
        let mut total = self.bill.total();
        self.open_items(sensed, now, |_, nats| total += nats);
        total
    }

    /// What the line pays at `now`, item by item.
    #[must_use]
    pub fn account(&self, sensed: &Sensed, now: Millis) -> Bill {
        let mut bill = self.bill;
        self.open_items(sensed, now, |item, nats| bill.pay(item, nats));
        bill
    }

    /// What it costs that squares show something else than the line says.
    pub(super) fn differs(&self, sensed: &Sensed, now: Millis) -> f32 {
        if self.differing.is_empty() {
            return 0.0;
        }
        let passing = self.passing(sensed);
        let differing = self.differing & !passing;
        let ghosts = differing & !sensed.changed_within(differing, GHOST_MS, now);
        let expected = self.faults.shown_on(self.placement().occupied());
        let cost = |squares| weight::differences(squares, sensed.placement(), expected);
        weight::TRAIL * passing.count() as f32 + cost(differing & !ghosts) + cost(ghosts) * weight::GHOST
    }

    /// What the line costs because of how things stand at `now`; it may pass.
    fn open_items(&self, sensed: &Sensed, now: Millis, mut pay: impl FnMut(Item, f32)) {
        pay(Item::Differs, self.differs(sensed, now));
        if let Some(last) = self.plies.last()
            && self.clock_runs
            && last.pressed.is_none()
        {
            let late = now.since(last.at).saturating_sub(800).min(1000) as f32 / 1000.0;
            pay(Item::Owed, weight::OWED * late);
        }
        for (_, at) in &self.pending {
            // A press without a half-move becomes unlikely as time passes.
            let late = now.since(*at).saturating_sub(300).min(900) as f32 / 900.0;
            let never = now.since(*at).saturating_sub(2000).min(8000) as f32 / 8000.0;
            let more = (weight::EMPTY_PRESS - weight::AWAITED) * never;
            pay(Item::Awaited, weight::AWAITED * late + more);
        }
    }

    /// The squares that show a chess piece which the line does not have there: what a hand or a
    /// dead square cannot explain.
    #[must_use]
    pub fn misplaced(&self, sensed: &Sensed) -> Bitboard {
        let differing = self.differing & !self.promoting(sensed);
        differing.into_iter().filter(|s| sensed.at(*s).is_man()).collect()
    }

    /// The placement the line says.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        self.stand.placement()
    }
}

#[cfg(test)]
mod tests;

//! A hypothesis: one explanation of all readings and presses, as a line of half-moves from a base that all hypotheses share.

mod cost;
mod kept;
mod rested;
pub(super) mod stood;

use std::sync::{Arc, OnceLock};

pub(super) use cost::{Glance, Span};
pub use kept::KeptLine;
use rested::Rested;

use shakmaty::{Bitboard, Color, Move, Square, attacks};

use super::{
    act::IllegalAct,
    bill::{Bill, Item},
    fall::Fall,
    faults::Faults,
    placement::{Code, Placement},
    ply::{Plies, Ply, PlyKind},
    sensed::{SCAN_MS, Sensed},
    stand::Stand,
    weight,
    wrong_since::WrongSince,
};
use crate::time::Millis;

/// The last update of a half-move may arrive this long after its press.
const LATE_MS: u64 = 1000;
/// As a rule the last update of a half-move has come this long after its press.
const READ_MS: u64 = 300;
/// The first update of a half-move may come this long after its press.
pub(super) const BEGUN_MS: u64 = 350;
/// A press that waits this long for its half-move is given up.
pub(super) const GIVE_UP_MS: u64 = 20_000;
/// No hand holds a piece that has been missing for this long.
const HIDDEN_MS: u64 = 10_000;

/// The squares between `from` and `to` that still show the piece which went there. It cannot stand on two squares, and it was read on `to`
/// last: the update of its leaving is lost.
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

/// A hypothesis; see the module.
#[derive(Clone, Debug)]
pub struct Line {
    /// The half-moves since the base.
    pub plies: Plies,
    /// The position to which the half-moves lead.
    pub stand: Arc<Stand>,
    /// The position is not the one to which the half-moves lead: pieces were displaced, and stay where they stand.
    is_displaced: bool,
    /// The half-moves that may be played from there, once somebody has asked.
    moves: OnceLock<Arc<[Move]>>,
    /// Presses whose half-moves have not been seen yet, the oldest first.
    pub(super) pending: Vec<(Color, Millis)>,
    /// What it has cost so far.
    pub(super) bill: Bill,
    /// What it has cost that differences lasted, by squares.
    rested: Rested,
    /// Squares that show something else than the line says.
    pub(super) differing: Bitboard,
    /// Those of `differing` that still show a piece on its way which was read further on since.
    trail: Bitboard,
    /// The sensor faults and the fall that the line assumes.
    pub(super) faults: Faults,
    /// When the last half-move was added or taken away.
    pub(super) born: Millis,
    /// Since when each differing square differs from this line.
    wrong_since: WrongSince,
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
            is_displaced: false,
            moves: OnceLock::new(),
            pending: Vec::new(),
            bill: Bill::default(),
            rested: Rested::default(),
            differing,
            trail: Bitboard::EMPTY,
            faults: Faults::default(),
            born: now,
            wrong_since: WrongSince::new(now),
            clock_runs: false,
            ranked: 0.0,
        }
    }

    /// Squares that show something else than the line says.
    #[must_use]
    pub fn differing(&self) -> Bitboard {
        self.differing
    }

    /// The sensor faults and the fall that the line assumes.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What `square` shows if this line is true: the piece that stands there, unless that piece fell or is not read.
    #[must_use]
    pub fn expects(&self, square: Square) -> Code {
        self.faults.shown(square, self.placement().at(square))
    }

    /// What differs from this line counts from `now` on.
    pub(super) fn differs_since(&mut self, now: Millis) {
        for square in self.differing {
            self.wrong_since.set(square, now);
        }
    }

    /// Assumes that the pieces on `squares` are not read.
    pub(super) fn hide(&mut self, squares: Bitboard, sensed: &Sensed) {
        self.faults.hidden |= squares;
        self.hold_against(squares, sensed);
    }

    /// This line, which now assumes that the piece on `square` is not read.
    #[must_use]
    pub fn with_unread(mut self, square: Square, sensed: &Sensed) -> Self {
        self.hide(Bitboard::from_square(square), sensed);
        self
    }

    /// Assumes of pieces that no hand can hold any more ([`HIDDEN_MS`]) that they are not read.
    pub(super) fn hide_lasting(&mut self, sensed: &Sensed, now: Millis) {
        let lasts = |s: &Square| {
            let since = sensed.since(*s).max(self.wrong_since.at(*s));
            sensed.at(*s).is_empty() && now.since(since) >= HIDDEN_MS
        };
        let missing: Bitboard = (self.differing & !sensed.placement().occupied())
            .into_iter()
            .filter(lasts)
            .collect();
        if missing.any() && !sensed.is_felt() {
            let piece = |s: Square| self.placement().at(s);
            let price = |s: Square| stood::price_of_unread(&self.plies, piece(s), s, sensed);
            let read = missing.into_iter().map(price).sum();
            self.bill.pay(Item::SensorFault, read);
            let elsewhere = |s| stood::was_put_elsewhere(&self.plies, self.placement(), s, sensed);
            // Where several are gone, somebody clears the board or sets the pieces up.
            let gone = self.differing & !sensed.placement().occupied();
            if gone.count() == 1 && missing.into_iter().all(elsewhere) {
                self.bill.pay(Item::Elsewhere, weight::STOOD_ELSEWHERE);
            }
            self.hide(missing, sensed);
        }
    }

    /// Compares `squares` with what is read there.
    pub(super) fn hold_against(&mut self, squares: Bitboard, sensed: &Sensed) {
        let wrong = |s: &Square| !sensed.at(*s).agrees(self.expects(*s));
        let wrong: Bitboard = squares.into_iter().filter(wrong).collect();
        self.differing = (self.differing & !squares) | wrong;
    }

    /// The half-moves that may be played from the position to which the line leads.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        self.moves.get_or_init(|| self.stand.moves().into())
    }

    /// Who is to move.
    #[must_use]
    pub fn turn(&self) -> Color {
        self.stand.turn()
    }

    /// This line with one more half-move, at the price of `step`. That price has what it costs if the half-move before lacks its press.
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
        // A half-move that was read long after a press was not made before it. A dump does not tell when it was made.
        let is_late = |pressed: Millis| at.is_some_and(|at| at.since(pressed) > LATE_MS);
        let in_time = |pressed: Millis| {
            began.is_none_or(|began| began.since(pressed) <= BEGUN_MS)
                && (!is_late(pressed) || stood::went_on(&kind, self.placement(), pressed, READ_MS, sensed))
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
        // A fall that was put right ends with the next half-move.
        let last = self.plies.last().and_then(|last| last.pressed);
        let fall = faults.fall.filter(|fall| !fall.is_past(last));
        faults.fall = fall.map(|fall| fall.followed(pressed));
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
        let mut wrong_since = self.wrong_since.clone();
        for square in steps {
            wrong_since.set(square, now);
        }
        let mut plies = self.plies.clone();
        let missed = self.unpressed();
        if plies.last().is_some_and(|last| last.missed != missed) {
            plies.change_last(|last| last.missed = missed);
        }
        let mut bill = self.bill;
        bill.add(step);
        if kind
            .from_to()
            .is_some_and(|(from, _)| stood::has_gone_on(&self.plies, self.placement().at(from), from, sensed))
        {
            bill.pay(Item::SensorFault, weight::READ_IN_PASSING);
        }
        if let (Some(pressed), Some(at)) = (pressed, at) {
            if is_late(pressed) {
                bill.pay(Item::Elsewhere, weight::WENT_ON);
            } else {
                let late = at.since(pressed + READ_MS);
                bill.pay(Item::Late, weight::LATE * late as f32 / 1000.0);
            }
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
            made_in: self.is_displaced.then(|| self.stand.clone()),
        });
        let mut line = Self {
            plies,
            pending,
            bill,
            rested: self.rested.begun(),
            trail: (self.trail | trail) & differing,
            differing,
            faults,
            stand,
            is_displaced: false,
            moves: OnceLock::new(),
            born: now,
            wrong_since,
            clock_runs: self.clock_runs,
            ranked: self.ranked,
        };
        line.forgive(sensed);
        line
    }

    /// This line, in which the player to move has done `act`, whatever that costs: play goes on from what it left.
    #[must_use]
    pub fn after_act(&self, act: IllegalAct, sensed: &Sensed, now: Millis) -> Self {
        let left = Arc::new(self.stand.left_as(&act.placement()));
        let kind = PlyKind::Illegal(Box::new(act));
        self.played(kind, left, sensed, now, &Bill::default())
    }

    /// True when this line is `parent` with the half-move `mv`.
    pub(super) fn is_child(&self, parent: &Self, mv: Move) -> bool {
        let n = parent.plies.len();
        // The last half-moves are compared first, for they tell most lines apart.
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
            && self.plies.may_be(&other.plies)
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

    /// True when both lines go on alike: they reach the same position, and the same presses are still owed.
    pub(super) fn goes_on_like(&self, other: &Self) -> bool {
        let owes = |line: &Self| {
            let mut owed = line.plies.backwards().map(|ply| ply.pressed.is_none());
            [owed.next(), owed.next()].map(Option::unwrap_or_default)
        };
        self.stand.is_same(&other.stand)
            && self.pending.is_empty() == other.pending.is_empty()
            && self.faults == other.faults
            && owes(self) == owes(other)
    }

    /// This line, where pieces were displaced and play goes on from `placement`, which stands on the board.
    pub(super) fn displaced_as(&self, placement: &Placement, sensed: &Sensed) -> Self {
        let mut line = self.clone();
        line.stand = Arc::new(self.stand.with_placement(placement));
        line.is_displaced = true;
        line.moves = OnceLock::new();
        line.faults.fall = None;
        line.hold_against(Bitboard::FULL, sensed);
        line.trail &= line.differing;
        line
    }

    /// This line without its last half-move. The squares of that half-move then differ, as a rule.
    #[must_use]
    pub fn without_last(&self, base: &Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let mut line = self.clone();
        line.plies.pop();
        line.stand = line
            .plies
            .last()
            .map_or_else(|| base.clone(), |ply| ply.stand.clone());
        line.is_displaced = false;
        line.moves = OnceLock::new();
        line.hold_against(Bitboard::FULL, sensed);
        line.trail &= line.differing;
        line.born = now;
        line
    }

    /// How many of the half-moves after the first `n` no update told of after `start`.
    #[must_use]
    pub fn unseen_since(&self, n: usize, start: Millis) -> usize {
        let unseen = |ply: &&Ply| !ply.seen || ply.at <= start;
        self.plies.iter().skip(n).filter(unseen).count()
    }

    /// About what the line had cost before its half-moves.
    #[must_use]
    pub fn cost_before_plies(&self) -> f32 {
        self.bill.total() - weight::PLY * self.plies.len() as f32
    }

    /// Adds a cost: something besides the board speaks against the line.
    pub fn charge(&mut self, item: Item, nats: f32) {
        self.bill.pay(item, nats);
    }

    /// Something happened that may bear out the fall that this line assumes: what it pays for it changes by as much as `told` says.
    pub(super) fn tell_fall(&mut self, told: impl FnOnce(&mut Fall) -> f32) {
        if let Some(fall) = &mut self.faults.fall {
            self.bill.pay(Item::Displaced, told(fall));
        }
    }

    /// When the first and the last of the updates came that speak for the step to `stand`, which changes the squares `steps`, if any did.
    fn seen_at(&self, steps: Bitboard, stand: &Stand, sensed: &Sensed) -> (Option<Millis>, Option<Millis>) {
        let shown = steps.into_iter().filter(|s| {
            let code = stand.placement().at(*s);
            sensed.at(*s).agrees(code) && (code.is_empty() || self.came(*s, sensed))
        });
        let times = shown.filter_map(|s| match stand.placement().at(s) {
            // A piece that brushed over the square since did not empty it.
            Code::EMPTY => sensed.left_at(s, self.placement().at(s)),
            _ => sensed.seen_at(s),
        });
        (times.clone().min(), times.max())
    }

    /// True when what stands on `square` may have come there since the last half-move. A board that does not
    /// know its pieces shows the capturing piece as it showed the captured one, so there the time decides.
    pub(super) fn came(&self, square: Square, sensed: &Sensed) -> bool {
        let stood = sensed.at(square) == Code::UNKNOWN && !self.placement().at(square).is_empty();
        !stood
            || self
                .plies
                .last()
                .is_none_or(|last| sensed.since(square) > last.at)
    }

    /// `square` came to show `code`.
    pub(super) fn seen(&mut self, square: Square, code: Code) {
        self.trail.discard(square);
        if self.placement().at(square) == code && code.is_piece() {
            // The piece is read after all. One that a pawn became, other than a queen, is known only now.
            let price = stood::price_of_reading(&self.plies, square);
            if self.faults.hidden.contains(square) {
                self.bill.pay(Item::SensorFault, price.max(0.0));
            }
            self.bill.pay(Item::Underpromotion, price.min(0.0));
        }
        if self.faults != Faults::default() {
            // Another piece of its kind has left its square.
            let other = |s: Square| s != square && self.expects(s) == code;
            let is_other = self.differing.into_iter().any(other);
            let last = self.plies.last().and_then(|last| last.pressed);
            let put = |fall: Fall| !is_other && fall.is_put(last, (square, code), &self.stand, self.moves());
            let is_put = self.faults.fall.is_some_and(put);
            let (faults, stands) = (&mut self.faults, self.stand.placement());
            let price = faults.seen((square, code), stands, is_other, is_put);
            self.bill.pay(Item::Displaced, price);
        }
        if self.expects(square).agrees(code) {
            self.differing.discard(square);
            if !code.is_empty() {
                self.landed(square);
            }
        } else {
            self.differing.add(square);
        }
    }

    /// The piece that a half-move put on `square` is read there.
    fn landed(&mut self, square: Square) {
        let went = |ply: &Ply| ply.kind.from_to().is_some_and(|(_, to)| to == square);
        if let Some(k) = self.plies.rposition(went)
            && !self.plies[k].landed
        {
            self.plies[k].landed = true;
        }
    }

    /// The squares that show a chess piece which the line does not have there: neither a hand nor a dead square explains them. A pawn that
    /// is about to be replaced does not count.
    #[must_use]
    pub fn misplaced(&self, sensed: &Sensed) -> Bitboard {
        let differing = self.differing & !self.promoting(sensed);
        differing
            .into_iter()
            .filter(|s| sensed.at(*s).is_piece())
            .collect()
    }

    /// True where what differs may have a part in `ply`. A piece that has stood on a wrong square since before has none.
    #[must_use]
    pub fn has_part_in(&self, ply: &Ply, sensed: &Sensed) -> bool {
        let stands = |piece: Code| self.differing.into_iter().any(|s| sensed.at(s) == piece);
        self.differing.into_iter().any(|square| {
            let missing = sensed.at(square).is_empty() && !stands(self.placement().at(square));
            missing || sensed.since(square) >= ply.began
        })
    }

    /// The placement of the position to which the line leads.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        self.stand.placement()
    }
}

#[cfg(test)]
mod tests;

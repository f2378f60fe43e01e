//! What a line costs: what it pays as time passes, and what it pays for things that are open at a moment.

use shakmaty::{Bitboard, Rank, Square};

use super::{GIVE_UP_MS, Line, rested::put_right};
use crate::{
    board::{
        bill::{Bill, Item},
        placement::Code,
        sensed::Sensed,
        weight,
    },
    time::Millis,
};

/// A difference that has lasted this long is a *ghost*: it tells little of what was played since, and costs
/// less.
const GHOST_MS: u64 = 5000;
/// A knock shifts all pieces within this time.
const KNOCK_MS: u64 = 1500;
/// Where more squares came to differ at once than so many, one thing made them differ: the table was knocked.
const MANY: usize = 8;
/// What share of its price each further one costs.
const FURTHER: f32 = 0.3;

/// The readings at a moment, with which many lines are compared.
#[derive(Clone, Copy)]
pub(in crate::board) struct Glance<'a> {
    sensed: &'a Sensed,
    now: Millis,
    /// The squares that changed too recently for their differences to be ghosts.
    fresh: Bitboard,
}

impl<'a> Glance<'a> {
    /// `sensed` at `now`.
    pub(in crate::board) fn new(sensed: &'a Sensed, now: Millis) -> Self {
        Self {
            sensed,
            now,
            fresh: sensed.changed_within(Bitboard::FULL, GHOST_MS, now),
        }
    }
}

/// A span of time in which many lines pay for differences that last.
pub(in crate::board) struct Span<'a> {
    sensed: &'a Sensed,
    from: Millis,
    to: Millis,
    /// The squares that changed so late that their differences cost something in this span.
    paid: Bitboard,
    /// What each of them costs from its change on: where the line has no piece, and where it has one.
    prices: [[f32; 2]; 64],
}

impl<'a> Span<'a> {
    /// From `from` to `to`, for lines from which no other squares than `differing` differ.
    pub(in crate::board) fn new(sensed: &'a Sensed, differing: Bitboard, from: Millis, to: Millis) -> Self {
        let mut span = Self {
            sensed,
            from,
            to,
            paid: Bitboard::EMPTY,
            prices: [[0.0; 2]; 64],
        };
        span.paid = differing & sensed.changed_since(span.start());
        for square in span.paid {
            let since = sensed.since(square);
            span.prices[usize::from(square)] =
                [false, true].map(|expected| span.price(square, since, expected));
        }
        span
    }

    /// What differs since earlier costs nothing any more.
    fn start(&self) -> Millis {
        let (_, lasting) = lasting(self.sensed);
        self.from - lasting
    }

    /// What it costs in this span that `square` has differed since `since`. `expected`: the line has a piece there.
    fn price(&self, square: Square, since: Millis, expected: bool) -> f32 {
        let (rate, lasting) = lasting(self.sensed);
        let until = self.to.min(since + lasting);
        let span = until.since(self.from.max(since));
        let each = weight::difference(square, self.sensed.placement(), expected);
        each * rate * span as f32 / 1000.0
    }
}

impl Line {
    /// Squares of the trail that their piece has left without an update: the board reads more pieces of its
    /// kind than the line has. If it does not, another piece of its kind was displaced.
    fn left_unseen(&self, sensed: &Sensed) -> Bitboard {
        let surplus = |s: &Square| {
            let piece = sensed.at(*s);
            let (read, expected) = (sensed.placement(), self.placement());
            read.squares_of(piece).count() > expected.squares_of(piece).count()
        };
        self.trail.into_iter().filter(surplus).collect()
    }

    /// The squares of the last rank that show a pawn which the player to move may have moved there: the
    /// player is about to replace it.
    pub(crate) fn promoting(&self, sensed: &Sensed) -> Bitboard {
        let us = self.turn();
        let pawn = Code::from(us.pawn());
        let last = self.differing & us.fold_wb(Rank::Eighth, Rank::First);
        if last.is_empty() {
            return Bitboard::EMPTY;
        }
        let empty = self.differing & !sensed.placement().occupied();
        let left = empty & us.fold_wb(Rank::Seventh, Rank::Second);
        let pushed = |to: &Square| {
            let mut moves = self.moves().iter();
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

    /// Differing squares that cost little, and not more as time passes, for it is known how they came to
    /// differ.
    #[inline]
    fn passing(&self, sensed: &Sensed) -> Bitboard {
        if self.trail.is_empty() && (self.differing & Bitboard::BACKRANKS).is_empty() {
            return Bitboard::EMPTY;
        }
        self.left_unseen(sensed) | self.promoting(sensed)
    }

    /// Adds what lasting differences cost in a span of time.
    pub(in crate::board) fn age(&mut self, span: &Span<'_>) {
        let Span { sensed, to, .. } = *span;
        while let Some((_, at)) = self.pending.first()
            && to.since(*at) > GIVE_UP_MS
        {
            self.pending.remove(0);
            self.bill.pay(Item::EmptyPress, weight::EMPTY_PRESS);
        }
        // The squares that may differ from this line since later than they changed.
        let own = if self.born < span.start() {
            Bitboard::EMPTY
        } else {
            self.wrong_since.may_be_after(span.start())
        };
        let paying = self.differing & (span.paid | own);
        if paying.is_empty() {
            return;
        }
        let expected = self.faults.shown_on(self.placement().occupied());
        let share = share(sensed, self.differing);
        for square in paying & !self.passing(sensed) {
            let since = self.wrong_since.at(square);
            let nats = if own.contains(square) && since > sensed.since(square) {
                span.price(square, since, expected.contains(square))
            } else {
                span.prices[usize::from(square)][usize::from(expected.contains(square))]
            };
            if nats > 0.0 {
                let nats = nats * share;
                self.bill.pay(Item::Lasted, nats);
                self.rested.pay(square, nats);
            }
        }
    }

    /// Gives back what pieces have cost that rested elsewhere before the press for the last half-move ([`put_right`]).
    pub(in crate::board) fn forgive(&mut self, sensed: &Sensed) {
        let squares = self.rested.squares() & !self.differing;
        if squares.is_empty() || sensed.is_felt() {
            return;
        }
        // What is not read where it went, and what stands astray, is explained no better by a second thought.
        let to = self
            .plies
            .last()
            .and_then(|last| last.kind.from_to())
            .map(|(_, to)| to);
        let mover = Some(!self.turn());
        let is_astray = |square: Square| Some(square) == to || sensed.at(square).color() == mover;
        if self.differing.into_iter().any(is_astray) {
            return;
        }
        let back = self.rested.give_back(put_right(&self.plies, squares, sensed));
        self.bill.pay(Item::Lasted, -back);
    }

    /// What the line costs at `now`, with what differs now, in nats.
    #[must_use]
    pub fn total(&self, sensed: &Sensed, now: Millis) -> f32 {
        self.total_at(Glance::new(sensed, now))
    }

    /// [`Self::total`] at a moment that many lines share.
    pub(in crate::board) fn total_at(&self, glance: Glance<'_>) -> f32 {
        self.total_if(self.differs(glance), glance.now)
    }

    /// What the line costs at `now` if its differences cost `differs`.
    pub(in crate::board) fn total_if(&self, differs: f32, now: Millis) -> f32 {
        let mut total = self.bill.total();
        self.open_items(differs, now, |_, nats| total += nats);
        total
    }

    /// What the line pays at `now`, item by item.
    #[must_use]
    pub fn account(&self, sensed: &Sensed, now: Millis) -> Bill {
        let mut bill = self.bill;
        let differs = self.differs(Glance::new(sensed, now));
        self.open_items(differs, now, |item, nats| bill.pay(item, nats));
        bill
    }

    /// What it costs that squares show something else than the line says.
    pub(in crate::board) fn differs(&self, Glance { sensed, fresh, .. }: Glance<'_>) -> f32 {
        if self.differing.is_empty() {
            return 0.0;
        }
        let passing = self.passing(sensed);
        let differing = self.differing & !passing;
        let ghosts = differing & !fresh;
        let expected = self.faults.shown_on(self.placement().occupied());
        let cost = |squares: Bitboard| {
            if squares.is_empty() {
                return 0.0;
            }
            weight::differences(squares, sensed.placement(), expected)
        };
        let trail = if passing.any() {
            weight::TRAIL * passing.count() as f32
        } else {
            0.0
        };
        let left_empty = weight::LEFT_EMPTY * self.left_empty(sensed).count() as f32;
        trail
            + cost(differing & !ghosts) * share(sensed, differing & !ghosts)
            + cost(ghosts) * weight::GHOST
            + left_empty
    }

    /// Squares that were occupied, and have been empty since before the last half-move although the line has a piece there, on a board
    /// that feels only occupation. No hand holds such a piece: it has taken another one.
    fn left_empty(&self, sensed: &Sensed) -> Bitboard {
        if !sensed.is_felt() {
            return Bitboard::EMPTY;
        }
        let Some(last) = self.plies.last() else {
            return Bitboard::EMPTY;
        };
        let left = |square: &Square| sensed.at(*square).is_empty() && sensed.since(*square) < last.began;
        let felt = self.differing & sensed.ever_read();
        felt.into_iter().filter(left).collect()
    }

    /// What the line costs at `now` because of what is still open, its differences among it. It costs nothing
    /// more once that is settled.
    fn open_items(&self, differs: f32, now: Millis, mut pay: impl FnMut(Item, f32)) {
        pay(Item::Differs, differs);
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
}

/// What share of its price each of `differing` costs: where many came to differ at once, one thing made them differ, and each further one
/// tells less.
fn share(sensed: &Sensed, differing: Bitboard) -> f32 {
    if differing.count() <= MANY || sensed.is_felt() {
        return 1.0;
    }
    let (all, further) = (differing.count(), at_once(sensed, differing).saturating_sub(MANY));
    (all as f32 - (1.0 - FURTHER) * further as f32) / all as f32
}

/// How many of `squares` came to show what they show at once, as updates told. (A dump after a gap shows many half-moves at once.)
fn at_once(sensed: &Sensed, squares: Bitboard) -> usize {
    let mut times: Vec<_> = squares.into_iter().filter_map(|s| sensed.seen_at(s)).collect();
    times.sort_unstable();
    let until = |from: Millis| times.partition_point(|at| at.since(from) <= KNOCK_MS);
    let each = times.iter().enumerate().map(|(i, from)| until(*from) - i);
    each.max().unwrap_or_default()
}

/// What a lasting difference costs a second, and for how many milliseconds it does.
fn lasting(sensed: &Sensed) -> (f32, u64) {
    if sensed.is_felt() {
        (weight::FELT_RATE, weight::FELT_MS)
    } else {
        (weight::LASTING_RATE, weight::LASTING_MS)
    }
}

//! What a line costs: what it pays as time passes, and what it pays for things that are open at a moment.

use shakmaty::{Bitboard, Rank, Square};

use super::{GIVE_UP_MS, Line};
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

    /// Differing squares that cost little, and not more as time passes, for it is known how they came to
    /// differ.
    fn passing(&self, sensed: &Sensed) -> Bitboard {
        self.left_unseen(sensed) | self.promoting(sensed)
    }

    /// Adds what lasting differences cost between `from` and `to`. `lately` has the squares that changed so
    /// late that they may cost something after `from` ([`paid_for_after`]).
    pub(in crate::board) fn age(&mut self, sensed: &Sensed, lately: Bitboard, from: Millis, to: Millis) {
        while let Some((_, at)) = self.pending.first()
            && to.since(*at) > GIVE_UP_MS
        {
            self.pending.remove(0);
            self.bill.pay(Item::EmptyPress, weight::EMPTY_PRESS);
        }
        let (rate, lasting) = lasting(sensed);
        let paying = if self.born + lasting > from {
            self.differing
        } else {
            self.differing & lately
        };
        if paying.is_empty() {
            return;
        }
        let expected = self.faults.shown_on(self.placement().occupied());
        for square in paying & !self.passing(sensed) {
            let since = sensed.since(square).max(self.wrong_since.at(square));
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
        self.total_at(Glance::new(sensed, now))
    }

    /// [`Self::total`] at a moment that many lines share.
    pub(in crate::board) fn total_at(&self, glance: Glance<'_>) -> f32 {
        let mut total = self.bill.total();
        self.open_items(glance, |_, nats| total += nats);
        total
    }

    /// What the line pays at `now`, item by item.
    #[must_use]
    pub fn account(&self, sensed: &Sensed, now: Millis) -> Bill {
        let mut bill = self.bill;
        self.open_items(Glance::new(sensed, now), |item, nats| bill.pay(item, nats));
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
        weight::TRAIL * passing.count() as f32 + cost(differing & !ghosts) + cost(ghosts) * weight::GHOST
    }

    /// What the line costs at `now` because of what is still open. It costs nothing more once that is
    /// settled.
    fn open_items(&self, glance: Glance<'_>, mut pay: impl FnMut(Item, f32)) {
        let now = glance.now;
        pay(Item::Differs, self.differs(glance));
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

/// What a lasting difference costs a second, and for how many milliseconds it does.
fn lasting(sensed: &Sensed) -> (f32, u64) {
    if sensed.is_felt() {
        (weight::FELT_RATE, weight::FELT_MS)
    } else {
        (weight::LASTING_RATE, weight::LASTING_MS)
    }
}

/// The squares that changed so late that their differences may cost something after `from` ([`Line::age`]).
pub(in crate::board) fn paid_for_after(sensed: &Sensed, from: Millis) -> Bitboard {
    let (_, lasting) = lasting(sensed);
    sensed.changed_since(from - lasting)
}

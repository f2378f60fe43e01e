//! Since when squares differ from what a hypothesis says.

use shakmaty::{Bitboard, Square};

use crate::time::Millis;

/// A time for each square. Every hypothesis has its own, and there are many. So only times that are not the first are
/// kept, and those as what has passed since the first.
#[derive(Clone, Debug)]
pub(super) struct WrongSince {
    first: Millis,
    /// The squares whose time may be another than the first.
    later: Bitboard,
    /// For each of `later`, in their order: milliseconds after `first`. A time more than forty-nine days later is kept as
    /// the latest that fits.
    after: Vec<u32>,
}

impl WrongSince {
    /// All since `first`.
    pub(super) fn new(first: Millis) -> Self {
        Self {
            first,
            later: Bitboard::EMPTY,
            after: Vec::new(),
        }
    }

    /// Since when `square` differs, if it differs.
    pub(super) fn at(&self, square: Square) -> Millis {
        if !self.later.contains(square) {
            return self.first;
        }
        let after = self.after.get(self.place(square)).copied();
        self.first + u64::from(after.unwrap_or_default())
    }

    /// `square` differs since `at`, which is not before the first of them.
    pub(super) fn set(&mut self, square: Square, at: Millis) {
        let after = u32::try_from(at.since(self.first)).unwrap_or(u32::MAX);
        let place = self.place(square);
        match self.after.get_mut(place) {
            Some(known) if self.later.contains(square) => *known = after,
            _ => self.after.insert(place, after),
        }
        self.later.add(square);
    }

    /// Where the time of `square` stands in `after`, or would stand.
    fn place(&self, square: Square) -> usize {
        let before = u64::from(self.later) & (Bitboard::from_square(square).0 - 1);
        before.count_ones() as usize
    }

    /// All squares whose time is `start` or later, and perhaps others.
    pub(super) fn may_be_after(&self, start: Millis) -> Bitboard {
        if self.first < start {
            self.later
        } else {
            Bitboard::FULL
        }
    }

    /// The earliest of the times.
    pub(super) fn least(&self) -> Millis {
        let all_are_later = self.later == Bitboard::FULL;
        let least = self.after.iter().min().copied().filter(|_| all_are_later);
        self.first + u64::from(least.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_square_has_its_time() {
        let mut since = WrongSince::new(Millis(1000));
        since.set(Square::E4, Millis(4000));
        since.set(Square::A8, Millis(5000));
        since.set(Square::A1, Millis(2000));
        since.set(Square::E4, Millis(3500));
        let times = [Square::E4, Square::E5, Square::A8, Square::A1].map(|square| since.at(square));
        assert_eq!(times, [Millis(3500), Millis(1000), Millis(5000), Millis(2000)]);
        assert_eq!(since.least(), Millis(1000));
        Square::ALL
            .into_iter()
            .for_each(|square| since.set(square, Millis(3000)));
        assert_eq!(since.least(), Millis(3000));
    }

    #[test]
    fn squares_whose_time_is_the_first_are_not_among_the_later_ones() {
        let mut since = WrongSince::new(Millis(1000));
        since.set(Square::E4, Millis(4000));
        assert_eq!(
            since.may_be_after(Millis(1001)),
            Bitboard::from_square(Square::E4)
        );
        assert_eq!(since.may_be_after(Millis(1000)), Bitboard::FULL);
    }

    #[test]
    fn a_time_that_does_not_fit_is_kept_as_the_nearest_that_does() {
        let mut since = WrongSince::new(Millis(1000));
        since.set(Square::E4, Millis(u64::MAX));
        since.set(Square::E5, Millis(10));
        assert_eq!(since.at(Square::E4), Millis(1000) + u64::from(u32::MAX));
        assert_eq!(since.at(Square::E5), Millis(1000));
    }
}

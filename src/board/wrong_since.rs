//! Since when squares differ from what a hypothesis says.

use shakmaty::{Bitboard, Square};

use crate::time::Millis;

/// A time for each square. Every hypothesis has its own, and there are many. So each time takes few bytes: it
/// is kept as what has passed since the first.
#[derive(Clone, Debug)]
pub(super) struct WrongSince {
    first: Millis,
    /// Milliseconds after `first`. A time more than forty-nine days later is kept as the latest that fits.
    after: [u32; 64],
    /// The squares whose time may be another than the first.
    later: Bitboard,
}

impl WrongSince {
    /// All since `first`.
    pub(super) fn new(first: Millis) -> Self {
        Self {
            first,
            after: [0; 64],
            later: Bitboard::EMPTY,
        }
    }

    /// Since when `square` differs, if it differs.
    pub(super) fn at(&self, square: Square) -> Millis {
        self.first + u64::from(self.after[usize::from(square)])
    }

    /// `square` differs since `at`, which is not before the first of them.
    pub(super) fn set(&mut self, square: Square, at: Millis) {
        self.after[usize::from(square)] = u32::try_from(at.since(self.first)).unwrap_or(u32::MAX);
        self.later.add(square);
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
        self.first + u64::from(self.after.iter().min().copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_square_has_its_time() {
        let mut since = WrongSince::new(Millis(1000));
        since.set(Square::E4, Millis(4000));
        let times = [Square::E4, Square::E5].map(|square| since.at(square));
        assert_eq!(times, [Millis(4000), Millis(1000)]);
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

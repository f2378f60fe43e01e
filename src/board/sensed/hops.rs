//! Pieces that stand between two squares and are read on the one or the other, and pieces that come and go where they stand.

use shakmaty::{Square, attacks};

use super::{EARLIER, Sensed};
use crate::{board::placement::Code, time::Millis};

/// What goes from one square to the next within this time stands between them, or slid.
const HOP_MS: u64 = 50;

impl Sensed {
    /// What `square` has shown, and since when; the last first.
    fn shown(&self, square: Square) -> [(Code, Millis); EARLIER + 1] {
        let [a, b, c, d] = self.earlier[usize::from(square)];
        [(self.at(square), self.since(square)), a, b, c, d]
    }

    /// How often, since `from`, `code` has gone in an instant from a neighbouring square to `square`, as far as that is remembered:
    /// where it stood on `square` before, it stands between the two, and no hand moves it.
    #[must_use]
    pub fn hops(&self, square: Square, code: Code, from: Millis) -> usize {
        let came = |(shown, at): &(Code, Millis)| *shown == code && *at >= from;
        let left_at = |square: Square, at: Millis| {
            let left = |two: &[(Code, Millis)]| {
                let [(after, gone), (before, _)] = two else {
                    return false;
                };
                *after != code && *before == code && gone.since(at).max(at.since(*gone)) <= HOP_MS
            };
            self.shown(square).windows(2).any(left)
        };
        let beside = attacks::king_attacks(square);
        let arrivals = self.shown(square).into_iter().filter(came);
        let hops = arrivals.filter(|(_, at)| beside.into_iter().any(|other| left_at(other, *at)));
        if code.is_empty() { 0 } else { hops.count() }
    }

    /// When `code` was read no more on `square`, where it had been read; it may be read there again.
    #[must_use]
    pub fn vanished_at(&self, square: Square, code: Code) -> Option<Millis> {
        match self.shown(square) {
            [(now, gone), (before, _), ..] if now.is_empty() && before == code => Some(gone),
            [(now, _), (between, gone), (before, _), ..]
                if now == code && between.is_empty() && before == code =>
            {
                Some(gone)
            }
            _ => None,
        }
    }

    /// How often `code` was read no more on `square` since `from`, and was read there again, as far as that is remembered.
    #[must_use]
    pub fn flickers(&self, square: Square, code: Code, from: Millis) -> usize {
        let is_flicker = |three: &&[(Code, Millis)]| {
            let [(after, _), (between, gone), (before, _)] = three else {
                return false;
            };
            let is_alike = *after == code && between.is_empty() && *before == code;
            is_alike && *gone >= from
        };
        let times = self.shown(square).windows(3).filter(is_flicker).count();
        if code.is_empty() { 0 } else { times }
    }
}

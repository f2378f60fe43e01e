//! Pieces that stand between two squares, and are read on the one or the other.

use shakmaty::{Square, attacks};

use super::Sensed;
use crate::{board::placement::Code, time::Millis};

/// What goes from one square to the next within this time stands between them, or slid.
const HOP_MS: u64 = 50;

impl Sensed {
    /// True where `code` has gone in an instant, since `from`, from a neighbouring square to `square`: where it stood on `square`
    /// before, it stands between the two, and no hand moves it.
    #[must_use]
    pub fn has_hopped(&self, square: Square, code: Code, from: Millis) -> bool {
        let shown = |square: Square| {
            let [a, b, c, d] = self.earlier[usize::from(square)];
            [(self.at(square), self.since(square)), a, b, c, d]
        };
        let came = |(shown, at): &(Code, Millis)| *shown == code && *at >= from;
        let left_at = |square: Square, at: Millis| {
            let left = |two: &[(Code, Millis)]| {
                let [(after, gone), (before, _)] = two else {
                    return false;
                };
                *after != code && *before == code && gone.since(at).max(at.since(*gone)) <= HOP_MS
            };
            shown(square).windows(2).any(left)
        };
        let beside = attacks::king_attacks(square);
        let arrivals = shown(square).into_iter().filter(came);
        let mut hops = arrivals.filter(|(_, at)| beside.into_iter().any(|other| left_at(other, *at)));
        !code.is_empty() && hops.next().is_some()
    }
}

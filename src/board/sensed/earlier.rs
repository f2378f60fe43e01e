//! What squares have shown before: pieces that left, or stood there for a while, that stand between two squares and are read on the one
//! or the other, and that come and go where they stand.

use shakmaty::{Square, attacks};

use super::{EARLIER, LIFTED_MS, SCAN_MS, Sensed};
use crate::{board::placement::Code, time::Millis};

/// What goes from one square to the next within this time stands between them, or slid.
pub(super) const HOP_MS: u64 = 50;

impl Sensed {
    /// What `square` has shown, and since when; the last first.
    fn shown(&self, square: Square) -> [(Code, Millis); EARLIER + 1] {
        let [a, b, c, d] = self.earlier[usize::from(square)];
        [(self.at(square), self.since(square)), a, b, c, d]
    }

    /// What `square` showed at `at`, since when, and until when; none where it shows it still. None as far back as nobody remembers.
    #[must_use]
    pub fn shown_at(&self, square: Square, at: Millis) -> Option<(Code, Millis, Option<Millis>)> {
        let mut until = None;
        for (code, since) in self.shown(square) {
            if since <= at {
                return Some((code, since, until));
            }
            until = Some(since);
        }
        None
    }

    /// When a piece last came to `square`, after `from`, that was read there for `ms` milliseconds or more until `now`.
    #[must_use]
    pub fn stood_last(&self, square: Square, from: Millis, now: Millis, ms: u64) -> Option<Millis> {
        let mut until = now;
        for (code, since) in self.shown(square) {
            if !code.is_empty() && since > from && until.since(since) >= ms {
                return Some(since);
            }
            until = since;
        }
        None
    }

    /// When `code` left `square`, whatever has been read there since. None if a dump told the last change.
    #[must_use]
    pub fn left_at(&self, square: Square, code: Code) -> Option<Millis> {
        let last = self.seen_at(square)?;
        Some(self.ended(square, |shown, _| shown == code).unwrap_or(last))
    }

    /// When the last reading of `square` ended for which `holds` is true; it is given what was shown, and since when.
    fn ended(&self, square: Square, holds: impl Fn(Code, Millis) -> bool) -> Option<Millis> {
        let shown = self.shown(square);
        let mut readings = shown.windows(2);
        readings.find_map(|two| holds(two[1].0, two[1].1).then_some(two[0].1))
    }

    /// True when `square` showed `code` at `from` or later, or shows it now.
    #[must_use]
    pub fn was_read_since(&self, square: Square, code: Code, from: Millis) -> bool {
        let ended = self.ended(square, |shown, _| shown == code);
        self.at(square) == code || ended.is_some_and(|ended| ended >= from)
    }

    /// True when `square` came to show `code` at `from` or later, whatever it shows now.
    #[must_use]
    pub fn has_shown(&self, square: Square, code: Code, from: Millis) -> bool {
        self.ended(square, |shown, since| shown == code && since >= from)
            .is_some()
    }

    /// True when `square` came to show `code` after `from` and before `to`, and showed it for `ms` milliseconds, though not now.
    #[must_use]
    pub fn has_stood(&self, square: Square, code: Code, from: Millis, to: Millis, ms: u64) -> bool {
        self.shown(square).windows(2).any(|two| {
            let [(_, until), (shown, since)] = two else {
                return false;
            };
            *shown == code && *since > from && *since < to && until.since(*since) >= ms
        })
    }

    /// True when `square` showed `code` at the press at `pressed` and for longer than what replaced it before can have gone unread, though
    /// not now.
    #[must_use]
    pub fn stood_through(&self, square: Square, code: Code, pressed: Millis) -> bool {
        let ended = self.ended(square, |shown, since| shown == code && since <= pressed + SCAN_MS);
        // Nobody measured when it was that came in a lump.
        self.slack == 0 && ended.is_some_and(|ended| ended > pressed + LIFTED_MS)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAWN: Code = Code(1);
    const ROOK: Code = Code(8);

    /// A pawn is read on a8 from `came` to `left`, and then nothing, and a rook.
    fn stood_through_a_press_at_2000(came: u64, left: u64) -> bool {
        let mut sensed = Sensed::default();
        let readings = [(came, PAWN), (left, Code::EMPTY), (left + 200, ROOK)];
        for (at, code) in readings {
            sensed.set(Millis(at), Square::A8, code);
        }
        sensed.stood_through(Square::A8, PAWN, Millis(2000))
    }

    #[test]
    fn what_is_read_for_more_than_a_scan_after_a_press_stood_there_at_the_press() {
        assert!(stood_through_a_press_at_2000(1800, 2400));
        assert!(stood_through_a_press_at_2000(2200, 2400), "it is read late");
        assert!(!stood_through_a_press_at_2000(1800, 2300), "that was read late");
        assert!(
            !stood_through_a_press_at_2000(2300, 2800),
            "it came after the press"
        );
        let mut standing = Sensed::default();
        standing.set(Millis(1800), Square::A8, PAWN);
        assert!(!standing.stood_through(Square::A8, PAWN, Millis(2000)));
    }
}

//! Pieces that are read no more where they stand, and are read there again: a chip that fails now and then, or a piece on the border
//! of two squares. Hands that straighten a piece look alike, but do not come back to the same one again and again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shakmaty::{Bitboard, Square, attacks};

use super::{SCAN_MS, Sensed, earlier::HOP_MS};
use crate::{
    board::{kept::KeptSquare, placement::Code},
    time::Millis,
};

/// What is gone for longer has been moved meanwhile, or has a chip that is dead.
const AWAY_MS: u64 = 10_000;
/// A chip that fails does so every few minutes. What happened longer ago is forgotten.
const FORGOTTEN_MS: u64 = 600_000;
/// Hands straighten pieces, but do not move them to the next square in an instant: that counts for so many.
const HOPPED: u8 = 2;

/// How often the piece on a square has blinked, wherever it stood, and when it was read again the last two times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Blinked {
    times: u8,
    last: Millis,
    before: Millis,
    /// As how many the last time counts.
    now: u8,
}

/// How often the pieces on the squares have blinked. What a piece has done goes along with it as it is moved.
#[derive(Clone, Debug)]
pub(super) struct Blinks {
    of: [Blinked; 64],
    /// From where each piece came, as far as anybody knows.
    from: [Option<Square>; 64],
}

impl Default for Blinks {
    fn default() -> Self {
        Self {
            of: [Blinked::default(); 64],
            from: [None; 64],
        }
    }
}

impl Blinks {
    /// The piece on `square` is read there again. Meanwhile it was read on the square `beside`, if it stands between the two.
    pub(super) fn add(&mut self, now: Millis, square: Square, beside: Option<Square>) {
        let (blinks, so_far) = beside.map_or((1, 0), |beside| (HOPPED, self.times(beside, now)));
        let times = self.times(square, now).max(so_far);
        self.of[usize::from(square)] = Blinked {
            times: times.saturating_add(blinks),
            last: now,
            before: self.of[usize::from(square)].last,
            now: blinks,
        };
    }

    /// A piece came to `square`, from `from` as far as anybody knows.
    pub(super) fn carry(&mut self, from: Option<Square>, square: Square) {
        let blinked = from.map(|from| std::mem::take(&mut self.of[usize::from(from)]));
        self.of[usize::from(square)] = blinked.unwrap_or_default();
        self.from[usize::from(square)] = from;
    }

    /// The piece that seemed to have come from `square` to one of the squares `others` did not: another one like it did.
    fn take_back(&mut self, square: Square, others: Bitboard) -> bool {
        let came_from = |other: &Square| self.from[usize::from(*other)] == Some(square);
        let Some(other) = others.into_iter().find(came_from) else {
            return false;
        };
        self.from[usize::from(other)] = None;
        self.of[usize::from(square)] = std::mem::take(&mut self.of[usize::from(other)]);
        true
    }

    fn times(&self, square: Square, now: Millis) -> u8 {
        let blinked = self.of[usize::from(square)];
        if now.since(blinked.last) > FORGOTTEN_MS {
            0
        } else {
            blinked.times
        }
    }
}

impl Sensed {
    /// A piece came to stand on `square`. True where it had stood there before, and has not been moved since: nobody has put one like it
    /// down (`was_lifted`) but one that still stands, or it was read on the next square. That is noted.
    pub(super) fn has_blinked(&mut self, now: Millis, square: Square, was_lifted: bool) -> bool {
        let [(code, _), (between, gone), (before, _), _] = self.last_shown(square);
        let is_back = before == code && between.is_empty() && now.since(gone) <= AWAY_MS;
        let beside = self.stands_between(square).filter(|_| is_back);
        let others = self.placement.squares_of(code).without(square);
        let has_blinked =
            is_back && (was_lifted || beside.is_some() || self.blinks.take_back(square, others));
        if has_blinked {
            self.blinks.add(now, square, beside);
        }
        has_blinked
    }

    /// What `square` has shown, and since when; the last first.
    fn last_shown(&self, square: Square) -> [(Code, Millis); 4] {
        let [a, b, c, _] = self.earlier[usize::from(square)];
        let last = (self.placement.at(square), self.since[usize::from(square)]);
        [last, a, b, c]
    }

    /// The square beside `square`, whose piece has just come back, on which that piece was read meanwhile, or is still: it has gone from
    /// one to the other, or back, in an instant.
    fn stands_between(&self, square: Square) -> Option<Square> {
        let [(code, now), (_, gone), ..] = self.last_shown(square);
        let in_an_instant =
            |left: Millis, came: Millis| came.since(left) <= HOP_MS && left.since(came) <= SCAN_MS;
        // A hand that brushes over two pieces side by side has both read again.
        let was_there = |before: Code, left: Millis| before == code && left + SCAN_MS > gone;
        let has_hopped = |other: &Square| {
            let [(shows, since), (first, came), (second, left), (third, _)] = self.last_shown(*other);
            if shows == code {
                in_an_instant(gone, since) && !was_there(second, came)
            } else {
                let hops = in_an_instant(since, now) || in_an_instant(gone, came);
                first == code && since >= gone && hops && !was_there(third, left)
            }
        };
        attacks::king_attacks(square).into_iter().find(has_hopped)
    }

    /// How often the piece on `square`, or that last stood there, has lately been read no more, and again there. Where it went to the next
    /// square and back in an instant, that counts twice.
    #[must_use]
    pub fn blinks(&self, square: Square) -> usize {
        usize::from(self.blinks.times(square, self.since(square)))
    }

    /// The same without the last change of `square`.
    #[must_use]
    pub fn blinked_before(&self, square: Square) -> usize {
        let last = if self.is_back(square) {
            self.blinks.of[usize::from(square)].now
        } else {
            0
        };
        self.blinks(square).saturating_sub(usize::from(last))
    }

    /// True when the piece on `square` has just been read again, and had been so once before, since `from`.
    #[must_use]
    pub fn blinks_again(&self, square: Square, from: Millis) -> bool {
        self.is_back(square)
            && self.blinked_before(square) > 0
            && self.blinks.of[usize::from(square)].before >= from
    }

    /// True when the last change of `square` was that its piece was read again.
    fn is_back(&self, square: Square) -> bool {
        let last = self.blinks.of[usize::from(square)].last;
        last > Millis::default() && last == self.since(square)
    }
}

impl Serialize for Blinks {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let blinked = |square: Square| (KeptSquare(square), self.of[usize::from(square)]);
        let all = Square::ALL.into_iter().map(blinked);
        to.collect_seq(all.filter(|(_, blinked)| *blinked != Blinked::default()))
    }
}

impl<'de> Deserialize<'de> for Blinks {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut blinks = Self::default();
        for (KeptSquare(square), blinked) in Vec::<(KeptSquare, Blinked)>::deserialize(from)? {
            blinks.of[usize::from(square)] = blinked;
        }
        Ok(blinks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAWN: Code = Code(1);

    /// How often the pawn of b2 has blinked once squares have changed so.
    fn blinks(changes: &[(u64, Square, Code)]) -> usize {
        let mut sensed = Sensed::default();
        for square in [Square::A2, Square::B2] {
            sensed.set(Millis(1), square, PAWN);
        }
        for (at, square, code) in changes {
            sensed.set(Millis(*at), *square, *code);
        }
        sensed.blinks(Square::B2)
    }

    #[test]
    fn a_piece_that_is_read_again_where_it_stands_has_blinked() {
        let gone = [(1000, Square::B2, Code::EMPTY)];
        let back = [(3000, Square::B2, PAWN)];
        assert_eq!(blinks(&[gone, back].concat()), 1);
        // Another pawn is moved meanwhile, which has been lifted before.
        let other = [(900, Square::A2, Code::EMPTY)];
        let moved = [(1500, Square::A4, PAWN)];
        assert_eq!(blinks(&[other, gone, moved, back].concat()), 1);
        // It is moved itself, and taken back.
        let there = [(1500, Square::B4, PAWN), (2500, Square::B4, Code::EMPTY)];
        assert_eq!(blinks(&[&gone[..], &there[..], &back[..]].concat()), 0);
    }

    #[test]
    fn a_piece_that_goes_to_the_next_square_in_an_instant_stands_between() {
        let goes = [(1000, Square::A3, PAWN), (1030, Square::B2, Code::EMPTY)];
        let comes = [(3000, Square::B2, PAWN), (3030, Square::A3, Code::EMPTY)];
        assert_eq!(blinks(&[goes, comes].concat()), 2);
        let again = |(at, square, code): &(u64, Square, Code)| (at + 60_000, *square, *code);
        let twice = [goes, comes].concat();
        let again: Vec<_> = twice.iter().map(again).collect();
        assert_eq!(blinks(&[twice, again].concat()), 4);
    }

    #[test]
    fn what_happened_long_ago_is_forgotten() {
        let once = [(1000, Square::B2, Code::EMPTY), (3000, Square::B2, PAWN)];
        let later = 3000 + FORGOTTEN_MS;
        let again = [(later, Square::B2, Code::EMPTY), (later + 1000, Square::B2, PAWN)];
        assert_eq!(blinks(&[once, again].concat()), 1);
    }
}

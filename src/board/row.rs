//! Ranks and files of which nothing is read: a wire is loose.

use shakmaty::{Bitboard, File, Rank, Square};

use crate::time::Millis;

/// A sleeve takes along pieces this close together: one on each side of a square, in steps of the king.
const SLEEVE: u32 = 2;

/// So many pieces of a row show that it is not read: of two, a hand may hold one, and the other may have fallen.
const SEVERAL: usize = 3;

/// The pieces of a row that is not read any more vanish within this time (milliseconds), and are read again within it: two scans, and a
/// margin.
pub const TOGETHER_MS: u64 = 300;

/// Two pieces that a hand puts back side by side are read again further apart, as a rule.
const AT_ONCE_MS: u64 = 100;

/// Those of `squares` that lie on a rank or file of which `holds` is true.
fn of_rows(squares: Bitboard, holds: impl Fn(&Bitboard) -> bool) -> Bitboard {
    let ranks = Rank::ALL.into_iter().map(Bitboard::from_rank);
    let rows = ranks.chain(File::ALL.into_iter().map(Bitboard::from_file));
    squares & rows.filter(holds).fold(Bitboard::EMPTY, |all, row| all | row)
}

/// True where pieces on `squares` of a row are too many, and too far apart, to have been taken along by a sleeve.
fn are_many(squares: Bitboard) -> bool {
    let ends = squares.first().zip(squares.last());
    squares.count() >= SEVERAL && ends.is_some_and(|(first, last)| first.distance(last) > SLEEVE)
}

/// Of the squares `missing`, on which pieces should stand, those of a rank or file that is read to be empty throughout and has lost
/// more than a sleeve takes along.
pub(super) fn unread(missing: Bitboard, occupied: Bitboard) -> Bitboard {
    let is_unread = |row: &Bitboard| (occupied & *row).is_empty() && are_many(missing & *row);
    of_rows(missing, is_unread)
}

/// Of the squares `pieces`, on which pieces should stand, those of a rank or file all of whose pieces vanished at once, whether they
/// are read again by now or not. `vanished` tells when the piece of a square did.
pub(super) fn vanished(pieces: Bitboard, vanished: impl Fn(Square) -> Option<Millis>) -> Bitboard {
    let is_lost = |row: &Bitboard| {
        let of_row = pieces & *row;
        let times: Option<Vec<Millis>> = of_row.into_iter().map(&vanished).collect();
        let within = times.is_some_and(|times| are_within(times.into_iter(), TOGETHER_MS));
        within && are_many(of_row)
    };
    of_rows(pieces, is_lost)
}

/// When a piece was read no more, where it had been read, and when it was read again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    pub(super) from: Option<Millis>,
    pub(super) until: Millis,
}

/// Of the squares `pieces`, those of a rank or file whose pieces, two or more, vanished at once and were read again at once: no hand
/// puts back two so quickly, least of all two that are too far apart for one sleeve.
pub(super) fn blinked(pieces: Bitboard, away: impl Fn(Square) -> Option<Away>) -> Bitboard {
    let are_read_again = |row: &Bitboard| {
        let of_row = pieces & *row;
        let ends = of_row.first().zip(of_row.last());
        let is_far = ends.is_some_and(|(first, last)| first.distance(last) > SLEEVE);
        let within = if is_far { TOGETHER_MS } else { AT_ONCE_MS };
        let times: Option<Vec<Away>> = of_row.into_iter().map(&away).collect();
        times.is_some_and(|times| {
            let gone = times.iter().filter_map(|away| away.from);
            let back = times.iter().map(|away| away.until);
            times.len() > 1 && are_within(gone, TOGETHER_MS) && are_within(back, within)
        })
    };
    of_rows(pieces, are_read_again)
}

/// True where all of `times` lie within so many milliseconds.
fn are_within(times: impl Iterator<Item = Millis> + Clone, ms: u64) -> bool {
    let ends = times.clone().min().zip(times.max());
    ends.is_none_or(|(first, last)| last.since(first) <= ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(squares: &[Square]) -> Bitboard {
        squares.iter().copied().collect()
    }

    #[test]
    fn pieces_of_a_whole_row_that_vanish_have_not_fallen() {
        let (row, beside) = ([Square::A6, Square::C6, Square::F6], Square::D4);
        let missing = of(&row).with(beside);
        assert_eq!(unread(missing, of(&[Square::E5])), of(&row));
    }

    #[test]
    fn two_that_a_sleeve_takes_along_may_have_and_so_may_those_of_a_row_on_which_one_is_read() {
        assert_eq!(
            unread(of(&[Square::A6, Square::C6]), Bitboard::EMPTY),
            Bitboard::EMPTY
        );
        let missing = of(&[Square::A6, Square::C6, Square::F6]);
        assert_eq!(unread(missing, of(&[Square::H6])), Bitboard::EMPTY);
    }

    #[test]
    fn nor_have_those_that_are_read_again_one_by_one() {
        let row = of(&[Square::A1, Square::C1, Square::F1]);
        let at = |square: Square| (square != Square::E4).then_some(Millis(u64::from(square.to_u32()) * 10));
        assert_eq!(vanished(row.with(Square::D4), at), row);
        assert_eq!(
            vanished(row.with(Square::H1), |square| (square != Square::H1)
                .then_some(Millis(9))),
            Bitboard::EMPTY
        );
    }

    #[test]
    fn two_that_vanish_and_are_read_again_at_once_have_not_fallen() {
        let away = |from, until| {
            Some(Away {
                from,
                until: Millis(until),
            })
        };
        let gone = |until: [u64; 2]| {
            move |square: Square| {
                let index = usize::from(square != Square::G2);
                away(Some(Millis(100 + 80 * index as u64)), until[index])
            }
        };
        let far = of(&[Square::G2, Square::G7]);
        assert_eq!(blinked(far.with(Square::A4), gone([2000, 2080])), far);
        assert_eq!(blinked(far, gone([2000, 2600])), Bitboard::EMPTY);
        let beside = of(&[Square::G2, Square::G3]);
        assert_eq!(blinked(beside, gone([2000, 2080])), beside);
        assert_eq!(
            blinked(beside, gone([2000, 2200])),
            Bitboard::EMPTY,
            "a hand puts them back"
        );
        assert_eq!(blinked(of(&[Square::G2]), gone([2000; 2])), Bitboard::EMPTY);
        // One of them came there while nothing was read.
        let landed = |square: Square| away((square == Square::G7).then_some(Millis(100)), 2000);
        assert_eq!(blinked(far, landed), far);
    }
}

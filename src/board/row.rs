//! Ranks and files of which nothing is read: a wire is loose.

use shakmaty::{Bitboard, File, Rank};

/// A sleeve takes along pieces this close together: one on each side of a square, in steps of the king.
const SLEEVE: u32 = 2;

/// So many pieces of a row show that it is not read: of two, a hand may hold one, and the other may have fallen.
const SEVERAL: usize = 3;

/// Of the squares `missing`, on which pieces should stand, those of a rank or file that is read to be empty throughout and whose
/// pieces stood too far apart for one sleeve.
pub(super) fn unread(missing: Bitboard, occupied: Bitboard) -> Bitboard {
    let ranks = Rank::ALL.into_iter().map(Bitboard::from_rank);
    let files = File::ALL.into_iter().map(Bitboard::from_file);
    let is_unread = |row: &Bitboard| {
        let gone = missing & *row;
        let ends = gone.first().zip(gone.last());
        (occupied & *row).is_empty()
            && gone.count() >= SEVERAL
            && ends.is_some_and(|(first, last)| first.distance(last) > SLEEVE)
    };
    let rows = ranks.chain(files).filter(is_unread);
    missing & rows.fold(Bitboard::EMPTY, |all, row| all | row)
}

#[cfg(test)]
mod tests {
    use super::*;

    use shakmaty::Square;

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
}

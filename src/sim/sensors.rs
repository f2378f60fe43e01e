//! The sensors under the board: what is on the squares, seen late and in the order of the scan.

use fastrand::Rng;

use crate::{
    dgt::{Message, PieceCode},
    time::Millis,
};

/// A full scan (protocol reference, 6.6).
const SCAN_MS: u64 = 200;
/// Squares that are read in one millisecond, as a fraction: 64 in 198 ms.
const SQUARE_US: u64 = 3100;
/// Time of one message of five bytes on the line.
const MESSAGE_MS: u64 = 5;

/// Something that happened on a square, in the board's own numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Millis,
    /// Which square, 0..=63.
    pub square: u8,
    /// What stands there from now on.
    pub piece: PieceCode,
}

/// What the board tells of `changes`, which are in order of time: a square is looked at once in a
/// scan, and only what differs from the last report is said. `squares` is what was reported before.
#[must_use]
pub fn scan(
    squares: &[PieceCode; 64],
    changes: &[Change],
    end: Millis,
    rng: &mut Rng,
) -> Vec<(Millis, Vec<u8>)> {
    let phase = rng.u64(0..SCAN_MS);
    let mut told = *squares;
    let mut stands = *squares;
    let mut seen: Vec<Change> = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let square = usize::from(change.square);
        stands[square] = change.piece;
        let visit = next_visit(change, phase);
        // Something else may have happened on this square before the scan came by.
        let overtaken = changes[index + 1..]
            .iter()
            .take_while(|later| later.at <= visit)
            .any(|later| later.square == change.square);
        if !overtaken && visit <= end && told[square] != stands[square] {
            told[square] = stands[square];
            seen.push(Change { at: visit, ..*change });
        }
    }
    seen.sort_by_key(|change| change.at);
    let mut free = Millis(0);
    let messages = seen.into_iter().map(|change| {
        let at = change.at.max(free) + MESSAGE_MS;
        free = at;
        let mut bytes = Vec::with_capacity(5);
        let (square, piece) = (change.square, change.piece);
        Message::Field { square, piece }.encode(&mut bytes);
        (at, bytes)
    });
    messages.collect()
}

/// When the scan comes by the square next.
fn next_visit(change: &Change, phase: u64) -> Millis {
    let offset = phase + u64::from(change.square) * SQUARE_US / 1000;
    let behind = (change.at.0 + SCAN_MS * 2 - offset) % SCAN_MS;
    change.at + (SCAN_MS - behind) % SCAN_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: u64, square: u8, piece: u8) -> Change {
        Change {
            at: Millis(at),
            square,
            piece: PieceCode(piece),
        }
    }

    #[test]
    fn late_but_never_later_than_a_scan_and_never_twice_the_same() {
        for seed in 0..50 {
            let mut rng = Rng::with_seed(seed);
            let changes = [
                change(1000, 52, 0),
                change(1600, 36, 1),
                change(1650, 0, 0),
                change(1651, 0, 8),
            ];
            let mut squares = [PieceCode(0); 64];
            (squares[52], squares[0]) = (PieceCode(1), PieceCode(8));
            let told = scan(&squares, &changes, Millis(9000), &mut rng);
            let field = |n: usize| (told[n].0.0, told[n].1[3], told[n].1[4]);
            let (at, square, piece) = field(0);
            assert!((1000..=1205).contains(&at), "{at}");
            assert_eq!((square, piece), (52, 0));
            // The flicker of a8 for one millisecond is seen by at most one scan in two hundred.
            assert!(told.len() == 2 || told.len() == 4, "{told:?}");
        }
    }
}

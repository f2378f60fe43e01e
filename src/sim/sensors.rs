//! The sensors under the board: they read the squares late, and in the order of the scan.

use std::ops::Range;

use fastrand::Rng;

use crate::{
    dgt::{Message, PieceCode},
    time::Millis,
};

/// Time of one message of five bytes on the line.
const MESSAGE_MS: u64 = 5;

/// How the sensors are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Milliseconds of a full scan.
    pub period_ms: u64,
    /// Milliseconds that a message waits after the scan has found the change.
    pub late_ms: Range<u64>,
}

impl Default for Scan {
    /// A board with a cable (protocol reference, 6.6).
    fn default() -> Self {
        Self {
            period_ms: 200,
            late_ms: 0..1,
        }
    }
}

impl Scan {
    /// A board with Bluetooth: it scans half as fast (6.1), and messages wait for the radio.
    #[must_use]
    pub fn slow() -> Self {
        Self {
            period_ms: 400,
            late_ms: 40..220,
        }
    }
}

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

impl Change {
    /// The message that tells of it.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(5);
        let (square, piece) = (self.square, self.piece);
        Message::Field { square, piece }.encode(&mut bytes);
        bytes
    }
}

/// What the board tells of `changes`, and when. The changes are in order of time, and `squares` is what the
/// board reported before them. A scan looks at each square once, and the board tells only what differs from
/// its last report.
#[must_use]
pub fn scan(
    how: &Scan,
    squares: &[PieceCode; 64],
    changes: &[Change],
    end: Millis,
    rng: &mut Rng,
) -> Vec<(Millis, Change)> {
    let phase = rng.u64(0..how.period_ms);
    let mut told = *squares;
    let mut stands = *squares;
    let mut seen: Vec<(Millis, Change)> = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let square = usize::from(change.square);
        stands[square] = change.piece;
        let visit = next_visit(how.period_ms, change, phase);
        // Something else may have happened on this square before the scan came by.
        let overtaken = changes[index + 1..]
            .iter()
            .take_while(|later| later.at <= visit)
            .any(|later| later.square == change.square);
        if !overtaken && visit <= end && told[square] != stands[square] {
            told[square] = stands[square];
            seen.push((visit, *change));
        }
    }
    seen.sort_by_key(|(visit, _)| *visit);
    let mut free = Millis(0);
    let told = seen.into_iter().map(|(visit, change)| {
        let at = (visit + rng.u64(how.late_ms.clone())).max(free) + MESSAGE_MS;
        free = at;
        (at, change)
    });
    told.collect()
}

/// When the scan next reads the square.
fn next_visit(period: u64, change: &Change, phase: u64) -> Millis {
    // The last square is read a little before the next scan begins.
    let offset = phase + u64::from(change.square) * period * 31 / 2000;
    let behind = (change.at.0 + period * 2 - offset % period) % period;
    change.at + (period - behind) % period
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
    fn a_change_is_told_within_a_scan_and_only_once() {
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
            let told = scan(&Scan::default(), &squares, &changes, Millis(9000), &mut rng);
            let field = |n: usize| (told[n].0.0, told[n].1.square, told[n].1.piece.0);
            let (at, square, piece) = field(0);
            assert!((1000..=1205).contains(&at), "{at}");
            assert_eq!((square, piece), (52, 0));
            // The flicker of a8 for one millisecond is seen by at most one scan in two hundred.
            assert!(told.len() == 2 || told.len() == 4, "{told:?}");
        }
    }
}

//! The board's own memory: what it logged while nobody listened (protocol 3.5).
//!
//! The log has no times of its own and may begin in mid-record. It is believed only as far as it fits: it must
//! have passed through what stood on the board when the record was last known to be whole, and come to what
//! stands there now.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move};

use super::clock::Presses;
use crate::{
    board::{Code, Line, Lines, Orientation, Placement, Sensed, Stand},
    dgt::{ClockSide, PieceCode, Squares, eventlog::LogRecord},
    time::Millis,
};

/// Squares that may have been told otherwise than the board has them: updates get lost, bytes damaged.
const MISTOLD: usize = 2;

/// Something that was not heard when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A square of the board's own order came to show something else.
    Square(u8, PieceCode),
    /// The same, less than about 250 ms after the change before.
    SoonAfter(u8, PieceCode),
    /// A side of the clock was pressed.
    Press(ClockSide),
}

/// What a log tells of a time in which nobody listened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    /// What stood there before.
    pub(super) from: Squares,
    /// What happened then, in order.
    pub(super) steps: Vec<Step>,
}

/// A log that is being read.
struct Reading<'a> {
    known: &'a Squares,
    /// As the board has told so far; what was never told has not changed since `known`.
    squares: Squares,
    /// Squares told since the power came back, while the pieces that stand there are being told.
    counted: Option<u64>,
    steps: Vec<Step>,
    /// The side that was pressed last.
    last: Option<ClockSide>,
    /// Seconds at which each side stopped, left first.
    stopped: [Option<u32>; 2],
}

/// A place in a log where the board stood nearly as it is known to have stood.
struct Place {
    /// Steps before it.
    steps: usize,
    /// Squares that differ.
    unlike: usize,
    squares: Squares,
}

/// What happened since the board last stood as `known`, after the presses `pressed` where they are known, and until it last
/// stood as `present`; none when the log does not tell.
///
/// Pieces may come back to where they stood: the times of the presses tell which of several such moments it was.
pub(super) fn missed(
    records: impl Iterator<Item = LogRecord>,
    known: &Squares,
    pressed: Option<Presses>,
    present: &Squares,
) -> Option<Missed> {
    let mut log = Reading {
        known,
        squares: *known,
        counted: None,
        steps: Vec::new(),
        last: None,
        stopped: [None; 2],
    };
    let (mut last, mut after_presses) = (None, None);
    let mut until = None;
    // Whatever it ends with, the end is one.
    for record in records.chain([LogRecord::Downloaded]) {
        log.read(record);
        log.note_place(&mut last);
        if let (Some(pressed), Some(last)) = (pressed, log.last)
            && pressed.may_be(last, log.stopped)
        {
            log.note_place(&mut after_presses);
        }
        if log.squares == *present {
            until = Some(log.steps.len());
        }
    }
    let from = after_presses.or(last)?;
    let until = until.filter(|until| *until >= from.steps)?;
    let mut steps = log.steps;
    steps.truncate(until);
    Some(Missed {
        from: from.squares,
        steps: steps.split_off(from.steps),
    })
}

impl Reading<'_> {
    /// This is the place from now on, unless the board stood more nearly as it is known at a former one.
    fn note_place(&self, place: &mut Option<Place>) {
        let unlike = self.squares.iter().zip(self.known).filter(|(a, b)| a != b);
        let unlike = unlike.count();
        if unlike <= place.as_ref().map_or(MISTOLD, |former| former.unlike) {
            *place = Some(Place {
                steps: self.steps.len(),
                unlike,
                squares: self.squares,
            });
        }
    }

    fn read(&mut self, record: LogRecord) {
        match record {
            LogRecord::Field {
                square,
                piece,
                soon_after,
            } => {
                let bit = 1 << (square & 63);
                match &mut self.counted {
                    Some(counted) if *counted & bit == 0 && piece != PieceCode::EMPTY => *counted |= bit,
                    _ => self.all_counted(),
                }
                self.change(square & 63, piece, soon_after);
            }
            LogRecord::PowerUp => {
                self.all_counted();
                self.counted = Some(0);
            }
            LogRecord::Empty => self.clear(u64::MAX),
            LogRecord::Time { side, seconds } => {
                self.all_counted();
                self.last = Some(side);
                self.stopped[side as usize] = Some(seconds);
                self.steps.push(Step::Press(side));
            }
            LogRecord::Downloaded
            | LogRecord::FourRows
            | LogRecord::StartPosition { .. }
            | LogRecord::StartTag
            | LogRecord::Watchdog
            | LogRecord::Unknown(_) => self.all_counted(),
        }
    }

    /// After the power came back the board tells the pieces that stand on it: elsewhere there are none.
    fn all_counted(&mut self) {
        if let Some(counted) = self.counted.take() {
            self.clear(!counted);
        }
    }

    fn clear(&mut self, squares: u64) {
        for square in (0..64).filter(|square| squares >> square & 1 == 1) {
            self.change(square, PieceCode::EMPTY, true);
        }
    }

    fn change(&mut self, square: u8, piece: PieceCode, soon_after: bool) {
        let place = &mut self.squares[usize::from(square)];
        if std::mem::replace(place, piece) != piece {
            self.steps.push(if soon_after {
                Step::SoonAfter(square, piece)
            } else {
                Step::Square(square, piece)
            });
        }
    }
}

/// A half-move that nobody saw.
#[derive(Clone, Debug)]
pub(super) struct Unseen {
    pub(super) mv: Move,
    pub(super) stand: Arc<Stand>,
    /// The log has the press that completed it, or a reply to it.
    pub(super) completed: bool,
}

/// Between two changes of the log; it does not say how long it was.
const STEP_MS: u64 = 1000;
/// Between two changes that came in one scan or the next.
const SOON_MS: u64 = 150;
/// By how much a half-move must be the better explanation to be past doubt.
const PAST_DOUBT: f32 = 3.0;
/// Half-moves that later changes may still explain otherwise.
const OPEN: usize = 6;

/// The half-moves that explain `missed` best, from the position `root`; up to the first that is no legal one.
pub(super) fn played(
    root: &Arc<Stand>,
    missed: &Missed,
    orientation: Orientation,
    white: Option<ClockSide>,
) -> Vec<Unseen> {
    let mut sensed = Sensed::settled(&orientation.placement(&missed.from));
    let mut now = Millis(STEP_MS);
    let mut lines = Lines::new(root.clone(), &sensed, now);
    let presses = missed.steps.iter().any(|step| matches!(step, Step::Press(_)));
    lines.set_clock_runs(presses && white.is_some());
    let mut found = Vec::new();
    let mut pressed = false;
    for step in &missed.steps {
        // What follows a press may be the rest of the half-move: scans are slower than presses.
        let soon = pressed || matches!(step, Step::SoonAfter(..));
        pressed = matches!(step, Step::Press(_));
        now = now + if soon { SOON_MS } else { STEP_MS };
        lines.tick(now, &sensed);
        match *step {
            Step::Square(square, piece) | Step::SoonAfter(square, piece) => {
                let square = orientation.square(square);
                if sensed.set(now, square, Code(piece.0)) {
                    lines.changed(now, &sensed, Bitboard::from_square(square));
                }
            }
            Step::Press(side) => {
                if let Some(white) = white {
                    let color = if side == white { Color::White } else { Color::Black };
                    lines.press(now, &sensed, color);
                }
            }
        }
        let agreed =
            (0..lines.best().plies.len()).take_while(|k| lines.agree_on(*k, now, &sensed, PAST_DOUBT));
        let sure = agreed.count().saturating_sub(OPEN);
        if sure > 0 && !take(&mut found, lines.best(), sure) {
            return found;
        }
        lines.advance(sure);
    }
    now = now + STEP_MS;
    lines.tick(now, &sensed);
    let best = lines.best().clone();
    take(&mut found, &best, best.plies.len());
    found
}

/// Takes the first `n` half-moves of `line`; false when one of them is no legal move.
fn take(found: &mut Vec<Unseen>, line: &Line, n: usize) -> bool {
    for (i, ply) in line.plies.iter().enumerate().take(n) {
        let Some(mv) = ply.kind.legal() else { return false };
        found.push(Unseen {
            mv,
            stand: ply.stand.clone(),
            completed: ply.pressed.is_some() || i + 1 < line.plies.len(),
        });
    }
    true
}

/// The squares as text, a hexadecimal digit each: for the snapshot.
pub(super) fn squares_to_text(squares: &Squares) -> String {
    let digit = |code: &PieceCode| char::from_digit(u32::from(code.0 & 0x0f), 16);
    squares.iter().filter_map(digit).collect()
}

/// The other way; none for what is no such text.
pub(super) fn squares_of_text(text: &str) -> Option<Squares> {
    let mut squares = [PieceCode::EMPTY; 64];
    let mut digits = text.chars();
    for square in &mut squares {
        *square = PieceCode(digits.next()?.to_digit(16)? as u8);
    }
    digits.next().is_none().then_some(squares)
}

/// Whether `path` from `root` leads to what is seen, but for a half-move that is under way.
pub(super) fn leads_to(path: &[Unseen], root: &Arc<Stand>, seen: &Placement) -> bool {
    let last = path.last().map_or(root, |unseen| &unseen.stand);
    last.placement().differing(seen).count() <= 2
}

#[cfg(test)]
mod tests;

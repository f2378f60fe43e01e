//! The onboard log: what the board logged while nobody listened (protocol 3.5).
//!
//! The log has no times of its own, and may begin in the middle of an entry. The watcher believes it only as
//! far as it fits: it must pass through the readings of the board when the record was last complete, and lead
//! to the present ones.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move};

use super::clock::Presses;
use crate::{
    board::{Code, Line, Lines, Orientation, Placement, Sensed, Stand},
    dgt::{ClockSide, PieceCode, Squares, eventlog::LogRecord},
    time::Millis,
};

/// This many squares may differ from what the watcher heard: updates get lost and bytes damaged.
const MISTOLD: usize = 2;

/// Something that happened while nobody listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A square, in the board's own order, changed to this reading.
    Square(u8, PieceCode),
    /// The same, less than about 250 ms after the last change.
    SoonAfter(u8, PieceCode),
    /// A side of the clock was pressed.
    Press(ClockSide),
}

/// What a log tells of the time in which nobody listened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    /// The readings before it.
    pub(super) from: Squares,
    /// What happened, in order.
    pub(super) steps: Vec<Step>,
    /// Some of the steps happened while the board had no power. The board logged only what stood there after
    /// that, so nobody knows their order, or whether others came between.
    pub(super) is_blind: bool,
}

/// A log that is being read.
struct Reading<'a> {
    known: &'a Squares,
    /// The readings that the log has told so far. Squares that it has not told are as in `known`.
    squares: Squares,
    /// After the power came back, the squares whose pieces the board has logged so far; none at other times.
    counted: Option<u64>,
    steps: Vec<Step>,
    /// The indices of the steps that happened without power.
    blinds: Vec<usize>,
    /// The side that was pressed last.
    last: Option<ClockSide>,
    /// Seconds at which each side stopped, left first.
    stopped: [Option<u32>; 2],
}

/// A place in the log where the board stood nearly as in `known`.
struct Place {
    /// Number of steps before it.
    steps: usize,
    /// Number of squares that differ.
    unlike: usize,
    squares: Squares,
}

/// What happened between the moment when the board last stood as `known` and the one when it last stood as
/// `present`; none if the log does not tell. If `pressed` is known, the first moment lies after these
/// presses.
///
/// Pieces may come back to where they stood, so there may be several such moments. The times of the presses
/// tell which one is meant.
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
        blinds: Vec::new(),
        last: None,
        stopped: [None; 2],
    };
    let (mut last, mut after_presses) = (None, None);
    let mut until = None;
    // The end of the log counts as an entry, whatever the last one is.
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
    let is_blind = log.blinds.iter().any(|step| (from.steps..until).contains(step));
    let mut steps = log.steps;
    steps.truncate(until);
    Some(Missed {
        from: from.squares,
        steps: steps.split_off(from.steps),
        is_blind,
    })
}

impl Reading<'_> {
    /// Takes this place, unless the board stood more nearly as in `known` at an earlier one.
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
                    Some(counted) if *counted & bit == 0 && piece != PieceCode::EMPTY => {
                        *counted |= bit;
                        self.change_unseen(square & 63, piece, soon_after);
                    }
                    _ => {
                        self.all_counted();
                        self.change(square & 63, piece, soon_after);
                    }
                }
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

    /// After the power came back, the board has logged the pieces that stand on it. All other squares are
    /// empty.
    fn all_counted(&mut self) {
        if let Some(counted) = self.counted.take() {
            let steps = self.steps.len();
            self.clear(!counted);
            self.blinds.extend(steps..self.steps.len());
        }
    }

    /// Without power, the square changed to `piece`.
    fn change_unseen(&mut self, square: u8, piece: PieceCode, soon_after: bool) {
        let steps = self.steps.len();
        self.change(square, piece, soon_after);
        self.blinds.extend(steps..self.steps.len());
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
    /// Where it was made, if pieces had been displaced and it was made from where they stood.
    pub(super) made_in: Option<Arc<Stand>>,
    /// The log has the press that completed it, or a reply to it.
    pub(super) completed: bool,
}

/// Time between two changes of the log, which has no times.
const STEP_MS: u64 = 1000;
/// Time between two changes of one scan, or of two scans in a row.
const SOON_MS: u64 = 150;
/// By how much a half-move must be the better hypothesis to be beyond doubt, in nats.
const PAST_DOUBT: f32 = 3.0;
/// Number of half-moves that later changes may still explain otherwise.
const OPEN: usize = 6;

/// The half-moves that explain `missed` best, from the position `root` up to the first illegal one.
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
        // A change after a press may be the rest of the half-move, for scans are slower than presses.
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

/// Takes the first `n` half-moves of `line`. Returns false if one of them is illegal.
fn take(found: &mut Vec<Unseen>, line: &Line, n: usize) -> bool {
    for (i, ply) in line.plies.iter().enumerate().take(n) {
        let Some(mv) = ply.kind.legal() else { return false };
        found.push(Unseen {
            mv,
            stand: ply.stand.clone(),
            made_in: ply.made_in.clone(),
            completed: ply.pressed.is_some() || i + 1 < line.plies.len(),
        });
    }
    true
}

/// The squares as text for the snapshot, one hexadecimal digit each.
pub(super) fn squares_to_text(squares: &Squares) -> String {
    let digit = |code: &PieceCode| char::from_digit(u32::from(code.0 & 0x0f), 16);
    squares.iter().filter_map(digit).collect()
}

/// The squares of such a text; none if it is no such text.
pub(super) fn squares_of_text(text: &str) -> Option<Squares> {
    let mut squares = [PieceCode::EMPTY; 64];
    let mut digits = text.chars();
    for square in &mut squares {
        *square = PieceCode(digits.next()?.to_digit(16)? as u8);
    }
    digits.next().is_none().then_some(squares)
}

/// True if `path` from `root` leads to `seen`, except for a half-move that is under way.
pub(super) fn leads_to(path: &[Unseen], root: &Arc<Stand>, seen: &Placement) -> bool {
    let last = path.last().map_or(root, |unseen| &unseen.stand);
    last.placement().differing(seen).count() <= 2
}

#[cfg(test)]
mod tests;

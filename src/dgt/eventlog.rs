//! Records of the event log. A board on a bus answers with the same records of changes (protocol 3.5).

use super::{
    clock::{self, ClockSide, ClockTime},
    message::PieceCode,
};

/// One record, oldest first in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogRecord {
    /// A square changed.
    Field {
        /// The board's own index, 0..=63.
        square: u8,
        /// The code of the square now.
        piece: PieceCode,
        /// True if it came less than about 250 ms after the last change.
        soon_after: bool,
    },
    /// The time of a side when it stopped.
    Time {
        /// The side that was pressed.
        side: ClockSide,
        /// Seconds left, 0..=35999.
        seconds: u32,
    },
    /// The board was switched on; one change for each piece that stands on it follows.
    PowerUp,
    /// Only the outer rows are occupied, though not as in the normal start position.
    FourRows,
    /// No piece is on the board.
    Empty,
    /// The log was fetched here.
    Downloaded,
    /// The start position.
    StartPosition {
        /// The board lies turned.
        turned: bool,
    },
    /// A start tag was set over the bus.
    StartTag,
    /// The board reset itself.
    Watchdog,
    /// A reserved or unknown record, with its first byte.
    Unknown(u8),
}

// First bytes of records. Kinds that carry data may have some of it in the low nibble.
const FILLER: u8 = 0x00;
const FIELD: u8 = 0x40;
const FIELD_SOON: u8 = 0x50;
const RIGHT_TIME: u8 = 0x60;
const LEFT_TIME: u8 = 0x70;
const POWER_UP: u8 = 0x6a;
const END: u8 = 0x6b;
const FOUR_ROWS: u8 = 0x6c;
const EMPTY: u8 = 0x6d;
const DOWNLOADED: u8 = 0x6e;
const START: u8 = 0x6f;
const START_TURNED: u8 = 0x7a;
const START_TAG: u8 = 0x7b;
const WATCHDOG: u8 = 0x7c;
const FILLER_ONES: u8 = 0x7f;

/// Reads records until the end mark or the end of the bytes, and skips fillers. The oldest record of a full
/// store may be cut, so the reader passes over unreadable bytes one by one.
#[derive(Clone, Debug)]
pub struct LogRecords<'a> {
    rest: &'a [u8],
}

impl<'a> LogRecords<'a> {
    /// The records in the payload of an event log or of a bus answer.
    #[must_use]
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }
}

impl Iterator for LogRecords<'_> {
    type Item = LogRecord;

    fn next(&mut self) -> Option<LogRecord> {
        while let [FILLER | FILLER_ONES, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let (record, size) = read(self.rest)?;
        self.rest = &self.rest[size..];
        Some(record)
    }
}

/// The first record and its size; none at the end.
fn read(bytes: &[u8]) -> Option<(LogRecord, usize)> {
    let (&first, data) = bytes.split_first()?;
    let record = match first {
        END => return None,
        POWER_UP => LogRecord::PowerUp,
        FOUR_ROWS => LogRecord::FourRows,
        EMPTY => LogRecord::Empty,
        DOWNLOADED => LogRecord::Downloaded,
        START => LogRecord::StartPosition { turned: false },
        START_TURNED => LogRecord::StartPosition { turned: true },
        START_TAG => LogRecord::StartTag,
        WATCHDOG => LogRecord::Watchdog,
        _ => return Some(read_data(first, data).unwrap_or((LogRecord::Unknown(first), 1))),
    };
    Some((record, 1))
}

/// A record with data; none when it is cut, damaged or unknown.
fn read_data(first: u8, data: &[u8]) -> Option<(LogRecord, usize)> {
    let low = first & 0x0f;
    match (first & 0xf0, data) {
        (kind @ (FIELD | FIELD_SOON), &[square @ 0..=0x3f, ..]) => {
            let soon_after = kind == FIELD_SOON;
            let piece = PieceCode(low);
            Some((
                LogRecord::Field {
                    square,
                    piece,
                    soon_after,
                },
                2,
            ))
        }
        (kind @ (LEFT_TIME | RIGHT_TIME), &[minutes, seconds, ..]) => {
            let side = if kind == LEFT_TIME {
                ClockSide::Left
            } else {
                ClockSide::Right
            };
            let seconds = clock::seconds_of(low, minutes, seconds)?;
            Some((LogRecord::Time { side, seconds }, 3))
        }
        _ => None,
    }
}

impl LogRecord {
    /// The mark after the newest record of a log.
    pub const END: u8 = END;

    /// Appends the record as a board stores it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let tag = match *self {
            Self::Field {
                square,
                piece,
                soon_after,
            } => {
                let kind = if soon_after { FIELD_SOON } else { FIELD };
                out.extend([kind | piece.0 & 0x0f, square & 0x3f]);
                return;
            }
            Self::Time { side, seconds } => {
                let kind = match side {
                    ClockSide::Left => LEFT_TIME,
                    ClockSide::Right => RIGHT_TIME,
                };
                let [hours, minutes, seconds] = clock::digits_of(seconds.min(ClockTime::MAX_SECONDS));
                out.extend([kind | hours, minutes, seconds]);
                return;
            }
            Self::PowerUp => {
                // A board writes three fillers before it.
                out.extend([FILLER_ONES; 3]);
                POWER_UP
            }
            Self::FourRows => FOUR_ROWS,
            Self::Empty => EMPTY,
            Self::Downloaded => DOWNLOADED,
            Self::StartPosition { turned: false } => START,
            Self::StartPosition { turned: true } => START_TURNED,
            Self::StartTag => START_TAG,
            Self::Watchdog => WATCHDOG,
            Self::Unknown(first) => first & 0x7f,
        };
        out.push(tag);
    }
}

/// How many of these bytes, in the order in which they came, are no part of an event log. Only the first byte
/// of a frame has bit 7 set (protocol 1.4).
#[must_use]
pub fn besides_logs<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> usize {
    let mut in_log = false;
    let besides = bytes.into_iter().filter(|byte| {
        if **byte & 0x80 != 0 {
            in_log = **byte == super::message::id::EVENT_LOG;
        }
        !in_log
    });
    besides.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> Vec<LogRecord> {
        LogRecords::new(bytes).collect()
    }

    fn field(square: u8, piece: u8, soon_after: bool) -> LogRecord {
        LogRecord::Field {
            square,
            piece: PieceCode(piece),
            soon_after,
        }
    }

    #[test]
    fn worked_examples() {
        let time = |side, seconds| LogRecord::Time { side, seconds };
        assert_eq!(read_all(&[0x70, 3, 2]), [time(ClockSide::Left, 182)]);
        assert_eq!(read_all(&[0x61, 0x29, 0x30]), [time(ClockSide::Right, 5370)]);
        assert_eq!(
            read_all(&[0x40, 0x34, 0x51, 0x24]),
            [field(52, 0, false), field(36, 1, true)]
        );
    }

    #[test]
    fn fillers_are_skipped_and_the_end_ends() {
        let log = [
            0, 0x7f, 0x7f, 0x7f, 0x6a, 0x42, 0x38, 0x6f, 0x6e, 0x6b, 0x40, 0x34,
        ];
        let start = LogRecord::StartPosition { turned: false };
        assert_eq!(
            read_all(&log),
            [
                LogRecord::PowerUp,
                field(56, 2, false),
                start,
                LogRecord::Downloaded
            ]
        );
    }

    #[test]
    fn an_unreadable_byte_costs_one_byte() {
        // The tail of a record that was overwritten, a delay record of newer boards, a time that
        // no clock shows, a record that the end cuts.
        let log = [0x34, 0x10, 0x40, 0x34, 0x60, 0x7a, 0x6d, 0x41];
        assert_eq!(
            read_all(&log),
            [
                LogRecord::Unknown(0x34),
                LogRecord::Unknown(0x10),
                field(52, 0, false),
                LogRecord::Unknown(0x60),
                LogRecord::StartPosition { turned: true },
                LogRecord::Empty,
                LogRecord::Unknown(0x41),
            ]
        );
    }
}

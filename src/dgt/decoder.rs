//! Decodes the bytes of a board in single-board mode into messages.

use super::{
    clock,
    framing::{Dialect, Framer, HEADER, Stats},
    message::{Battery, Message, PieceCode, id},
};
use crate::time::Millis;

/// Turns the bytes of a board into messages, in any split and with any noise between frames.
///
/// It allocates once, when it is made. A board in bus mode speaks another dialect:
/// [`BusDecoder`](super::bus::BusDecoder).
#[derive(Clone, Debug)]
pub struct Decoder {
    framer: Framer,
    reader: Reader,
}

/// Reads frames. The squares of a dump live here while `sink` has the message.
#[derive(Clone, Debug)]
struct Reader {
    squares: [PieceCode; 64],
    odd_fields: u64,
    illegible_clocks: u64,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder that waits for the start of a frame.
    #[must_use]
    pub fn new() -> Self {
        Self {
            framer: Framer::new(),
            reader: Reader {
                squares: [PieceCode::EMPTY; 64],
                odd_fields: 0,
                illegible_clocks: 0,
            },
        }
    }

    /// Takes bytes that arrived at `now` and calls `sink` with every message that they complete.
    #[inline]
    pub fn push(&mut self, now: Millis, bytes: &[u8], sink: &mut impl FnMut(Message<'_>)) {
        let Self { framer, reader } = self;
        framer.push::<SingleBoard>(now, bytes, &mut |frame| sink(reader.read(frame)));
    }

    /// Drops a frame that has started, because the link is a new one.
    pub fn clear(&mut self) {
        self.framer.clear();
    }

    /// The counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            odd_fields: self.reader.odd_fields,
            illegible_clocks: self.reader.illegible_clocks,
            ..self.framer.stats
        }
    }
}

/// The frames of protocol 2.3.
pub(super) struct SingleBoard;

impl Dialect for SingleBoard {
    /// A full event log.
    const MAX_FRAME: usize = HEADER + 0x1f00;

    #[inline]
    fn fits(id: u8, total: usize) -> bool {
        match id {
            id::FIELD | id::BUS_ADDRESS | id::FIRMWARE | id::HARDWARE => total == 5,
            id::CLOCK => total == 10,
            id::DUMP => total == 67 || total == 103,
            id::EVENT_LOG => total == Self::MAX_FRAME,
            id::SERIAL => total == 8 || total == 12,
            id::DRAUGHTS_BLACK | id::DRAUGHTS_WHITE => total == 53,
            // Sources give 7 and 12. The decoder reads as much as is there.
            id::BATTERY => (4..=12).contains(&total),
            id::LONG_SERIAL => total == 13,
            // Newer boards add messages.
            _ => true,
        }
    }

    #[inline]
    fn is_nothing(id: u8) -> bool {
        id == id::NOTHING
    }

    #[inline]
    fn is_patient(id: u8) -> bool {
        id == id::EVENT_LOG
    }
}

impl Reader {
    /// Reads a whole frame of fitting length.
    #[inline]
    fn read<'a>(&'a mut self, frame: &'a [u8]) -> Message<'a> {
        let (id, payload) = (frame[0], &frame[HEADER..]);
        match (id, payload) {
            (id::FIELD, &[square, piece]) => {
                // The vendor announced a bit beyond these in 2014, and never described it.
                self.odd_fields += u64::from(square > 0x3f || piece > 0x0f);
                Message::Field {
                    square: square & 0x3f,
                    piece: PieceCode(piece & 0x0f),
                }
            }
            (id::CLOCK, &[a, b, c, d, e, f, g]) => self.read_clock(&[a, b, c, d, e, f, g], payload),
            (id::DUMP, codes) if codes.len() == 64 => {
                read_squares(codes, &mut self.squares);
                Message::Dump(&self.squares)
            }
            _ => read_rare(id, payload),
        }
    }

    #[inline]
    fn read_clock<'a>(&mut self, bytes: &[u8; clock::PAYLOAD], payload: &'a [u8]) -> Message<'a> {
        Message::of_clock(bytes).unwrap_or_else(|| {
            self.illegible_clocks += 1;
            Message::Other {
                id: id::CLOCK,
                payload,
            }
        })
    }
}

/// The piece codes of a dump. The bits above the code are unknown, but if all bits are set, the board does
/// not tell.
pub(super) fn read_squares(codes: &[u8], squares: &mut [PieceCode; 64]) {
    for (square, &code) in squares.iter_mut().zip(codes) {
        *square = if code == PieceCode::NOT_TOLD.0 {
            PieceCode::NOT_TOLD
        } else {
            PieceCode(code & 0x0f)
        };
    }
}

/// Reads answers to questions that a session asks once.
fn read_rare(id: u8, payload: &[u8]) -> Message<'_> {
    let other = Message::Other { id, payload };
    match (id, payload) {
        (id::FIRMWARE, &[main, sub]) => Message::Firmware(main, sub),
        (id::HARDWARE, &[main, sub]) => Message::Hardware(main, sub),
        (id::BUS_ADDRESS, &[high, low]) => Message::BusAddress(u16::from(high) << 7 | u16::from(low)),
        // The long form of 1998 repeats the version after the five digits.
        (id::SERIAL, [serial @ .., _, _, _, _]) if payload.len() == 9 => read_serial(serial).unwrap_or(other),
        (id::SERIAL | id::LONG_SERIAL, serial) => read_serial(serial).unwrap_or(other),
        (id::EVENT_LOG, records) => Message::EventLog(records),
        (id::BATTERY, [percent, more @ ..]) => Message::Battery(read_battery(*percent, more)),
        // The identification text is the vendor's, so it goes no further (protocol section 8).
        (id::TEXT, _) => Message::Other { id, payload: &[] },
        _ => other,
    }
}

/// A serial number of printable characters; none if `bytes` has no such number.
fn read_serial(bytes: &[u8]) -> Option<Message<'_>> {
    let serial = str::from_utf8(bytes).ok()?.trim();
    let printable = !serial.is_empty() && serial.bytes().all(|b| b.is_ascii_graphic());
    printable.then_some(Message::Serial(serial))
}

fn read_battery(percent: u8, more: &[u8]) -> Battery {
    const NOT_AVAILABLE: u8 = 0x7f;
    let at = |index: usize| more.get(index).copied().filter(|&value| value != NOT_AVAILABLE);
    let minutes = |hours: usize| Some(u16::from(at(hours)?) * 60 + u16::from(at(hours + 1)?));
    let standby = at(4).and_then(|days| Some(u32::from(days) * 24 * 60 + u32::from(minutes(5)?)));
    let state = at(7).unwrap_or(0);
    Battery {
        percent,
        left_minutes: minutes(0),
        on_minutes: minutes(2),
        standby_minutes: standby,
        charging: state & 1 != 0,
        discharging: state & 2 != 0,
    }
}

#[cfg(test)]
mod tests;

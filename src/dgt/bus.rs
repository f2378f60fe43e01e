//! Bus mode: several boards on one line, each with an address (protocol 2.5, 2.6). No board sends anything
//! unasked. Ids mean other things than in single-board mode, so bus mode has a codec of its own, and the code
//! that opened the line knows which one to use.

use super::{
    clock,
    decoder::read_squares,
    framing::{Dialect, Framer, HEADER, Stats},
    message::{Message, PieceCode, id as single},
};
use crate::time::Millis;

/// The address of one board, 1..=16383: its numeric serial number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(u16);

impl Address {
    /// An address; none for 0, which means all boards, and for numbers that two times seven bits cannot hold.
    #[must_use]
    pub fn new(address: u16) -> Option<Self> {
        (1..=0x3fff).contains(&address).then_some(Self(address))
    }

    /// The address of the board with this serial number: its lower fourteen bits.
    #[must_use]
    pub fn of_serial(serial: &str) -> Option<Self> {
        let number: u64 = serial.parse().ok()?;
        Self::new((number & 0x3fff) as u16)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }
}

/// One command on a bus. Those that write into a board's memory, reset it or take it off the bus are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BusCommand {
    /// The times of the clock.
    Clock(Address),
    /// The whole board.
    Dump(Address),
    /// The changes since the last such question. If the answer is lost, [`Self::RepeatChanges`] fetches it;
    /// the same question again would lose it for good.
    Changes(Address),
    /// The last answer to [`Self::Changes`] once more.
    RepeatChanges(Address),
    /// Are you there? None asks all boards.
    Ping(Option<Address>),
    /// Do not answer the next ping to all: this board is known.
    IgnoreNextPing(Address),
    /// The firmware version.
    Version(Address),
}

impl BusCommand {
    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> [u8; 4] {
        let (code, address) = match *self {
            Self::Clock(to) => (0x81, Some(to)),
            Self::Dump(to) => (0x82, Some(to)),
            Self::Changes(to) => (0x83, Some(to)),
            Self::RepeatChanges(to) => (0x84, Some(to)),
            Self::Ping(to) => (0x87, to),
            Self::IgnoreNextPing(to) => (0x8a, Some(to)),
            Self::Version(to) => (0x8b, Some(to)),
        };
        let [high, low] = halves(address.map_or(0, Address::get));
        [code, high, low, checksum(&[code, high, low])]
    }
}

/// The code and the address (0: all boards) of a bus command; none when its checksum is wrong.
#[must_use]
pub fn read_command(bytes: [u8; 4]) -> Option<(u8, u16)> {
    let [code, high, low, sum] = bytes;
    (checksum(&[code, high, low]) == sum).then(|| (code, joined(high, low)))
}

/// An answer of a board on a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusAnswer<'a> {
    /// The whole board, a clock frame or a firmware version, as in single-board mode.
    Said(Message<'a>),
    /// Changes since the last request: records for [`LogRecords`](super::eventlog::LogRecords).
    Changes(&'a [u8]),
    /// Changes since the start tag, in the same form.
    SinceStart(&'a [u8]),
    /// The board is there.
    Pong,
    /// The start tag was written.
    StartTagWritten,
    /// An unknown answer.
    Other {
        /// The id with bit 7 set.
        id: u8,
        /// What it carries.
        data: &'a [u8],
    },
}

mod id {
    pub(super) const DUMP: u8 = 0x83;
    pub(super) const CLOCK: u8 = 0x84;
    pub(super) const CHANGES: u8 = 0x85;
    pub(super) const SINCE_START: u8 = 0x86;
    pub(super) const PONG: u8 = 0x87;
    pub(super) const START_TAG: u8 = 0x88;
    pub(super) const VERSION: u8 = 0x89;
    /// Newer boards alternate it with [`CHANGES`].
    pub(super) const CHANGES_EVEN: u8 = 0x8b;
}

/// Header and address before the data, checksum after it.
const BEFORE: usize = HEADER + 2;
const AROUND: usize = BEFORE + 1;

struct Bus;

impl Dialect for Bus {
    /// The frame of a full event log.
    const MAX_FRAME: usize = 0x1f00 + AROUND;

    fn fits(id: u8, total: usize) -> bool {
        let Some(data) = total.checked_sub(AROUND) else {
            return false;
        };
        match id {
            id::DUMP => data == 64 || data == 100,
            id::CLOCK => data == clock::PAYLOAD,
            id::PONG | id::START_TAG => data == 0,
            // Firmware up to 1.2 sends no data.
            id::VERSION => data == 0 || data == 2,
            _ => true,
        }
    }

    fn is_nothing(_: u8) -> bool {
        false
    }

    fn is_patient(_: u8) -> bool {
        false
    }
}

/// Turns the bytes of a bus into answers, in any split. It rejects and counts frames with a wrong checksum.
#[derive(Clone, Debug)]
pub struct BusDecoder {
    framer: Framer,
    squares: [PieceCode; 64],
    wrong_checksums: u64,
}

impl Default for BusDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl BusDecoder {
    /// A decoder that waits for the start of an answer.
    #[must_use]
    pub fn new() -> Self {
        Self {
            framer: Framer::new(),
            squares: [PieceCode::EMPTY; 64],
            wrong_checksums: 0,
        }
    }

    /// Forgets the answer that has begun: the next bytes answer another question.
    pub fn clear(&mut self) {
        self.framer.clear();
    }

    /// True while an answer has begun and is not whole.
    #[must_use]
    pub fn is_midway(&self) -> bool {
        self.framer.is_midway()
    }

    /// How many bytes the answer that has begun still lacks, as far as its header tells; 0 where none has
    /// begun.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.framer.missing()
    }

    /// Takes bytes that arrived at `now` and calls `sink` with the address and the content of
    /// every answer that they complete.
    pub fn push(&mut self, now: Millis, bytes: &[u8], sink: &mut impl FnMut(u16, BusAnswer<'_>)) {
        let Self {
            framer,
            squares,
            wrong_checksums,
        } = self;
        framer.push::<Bus>(now, bytes, &mut |frame| {
            let Some((&sum, summed)) = frame.split_last() else {
                return;
            };
            match summed {
                [id, _, _, high, low, data @ ..] if checksum(summed) == sum => {
                    sink(joined(*high, *low), read_answer(*id, data, squares));
                }
                _ => *wrong_checksums += 1,
            }
        });
    }

    /// The counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let stats = self.framer.stats;
        Stats {
            frames: stats.frames - self.wrong_checksums,
            rejected_frames: stats.rejected_frames + self.wrong_checksums,
            ..stats
        }
    }
}

fn read_answer<'a>(id: u8, data: &'a [u8], squares: &'a mut [PieceCode; 64]) -> BusAnswer<'a> {
    match (id, data) {
        (id::DUMP, codes) if codes.len() == squares.len() => {
            read_squares(codes, squares);
            BusAnswer::Said(Message::Dump(squares))
        }
        (id::CLOCK, &[a, b, c, d, e, f, g]) => {
            let illegible = Message::Other {
                id: single::CLOCK,
                payload: data,
            };
            BusAnswer::Said(Message::of_clock(&[a, b, c, d, e, f, g]).unwrap_or(illegible))
        }
        (id::VERSION, &[main, sub]) => BusAnswer::Said(Message::Firmware(main, sub)),
        (id::CHANGES | id::CHANGES_EVEN, records) => BusAnswer::Changes(records),
        (id::SINCE_START, records) => BusAnswer::SinceStart(records),
        (id::PONG, _) => BusAnswer::Pong,
        (id::START_TAG, _) => BusAnswer::StartTagWritten,
        _ => BusAnswer::Other { id, data },
    }
}

impl BusAnswer<'_> {
    /// The id of a version. An answer of this id without a number is an `Other`.
    pub(super) const VERSION: u8 = id::VERSION;

    /// Appends the frame of this answer from the board of this address. Leaves out a message that does not
    /// exist on a bus.
    pub fn encode(&self, address: u16, out: &mut Vec<u8>) {
        let mut said = Vec::new();
        let (id, data) = match *self {
            Self::Said(message) => {
                message.encode(&mut said);
                let id = match said[0] {
                    single::DUMP => id::DUMP,
                    single::CLOCK => id::CLOCK,
                    single::FIRMWARE => id::VERSION,
                    _ => return,
                };
                (id, &said[HEADER..])
            }
            Self::Changes(records) => (id::CHANGES, records),
            Self::SinceStart(records) => (id::SINCE_START, records),
            Self::Pong => (id::PONG, &[][..]),
            Self::StartTagWritten => (id::START_TAG, &[][..]),
            Self::Other { id, data } => (id | 0x80, data),
        };
        let data = &data[..data.len().min(Bus::MAX_FRAME - AROUND)];
        let [length_high, length_low] = halves((data.len() + AROUND) as u16);
        let [high, low] = halves(address);
        let start = out.len();
        out.extend([id, length_high, length_low, high, low]);
        out.extend(data.iter().map(|byte| byte & 0x7f));
        out.push(checksum(&out[start..]));
    }
}

/// The lower seven bits of the sum of `bytes`.
fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) & 0x7f
}

/// Two times seven bits of `number`. Higher bits are cut.
fn halves(number: u16) -> [u8; 2] {
    [(number >> 7 & 0x7f) as u8, (number & 0x7f) as u8]
}

fn joined(high: u8, low: u8) -> u16 {
    u16::from(high) << 7 | u16::from(low)
}

#[cfg(test)]
mod tests;

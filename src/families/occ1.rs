//! `occ1`: the wire of boards that tell only which squares are occupied (reed contacts, Hall sensors). It is so simple
//! that the firmware of a self-built board takes ten lines.
//!
//! A line of 16 hexadecimal digits tells which of the 64 squares are occupied: two digits for each rank, with the
//! eighth rank first. In each rank the a-file is the highest bit. The initial array is `FFFF00000000FFFF`. A board
//! sends a line when it starts, at each change, and every second if it likes. The host sends nothing. See
//! `docs/occ1.md`.
//!
//! Pure: this module knows no chess.

use std::fmt;

use super::{BoardEnd, Driver, Family, Protocol, Told};
use crate::{
    dgt::{CommandBytes, PieceCode, Wish},
    time::Millis,
};

/// The family of boards that people build themselves.
pub const FAMILY: Family = Family {
    protocol: Protocol::Occ1,
    name: "occ1",
    line: super::Attachment::DGT,
    knows_pieces: false,
    commands: Vec::new,
    driver: || Box::new(Listener::default()),
    board: || Box::new(Speaker),
};

/// How many digits a line has.
const DIGITS: usize = 16;
/// A board that repeats its line, and then sends nothing for this many milliseconds, is gone. The lines need not come
/// more often than every few seconds.
const SILENCE_MS: u64 = 10_000;

/// Which squares are occupied, in the board's own order: a8 is the highest bit, h1 the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Occupancy(pub u64);

impl Occupancy {
    /// The occupancy of a board whose contents are `squares`.
    #[must_use]
    pub fn of(squares: &[PieceCode; 64]) -> Self {
        let bits = squares
            .iter()
            .fold(0, |bits, piece| bits << 1 | u64::from(*piece != PieceCode::EMPTY));
        Self(bits)
    }

    /// The code of each square, in the order of a dump (a8 first).
    #[must_use]
    pub fn squares(self) -> [PieceCode; 64] {
        std::array::from_fn(|raw| {
            if self.0 >> (63 - raw) & 1 == 1 {
                PieceCode::UNKNOWN
            } else {
                PieceCode::EMPTY
            }
        })
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

/// How much of a line has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// The number of digits, and their value.
    Digits(usize, u64),
    /// A remark, which the driver skips.
    Remark,
    /// No line of this protocol.
    Garbage,
}

/// Turns bytes into readings, in any split. It skips every line that does not have 16 digits: a remark of the firmware,
/// or the rest of a line whose beginning was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineDecoder {
    line: Line,
    garbled: u64,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl LineDecoder {
    /// A decoder at the beginning of a line.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            line: Line::Digits(0, 0),
            garbled: 0,
        }
    }

    /// Takes bytes and calls `sink` with every reading that they complete.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl FnMut(Occupancy)) {
        for byte in bytes {
            self.line = match (*byte, self.line) {
                (b'\n' | b'\r', line) => {
                    match line {
                        Line::Digits(DIGITS, value) => sink(Occupancy(value)),
                        Line::Digits(0, _) | Line::Remark => {}
                        Line::Digits(..) | Line::Garbage => self.garbled += 1,
                    }
                    Line::Digits(0, 0)
                }
                (b'#', Line::Digits(0, _)) => Line::Remark,
                (digit, Line::Digits(n, value)) if n < DIGITS => match char::from(digit).to_digit(16) {
                    Some(digit) => Line::Digits(n + 1, value << 4 | u64::from(digit)),
                    None => Line::Garbage,
                },
                (_, Line::Remark) => Line::Remark,
                _ => Line::Garbage,
            };
        }
    }

    /// The number of lines that were not of this protocol.
    #[must_use]
    pub fn garbled(&self) -> u64 {
        self.garbled
    }
}

/// Watches for the silence of a board that cannot be asked for a sign of life. A board that has repeated a line without
/// a change should always do so. The silence of any other board tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Silence {
    last: Option<(Millis, Occupancy)>,
    repeats: bool,
}

impl Silence {
    /// The watch over a new link, on which nothing has come.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            last: None,
            repeats: false,
        }
    }

    /// Notes that a line came.
    pub fn heard(&mut self, now: Millis, reading: Occupancy) {
        self.repeats |= self.last.is_some_and(|(_, last)| last == reading);
        self.last = Some((now, reading));
    }

    /// When the board is gone if nothing more is heard.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        let (at, _) = self.last.filter(|_| self.repeats)?;
        Some(at + SILENCE_MS)
    }

    /// True once when the board has been silent for too long.
    pub fn is_over(&mut self, now: Millis) -> bool {
        let over = self.due().is_some_and(|due| now >= due);
        if over {
            *self = Self::new();
        }
        over
    }
}

/// Our end of the wire, which only listens.
#[derive(Debug, Default)]
struct Listener {
    decoder: LineDecoder,
    silence: Silence,
    wish: Option<Wish>,
}

impl Driver for Listener {
    fn link_up(&mut self, _now: Millis) {}

    fn bytes(&mut self, now: Millis, bytes: &[u8], sink: &mut dyn FnMut(Told)) {
        let silence = &mut self.silence;
        self.decoder.push(bytes, &mut |reading| {
            silence.heard(now, reading);
            sink(Told::Squares(reading.squares()));
        });
    }

    fn handle_timeout(&mut self, now: Millis) {
        if self.silence.is_over(now) {
            self.wish = Some(Wish::Reopen);
        }
    }

    fn poll_timeout(&self) -> Option<Millis> {
        self.silence.due()
    }

    fn poll_transmit(&mut self) -> Option<CommandBytes> {
        None
    }

    fn poll_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    fn garbled(&self) -> u64 {
        self.decoder.garbled()
    }
}

/// The other end, which only speaks.
#[derive(Debug)]
struct Speaker;

impl BoardEnd for Speaker {
    fn hear(&mut self, _bytes: &[u8], _squares: &[PieceCode; 64], _answers: &mut Vec<u8>) {}

    fn tell(&self, squares: &[PieceCode; 64]) -> Vec<u8> {
        format!("{}\n", Occupancy::of(squares)).into_bytes()
    }

    fn speaks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> (Vec<u64>, u64) {
        let (mut decoder, mut read) = (LineDecoder::new(), Vec::new());
        decoder.push(bytes, &mut |reading| read.push(reading.0));
        (read, decoder.garbled())
    }

    #[test]
    fn the_highest_bit_is_a8_and_the_lowest_h1() {
        let squares = Occupancy(0x8000_0000_0000_0002).squares();
        let occupied: Vec<_> = (0..64)
            .filter(|raw| squares[*raw] == PieceCode::UNKNOWN)
            .collect();
        assert_eq!(occupied, [0, 62], "a8 and g1, as a dump numbers them");
    }

    #[test]
    fn line_ends_and_letters_of_either_kind_are_read() {
        let text = b"FFFF00000000FFFF\r\nffff00000800f7ff\n\n0000000000000000\r";
        assert_eq!(
            read(text),
            (vec![0xffff_0000_0000_ffff, 0xffff_0000_0800_f7ff, 0], 0)
        );
    }

    #[test]
    fn what_is_no_line_costs_itself_alone() {
        let text = b"00FFFF\nFFFF00000000FFFF0\nFFFF00000000FFFG\n# hello FFFF00000000FFFF\n\xff\x00\nFFFF00000000FFFF\n";
        assert_eq!(read(text), (vec![0xffff_0000_0000_ffff], 4));
    }

    #[test]
    fn a_line_without_an_end_is_no_reading() {
        assert_eq!(read(b"FFFF00000000FFFF"), (vec![], 0));
    }

    #[test]
    fn silence_speaks_only_of_boards_that_repeat_themselves() {
        let mut silence = Silence::new();
        silence.heard(Millis(0), Occupancy(1));
        silence.heard(Millis(500), Occupancy(2));
        assert!(!silence.is_over(Millis(1_000_000)));
        silence.heard(Millis(1000), Occupancy(2));
        assert_eq!(silence.due(), Some(Millis(1000 + SILENCE_MS)));
        assert!(silence.is_over(Millis(1000 + SILENCE_MS)));
        assert_eq!(silence.due(), None, "said once");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(
            lines in prop::collection::vec(prop_oneof![any::<u64>().prop_map(|n| format!("{}\n", Occupancy(n)).into_bytes()),
                                                       prop::collection::vec(any::<u8>(), 0..40)], 0..12),
            cuts in prop::collection::vec(0usize..400, 0..20)
        ) {
            let bytes = lines.concat();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let (mut decoder, mut found) = (LineDecoder::new(), Vec::new());
            for pair in cuts.windows(2) {
                decoder.push(&bytes[pair[0]..pair[1]], &mut |reading| found.push(reading.0));
            }
            prop_assert_eq!((found, decoder.garbled()), read(&bytes));
        }

        #[test]
        fn what_is_said_is_read_after_any_garbage(garbage in prop::collection::vec(any::<u8>(), 0..60), value: u64) {
            let said = [&garbage[..], format!("\n{}\n", Occupancy(value)).as_bytes()].concat();
            let (heard, _) = read(&said);
            prop_assert_eq!(heard.last(), Some(&value));
        }
    }
}

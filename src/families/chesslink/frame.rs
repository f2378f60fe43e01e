//! The frames of the wire in both directions. A frame has a letter, its content, and two hexadecimal digits: the
//! exclusive or of all characters before them. Each character has seven bits, and odd parity in the eighth.
//!
//! A line with seven bits and parity checks the eighth bit itself and hands it on as 0. So a frame is whole if all its
//! characters have odd parity, or if none has an eighth bit.

use super::{hex, piece};

/// The bytes of the longest known frame: a command for 81 lamps.
const LONGEST: usize = 1 + 2 + 81 * 2 + CHECK;
/// How many digits the check has.
const CHECK: usize = 2;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The position: all squares.
    Status,
    /// The version of the firmware.
    Version,
    /// A byte of the memory, with its address.
    Memory,
    /// Any other known frame.
    Other,
}

/// The form of a frame's content: how many characters, and which ones.
type Body = (usize, fn(u8) -> bool);

const fn digits(count: usize) -> Body {
    (count, |c| c.is_ascii_hexdigit())
}

impl Kind {
    /// The frames of a board, by their letter.
    #[must_use]
    pub fn of_answer(letter: u8) -> Option<(Self, Body)> {
        Some(match letter {
            b's' => (Self::Status, (64, |c| piece(c).is_some())),
            b'v' => (Self::Version, digits(4)),
            b'r' => (Self::Memory, digits(4)),
            b'w' => (Self::Other, digits(4)),
            b'l' | b'x' => (Self::Other, digits(0)),
            _ => return None,
        })
    }

    /// The frames of a host, by their letter.
    #[must_use]
    pub fn of_command(letter: u8) -> Option<(Self, Body)> {
        Some(match letter {
            b'S' => (Self::Status, digits(0)),
            b'V' => (Self::Version, digits(0)),
            b'R' => (Self::Memory, digits(2)),
            b'W' => (Self::Other, digits(4)),
            b'L' => (Self::Other, digits(LONGEST - 1 - CHECK)),
            b'X' | b'T' => (Self::Other, digits(0)),
            _ => return None,
        })
    }
}

/// A text as a frame on the wire.
#[must_use]
pub fn frame(text: &str) -> Vec<u8> {
    let check = text.bytes().fold(0, |check, c| check ^ c);
    let text = format!("{text}{check:02X}");
    text.bytes().map(with_parity).collect()
}

fn with_parity(c: u8) -> u8 {
    let even = c.count_ones().is_multiple_of(2);
    c & 0x7f | u8::from(even) << 7
}

/// Finds frames in bytes. Bytes that are no frame cost at most themselves: a frame that begins within them is found.
#[derive(Debug)]
pub struct Frames {
    known: fn(u8) -> Option<(Kind, Body)>,
    /// Bytes that may be the beginning of a frame.
    begun: Vec<u8>,
    /// How many of these bytes fit a frame so far.
    fitting: usize,
    /// True where the last byte belonged to no frame.
    skipping: bool,
    garbled: u64,
}

/// What the collected bytes are.
enum Found {
    /// The beginning of a frame.
    Begun,
    /// A frame with this number of bytes.
    Whole(Kind, usize),
    /// No frame.
    Garbage,
}

impl Frames {
    /// Looks for the frames whose letters `known` knows.
    #[must_use]
    pub fn new(known: fn(u8) -> Option<(Kind, Body)>) -> Self {
        Self {
            known,
            begun: Vec::with_capacity(LONGEST),
            fitting: 0,
            skipping: false,
            garbled: 0,
        }
    }

    /// Takes bytes, in any split, and calls `sink` with the kind and the content of each frame.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Kind, &[u8])) {
        for byte in bytes {
            self.begun.push(*byte);
            loop {
                match self.look() {
                    Found::Begun => break,
                    Found::Whole(kind, length) => {
                        let text: Vec<u8> = self.begun.drain(..).map(|c| c & 0x7f).collect();
                        (self.fitting, self.skipping) = (0, false);
                        sink(kind, &text[1..length - CHECK]);
                    }
                    Found::Garbage => {
                        self.begun.remove(0);
                        self.fitting = 0;
                        self.garbled += u64::from(!std::mem::replace(&mut self.skipping, true));
                    }
                }
            }
        }
    }

    /// How often bytes came that were no frame.
    #[must_use]
    pub fn garbled(&self) -> u64 {
        self.garbled
    }

    fn look(&mut self) -> Found {
        let Some(first) = self.begun.first() else {
            return Found::Begun;
        };
        let Some((kind, (count, fits))) = (self.known)(first & 0x7f) else {
            return Found::Garbage;
        };
        while let Some(c) = self.begun.get(self.fitting) {
            let c = c & 0x7f;
            let may_be = match self.fitting {
                0 => true,
                place if place <= count => fits(c),
                _ => c.is_ascii_hexdigit(),
            };
            if !may_be {
                return Found::Garbage;
            }
            self.fitting += 1;
        }
        let length = 1 + count + CHECK;
        if self.begun.len() < length {
            Found::Begun
        } else if is_whole(&self.begun) {
            Found::Whole(kind, length)
        } else {
            Found::Garbage
        }
    }
}

/// True where a frame's check and the parity of its characters are right.
fn is_whole(frame: &[u8]) -> bool {
    let Some((text, [high, low])) = frame.split_last_chunk() else {
        return false;
    };
    let sum = text.iter().fold(0, |check, c| check ^ c & 0x7f);
    let parity = frame.iter().all(|c| c.count_ones() % 2 == 1) || frame.iter().all(|c| *c < 0x80);
    hex(high & 0x7f, low & 0x7f) == Some(sum) && parity
}

//! What a board says, one frame at a time.

use super::clock::ClockReading;

/// The code of what stands on a square: 0 empty, 1..=6 white P R N B K Q, 7..=12 black, 13..=15
/// the special pieces (draw, White wins, Black wins); 0x7f a board that does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct PieceCode(pub u8);

impl PieceCode {
    /// Nothing on the square.
    pub const EMPTY: Self = Self(0);
}

/// One frame, decoded. Borrowed parts point into the decoder's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// All squares in the board's own order (a8 = 0 .. h1 = 63 when it is not turned).
    Dump(&'a [PieceCode; 64]),
    /// One square changed.
    Field {
        /// The board's own index, 0..=63.
        square: u8,
        /// What stands there now.
        piece: PieceCode,
    },
    /// The times of the clock, its lever and whether it runs.
    Clock(ClockReading),
    /// The board says that no clock is attached.
    NoClock,
    /// Firmware version, main and sub.
    Firmware(u8, u8),
    /// The serial number as the board reports it (five digits, or ten from newer boards).
    Serial(&'a str),
    /// The event log: its raw records, oldest first.
    EventLog(&'a [u8]),
    /// A frame that is understood by the wire but says nothing to the rooms above, or an unknown one.
    Other {
        /// The frame's id with bit 7 set.
        id: u8,
        /// What it carries.
        payload: &'a [u8],
    },
}

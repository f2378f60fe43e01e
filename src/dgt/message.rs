//! What a board says, one frame at a time.

use super::{
    ack::ClockAck,
    clock::{self, ClockReading},
};

/// The code of what stands on a square: 0 empty, 1..=6 white P R N B K Q, 7..=12 black, 13..=15
/// the special pieces (draw, White wins, Black wins); 0x7f a board that does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct PieceCode(pub u8);

impl PieceCode {
    /// Nothing on the square.
    pub const EMPTY: Self = Self(0);
    /// The board does not tell (protocol section 5, boards that ask for a key first).
    pub const NOT_TOLD: Self = Self(0x7f);
    /// Something stands there, and the board cannot know what. No frame says this: it is what boards
    /// of another wire (`occ1`) tell.
    pub const MAN: Self = Self(16);
}

/// What stands on each of a board's squares, in the board's own order.
pub type Squares = [PieceCode; 64];

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
    /// The clock answers a command or reports its buttons.
    ClockAck(ClockAck),
    /// An all-zero clock frame: Bluetooth boards send it after a clock command. It says nothing.
    NullClock,
    /// Firmware version, main and sub.
    Firmware(u8, u8),
    /// Hardware version, main and sub.
    Hardware(u8, u8),
    /// The serial number as the board reports it (five digits, or ten from newer boards).
    Serial(&'a str),
    /// The address on a bus, 0..=16383.
    BusAddress(u16),
    /// The board's own battery.
    Battery(Battery),
    /// The event log: its raw records, oldest first.
    EventLog(&'a [u8]),
    /// A frame that is understood by the wire but says nothing to the rooms above, or an unknown
    /// one. A clock frame with impossible digits is among them; an identification text comes
    /// without its payload.
    Other {
        /// The frame's id with bit 7 set.
        id: u8,
        /// What it carries.
        payload: &'a [u8],
    },
}

impl Message<'_> {
    /// Changes may have been lost before this. No board says so: who speaks for one on a line that many share does.
    pub const LOST: Message<'static> = Message::Other {
        id: id::LOST,
        payload: &[],
    };
    /// The change of a square that comes next did so at least about a quarter of a second after the change before it: a board on a line
    /// that many share knows that, and who speaks for it says so.
    pub const APART: Message<'static> = Message::Other {
        id: id::APART,
        payload: &[],
    };

    /// What a clock frame says (protocol 4.1, 4.3, 4.5); none for digits that no clock can show.
    #[inline]
    pub(super) fn of_clock(payload: &[u8; clock::PAYLOAD]) -> Option<Self> {
        // An ack is told first: its other bytes carry anything, the status among them.
        if let Some(ack) = ClockAck::decode(payload) {
            return Some(Self::ClockAck(ack));
        }
        if clock::is_absent(payload) {
            return Some(Self::NoClock);
        }
        if *payload == [0; clock::PAYLOAD] {
            return Some(Self::NullClock);
        }
        clock::decode(payload).map(Self::Clock)
    }
}

/// State of a board's own battery (protocol 2.3, `a0`). Boards differ in how much they tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Battery {
    /// Capacity left, percent.
    pub percent: u8,
    /// Minutes left running or charging.
    pub left_minutes: Option<u16>,
    /// Minutes since it was switched on.
    pub on_minutes: Option<u16>,
    /// Minutes in standby.
    pub standby_minutes: Option<u32>,
    /// It is being charged.
    pub charging: bool,
    /// It is being discharged.
    pub discharging: bool,
}

/// Ids of board-to-host frames in single-board mode (protocol 2.3).
pub(super) mod id {
    pub(in crate::dgt) const NOTHING: u8 = 0x80;
    pub(in crate::dgt) const DUMP: u8 = 0x86;
    pub(in crate::dgt) const CLOCK: u8 = 0x8d;
    pub(in crate::dgt) const FIELD: u8 = 0x8e;
    pub(in crate::dgt) const EVENT_LOG: u8 = 0x8f;
    pub(in crate::dgt) const BUS_ADDRESS: u8 = 0x90;
    pub(in crate::dgt) const SERIAL: u8 = 0x91;
    pub(in crate::dgt) const TEXT: u8 = 0x92;
    pub(in crate::dgt) const FIRMWARE: u8 = 0x93;
    pub(in crate::dgt) const DRAUGHTS_BLACK: u8 = 0x94;
    pub(in crate::dgt) const DRAUGHTS_WHITE: u8 = 0x95;
    pub(in crate::dgt) const HARDWARE: u8 = 0x96;
    pub(in crate::dgt) const BATTERY: u8 = 0xa0;
    pub(in crate::dgt) const LONG_SERIAL: u8 = 0xa2;
    /// Of no board, as the next.
    pub(in crate::dgt) const APART: u8 = 0xfe;
    pub(in crate::dgt) const LOST: u8 = 0xff;
}

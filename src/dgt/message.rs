//! The messages of a board, one for each frame.

use super::{
    ack::ClockAck,
    clock::{self, ClockReading},
};

/// The code of a square: 0 empty, 1..=6 white P R N B K Q, 7..=12 black, 13..=15 the special pieces (draw,
/// White wins, Black wins). A board that does not tell sends 0x7f.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct PieceCode(pub u8);

impl PieceCode {
    /// Nothing on the square.
    pub const EMPTY: Self = Self(0);
    /// The board does not tell (protocol section 5, boards that ask for a key first).
    pub const NOT_TOLD: Self = Self(0x7f);
    /// A piece stands there, and the board cannot know which. No frame has this code; boards with another
    /// wire (`occ1`) tell no more than this.
    pub const UNKNOWN: Self = Self(16);
}

/// The codes of all squares of a board, in the board's own order.
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
        /// The code of the square now.
        piece: PieceCode,
    },
    /// The times of the clock, its lever and whether it runs.
    Clock(ClockReading),
    /// The board says that no clock is attached.
    NoClock,
    /// The clock answers a command or reports its buttons.
    ClockAck(ClockAck),
    /// A clock frame of zeros. Bluetooth boards send it after a clock command. It means nothing.
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
    /// A frame that means nothing to the rooms above, or an unknown one. A clock frame with impossible digits
    /// is among them. An identification text comes without its payload.
    Other {
        /// The frame's id with bit 7 set.
        id: u8,
        /// What it carries.
        payload: &'a [u8],
    },
}

impl Message<'_> {
    /// Changes may have been lost before this message. No board sends it: the stand-in of a board on a shared
    /// line does.
    pub const LOST: Message<'static> = Message::Other {
        id: id::LOST,
        payload: &[],
    };
    /// The next change of a square came at least about a quarter of a second after the one before. A board on
    /// a shared line knows that, and its stand-in sends this message.
    pub const APART: Message<'static> = Message::Other {
        id: id::APART,
        payload: &[],
    };
    /// The board may have told what comes before this message already; it tells what follows for the first time. Only the
    /// stand-in of a board on a shared line sends this, before the first dump of a link.
    pub const SINCE: Message<'static> = Message::Other {
        id: id::SINCE,
        payload: &[],
    };

    /// The message of a clock frame (protocol 4.1, 4.3, 4.5); none for digits that no clock can show.
    #[inline]
    pub(super) fn of_clock(payload: &[u8; clock::PAYLOAD]) -> Option<Self> {
        // The ack comes first, because its other bytes, the status among them, may have any value.
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
    /// The battery is being charged.
    pub charging: bool,
    /// The battery is being discharged.
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
    /// No board sends this id, nor the next ones.
    pub(in crate::dgt) const SINCE: u8 = 0xfd;
    pub(in crate::dgt) const APART: u8 = 0xfe;
    pub(in crate::dgt) const LOST: u8 = 0xff;
}

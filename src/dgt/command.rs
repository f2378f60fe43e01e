//! The commands that the host may send to a board. This type cannot express commands that write its EEPROM or
//! start its boot loader, nor the request for its identification text.

use super::{clock_command::ClockCommand, command_bytes::CommandBytes};

/// One command in single-board mode (protocol 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Idle mode: the board sends nothing by itself.
    Reset,
    /// The times of the clock.
    Clock,
    /// The whole board.
    Dump,
    /// Mode: changes of the board, and the clock about once a second.
    Update,
    /// Mode: changes of the board only.
    UpdateBoard,
    /// Mode: changes of the board and of the clock.
    UpdateNice,
    /// The serial number of five digits.
    Serial,
    /// The serial number of ten digits, of newer boards.
    LongSerial,
    /// The address on a bus.
    BusAddress,
    /// The firmware version.
    Firmware,
    /// The hardware version, of newer boards.
    Hardware,
    /// The battery, of boards that have one.
    Battery,
    /// The event log. Blocks a line of 9600 baud for 8.3 s.
    EventLog,
    /// To bus mode.
    BusMode,
    /// Draughts boards: the dark squares.
    DraughtsBlack,
    /// Draughts boards: the light squares.
    DraughtsWhite,
    /// A command to the clock behind the board.
    ToClock(ClockCommand),
}

impl Command {
    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> CommandBytes {
        match self {
            Self::ToClock(command) => command.bytes(),
            plain => CommandBytes::of(&[plain.code()]),
        }
    }

    /// The first byte on the wire.
    fn code(&self) -> u8 {
        match self {
            Self::Reset => 0x40,
            Self::Clock => 0x41,
            Self::Dump => 0x42,
            Self::Update => 0x43,
            Self::UpdateBoard => 0x44,
            Self::Serial => 0x45,
            Self::BusAddress => 0x46,
            Self::Hardware => 0x48,
            Self::EventLog => 0x49,
            Self::BusMode => 0x4a,
            Self::UpdateNice => 0x4b,
            Self::Battery => 0x4c,
            Self::Firmware => 0x4d,
            Self::DraughtsBlack => 0x50,
            Self::DraughtsWhite => 0x52,
            Self::LongSerial => 0x55,
            Self::ToClock(_) => ClockCommand::CODE,
        }
    }

    /// The command of one byte with this code.
    #[must_use]
    pub fn from_code(byte: u8) -> Option<Self> {
        Self::PLAIN.into_iter().find(|command| command.code() == byte)
    }

    /// All commands of one byte.
    pub(super) const PLAIN: [Self; 16] = [
        Self::Reset,
        Self::Clock,
        Self::Dump,
        Self::Update,
        Self::UpdateBoard,
        Self::UpdateNice,
        Self::Serial,
        Self::LongSerial,
        Self::BusAddress,
        Self::Firmware,
        Self::Hardware,
        Self::Battery,
        Self::EventLog,
        Self::BusMode,
        Self::DraughtsBlack,
        Self::DraughtsWhite,
    ];
}

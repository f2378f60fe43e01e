//! A board on a shared line: it answers bus commands for its address (protocol reference, 2.5 and 2.6).

use crate::dgt::{
    ClockReading, Message, PieceCode,
    bus::{BusAnswer, read_command},
    eventlog::LogRecord,
};

/// The most bytes of changes that a board keeps while nobody asks for them.
const STORE: usize = 0x1f00;

/// The part of a board that is spoken to over a shared line.
#[derive(Clone, Debug)]
pub struct Slave {
    address: u16,
    /// Changes that were not told yet.
    changes: Vec<u8>,
    /// The changes that were told last.
    told: Vec<u8>,
    /// Somebody asks for changes.
    is_asked: bool,
    ignores_ping: bool,
    /// The id of the answer with changes alternates, as with newer boards.
    alternates: bool,
    is_even: bool,
    /// The board does not tell its firmware's number, as with firmware 1.2 and older.
    is_old: bool,
}

/// What a shared line may ask of a board.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlaveState<'a> {
    pub(super) squares: &'a [PieceCode; 64],
    pub(super) clock: Option<ClockReading>,
    pub(super) firmware: (u8, u8),
}

impl Slave {
    /// A board of this address. Boards of even addresses alternate their ids, and those of every third
    /// address have old firmware.
    #[must_use]
    pub fn new(address: u16) -> Self {
        Self {
            address,
            changes: Vec::new(),
            told: Vec::new(),
            is_asked: false,
            ignores_ping: false,
            alternates: address.is_multiple_of(2),
            is_even: false,
            is_old: address.is_multiple_of(3),
        }
    }

    /// The address of the board.
    #[must_use]
    pub fn address(&self) -> u16 {
        self.address
    }

    /// Whether somebody asks the board for changes.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// The board had no power, and starts anew.
    pub(super) fn power_up(&mut self) {
        *self = Self::new(self.address);
    }

    /// Nobody asks the board any more. It keeps the changes that it has not told.
    pub(super) fn is_left(&mut self) {
        self.is_asked = false;
    }

    pub(super) fn record(&mut self, record: LogRecord) {
        record.encode(&mut self.changes);
        if self.changes.len() > STORE {
            self.changes.drain(..self.changes.len() - STORE);
        }
    }

    /// Answers a bus command, if it is for this board.
    pub(super) fn hear(&mut self, bytes: [u8; 4], board: &SlaveState<'_>, out: &mut Vec<u8>) {
        let Some((code, to)) = read_command(bytes) else {
            return;
        };
        if to != self.address && to != 0 {
            return;
        }
        let answer = match code {
            0x81 => BusAnswer::Said(board.clock.map_or(Message::NoClock, Message::Clock)),
            0x82 => BusAnswer::Said(Message::Dump(board.squares)),
            0x83 => {
                self.is_asked = true;
                self.told = std::mem::take(&mut self.changes);
                self.is_even ^= self.alternates;
                return self.tell(out);
            }
            0x84 => return self.tell(out),
            0x87 if to == 0 && std::mem::take(&mut self.ignores_ping) => return,
            0x87 => BusAnswer::Pong,
            0x8a => {
                self.ignores_ping = true;
                BusAnswer::Pong
            }
            0x8b if self.is_old => BusAnswer::Other { id: 0x89, data: &[] },
            0x8b => BusAnswer::Said(Message::Firmware(board.firmware.0, board.firmware.1)),
            _ => return,
        };
        answer.encode(self.address, out);
    }

    fn tell(&self, out: &mut Vec<u8>) {
        let answer = match self.is_even {
            true => BusAnswer::Other {
                id: 0x8b,
                data: &self.told,
            },
            false => BusAnswer::Changes(&self.told),
        };
        answer.encode(self.address, out);
    }
}

//! Boards that tell whole positions: each time all squares, never a single change, and no clock.
//! One module for each family of them, with its [`Driver`], our end of the wire, its [`BoardEnd`], the other end for the
//! simulator, and a row of [`FAMILIES`]. `ARCHITECTURE.md` shows how another one is added.
//!
//! Pure, and without chess: what stands on the squares is handed on as the board says it, in the codes of [`PieceCode`].

pub mod chesslink;
pub mod chessnut;
pub mod occ1;
mod speech;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::{
    dgt::{Battery, Command, CommandBytes, PieceCode, Wish},
    time::Millis,
};
pub use speech::Speech;

/// The protocol that a board speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// That of DGT boards: pieces, a clock, questions and answers.
    #[default]
    Dgt,
    /// Lines that say which squares are occupied: `docs/occ1.md`.
    Occ1,
    /// That of Millennium's ChessLink.
    Chesslink,
    /// That of Chessnut's boards.
    Chessnut,
}

/// What a family of boards is.
#[derive(Debug)]
pub struct Family {
    /// What they speak.
    pub protocol: Protocol,
    /// The same, as the configuration and captures spell it.
    pub name: &'static str,
    /// How such a board is attached.
    pub line: Attachment,
    /// Whether they know what stands on a square; else only that something does.
    pub knows_pieces: bool,
    /// All that may be said to them: nothing else is handed on by `forward`.
    pub commands: fn() -> Vec<CommandBytes>,
    /// Our end of a wire on which nothing was said yet.
    pub driver: fn() -> Box<dyn Driver>,
    /// The other end, of a simulated board that was just switched on.
    pub board: fn() -> Box<dyn BoardEnd>,
}

/// All families: what is not here speaks DGT's protocol.
pub static FAMILIES: [Family; 3] = [occ1::FAMILY, chesslink::FAMILY, chessnut::FAMILY];

impl Protocol {
    /// What each is called, in the order of the type.
    pub const NAMES: [&str; 4] = ["dgt", "occ1", "chesslink", "chessnut"];

    /// The family of boards that speak it; none for DGT's.
    #[must_use]
    pub fn family(self) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.protocol == self)
    }

    /// What the configuration calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.family().map_or("dgt", |family| family.name)
    }

    /// How a board that speaks it is attached.
    #[must_use]
    pub fn line(self) -> Attachment {
        self.family().map_or(Attachment::DGT, |family| family.line)
    }

    /// Whether these bytes are one command that cannot harm a board.
    #[must_use]
    pub fn may_be_said(self, bytes: &[u8]) -> bool {
        match self.family() {
            None => matches!(bytes, [code] if Command::from_code(*code).is_some()),
            Some(family) => (family.commands)().iter().any(|command| **command == *bytes),
        }
    }

    /// Whether such a board knows what stands on a square.
    #[must_use]
    pub fn knows_pieces(self) -> bool {
        self.family().is_none_or(|family| family.knows_pieces)
    }
}

/// How a board's port is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A serial port of 8 data bits, no parity and one stop bit.
    Serial {
        /// Bits a second.
        baud: u32,
        /// What the line DTR is set to once the port is open; none leaves it as it is.
        dtr: Option<bool>,
    },
    /// Reports of a HID device (`/dev/hidrawN`): each read and each write is one.
    Reports,
}

impl Attachment {
    /// Of a DGT board.
    pub const DGT: Self = Self::Serial {
        baud: 9600,
        dtr: None,
    };
}

/// Something that a board told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// What stands on all squares, a8 first, h1 last.
    Squares([PieceCode; 64]),
    /// Version of its firmware, main and sub.
    Firmware(u8, u8),
    /// Its battery.
    Battery(Battery),
}

/// Our end of the wire of one board: bytes in, what they tell and what is to be said out. Time is an argument.
pub trait Driver: Debug + Send + Sync {
    /// The link is open. It is called once, before anything else: a new link has a new driver.
    fn link_up(&mut self, now: Millis);

    /// Bytes from the board, in any split: calls `sink` with all that they tell.
    fn bytes(&mut self, now: Millis, bytes: &[u8], sink: &mut dyn FnMut(Told));

    /// The time of [`Self::poll_timeout`] has come; earlier or later does no harm.
    fn handle_timeout(&mut self, now: Millis);

    /// When to call [`Self::handle_timeout`] at the latest; later than `now` once that was called.
    fn poll_timeout(&self) -> Option<Millis>;

    /// The next command to send, never split.
    fn poll_transmit(&mut self) -> Option<CommandBytes>;

    /// What to do with the link.
    fn poll_wish(&mut self) -> Option<Wish>;

    /// How often something came that was no message of this wire.
    fn garbled(&self) -> u64;
}

/// The board's end of the wire, for the simulator.
pub trait BoardEnd: Debug + Send {
    /// What the host said, while `squares` stand there: appends the answers.
    fn hear(&mut self, bytes: &[u8], squares: &[PieceCode; 64], answers: &mut Vec<u8>);

    /// What it says when `squares` stand there.
    fn tell(&self, squares: &[PieceCode; 64]) -> Vec<u8>;

    /// Whether it says so by itself: some are to be asked for it first.
    fn speaks(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_but_the_first_has_a_row_under_its_name() {
        for name in Protocol::NAMES {
            let protocol: Protocol = serde_json::from_value(name.into()).unwrap();
            assert_eq!(protocol.name(), name);
            assert_eq!(protocol.family().is_none(), protocol == Protocol::Dgt);
        }
    }
}

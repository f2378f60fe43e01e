//! Boards that tell whole positions: each time all squares, never a single change, and no clock. Each family has a
//! module with a [`Driver`], our end of the wire, and a [`BoardEnd`], the other end for the simulator. It also has a
//! row of [`FAMILIES`]. `ARCHITECTURE.md` tells how to add a family.
//!
//! Pure, and without chess: the families hand on what a board says of its squares, in the codes of [`PieceCode`].

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
    /// The protocol of DGT boards: pieces, a clock, questions and answers.
    #[default]
    Dgt,
    /// Lines that tell which squares are occupied: `docs/occ1.md`.
    Occ1,
    /// The protocol of Millennium's ChessLink.
    Chesslink,
    /// The protocol of Chessnut's boards.
    Chessnut,
}

/// The facts about a family of boards.
#[derive(Debug)]
pub struct Family {
    /// The protocol of its boards.
    pub protocol: Protocol,
    /// The protocol's name in the configuration and in captures.
    pub name: &'static str,
    /// How such a board is attached.
    pub line: Attachment,
    /// True where its boards tell which piece is on a square, false where they tell only that one is.
    pub knows_pieces: bool,
    /// All commands that may be sent to its boards: `forward` hands on no others.
    pub commands: fn() -> Vec<CommandBytes>,
    /// Makes our end of a wire that was just opened.
    pub driver: fn() -> Box<dyn Driver>,
    /// Makes the other end, a simulated board that was just switched on.
    pub board: fn() -> Box<dyn BoardEnd>,
}

/// All families. A board of none of them speaks DGT's protocol.
pub static FAMILIES: [Family; 3] = [occ1::FAMILY, chesslink::FAMILY, chessnut::FAMILY];

impl Protocol {
    /// The names of the protocols, in the order of the type.
    pub const NAMES: [&str; 4] = ["dgt", "occ1", "chesslink", "chessnut"];

    /// The family whose boards speak it; none for DGT's protocol.
    #[must_use]
    pub fn family(self) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.protocol == self)
    }

    /// Its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.family().map_or("dgt", |family| family.name)
    }

    /// How a board that speaks it is attached.
    #[must_use]
    pub fn line(self) -> Attachment {
        self.family().map_or(Attachment::DGT, |family| family.line)
    }

    /// True where these bytes are one command that cannot harm a board.
    #[must_use]
    pub fn may_be_said(self, bytes: &[u8]) -> bool {
        match self.family() {
            None => matches!(bytes, [code] if Command::from_code(*code).is_some()),
            Some(family) => (family.commands)().iter().any(|command| **command == *bytes),
        }
    }

    /// True where such a board tells which piece is on a square.
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
        /// The level to which the line DTR is set once the port is open; none leaves it as it is.
        dtr: Option<bool>,
    },
    /// Reports of a HID device (`/dev/hidrawN`): each read gives one report, and each write makes one.
    Reports,
}

impl Attachment {
    /// The attachment of a DGT board.
    pub const DGT: Self = Self::Serial {
        baud: 9600,
        dtr: None,
    };
}

/// Something that a board told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The contents of all squares, from a8 to h1.
    Squares([PieceCode; 64]),
    /// Version of its firmware, main and sub.
    Firmware(u8, u8),
    /// Its battery.
    Battery(Battery),
}

/// Our end of the wire of one board: bytes go in, and messages and commands come out. Time is an argument.
pub trait Driver: Debug + Send + Sync {
    /// The link is open. The caller calls this once, before anything else: a new link has a new driver.
    fn link_up(&mut self, now: Millis);

    /// Bytes from the board, in any split: calls `sink` with all that they tell.
    fn bytes(&mut self, now: Millis, bytes: &[u8], sink: &mut dyn FnMut(Told));

    /// Acts on the time of [`Self::poll_timeout`]. A call that is early or late does no harm.
    fn handle_timeout(&mut self, now: Millis);

    /// When to call [`Self::handle_timeout`] at the latest; later than `now` after that call.
    fn poll_timeout(&self) -> Option<Millis>;

    /// The next command to send, never split.
    fn poll_transmit(&mut self) -> Option<CommandBytes>;

    /// What the driver wants the caller to do with the link.
    fn poll_wish(&mut self) -> Option<Wish>;

    /// How often bytes came that were no message of this wire.
    fn garbled(&self) -> u64;
}

/// The board's end of the wire, for the simulator.
pub trait BoardEnd: Debug + Send {
    /// Takes what the host said while `squares` are the board's contents, and appends the answers.
    fn hear(&mut self, bytes: &[u8], squares: &[PieceCode; 64], answers: &mut Vec<u8>);

    /// The message of the board that `squares` are its contents.
    fn tell(&self, squares: &[PieceCode; 64]) -> Vec<u8>;

    /// True where it tells so by itself: some boards must first be asked to.
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

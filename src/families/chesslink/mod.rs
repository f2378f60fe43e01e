//! Millennium's ChessLink (the boards Exclusive, Supreme Tournament 55 and others), over USB. The facts are from the
//! maker's text "ChessLink: Magic Chessboard Communications Protocol" of 2017.
//!
//! The maker's text sets the line to 38400 baud with seven data bits and odd parity. A byte of eight bits without
//! parity has the same ten bits on the wire. So the port is opened with eight bits, and this module makes and checks
//! the parity bit itself, which also works on a bridge and a pseudo terminal ([`mod@frame`]).
//!
//! A setting in the board's memory says when the board tells its position: at each scan (24 times a second), at each
//! change, or when it is asked. The driver asks for that setting and never writes it: [`Command`] has nothing that
//! writes, resets or lights lamps.

mod board;
pub mod frame;
#[cfg(test)]
mod tests;

use super::{Attachment, Driver, Family, Protocol, Speech, Told};
use crate::{
    dgt::{CommandBytes, PieceCode, Wish},
    time::Millis,
};
use frame::{Frames, Kind, frame};

/// The family of these boards.
pub const FAMILY: Family = Family {
    protocol: Protocol::Chesslink,
    name: "chesslink",
    // DTR as programs set it that are known to work.
    line: Attachment::Serial {
        baud: 38_400,
        dtr: Some(false),
    },
    knows_pieces: true,
    commands: || Command::ALL.map(Command::bytes).to_vec(),
    driver: || Box::new(Host::default()),
    board: || Box::new(board::Simulated::default()),
};

/// The pause between two commands (in milliseconds, as all times below).
const PACE_MS: u64 = 50;
/// How often the driver asks a board for its position that never tells it by itself.
const SILENT_BOARD_MS: u64 = 100;
/// How often the driver asks a board that has not said whether it tells by itself.
const UNKNOWN_BOARD_MS: u64 = 250;
/// How often the driver asks a board that tells changes by itself, for a sign of life.
const TELLING_BOARD_MS: u64 = 1000;
/// A board that is asked and says nothing for this long is gone.
const SILENCE_MS: u64 = 5000;
/// The address in the board's memory of the setting that says when it tells its position.
const REPORTS_ADDRESS: u8 = 0x02;
/// The mask of that setting, and its value on a board that tells nothing by itself.
const REPORTS: (u8, u8) = (0b111, 0b001);

/// The questions that the driver may put to a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// What version are you?
    Version,
    /// What stands there?
    Status,
    /// When do you tell it by yourself?
    Reports,
}

impl Command {
    /// All questions.
    pub const ALL: [Self; 3] = [Self::Version, Self::Status, Self::Reports];

    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(self) -> CommandBytes {
        CommandBytes::of(&match self {
            Self::Version => frame("V"),
            Self::Status => frame("S"),
            Self::Reports => frame(&format!("R{REPORTS_ADDRESS:02X}")),
        })
    }
}

/// The letters of the pieces with their codes.
const LETTERS: [(u8, PieceCode); 13] = [
    (b'.', PieceCode::EMPTY),
    (b'P', PieceCode(1)),
    (b'R', PieceCode(2)),
    (b'N', PieceCode(3)),
    (b'B', PieceCode(4)),
    (b'K', PieceCode(5)),
    (b'Q', PieceCode(6)),
    (b'p', PieceCode(7)),
    (b'r', PieceCode(8)),
    (b'n', PieceCode(9)),
    (b'b', PieceCode(10)),
    (b'k', PieceCode(11)),
    (b'q', PieceCode(12)),
];

fn piece(letter: u8) -> Option<PieceCode> {
    let found = LETTERS.iter().find(|(known, _)| *known == letter)?;
    Some(found.1)
}

fn letter(piece: PieceCode) -> char {
    let found = LETTERS.iter().find(|(_, known)| *known == piece);
    // A code without a letter is one that the board cannot read.
    found.map_or('.', |(letter, _)| char::from(*letter))
}

/// Our end of the wire.
#[derive(Debug)]
struct Host {
    frames: Frames,
    speech: Speech,
    /// True where the board tells its position by itself; none before it has said so.
    tells: Option<bool>,
    /// When the board last told its position, or was last asked for it.
    status: Millis,
    heard: Millis,
    up: bool,
    wish: Option<Wish>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            frames: Frames::new(Kind::of_answer),
            speech: Speech::new(PACE_MS),
            tells: None,
            status: Millis(0),
            heard: Millis(0),
            up: false,
            wish: None,
        }
    }
}

impl Host {
    /// When the driver asks for the position, unless the board tells it before.
    fn status_due(&self) -> Millis {
        self.status
            + match self.tells {
                Some(true) => TELLING_BOARD_MS,
                Some(false) => SILENT_BOARD_MS,
                None => UNKNOWN_BOARD_MS,
            }
    }
}

impl Driver for Host {
    fn link_up(&mut self, now: Millis) {
        (self.up, self.status, self.heard) = (true, now, now);
        for command in [Command::Reports, Command::Version, Command::Status] {
            self.speech.ask(now, command.bytes());
        }
    }

    fn bytes(&mut self, now: Millis, bytes: &[u8], sink: &mut dyn FnMut(Told)) {
        let Self {
            frames,
            tells,
            status,
            heard,
            ..
        } = self;
        frames.push(bytes, &mut |kind, body| {
            *heard = now;
            match (kind, body) {
                (Kind::Status, body) => {
                    *status = now;
                    if let Some(squares) = squares(body) {
                        sink(Told::Squares(squares));
                    }
                }
                (Kind::Version, [a, b, c, d]) => {
                    if let (Some(main), Some(sub)) = (hex(*a, *b), hex(*c, *d)) {
                        sink(Told::Firmware(main, sub));
                    }
                }
                (Kind::Memory, [a, b, c, d]) if hex(*a, *b) == Some(REPORTS_ADDRESS) => {
                    *tells = hex(*c, *d).map(|value| value & REPORTS.0 != REPORTS.1);
                }
                _ => {}
            }
        });
    }

    fn handle_timeout(&mut self, now: Millis) {
        if !self.up {
            return;
        }
        if now >= self.heard + SILENCE_MS {
            self.wish = Some(Wish::Reopen);
            self.heard = now;
        }
        if now >= self.status_due() {
            self.status = now;
            self.speech.ask(now, Command::Status.bytes());
        }
        self.speech.pump(now);
    }

    fn poll_timeout(&self) -> Option<Millis> {
        let due = [self.status_due(), self.heard + SILENCE_MS];
        due.into_iter().chain(self.speech.due()).min().filter(|_| self.up)
    }

    fn poll_transmit(&mut self) -> Option<CommandBytes> {
        self.speech.take()
    }

    fn poll_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    fn garbled(&self) -> u64 {
        self.frames.garbled()
    }
}

fn squares(letters: &[u8]) -> Option<[PieceCode; 64]> {
    let codes: Option<Vec<PieceCode>> = letters.iter().map(|letter| piece(*letter)).collect();
    codes?.try_into().ok()
}

/// The value of two hexadecimal digits.
fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    // Two digits are at most 255.
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

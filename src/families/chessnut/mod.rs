//! Chessnut's boards (Air, Pro, EVO, Move) over USB: reports of a HID device, as the maker's EasyLinkSDK reads them.
//!
//! A report begins with its kind and the number of bytes that follow, and zeros may fill it up. A board tells its
//! position after a command to do so, and its battery when it is asked.

#[cfg(test)]
mod tests;

use super::{Attachment, BoardEnd, Driver, Family, Protocol, Speech, Told};
use crate::{
    dgt::{Battery, CommandBytes, PieceCode, Wish},
    time::Millis,
};

/// The family of these boards.
pub const FAMILY: Family = Family {
    protocol: Protocol::Chessnut,
    name: "chessnut",
    line: Attachment::Reports,
    knows_pieces: true,
    commands: || Command::ALL.map(Command::bytes).to_vec(),
    driver: || Box::new(Host::default()),
    board: || Box::new(Simulated::default()),
};

/// The pause between two commands (in milliseconds, as all times below), which is that of the maker's own program.
const PACE_MS: u64 = 200;
/// How long the driver waits for a position before it commands the board again to tell it.
const AGAIN_MS: u64 = 2000;
/// How often the driver asks for the battery.
const BATTERY_MS: u64 = 60_000;
/// The driver asks a board that has told nothing for this long for its battery, as a sign of life.
const QUIET_MS: u64 = 5000;
/// A board that says nothing for this long is gone, whether it was heard before or not.
const SILENCE_MS: u64 = 15_000;
/// The bytes of one report come within this time.
const TOGETHER_MS: u64 = 250;

/// The commands that the driver may send to a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Tell your position from now on.
    Tell,
    /// How is your battery?
    Battery,
}

impl Command {
    /// All commands.
    pub const ALL: [Self; 2] = [Self::Tell, Self::Battery];

    /// The report.
    #[must_use]
    pub fn bytes(self) -> CommandBytes {
        CommandBytes::of(match self {
            Self::Tell => &[0x21, 0x01, 0x00],
            Self::Battery => &[0x29, 0x01, 0x00],
        })
    }
}

/// The first bytes of a report of the position, and its length: 32 bytes of squares, and four that tell a time.
const POSITION: ([u8; 2], usize) = ([0x01, 0x24], 38);
/// The first bytes of a report of the battery, and its length: percent, and whether the battery is being charged.
const BATTERY: ([u8; 2], usize) = ([0x2a, 0x02], 4);
/// The first bytes of the battery's report of the board whose pieces move by themselves, and its length: whether the
/// battery is being charged comes first.
const BATTERY_OF_MOVE: ([u8; 3], usize) = ([0x41, 0x03, 0x0c], 5);
/// The bytes of a report with the zeros that fill it up.
const REPORT: usize = 64;

/// The pieces in the order of the maker's codes: empty, q k b p n R P r B N Q K.
const CODES: [PieceCode; 13] = [
    PieceCode::EMPTY,
    PieceCode(12),
    PieceCode(11),
    PieceCode(10),
    PieceCode(7),
    PieceCode(9),
    PieceCode(2),
    PieceCode(1),
    PieceCode(8),
    PieceCode(4),
    PieceCode(3),
    PieceCode(6),
    PieceCode(5),
];

/// The index of the square whose nibble is `index`: h8 comes first, then g8.
fn place(index: usize) -> usize {
    index / 8 * 8 + 7 - index % 8
}

/// The squares in 32 bytes of a report; none where a code is unknown. Two kings of one colour are accepted, because a
/// chip may be misread for long.
fn squares(bytes: &[u8]) -> Option<[PieceCode; 64]> {
    let mut squares = [PieceCode::EMPTY; 64];
    for index in 0..64 {
        let byte = bytes.get(index / 2)?;
        let nibble = if index % 2 == 0 { byte & 0x0f } else { byte >> 4 };
        squares[place(index)] = *CODES.get(usize::from(nibble))?;
    }
    Some(squares)
}

fn report(squares: &[PieceCode; 64]) -> Vec<u8> {
    let ([what, length], whole) = POSITION;
    let mut report = vec![0; REPORT];
    (report[0], report[1]) = (what, length);
    for index in 0..64 {
        let nibble = CODES
            .iter()
            .position(|code| *code == squares[place(index)])
            .unwrap_or(0);
        // There are thirteen codes, so the index fits.
        report[2 + index / 2] |= (nibble as u8) << (index % 2 * 4);
    }
    report[whole - 4..whole].fill(0xff);
    report
}

/// Our end of the wire.
#[derive(Debug, Default)]
struct Host {
    /// What may be the beginning of a report, and when it came.
    begun: Vec<u8>,
    begun_at: Millis,
    garbled: u64,
    speech: Option<Speech>,
    /// It has told that something is left of its battery, or that it is being charged.
    knows_battery: bool,
    /// When the position was told last.
    position: Option<Millis>,
    heard: Option<Millis>,
    told_to_tell: Millis,
    asked_battery: Millis,
    up: Millis,
    wish: Option<Wish>,
}

/// What begins with the collected bytes.
enum Found {
    /// The bytes so far do not tell.
    Begun,
    /// A report of this number of bytes.
    Whole(Told, usize),
    /// An unknown byte.
    Skipped,
    /// A position with an unknown code.
    Garbage,
}

fn look(begun: &[u8]) -> Found {
    let battery = |percent: u8, charging: u8| {
        Told::Battery(Battery {
            percent: percent.min(100),
            charging: charging == 1,
            discharging: charging != 1,
            ..Battery::default()
        })
    };
    let starts = |what: &[u8]| what.iter().zip(begun).all(|(a, b)| a == b);
    if begun.is_empty() {
        Found::Begun
    } else if starts(&POSITION.0) {
        match begun.get(..POSITION.1) {
            None => Found::Begun,
            Some(whole) => match squares(&whole[2..]) {
                Some(squares) => Found::Whole(Told::Squares(squares), POSITION.1),
                None => Found::Garbage,
            },
        }
    } else if starts(&BATTERY.0) {
        match begun.get(..BATTERY.1) {
            None => Found::Begun,
            Some(whole) => Found::Whole(battery(whole[2], whole[3]), BATTERY.1),
        }
    } else if starts(&BATTERY_OF_MOVE.0) {
        match begun.get(..BATTERY_OF_MOVE.1) {
            None => Found::Begun,
            Some(whole) => Found::Whole(battery(whole[4], whole[3]), BATTERY_OF_MOVE.1),
        }
    } else {
        Found::Skipped
    }
}

impl Host {
    fn ask(&mut self, now: Millis, command: Command) {
        let speech = self.speech.get_or_insert_with(|| Speech::new(PACE_MS));
        speech.ask(now, command.bytes());
        match command {
            Command::Tell => self.told_to_tell = now,
            Command::Battery => self.asked_battery = now,
        }
    }

    /// When the board is told again to tell its position.
    fn tell_due(&self) -> Millis {
        match self.position {
            None => self.told_to_tell + AGAIN_MS,
            // A board that tells only changes has nothing to say while nobody moves.
            Some(position) => (position + BATTERY_MS).max(self.told_to_tell + BATTERY_MS),
        }
    }

    fn battery_due(&self) -> Millis {
        let quiet = self
            .heard
            .map(|heard| (heard + QUIET_MS).max(self.asked_battery + QUIET_MS));
        (self.asked_battery + BATTERY_MS).min(quiet.unwrap_or(Millis(u64::MAX)))
    }

    /// Boards that do not know their battery answer that nothing is left and nothing comes in. One that had more before, or is being
    /// charged, is empty indeed.
    fn is_known(&mut self, battery: Battery) -> bool {
        self.knows_battery |= battery.percent > 0 || battery.charging;
        self.knows_battery
    }

    fn gone_at(&self) -> Millis {
        self.heard.unwrap_or(self.up) + SILENCE_MS
    }
}

impl Driver for Host {
    fn link_up(&mut self, now: Millis) {
        self.up = now;
        self.knows_battery = false;
        self.ask(now, Command::Tell);
        self.ask(now, Command::Battery);
    }

    fn bytes(&mut self, now: Millis, bytes: &[u8], sink: &mut dyn FnMut(Told)) {
        if now.since(self.begun_at) > TOGETHER_MS && !self.begun.is_empty() {
            self.begun.clear();
            self.garbled += 1;
        }
        self.begun_at = now;
        for byte in bytes {
            self.begun.push(*byte);
            loop {
                let length = match look(&self.begun) {
                    Found::Begun => break,
                    Found::Whole(told, length) => {
                        self.heard = Some(now);
                        match told {
                            Told::Squares(_) => {
                                self.position = Some(now);
                                sink(told);
                            }
                            Told::Battery(battery) if !self.is_known(battery) => {}
                            _ => sink(told),
                        }
                        length
                    }
                    Found::Skipped => 1,
                    Found::Garbage => {
                        self.garbled += 1;
                        1
                    }
                };
                self.begun.drain(..length);
            }
        }
    }

    fn handle_timeout(&mut self, now: Millis) {
        if self.speech.is_none() {
            return;
        }
        if now >= self.gone_at() {
            self.wish = Some(Wish::Reopen);
            (self.heard, self.up) = (None, now);
        }
        if now >= self.tell_due() {
            self.ask(now, Command::Tell);
        }
        if now >= self.battery_due() {
            self.ask(now, Command::Battery);
        }
        if let Some(speech) = &mut self.speech {
            speech.pump(now);
        }
    }

    fn poll_timeout(&self) -> Option<Millis> {
        let speech = self.speech.as_ref()?;
        let due = [self.gone_at(), self.tell_due(), self.battery_due()];
        due.into_iter().chain(speech.due()).min()
    }

    fn poll_transmit(&mut self) -> Option<CommandBytes> {
        self.speech.as_mut()?.take()
    }

    fn poll_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    fn garbled(&self) -> u64 {
        self.garbled
    }
}

/// A simulated board, whose battery is at 87 percent.
#[derive(Debug, Default)]
struct Simulated {
    tells: bool,
}

impl BoardEnd for Simulated {
    fn hear(&mut self, bytes: &[u8], squares: &[PieceCode; 64], answers: &mut Vec<u8>) {
        // Each report is written by itself, and those that are known have three bytes.
        for command in bytes.chunks(3) {
            if command == &*Command::Tell.bytes() {
                self.tells = true;
                answers.extend(report(squares));
            } else if command == &*Command::Battery.bytes() {
                let mut battery = [0; REPORT];
                battery[..BATTERY.1].copy_from_slice(&[BATTERY.0[0], BATTERY.0[1], 87, 0]);
                answers.extend(battery);
            }
        }
    }

    fn tell(&self, squares: &[PieceCode; 64]) -> Vec<u8> {
        report(squares)
    }

    fn speaks(&self) -> bool {
        self.tells
    }
}

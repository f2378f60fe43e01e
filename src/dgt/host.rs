//! Decodes what a host sends. It is the mirror of [`Command::bytes`], for simulated boards.

use super::{clock_command::ClockCommand, command::Command};
use crate::time::Millis;

/// One command of the host, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostWord {
    /// A command that the host side of this crate can express.
    Command(Command),
    /// A bus command (protocol 2.5), its checksum not verified:
    /// [`read_command`](super::bus::read_command) does that.
    Bus([u8; 4]),
    /// Anything else, by its first byte: commands that this crate will not express, newer ones, noise.
    Other(u8),
}

/// The decoder drops a command that gets no byte for this long (milliseconds).
const BYTE_TIMEOUT: u64 = 500;
/// Command byte, count, and what a count of seven bits can announce.
const MAX_COMMAND: usize = 2 + 0x7f;
const BUS_COMMAND: usize = 4;

/// Turns the bytes of a host into commands, in any split. It tolerates any bytes.
#[derive(Clone, Debug)]
pub struct HostDecoder {
    buffer: [u8; MAX_COMMAND],
    len: usize,
    last_byte: Millis,
}

impl Default for HostDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl HostDecoder {
    /// A decoder that waits for the start of a command.
    #[must_use]
    pub fn new() -> Self {
        Self {
            buffer: [0; MAX_COMMAND],
            len: 0,
            last_byte: Millis::default(),
        }
    }

    /// Takes bytes that arrived at `now` and calls `sink` with every command that they complete.
    pub fn push(&mut self, now: Millis, bytes: &[u8], sink: &mut impl FnMut(HostWord)) {
        if now.since(self.last_byte) >= BYTE_TIMEOUT {
            self.len = 0;
        }
        self.last_byte = now;
        for &byte in bytes {
            if let Some(heard) = self.take(byte) {
                sink(heard);
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<HostWord> {
        // Only the first byte of a bus command has bit 7 set.
        if byte & 0x80 != 0 {
            self.len = 0;
        }
        self.buffer[self.len] = byte;
        self.len += 1;
        let command = &self.buffer[..self.len];
        if self.len < length(command) {
            return None;
        }
        self.len = 0;
        Some(read(command))
    }
}

/// The length of this command as far as its bytes tell, at most [`MAX_COMMAND`].
fn length(started: &[u8]) -> usize {
    match *started {
        // Commands for the clock (in two dialects), lights and key have a count of the bytes that follow it.
        [0x2b | 0x2c | 0x60 | 0x63] => 2,
        [0x2b | 0x2c | 0x60 | 0x63, count, ..] => 2 + usize::from(count),
        [first, ..] if first & 0x80 != 0 => BUS_COMMAND,
        _ => 1,
    }
}

fn read(command: &[u8]) -> HostWord {
    if let &[a, b, c, d] = command
        && a & 0x80 != 0
    {
        return HostWord::Bus([a, b, c, d]);
    }
    let known = match *command {
        [code] => Command::from_code(code),
        _ => ClockCommand::parse(command).map(Command::ToClock),
    };
    known.map_or(HostWord::Other(command[0]), HostWord::Command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::clock::ClockSide;

    fn heard(bytes: &[u8]) -> Vec<HostWord> {
        let mut all = Vec::new();
        HostDecoder::new().push(Millis(0), bytes, &mut |heard| all.push(heard));
        all
    }

    #[track_caller]
    fn same(command: ClockCommand, bytes: &[u8]) {
        let command = Command::ToClock(command);
        assert_eq!(command.bytes().as_ref(), bytes);
        assert_eq!(heard(bytes), [HostWord::Command(command)]);
    }

    #[test]
    fn worked_examples_of_clock_commands() {
        same(ClockCommand::Version, &[0x2b, 3, 3, 9, 0]);
        same(ClockCommand::EndDisplay, &[0x2b, 3, 3, 3, 0]);
        same(ClockCommand::Beep(0x10), &[0x2b, 4, 3, 0x0b, 0x10, 0]);
        let set = |left, right, running| ClockCommand::SetAndRun {
            left,
            right,
            running,
            by_lever: false,
        };
        same(
            set([0, 3, 2], [0, 3, 2], Some(ClockSide::Left)),
            &[0x2b, 0x0a, 3, 0x0a, 0, 3, 2, 0, 3, 2, 1, 0],
        );
        same(
            set([1, 0x1e, 0], [1, 0x1e, 0], Some(ClockSide::Right)),
            &[0x2b, 0x0a, 3, 0x0a, 1, 0x1e, 0, 1, 0x1e, 0, 2, 0],
        );
        same(
            set([0, 5, 0], [0, 5, 0], None),
            &[0x2b, 0x0a, 3, 0x0a, 0, 5, 0, 0, 5, 0, 4, 0],
        );
        let mut hello = vec![0x2b, 0x0c, 3, 0x0c];
        hello.extend(*b"Hello   ");
        hello.extend([3, 0]);
        same(ClockCommand::Text(*b"Hello   ", 3), &hello);
        let e2e4 = ClockCommand::Segments {
            places: [0, 0x5b, 0x7b, 0, 0x66, 0x7b],
            icons: 0,
            beep: 1,
        };
        same(e2e4, &[0x2b, 0x0b, 3, 1, 0, 0x5b, 0x7b, 0, 0x66, 0x7b, 0, 1, 0]);
        let long = ClockCommand::LongText(*b"Hello world", 0);
        assert_eq!(long.bytes()[1], 0x0f, "the longest command fits its place");
        same(long, &long.bytes());
    }

    #[test]
    fn plain_commands_are_one_byte_and_come_back() {
        let all: Vec<u8> = Command::PLAIN.iter().flat_map(|c| c.bytes().to_vec()).collect();
        assert_eq!(all.len(), Command::PLAIN.len());
        assert_eq!(heard(&all), Command::PLAIN.map(HostWord::Command));
    }

    #[test]
    fn commands_that_would_harm_a_board_cannot_be_expressed() {
        // Boot loader, EEPROM of draughts boards, identification text.
        for byte in [0x4e, 0x51, 0x53, 0x54, 0x47] {
            assert_eq!(Command::from_code(byte), None);
            assert_eq!(heard(&[byte]), [HostWord::Other(byte)]);
        }
    }

    #[test]
    fn commands_with_data_are_taken_whole() {
        let lights = [0x60, 4, 1, 0x34, 0x24, 0, 0x42];
        assert_eq!(
            heard(&lights),
            [HostWord::Other(0x60), HostWord::Command(Command::Dump)]
        );
        let bus = [0x87, 0x08, 0x01, 0x10, 0x42];
        assert_eq!(
            heard(&bus),
            [
                HostWord::Bus([0x87, 8, 1, 0x10]),
                HostWord::Command(Command::Dump)
            ]
        );
        // A bus command ends an unfinished clock command, and so does a timeout.
        assert_eq!(
            heard(&[0x2b, 9, 3, 0x81, 8, 1, 0x0a]),
            [HostWord::Bus([0x81, 8, 1, 0x0a])]
        );
        let mut decoder = HostDecoder::new();
        let mut all = Vec::new();
        decoder.push(Millis(0), &[0x2b, 9, 3], &mut |heard| all.push(heard));
        decoder.push(Millis(500), &[0x42], &mut |heard| all.push(heard));
        assert_eq!(all, [HostWord::Command(Command::Dump)]);
    }
}

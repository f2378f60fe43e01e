//! Speaks for a board of the line to its watcher, as if the board had a line of its own.
//!
//! A watcher greets its board, asks for dump and clock, and gets the changes. The stand-in takes these
//! commands. It answers at once what the line knows already; for the rest, the master asks the board when its
//! turn comes. The stand-in does not pass on commands that would write into a board, or that would take the
//! line from the other boards (the event log, single-board mode). Instead of a log the watcher gets all
//! changes that the board has told the line.

use super::{
    super::{
        command::Command,
        host::{HostDecoder, HostWord},
        message::Message,
    },
    order::{ClockSaid, Happened},
};
use crate::time::Millis;

/// What a watcher has asked for and has got.
#[derive(Clone, Debug, Default)]
pub(super) struct StandIn {
    ears: HostDecoder,
    /// The watcher wants changes of squares.
    squares: bool,
    /// The watcher wants frames of the clock.
    clock: bool,
    /// The watcher waits for the clock.
    pub(super) clock_wanted: bool,
    /// The watcher waits for a dump.
    pub(super) dump_wanted: bool,
    /// The watcher waits for the log.
    log_wanted: bool,
    /// The watcher waits for a sign of life.
    sign_wanted: bool,
    /// When the watcher last got something.
    said: Millis,
}

/// While the clock runs, a watcher that has got nothing for this long gets a sign of life (milliseconds). It
/// shows that a visit brought nothing, so the next change happened after that visit.
const SIGN_OF_LIFE: u64 = 150;

impl StandIn {
    /// Starts anew, because a new watcher comes, or the board does.
    pub(super) fn anew(&mut self) {
        *self = Self::default();
    }

    /// Takes bytes that the watcher sends to its board. Returns the answer that can be given at once.
    pub(super) fn hear(&mut self, now: Millis, bytes: &[u8], board: &Known<'_>) -> Vec<u8> {
        let mut commands = Vec::new();
        self.ears.push(now, bytes, &mut |heard| {
            if let HostWord::Command(command) = heard {
                commands.push(command);
            }
        });
        let mut answer = Vec::new();
        for command in commands {
            self.carry_out(command, board, &mut answer);
        }
        if !answer.is_empty() {
            self.said = now;
        }
        answer
    }

    fn carry_out(&mut self, command: Command, board: &Known<'_>, answer: &mut Vec<u8>) {
        match command {
            Command::Reset => (self.squares, self.clock) = (false, false),
            Command::UpdateBoard => (self.squares, self.clock) = (true, false),
            Command::Update | Command::UpdateNice => (self.squares, self.clock) = (true, true),
            Command::Dump => self.dump_wanted = true,
            Command::Clock => self.clock_wanted = true,
            // While the clock runs, the watcher asks this to learn whether all messages have come. Only the
            // next visit of the board can tell.
            Command::Firmware if self.clock && board.clock_runs => self.sign_wanted = true,
            Command::Firmware => board.firmware().encode(answer),
            Command::Serial if board.serial.len() <= 5 => Message::Serial(board.serial).encode(answer),
            Command::LongSerial if board.serial.len() > 5 => Message::Serial(board.serial).encode(answer),
            Command::BusAddress => Message::BusAddress(board.address).encode(answer),
            Command::EventLog => self.log_wanted = true,
            Command::Serial
            | Command::LongSerial
            | Command::Hardware
            | Command::Battery
            | Command::BusMode
            | Command::DraughtsBlack
            | Command::DraughtsWhite
            | Command::ToClock(_) => {}
        }
    }

    /// The bytes for the watcher about what happened, in one piece, because nobody knows when each thing
    /// happened. They begin with a message that changes may be missing, if `lost` is true.
    pub(super) fn tell(
        &mut self,
        now: Millis,
        happened: &[Happened],
        lost: bool,
        board: &Known<'_>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        if lost && self.squares {
            Message::LOST.encode(&mut bytes);
        }
        for one in happened {
            let is_wanted = match one {
                Happened::Field { .. } | Happened::Since => self.squares,
                Happened::Clock(said) => self.wants_clock(*said, board),
                Happened::Dump(_) => self.dump_wanted || self.squares,
            };
            if is_wanted {
                one.encode(&mut bytes);
            }
        }
        self.clock_wanted &= !happened.iter().any(|one| matches!(one, Happened::Clock(_)));
        self.dump_wanted &= !happened.iter().any(|one| matches!(one, Happened::Dump(_)));
        // Without this, the watcher would not know that nothing is on its way.
        let is_quiet =
            bytes.is_empty() && self.clock && board.clock_runs && now.since(self.said) >= SIGN_OF_LIFE;
        if std::mem::take(&mut self.sign_wanted) || is_quiet {
            board.firmware().encode(&mut bytes);
        }
        if !bytes.is_empty() {
            self.said = now;
        }
        bytes
    }

    /// Returns true, once, if the watcher gets the log now. It comes after the dump that the watcher asked
    /// for before, because the watcher compares the two.
    pub(super) fn takes_log(&mut self) -> bool {
        !self.dump_wanted && std::mem::take(&mut self.log_wanted)
    }

    /// True if the watcher wants this frame of the clock. A stopped clock that shows the same as before has
    /// nothing new.
    fn wants_clock(&self, said: ClockSaid, board: &Known<'_>) -> bool {
        let is_new = board.clock_before != Some(said);
        let runs = matches!(said, ClockSaid::Reading(reading) if reading.running);
        self.clock_wanted || self.clock && (is_new || runs)
    }
}

/// What the line knows of the board itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) address: u16,
    /// The serial number of the configuration. The address is the same number.
    pub(super) serial: &'a str,
    pub(super) firmware: Option<(u8, u8)>,
    pub(super) clock_runs: bool,
    pub(super) clock_before: Option<ClockSaid>,
}

impl Known<'_> {
    /// The message about the firmware. Firmware that tells no number counts as the last one that did not.
    fn firmware(&self) -> Message<'static> {
        let (main, sub) = self.firmware.unwrap_or(LAST_WITHOUT_NUMBER);
        Message::Firmware(main, sub)
    }
}

/// Firmware up to this one answers the question for its version without a number (protocol 2.6).
const LAST_WITHOUT_NUMBER: (u8, u8) = (1, 2);

#[cfg(test)]
mod tests {
    use super::*;

    /// While the clock runs, the watcher learns of visits that brought nothing. Then it knows that the next
    /// change happened after them.
    #[test]
    fn the_watcher_learns_of_empty_visits_while_the_clock_runs() {
        let mut board = Known {
            address: 7,
            serial: "7",
            firmware: Some((1, 8)),
            clock_runs: true,
            clock_before: None,
        };
        let mut stand_in = StandIn::default();
        stand_in.hear(Millis(1000), &Command::UpdateNice.bytes(), &board);
        let mut told = |at, board: &Known<'_>| !stand_in.tell(Millis(at), &[], false, board).is_empty();
        let visits: Vec<bool> = (1300..2500).step_by(300).map(|at| told(at, &board)).collect();
        assert_eq!(visits, [true; 4]);
        assert!(!told(2300, &board), "the watcher got a sign of life just before");
        board.clock_runs = false;
        assert!(!told(9000, &board));
    }
}

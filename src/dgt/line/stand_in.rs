//! Who speaks for a board of the line to whoever watches it: as if it had a line of its own.
//!
//! A watcher greets its board, asks for the board and the clock, and is told what changes. The stand-in takes those words. What
//! the line has told already it answers at once; for the rest the board is asked when its turn comes. What would write into a board,
//! and what would take the line from the others (the event log, to single-board mode), is not passed on: for a log the watcher gets all
//! changes that the line was told.

use super::{
    super::{
        command::Command,
        host::{HostDecoder, HostWord},
        message::Message,
    },
    order::{ClockSaid, Happened},
};
use crate::time::Millis;

/// What a watcher has asked for and was told.
#[derive(Clone, Debug, Default)]
pub(super) struct StandIn {
    ears: HostDecoder,
    /// The watcher wants to hear of changes of squares.
    squares: bool,
    /// And of the clock.
    clock: bool,
    /// It waits for the clock.
    pub(super) clock_wanted: bool,
    /// It waits for the whole board.
    pub(super) dump_wanted: bool,
    /// It waits for the log.
    log_wanted: bool,
    /// It waits for a sign of life.
    sign_wanted: bool,
    /// When something was last said to it.
    said: Millis,
}

/// While the clock runs a watcher gets a sign of life when nothing was said for so long (milliseconds): that a visit has brought nothing
/// tells since when what comes next can have happened.
const SIGN_OF_LIFE: u64 = 150;

impl StandIn {
    /// Another watcher comes, or the board does.
    pub(super) fn anew(&mut self) {
        *self = Self::default();
    }

    /// The watcher says something to its board. Returns what is answered at once.
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
            // While its clock runs the watcher asks whether all that was said has come: only the board's next visit tells.
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

    /// What the watcher is told of what happened, in one piece: nobody knows when each of it did. That something may have been
    /// `lost` before is said first.
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
                Happened::Field { .. } => self.squares,
                Happened::Clock(said) => self.wants_clock(*said, board),
                Happened::Dump(_) => self.dump_wanted || self.squares,
            };
            if is_wanted {
                one.encode(&mut bytes);
            }
        }
        self.clock_wanted &= !happened.iter().any(|one| matches!(one, Happened::Clock(_)));
        self.dump_wanted &= !happened.iter().any(|one| matches!(one, Happened::Dump(_)));
        // Else nobody knows that nothing is on its way.
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

    /// Whether the watcher is to get the log now: after the whole board that it asked for before, against which it is held.
    pub(super) fn takes_log(&mut self) -> bool {
        !self.dump_wanted && std::mem::take(&mut self.log_wanted)
    }

    /// A clock that stands and shows what it showed says nothing new.
    fn wants_clock(&self, said: ClockSaid, board: &Known<'_>) -> bool {
        let is_new = board.clock_before != Some(said);
        let runs = matches!(said, ClockSaid::Reading(reading) if reading.running);
        self.clock_wanted || self.clock && (is_new || runs)
    }
}

/// What is known of the board itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) address: u16,
    /// As the configuration has it: its address is the same number.
    pub(super) serial: &'a str,
    pub(super) firmware: Option<(u8, u8)>,
    pub(super) clock_runs: bool,
    pub(super) clock_before: Option<ClockSaid>,
}

impl Known<'_> {
    /// Firmware that tells no number is that of the last that did not.
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

    /// Visits that bring nothing tell the watcher so while the clock runs: what comes next has happened since.
    #[test]
    fn a_visit_that_brings_nothing_is_told_while_the_clock_runs() {
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
        assert!(!told(2300, &board), "it was told just now");
        board.clock_runs = false;
        assert!(!told(9000, &board));
    }
}

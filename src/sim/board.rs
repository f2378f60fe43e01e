//! A board as the host sees it: modes, answers, its event log. It is pure and knows no chess.

use super::slave::{Slave, SlaveState};
use crate::{
    dgt::{
        ClockAck, ClockCommand, ClockReading, ClockSide, Command, HostWord, Message, PieceCode,
        eventlog::LogRecord,
    },
    time::Millis,
};

/// What a simulated board says of itself. Its numbers are those of no real board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedIdentity {
    /// Five digits.
    pub serial: String,
    /// Ten digits; none on an older board.
    pub long_serial: Option<String>,
    /// Firmware, main and sub.
    pub firmware: (u8, u8),
}

impl SimulatedIdentity {
    /// The `number`-th simulated board.
    #[must_use]
    pub fn synthetic(number: u16) -> Self {
        Self {
            serial: format!("{:05}", 90_000 + u32::from(number % 10_000)),
            long_serial: None,
            firmware: (1, 8),
        }
    }
}

/// What the board sends by itself (protocol reference, 1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing, not even acknowledgements of the clock.
    Idle,
    /// Nothing. A board is in this mode when it gets power.
    Bus,
    /// Changes of the board.
    UpdateBoard,
    /// Changes of the board and of the clock.
    Update,
}

/// The state of a board.
#[derive(Clone, Debug)]
pub struct SimulatedBoard {
    identity: SimulatedIdentity,
    mode: Mode,
    squares: [PieceCode; 64],
    clock: Option<ClockReading>,
    /// When a square last changed.
    changed: Option<Millis>,
    /// The event log. None if the board keeps none.
    log: Option<Vec<u8>>,
    /// The part that a shared line speaks to. None if the board has a line of its own.
    slave: Option<Slave>,
}

/// The log marks a change as *soon after* if it comes within this time of another (protocol reference, 3.5).
const SOON_MS: u64 = 250;
/// Bytes of the event log's store (protocol reference, 3.5).
const LOG_STORE: usize = 0x1f00;

impl SimulatedBoard {
    /// A board that has just got power.
    #[must_use]
    pub fn new(identity: SimulatedIdentity, squares: [PieceCode; 64], clock: Option<ClockReading>) -> Self {
        let mut board = Self {
            identity,
            mode: Mode::Bus,
            squares,
            clock,
            changed: None,
            log: Some(Vec::new()),
            slave: None,
        };
        board.power_up();
        board
    }

    /// This board without an event log: it does not answer when it is asked for one.
    #[must_use]
    pub fn without_log(mut self) -> Self {
        self.log = None;
        self
    }

    /// This board on a shared line.
    #[must_use]
    pub fn on_line(mut self, slave: Slave) -> Self {
        self.slave = Some(slave);
        self
    }

    /// The part that a shared line speaks to, if the board is on one.
    #[must_use]
    pub fn slave(&self) -> Option<&Slave> {
        self.slave.as_ref()
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the board reports changes, or is asked for them.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        match &self.slave {
            Some(slave) => slave.is_asked(),
            None => matches!(self.mode, Mode::Update | Mode::UpdateBoard),
        }
    }

    /// The power came back: the board has lost its mode, and enters in the log what stands on it.
    pub fn power_up(&mut self) {
        self.mode = Mode::Bus;
        if let Some(slave) = &mut self.slave {
            slave.power_up();
        }
        self.record(LogRecord::PowerUp);
        for square in 0..64u8 {
            let piece = self.squares[usize::from(square)];
            if piece != PieceCode::EMPTY {
                self.record(field(square, piece, false));
            }
        }
    }

    /// The host closed the port. A board on a shared line does not notice. A board behind a cable of its own
    /// loses its power.
    pub(super) fn is_left(&mut self) {
        match &mut self.slave {
            Some(slave) => slave.is_left(),
            None => self.power_up(),
        }
    }

    /// Sets what stands on all squares. Nobody knows when it came there.
    pub fn set_squares(&mut self, squares: &[PieceCode; 64]) {
        for (square, &piece) in squares.iter().enumerate() {
            if std::mem::replace(&mut self.squares[square], piece) != piece {
                self.record(field(square as u8, piece, false));
            }
        }
    }

    /// One square changed at `now`: 0..=63 in the board's own order.
    pub fn set_square(&mut self, now: Millis, square: u8, piece: PieceCode) {
        let Some(place) = self.squares.get_mut(usize::from(square)) else {
            return;
        };
        if std::mem::replace(place, piece) != piece {
            let before = self.changed.replace(now);
            let is_soon = before.is_some_and(|before| now.since(before) < SOON_MS);
            self.record(field(square, piece, is_soon));
        }
    }

    /// Stops the clock at its present times. If it ran, `out` gets its frame.
    pub fn stop_clock(&mut self, out: &mut Vec<u8>) {
        if let Some(clock) = self.clock.as_mut().filter(|clock| clock.running) {
            clock.running = false;
            Message::Clock(*clock).encode(out);
        }
    }

    /// What its clock shows.
    #[must_use]
    pub fn clock(&self) -> Option<ClockReading> {
        self.clock
    }

    /// Sets what the clock shows; none if it was unplugged. The log gets a record if the lever has moved.
    pub fn set_clock(&mut self, clock: Option<ClockReading>) {
        if let (Some(before), Some(now)) = (self.clock, clock)
            && before.lever != now.lever
        {
            let side: ClockSide = now.lever.pressed();
            let seconds = now.time(side).seconds;
            self.record(LogRecord::Time { side, seconds });
        }
        self.clock = clock;
    }

    /// Does what the host says and appends the answer.
    pub fn hear(&mut self, heard: HostWord, out: &mut Vec<u8>) {
        let command = match heard {
            HostWord::Command(command) => command,
            HostWord::Bus(bytes) => {
                // In single-board mode a bus command only switches over (protocol reference, 1.5).
                if std::mem::replace(&mut self.mode, Mode::Bus) == Mode::Bus {
                    self.hear_line(bytes, out);
                }
                return;
            }
            HostWord::Other(code) => {
                if code == IDENTIFICATION {
                    // The text belongs to the maker, so the answer is empty.
                    Message::Other {
                        id: 0x92,
                        payload: &[],
                    }
                    .encode(out);
                }
                return;
            }
        };
        if self.mode == Mode::Bus {
            self.mode = Mode::Idle;
        }
        match command {
            Command::Reset => self.mode = Mode::Idle,
            Command::BusMode => self.mode = Mode::Bus,
            Command::UpdateBoard => self.mode = Mode::UpdateBoard,
            Command::Update | Command::UpdateNice => self.mode = Mode::Update,
            Command::Dump => Message::Dump(&self.squares).encode(out),
            Command::Clock => self.clock.map_or(Message::NoClock, Message::Clock).encode(out),
            Command::Firmware => {
                let (main, sub) = self.identity.firmware;
                Message::Firmware(main, sub).encode(out);
            }
            Command::Serial => Message::Serial(&self.identity.serial).encode(out),
            Command::LongSerial => {
                if let Some(serial) = &self.identity.long_serial {
                    Message::Serial(serial).encode(out);
                }
            }
            Command::BusAddress => Message::BusAddress(0).encode(out),
            Command::EventLog => self.send_log(out),
            Command::ToClock(command) => self.to_clock(command, out),
            // An older board with a cable has none of these.
            Command::Hardware | Command::Battery | Command::DraughtsBlack | Command::DraughtsWhite => {}
        }
    }

    fn hear_line(&mut self, bytes: [u8; 4], out: &mut Vec<u8>) {
        let shown = SlaveState {
            squares: &self.squares,
            clock: self.clock,
            firmware: self.identity.firmware,
        };
        if let Some(slave) = &mut self.slave {
            slave.hear(bytes, &shown, out);
        }
    }

    /// Answers for the clock. It is in use in a game, so it tells its version and refuses to be set.
    fn to_clock(&self, command: ClockCommand, out: &mut Vec<u8>) {
        if self.mode != Mode::Update || self.clock.is_none() {
            return; // acknowledgements travel in this mode only
        }
        let ack = match command {
            ClockCommand::Version => [0x10, 0x09, 0x20, 0],
            ClockCommand::SetAndRun { .. } => [0x40, 0x0a, 0, 0],
            ClockCommand::Segments { .. } => [0x10, 0x01, 0, 0],
            ClockCommand::Icons(_) => [0x10, 0x02, 0, 0],
            ClockCommand::EndDisplay => [0x10, 0x03, 0, 0],
            ClockCommand::Buttons => [0x10, 0x08, 0, 0],
            ClockCommand::Beep(_) => [0x10, 0x0b, 0, 0],
            ClockCommand::Text(..) => [0x10, 0x0c, 0, 0],
            ClockCommand::LongText(..) => [0x10, 0x0d, 0, 0],
        };
        Message::ClockAck(ClockAck(ack)).encode(out);
    }

    fn send_log(&mut self, out: &mut Vec<u8>) {
        self.record(LogRecord::Downloaded);
        if let Some(mut log) = self.log.clone() {
            log.push(LogRecord::END);
            Message::EventLog(&log).encode(out);
        }
    }

    /// Enters a record in the log. The store is cyclic, so the oldest records go. They go many at once, for
    /// moving the rest at each record would be slow.
    fn record(&mut self, record: LogRecord) {
        if let Some(slave) = &mut self.slave {
            slave.record(record);
        }
        let Some(log) = &mut self.log else { return };
        record.encode(log);
        if log.len() >= 2 * LOG_STORE {
            log.drain(..LOG_STORE);
        }
    }
}

/// The host asks for the identification text.
const IDENTIFICATION: u8 = 0x47;

fn field(square: u8, piece: PieceCode, soon_after: bool) -> LogRecord {
    LogRecord::Field {
        square,
        piece,
        soon_after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::{Decoder, HostDecoder, eventlog::LogRecords};

    fn board() -> SimulatedBoard {
        let mut squares = [PieceCode::EMPTY; 64];
        squares[52] = PieceCode(1);
        SimulatedBoard::new(SimulatedIdentity::synthetic(7), squares, None)
    }

    fn ask(board: &mut SimulatedBoard, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        HostDecoder::new().push(Millis(0), bytes, &mut |heard| board.hear(heard, &mut out));
        out
    }

    #[test]
    fn a_simulated_board_answers_as_a_real_one() {
        let mut board = board();
        assert_eq!(board.mode(), Mode::Bus);
        assert_eq!(ask(&mut board, b"M"), [0x93, 0, 5, 1, 8]);
        assert_eq!(board.mode(), Mode::Idle);
        assert_eq!(ask(&mut board, b"E"), *b"\x91\x00\x0890007");
        assert!(ask(&mut board, b"U").is_empty());
        assert_eq!(ask(&mut board, b"A"), [0x8d, 0, 10, 0, 0, 0, 0, 0, 0, 0x20]);
        let dump = ask(&mut board, b"B");
        assert_eq!((dump.len(), dump[3 + 52]), (67, 1));
        assert!(!board.is_listening());
        assert!(ask(&mut board, b"K").is_empty());
        assert!(board.is_listening());
        assert_eq!(ask(&mut board, b"G"), [0x92, 0, 3]);
        assert!(ask(&mut board, &[0x81, 0, 0, 1]).is_empty());
        assert_eq!(board.mode(), Mode::Bus);
    }

    #[test]
    fn the_log_tells_what_changed() {
        let mut board = board();
        board.set_square(Millis(1000), 52, PieceCode::EMPTY);
        board.set_square(Millis(1000), 52, PieceCode::EMPTY);
        board.set_square(Millis(1300), 36, PieceCode(1));
        let frame = ask(&mut board, b"I");
        let mut changes = Vec::new();
        Decoder::new().push(Millis(0), &frame, &mut |message| {
            if let Message::EventLog(payload) = message {
                changes.extend(LogRecords::new(payload).filter_map(|record| match record {
                    LogRecord::Field { square, piece, .. } => Some((square, piece.0)),
                    _ => None,
                }));
            }
        });
        assert_eq!(changes, [(52, 1), (52, 0), (36, 1)]);
    }
}

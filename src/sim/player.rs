//! Plays a capture as a board: it says what the board said then, and answers what the host asks now. It is
//! pure: time is an argument.

use std::collections::VecDeque;

use super::{
    board::{SimulatedBoard, SimulatedIdentity},
    other::Other,
    slave::Slave,
};
use crate::{
    capture::{Act, Capture, Record},
    dgt::{ClockReading, Decoder, HostDecoder, HostWord, Message, PieceCode},
    families::{Family, Protocol},
    time::Millis,
};

/// How a capture is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// How many times faster than it was recorded.
    pub speed: f64,
    /// The capture stands still while no host listens. Without it the game goes on and the host misses it.
    pub wait: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            speed: 1.0,
            wait: true,
        }
    }
}

/// What the player wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send these bytes to the host.
    Send(Vec<u8>),
    /// The cable is pulled.
    Unplug,
    /// It is back.
    Plug,
    /// The capture is over; the board goes on answering.
    Over,
}

/// A record, and how it goes over the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cue {
    /// What happens.
    pub record: Record,
    /// How it goes over the line.
    pub way: Delivery,
}

impl Cue {
    /// A record that goes over the line as it is.
    #[must_use]
    pub fn plain(record: Record) -> Self {
        let way = Delivery::Plain;
        Self { record, way }
    }
}

/// What becomes of what a board says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The host hears it.
    Plain,
    /// The board knows it, and the host does not hear it.
    Lost,
    /// The host hears it, and the board knows nothing of it: the line made it up.
    Noise,
    /// From now on the line holds back what the board says.
    Hold,
    /// The line lets go of all that it has held.
    Release,
}

/// A board on which a capture happens once more.
#[derive(Debug)]
pub struct PlayedBoard {
    cues: Vec<Cue>,
    next: usize,
    pace: Pace,
    board: SimulatedBoard,
    /// The wire of a board of another family.
    other: Option<Other>,
    /// Reads what the capture says, so that the board's state follows.
    decoder: Decoder,
    host: HostDecoder,
    /// The frame with which the lever last went over, and when. Kept for a board on a shared line only.
    pressed: Option<(ClockReading, Millis)>,
    /// Milliseconds of the capture that had passed at `as_of`.
    played_ms: f64,
    as_of: Millis,
    /// The cable is in.
    plugged: bool,
    /// The capture tells what happened while the cable was out.
    watched: bool,
    over: bool,
    /// Answers that wait for the end of a frame.
    answers: Vec<u8>,
    /// What the line holds back. None while it holds nothing back.
    held: Option<Vec<u8>>,
    outputs: VecDeque<Output>,
}

/// A frame from before a press comes at most this long after that press.
const OLD_FRAME_MS: u64 = 1500;
/// An answer waits for the rest of a frame if that comes within this time.
const REST_OF_FRAME_MS: u64 = 500;

impl PlayedBoard {
    /// A board at the start of `capture`.
    #[must_use]
    pub fn new(capture: Capture, identity: SimulatedIdentity, pace: Pace) -> Self {
        let family = capture.header.protocol().and_then(Protocol::family);
        let cues = capture.records.into_iter().map(Cue::plain).collect();
        let player = Self::staged(cues, identity, pace);
        match family {
            Some(family) => player.of(family),
            None => player,
        }
    }

    /// A board before the first of `cues`, which are in order of time.
    #[must_use]
    pub fn staged(cues: Vec<Cue>, identity: SimulatedIdentity, pace: Pace) -> Self {
        let (squares, clock) = state_ahead(&cues);
        let squares = squares.unwrap_or([PieceCode::EMPTY; 64]);
        Self {
            board: SimulatedBoard::new(identity, squares, clock),
            cues,
            other: None,
            next: 0,
            pace,
            decoder: Decoder::new(),
            host: HostDecoder::new(),
            pressed: None,
            played_ms: 0.0,
            as_of: Millis(0),
            plugged: true,
            watched: false,
            over: false,
            answers: Vec::new(),
            held: None,
            outputs: VecDeque::new(),
        }
    }

    /// This board without an event log.
    #[must_use]
    pub fn without_log(mut self) -> Self {
        self.board = self.board.without_log();
        self
    }

    /// This board as one of `family`, whose wire the cues are.
    #[must_use]
    pub fn of(mut self, family: &'static Family) -> Self {
        let mut other = Other::new(family);
        other.look_ahead(self.cues.iter().map(|cue| &cue.record));
        self.other = Some(other);
        self
    }

    /// This board on a shared line: it speaks only when it is asked.
    #[must_use]
    pub fn on_line(mut self, slave: Slave) -> Self {
        self.board = self.board.on_line(slave);
        self
    }

    /// The address on a shared line, if the board is on one.
    #[must_use]
    pub fn address(&self) -> Option<u16> {
        self.board.slave().map(Slave::address)
    }

    /// Whether the cable is in.
    #[must_use]
    pub fn is_plugged(&self) -> bool {
        self.plugged
    }

    /// The host says something on a shared line.
    pub fn handle_heard(&mut self, now: Millis, heard: HostWord) {
        self.run(now);
        if self.plugged {
            self.board.hear(heard, &mut self.answers);
            let answers = std::mem::take(&mut self.answers);
            self.outputs
                .extend((!answers.is_empty()).then_some(Output::Send(answers)));
        }
    }

    /// Whether the board speaks without being asked.
    #[must_use]
    pub fn speaks_unasked(&self) -> bool {
        self.other.as_ref().is_some_and(Other::speaks)
    }

    /// A host may be there from now on.
    pub fn handle_connect(&mut self, now: Millis) {
        self.run(now);
        if let Some(other) = &mut self.other {
            other.here = true;
            self.outputs.extend(other.greeting().map(Output::Send));
        }
    }

    /// Bytes from the host.
    pub fn handle_bytes(&mut self, now: Millis, bytes: &[u8]) {
        self.run(now);
        if let Some(other) = &mut self.other {
            // A host that speaks is there.
            other.here = true;
            other.hear(bytes, &mut self.answers);
            return self.answer();
        }
        let Self {
            board, answers, host, ..
        } = self;
        host.push(now, bytes, &mut |heard| board.hear(heard, answers));
        self.answer();
    }

    /// The host closed the port. A host that comes back must ask for changes again.
    pub fn handle_hang_up(&mut self, now: Millis) {
        self.run(now);
        self.host = HostDecoder::new();
        self.answers.clear();
        if let Some(other) = &mut self.other {
            other.here = false;
        }
        if self.pace.wait {
            self.board.is_left();
            if let Some(other) = &mut self.other {
                other.power_up();
            }
        }
    }

    /// The time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        self.run(now);
    }

    /// When the capture goes on.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        let cue = self.cues.get(self.next).filter(|_| self.is_running())?;
        let rest = (cue.record.at.0 as f64 - self.played_ms).max(0.0) / self.pace.speed;
        // Rounded up: a wake-up too early would find nothing to do.
        Some(self.as_of + rest.ceil() as u64)
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Whether the capture has been played.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn is_running(&self) -> bool {
        !self.pace.wait || !self.plugged || self.is_listened_to()
    }

    /// Whether the host gets what the capture says: it has asked for it, or need not ask.
    fn is_listened_to(&self) -> bool {
        match &self.other {
            Some(other) => other.here && other.speaks(),
            None => self.board.is_listening(),
        }
    }

    /// Plays what has become due.
    fn run(&mut self, now: Millis) {
        let mut running = self.is_running();
        if running {
            self.played_ms += now.since(self.as_of) as f64 * self.pace.speed;
        }
        self.as_of = self.as_of.max(now);
        while running && self.next < self.cues.len() {
            // Rounding may have lost a part of a millisecond, and nobody waits for that.
            if self.cues[self.next].record.at.0 as f64 > self.played_ms + 0.001 {
                return;
            }
            self.play();
            running = self.is_running();
            if !running {
                // The capture stands still from this record on: time that passed after it does not count.
                self.played_ms = self.cues[self.next - 1].record.at.0 as f64;
            }
        }
        if self.next == self.cues.len() && !self.over && self.plugged {
            self.over = true;
            // Nobody plays on, so the clock is stopped, as an arbiter would stop it.
            let mut bytes = Vec::new();
            self.board.stop_clock(&mut bytes);
            if !bytes.is_empty() && self.board.is_listening() && self.board.slave().is_none() {
                self.outputs.push_back(Output::Send(bytes));
            }
            self.outputs.push_back(Output::Over);
        }
    }

    fn play(&mut self) {
        let Cue {
            record: Record { at, act },
            way,
        } = self.cues[self.next].clone();
        self.next += 1;
        match act {
            Act::FromBoard(_)
                if matches!(way, Delivery::Hold | Delivery::Release) && self.board.slave().is_some() => {}
            Act::FromBoard(_) if way == Delivery::Hold => {
                self.held.get_or_insert_default();
            }
            Act::FromBoard(_) if way == Delivery::Release => {
                let held = self.held.take().filter(|held| !held.is_empty());
                self.outputs.extend(held.map(Output::Send));
            }
            Act::FromBoard(bytes) => {
                if way != Delivery::Noise {
                    match &mut self.other {
                        Some(other) => other.follow(at, &bytes),
                        None => self.follow(at, &bytes),
                    }
                    self.watched |= !self.plugged;
                }
                // On a shared line nothing comes unasked but what the line makes up.
                let is_heard =
                    way == Delivery::Noise || way != Delivery::Lost && self.board.slave().is_none();
                if is_heard && self.plugged && self.is_listened_to() {
                    self.send(bytes);
                }
                self.answer();
            }
            Act::ToBoard(_) => {}
            Act::LinkDown if self.plugged => {
                (self.plugged, self.watched) = (false, false);
                self.outputs.push_back(Output::Unplug);
            }
            Act::LinkUp if !self.plugged => self.plug(),
            Act::LinkDown | Act::LinkUp => {}
        }
    }

    /// The cable is back. The board stands as the capture says next, for the host will ask for that first.
    fn plug(&mut self) {
        if !self.watched {
            let (squares, clock) = state_ahead(&self.cues[self.next..]);
            if let Some(squares) = squares {
                self.board.set_squares(&squares);
            }
            if clock.is_some() {
                self.board.set_clock(clock);
            }
        }
        self.board.power_up();
        if let Some(other) = &mut self.other {
            other.power_up();
            if !self.watched {
                other.look_ahead(self.cues[self.next..].iter().map(|cue| &cue.record));
            }
        }
        self.plugged = true;
        self.outputs.push_back(Output::Plug);
    }

    /// Lets the board's state follow what the capture says.
    fn follow(&mut self, at: Millis, bytes: &[u8]) {
        let Self {
            board,
            decoder,
            pressed,
            ..
        } = self;
        decoder.push(at, bytes, &mut |message| match message {
            Message::Field { square, piece } => board.set_square(at, square, piece),
            Message::Dump(squares) => board.set_squares(squares),
            Message::Clock(reading) if board.slave().is_some() => {
                let before = board.clock();
                if pressed.is_some_and(|pressed| is_older(&reading, at, pressed)) {
                    return;
                }
                if before.is_some_and(|before| before.lever != reading.lever) {
                    *pressed = Some((reading, at));
                }
                board.set_clock(Some(reading));
            }
            Message::Clock(reading) => board.set_clock(Some(reading)),
            Message::NoClock => board.set_clock(None),
            _ => {}
        });
    }

    /// Sends the answers, unless the capture is in the middle of a frame.
    fn answer(&mut self) {
        let in_frame = self.next > 0 && self.cues.get(self.next).is_some_and(|cue| {
            let next = &cue.record;
            let soon = next.at.since(self.cues[self.next - 1].record.at) < REST_OF_FRAME_MS;
            // Only the first byte of a frame has bit 7 set; boards of other families have whole frames in a cue.
            soon && self.other.is_none()
                && matches!(&next.act, Act::FromBoard(bytes) if bytes.first().is_some_and(|b| b & 0x80 == 0))
        });
        if !self.answers.is_empty() && !in_frame {
            let answers = std::mem::take(&mut self.answers);
            self.send(answers);
        }
    }

    fn send(&mut self, bytes: Vec<u8>) {
        match &mut self.held {
            Some(held) => held.extend(bytes),
            None => self.outputs.push_back(Output::Send(bytes)),
        }
    }
}

/// Whether a frame is from before a press that came earlier in the capture. The board itself never holds such
/// a frame, for it has the lever.
fn is_older(reading: &ClockReading, at: Millis, (pressed, then): (ClockReading, Millis)) -> bool {
    let side = pressed.lever.pressed();
    let (left, had) = (reading.time(side).seconds, pressed.time(side).seconds);
    let rest = |of: &ClockReading| of.time(side.other()).seconds;
    let late = at.since(then);
    reading.running
        && reading.lever != pressed.lever
        && (late < OLD_FRAME_MS && left < had
            || late < OLD_FRAME_MS / 5 && left == had && rest(reading) == rest(&pressed))
}

/// The first dump and the first clock that `cues` tell before anything changes.
fn state_ahead(cues: &[Cue]) -> (Option<[PieceCode; 64]>, Option<ClockReading>) {
    let (mut squares, mut clock, mut changed) = (None, None, false);
    let mut decoder = Decoder::new();
    for Cue { record, .. } in cues {
        let bytes = match &record.act {
            Act::FromBoard(bytes) => bytes,
            Act::LinkDown => break,
            Act::LinkUp | Act::ToBoard(_) => continue,
        };
        decoder.push(record.at, bytes, &mut |message| match message {
            Message::Dump(all) if !changed && squares.is_none() => squares = Some(*all),
            Message::Clock(reading) if clock.is_none() => clock = Some(reading),
            Message::Field { .. } => changed = true,
            _ => {}
        });
        if changed || (squares.is_some() && clock.is_some()) {
            break;
        }
    }
    (squares, clock)
}

#[cfg(test)]
mod tests;

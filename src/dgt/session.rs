//! The conversation with one board: greeting, keep-alive, regular dumps, watchdog.
//!
//! The session is a state machine without I/O: tell it what happened, then drain [`Session::poll_transmit`]
//! and [`Session::poll_wish`], then sleep until [`Session::poll_timeout`]. It does not need answers to its
//! own questions: a capture in which another program asked serves as well.

mod dumps;
mod greeting;

use std::collections::VecDeque;

use super::{
    battery::BatteryWatch,
    command::Command,
    framing::Stats,
    identity::Identity,
    message::{Message, PieceCode},
};
use crate::time::Millis;
use dumps::Dumps;

/// For this long after the link opens, the session lets old bytes of the line run off (milliseconds, as all
/// below).
const DRAIN: u64 = 300;
/// Between two commands (protocol 1.2).
const PACE: u64 = 100;
/// After this long without a message, the session asks the board for a sign of life.
const KEEP_ALIVE: u64 = 2500;
/// Time to answer that question: 5 s of silence in all.
const ANSWER: u64 = 2500;
/// A running clock sends a frame every second. After this long without one, the board has lost its mode.
const CLOCK_SILENCE: u64 = 3000;
/// The event log takes 8.3 s at 9600 baud.
const LOG_FETCH: u64 = 12_000;
/// Bytes "nothing" in a row after which the board is greeted anew (protocol 1.4 rule 7).
const NOTHINGS: u64 = 64;

/// The state of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// There is no link.
    Down,
    /// The link is open, the board has not (or no longer) answered.
    Greeting,
    /// The board answers; identity, position and mode have been asked for.
    Up,
}

/// What the session wants its caller to do with the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The board does not answer: close the port and open it again.
    Reopen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    Draining {
        until: Millis,
    },
    /// The session asks for the firmware until the board answers.
    Greeting {
        next: Millis,
        tries: u32,
        heard: bool,
    },
    /// The rest of the handshake is in the queue.
    Opening,
    Up,
    /// The event log fills the line, and the session sends nothing.
    Fetching {
        until: Millis,
    },
}

/// What the session asked before the greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    /// Nothing: the board may be in any mode.
    None,
    /// The board's changes, its clock and its position.
    Asked,
    /// The same, and the board told its position.
    Answered,
}

/// The conversation with one board.
#[derive(Clone, Debug)]
pub struct Session {
    phase: Phase,
    identity: Identity,
    /// Commands that wait, each at most once.
    queue: VecDeque<Command>,
    /// The command to send now. A caller that does not take it before the next one loses it.
    ready: Option<Command>,
    next_send: Millis,
    wish: Option<Wish>,
    log_wanted: bool,

    last_heard: Millis,
    /// When the session asked for a sign of life that has not come yet.
    probed: Option<Millis>,
    /// When the session last asked for a sign of life before it was due.
    sign_asked: Option<Millis>,
    dumps: Dumps,
    battery: BatteryWatch,
    last_clock: Millis,
    /// When a running clock must have sent its next frame.
    clock_due: Option<Millis>,
    /// The squares as dumps and changes tell them. A dump that differs shows lost changes.
    squares: Option<[PieceCode; 64]>,
    line: Stats,
    /// The count `nothings` of the line at the last message.
    nothings_before: u64,
    /// The board may have been quiet: the session told it so on this link. No dump has come since.
    hushed: bool,
    haste: Haste,
    /// The board was silent for too long, and no dump has come since.
    silent: bool,
    /// Number of questions for the firmware without an answer. If a board answers all of them, it was only
    /// late, and none of its messages is lost.
    unanswered: u32,
    /// The board has told its serial number since the greeting. It has answered all earlier questions by
    /// then, or never will.
    told_serial: bool,
    /// The last message came after a time in which the board was quiet.
    is_gap: bool,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session without a link.
    #[must_use]
    pub fn new() -> Self {
        Self {
            phase: Phase::Down,
            identity: Identity::default(),
            queue: VecDeque::new(),
            ready: None,
            next_send: Millis::default(),
            wish: None,
            log_wanted: false,
            last_heard: Millis::default(),
            probed: None,
            sign_asked: None,
            dumps: Dumps::default(),
            battery: BatteryWatch::default(),
            last_clock: Millis::default(),
            clock_due: None,
            squares: None,
            line: Stats::default(),
            nothings_before: 0,
            hushed: false,
            haste: Haste::None,
            silent: false,
            unanswered: 0,
            told_serial: false,
            is_gap: false,
        }
    }

    /// A session with a board on a line that `boards` boards share; 0 where the board has the line to itself.
    #[must_use]
    pub fn on_line_of(boards: u64) -> Self {
        Self {
            dumps: Dumps::on_line_of(boards),
            ..Self::new()
        }
    }

    /// True for a board on a line that boards share.
    #[must_use]
    pub fn is_on_shared_line(&self) -> bool {
        self.dumps.is_on_line()
    }

    /// What the board has told of itself on this link.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The state of the conversation.
    #[must_use]
    pub fn state(&self) -> SessionState {
        match self.phase {
            Phase::Down => SessionState::Down,
            Phase::Draining { .. } | Phase::Greeting { .. } | Phase::Opening => SessionState::Greeting,
            Phase::Up | Phase::Fetching { .. } => SessionState::Up,
        }
    }

    /// A link is open. It may lead to another board, in any mode, and begin within a frame.
    pub fn link_up(&mut self, now: Millis) {
        *self = Self {
            phase: Phase::Draining { until: now + DRAIN },
            next_send: self.next_send,
            last_heard: now,
            dumps: self.dumps.anew(),
            line: self.line,
            nothings_before: self.line.nothings,
            ..Self::new()
        };
    }

    /// The link is gone. What the board told of itself stays known until the next link.
    pub fn link_down(&mut self, _now: Millis) {
        *self = Self {
            identity: std::mem::take(&mut self.identity),
            next_send: self.next_send,
            dumps: self.dumps.anew(),
            line: self.line,
            ..Self::new()
        };
    }

    /// Takes a message of the board.
    pub fn heard(&mut self, now: Millis, message: &Message<'_>) {
        if self.phase == Phase::Down {
            return;
        }
        self.last_heard = now;
        self.probed = None;
        self.nothings_before = self.line.nothings;
        if let Phase::Greeting { heard, .. } = &mut self.phase {
            *heard = true;
        }
        match message {
            Message::Firmware(main, sub) => {
                self.unanswered = self.unanswered.saturating_sub(1);
                self.identity.firmware = Some((*main, *sub));
                if matches!(self.phase, Phase::Greeting { .. }) {
                    self.open(now);
                }
            }
            Message::Battery(_) => self.battery.answered(now),
            Message::Serial(serial) => {
                self.told_serial = true;
                self.identity.learn_serial(serial);
            }
            Message::Field { square, piece } => self.field_changed(now, *square, *piece),
            Message::Dump(squares) => {
                // While the session greets the board, an earlier dump may still be on its way.
                if matches!(self.phase, Phase::Opening | Phase::Up) {
                    self.is_gap = self.shows_gap();
                }
                if self.haste == Haste::Asked {
                    self.haste = Haste::Answered;
                    // It answers too late: it was told to be quiet after it had been asked.
                    self.hushed |= matches!(self.phase, Phase::Greeting { .. }) && !self.is_on_shared_line();
                }
                self.dumped(now, squares);
            }
            Message::Clock(reading) => {
                self.last_clock = now;
                self.clock_due = reading.running.then(|| now + CLOCK_SILENCE);
            }
            Message::NoClock => {
                self.last_clock = now;
                self.clock_due = None;
            }
            Message::EventLog(_) => {
                if let Phase::Fetching { .. } = self.phase {
                    self.fetched(now);
                }
            }
            _ => {}
        }
        self.pump(now);
    }

    /// True if the dump that came is the first after a time of which the board may not have told all.
    fn shows_gap(&mut self) -> bool {
        let all_came = self.unanswered == 0;
        let decided = all_came || self.told_serial || self.phase == Phase::Up;
        if !(self.hushed || self.silent && decided) {
            return false;
        }
        self.silent = false;
        std::mem::take(&mut self.hushed) || !all_came
    }

    /// True, once, if the last message was the first dump after the session told the board to be quiet, or
    /// after the board was without power. Nobody has told what happened meanwhile.
    pub fn take_gap(&mut self) -> bool {
        std::mem::take(&mut self.is_gap)
    }

    /// Takes the counts of the decoder after each read, because damage may have cost messages.
    pub fn check_line(&mut self, now: Millis, line: Stats) {
        let damaged = line.damage() > self.line.damage();
        self.line = line;
        if damaged {
            self.dumps.damaged(now);
        }
        let stuck = line.nothings.saturating_sub(self.nothings_before) >= NOTHINGS;
        if stuck && matches!(self.phase, Phase::Opening | Phase::Up) {
            self.nothings_before = line.nothings;
            self.start_over(now);
            self.pump(now);
        }
    }

    /// Asks for the whole board at the next opportunity.
    pub fn request_dump(&mut self, now: Millis) {
        // Until the handshake is complete, the session asks by itself.
        if matches!(self.phase, Phase::Up) {
            self.dumps.wanted(now);
            self.handle_timeout(now);
        } else if matches!(self.phase, Phase::Opening) {
            self.ask(Command::Dump);
        }
    }

    /// The game of this board goes on, and a program that was killed listened to it a moment ago. Asks the board for
    /// its changes, its clock and its position before the greeting.
    pub fn make_haste(&mut self, now: Millis) {
        if matches!(self.phase, Phase::Draining { .. }) {
            self.haste = Haste::Asked;
            self.ask(Command::UpdateNice);
            self.ask(Command::Clock);
            self.ask(Command::Dump);
            self.pump(now);
        }
    }

    /// Asks for a sign of life at once, unless the session has asked for one since the last message.
    pub fn request_sign(&mut self, now: Millis) {
        if self.phase == Phase::Up
            && self.probed.is_none()
            && self.sign_asked.is_none_or(|asked| asked < self.last_heard)
        {
            self.sign_asked = Some(now);
            self.ask(Command::Firmware);
            self.pump(now);
        }
    }

    /// Asks for the event log, once the board answers. The log blocks a line of 9600 baud for 8.3 s, and the
    /// session sends nothing else until it has come. The session forgets the request when the link goes.
    pub fn request_event_log(&mut self, now: Millis) {
        match self.phase {
            Phase::Opening | Phase::Up => self.ask_for_log(),
            Phase::Draining { .. } | Phase::Greeting { .. } => self.log_wanted = true,
            Phase::Down | Phase::Fetching { .. } => {}
        }
        self.pump(now);
    }

    /// The time of [`Self::poll_timeout`] has come (calling it earlier or later does no harm).
    pub fn handle_timeout(&mut self, now: Millis) {
        match self.phase {
            Phase::Draining { until } if now >= until => self.begin(now),
            Phase::Greeting { next, tries, heard } if now >= next => self.greet_again(now, tries, heard),
            Phase::Fetching { until } if now >= until => self.fetched(now),
            _ => {}
        }
        if self.phase == Phase::Up {
            self.watch(now);
        }
        self.pump(now);
    }

    /// When to call [`Self::handle_timeout`] at the latest; later than `now` once that was called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        let send = (!self.queue.is_empty()).then_some(self.next_send);
        match self.phase {
            Phase::Down => None,
            Phase::Draining { until } => Some(send.map_or(until, |send| send.min(until))),
            Phase::Fetching { until } => Some(until),
            Phase::Greeting { next, .. } => Some(send.map_or(next, |send| send.min(next))),
            Phase::Opening => send,
            Phase::Up => Millis::earliest([
                Some(self.dumps.due()),
                Some(self.life_due()),
                self.clock_due,
                self.battery.due(),
                send,
            ]),
        }
    }

    /// The command to send now.
    pub fn poll_transmit(&mut self) -> Option<Command> {
        self.ready.take()
    }

    /// What the caller should do with the link.
    pub fn poll_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    /// Looks at the deadlines of a board that answers.
    fn watch(&mut self, now: Millis) {
        if now >= self.life_due() {
            if self.probed.is_some() {
                self.call(now);
                return;
            }
            self.probed = Some(now);
            self.ask(Command::Firmware);
        }
        if self.dumps.take_due(now) {
            self.ask(Command::Dump);
            if now.since(self.last_clock) >= dumps::QUIET {
                self.ask(Command::Clock);
            }
        }
        if self.battery.is_due(now) {
            self.ask(Command::Battery);
        }
        if self.clock_due.is_some_and(|due| now >= due) {
            self.enter_mode();
            self.clock_due = Some(now + CLOCK_SILENCE);
        }
    }

    fn life_due(&self) -> Millis {
        match self.probed {
            Some(asked) => asked + ANSWER,
            None => self.last_heard + KEEP_ALIVE,
        }
    }

    /// Sets the mode again: a board that was without power is back in a mode that reports nothing.
    fn enter_mode(&mut self) {
        self.ask(Command::UpdateNice);
        self.ask(Command::Clock);
    }

    fn field_changed(&mut self, now: Millis, square: u8, piece: PieceCode) {
        if let Some(place) = self
            .squares
            .as_mut()
            .and_then(|all| all.get_mut(usize::from(square)))
        {
            *place = piece;
        }
        self.dumps.changed(now);
    }

    fn dumped(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        let known = self.squares.replace(*squares);
        if self.phase == Phase::Up {
            self.dumps.came(now);
        }
        if self.phase == Phase::Up && known.is_some_and(|known| known != *squares) {
            self.enter_mode();
        }
    }

    fn ask(&mut self, command: Command) {
        if !self.queue.contains(&command) {
            self.queue.push_back(command);
        }
    }

    /// Asks for a dump and then for the log. The watcher compares the log with the position, so it has to
    /// know before what changed between the last dump and the mode, or was lost on the line.
    fn ask_for_log(&mut self) {
        if !self.queue.contains(&Command::EventLog) {
            if self.queue.back() != Some(&Command::Dump) {
                self.queue.push_back(Command::Dump);
            }
            self.queue.push_back(Command::EventLog);
        }
    }

    /// Makes the next command ready when the board has had time for the last one.
    fn pump(&mut self, now: Millis) {
        if now < self.next_send || matches!(self.phase, Phase::Fetching { .. }) {
            return;
        }
        let Some(command) = self.queue.pop_front() else {
            return;
        };
        self.unanswered += u32::from(command == Command::Firmware);
        self.ready = Some(command);
        self.next_send = now + PACE;
        if self.phase == Phase::Opening && self.queue.iter().all(|c| *c == Command::EventLog) {
            self.opened(now);
        }
        if command == Command::EventLog {
            self.phase = Phase::Fetching {
                until: now + LOG_FETCH,
            };
        }
    }
}

#[cfg(test)]
mod tests;

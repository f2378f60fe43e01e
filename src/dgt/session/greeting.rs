//! How a conversation begins, and begins again. The session greets the board until it answers, and asks it to
//! identify itself.

use super::{CLOCK_SILENCE, Command, Haste, Phase, Session, Wish};
use crate::time::Millis;

/// Between two tries of the greeting.
const GREETING_RETRY: u64 = 2000;

/// Number of tries of the greeting before the caller should open the port anew.
const GREETING_TRIES: u32 = 3;

impl Session {
    /// Greets a board on a new link.
    pub(super) fn begin(&mut self, now: Millis) {
        match self.haste {
            // It reports its changes, or will when its turn on a shared line comes. A reset would have it miss some.
            Haste::Answered => self.greet(now, None, 0),
            Haste::Asked if self.is_on_shared_line() => self.greet(now, None, 0),
            Haste::None | Haste::Asked => self.start_over(now),
        }
    }

    /// Starts from the beginning, because the board may be in any mode.
    pub(super) fn start_over(&mut self, now: Millis) {
        self.hushed |= matches!(self.phase, Phase::Opening | Phase::Up | Phase::Fetching { .. });
        self.greet(now, Some(Command::Reset), 0);
    }

    /// Greets a board that has answered before and does not now. It is without power, or the line stands
    /// still. The session does not tell it to be quiet, for its messages may be on their way.
    pub(super) fn call(&mut self, now: Millis) {
        self.silent = true;
        self.greet(now, Some(Command::UpdateNice), 0);
    }

    fn greet(&mut self, now: Millis, first: Option<Command>, tries: u32) {
        self.log_wanted |= self.queue.contains(&Command::EventLog);
        self.queue.clear();
        self.queue.extend(first);
        self.ask(Command::Firmware);
        self.phase = Phase::Greeting {
            next: now + GREETING_RETRY,
            tries: tries + 1,
            heard: false,
        };
    }

    pub(super) fn greet_again(&mut self, now: Millis, tries: u32, heard: bool) {
        // A board that told its position in haste and does not answer may have lost its power since.
        self.silent |= self.haste == Haste::Answered && !heard;
        if tries < GREETING_TRIES {
            self.greet(now, None, tries);
            if let Phase::Greeting { heard: anything, .. } = &mut self.phase {
                *anything = heard;
            }
        } else if heard {
            // The board talks but does not tell its firmware: another program asks it, or it is a clone.
            self.open(now);
        } else {
            self.wish = Some(Wish::Reopen);
            self.start_over(now);
        }
    }

    /// Asks a board that answers to identify itself, for its position, and to report changes from now on.
    pub(super) fn open(&mut self, now: Millis) {
        self.queue.clear();
        self.told_serial = false;
        self.phase = Phase::Opening;
        if self.is_on_shared_line() {
            // Such a board tells with its dump what it kept, to those who want its changes.
            self.enter_mode();
        }
        for command in [
            Command::Serial,
            Command::LongSerial,
            Command::Dump,
            Command::UpdateNice,
            Command::Clock,
        ] {
            self.ask(command);
        }
        if std::mem::take(&mut self.log_wanted) {
            self.ask_for_log();
        }
        self.squares = None;
        self.clock_due = None;
        self.next_send = self.next_send.max(now);
    }

    /// The handshake is sent.
    pub(super) fn opened(&mut self, now: Millis) {
        self.up(now);
        self.battery.opened(now);
        self.dumps.opened(now);
    }

    pub(super) fn fetched(&mut self, now: Millis) {
        self.up(now);
        self.dumps.wanted(now);
    }

    /// Lets deadlines count from now, because none was kept while the board could not speak.
    pub(super) fn up(&mut self, now: Millis) {
        self.phase = Phase::Up;
        self.last_heard = now;
        self.probed = None;
        self.clock_due = self.clock_due.map(|_| now + CLOCK_SILENCE);
    }
}

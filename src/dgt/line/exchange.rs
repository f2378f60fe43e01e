//! One question on the line, and the wait for its answer.

use super::super::{
    bus::{Address, BusAnswer, BusCommand},
    message::{Message, Squares},
};
use super::{budget::wire_ms, order::ClockSaid};
use crate::time::Millis;

/// Boards answer within 20 ms, those behind slow adapters later (protocol 2.6).
const ANSWER: u64 = 100;
/// After this long without a byte, a damaged answer has ended.
const REST: u64 = 40;
/// Total length of the pauses in an answer. Besides these, an answer must come at half the pace of the line
/// at least, so that a board that sends byte by byte keeps no other board waiting.
const PAUSES: u64 = 100;
/// The longest answer of a known length, in bytes: a dump of a large board. An answer to another program,
/// which may come first, is no longer. So a line that is never quiet keeps no board waiting.
const LONGEST: u64 = 106;
/// Number of bytes of a question, and its time on the wire.
pub(super) const QUESTION_BYTES: usize = 4;
pub(super) const QUESTION: u64 = wire_ms(QUESTION_BYTES as u64);

/// A question on a line that boards share. There are no others: this type cannot express a command that
/// writes into a board, resets it or takes it off the line. The original program writes a tag into each
/// board's log when a game begins (`85`), so that it can ask for everything since then (`86`). The log is the
/// board's memory, and this program does not need the tag: a repeat (`84`) has the changes that were lost on
/// the way, and a dump (`82`) has all squares in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Version,
    Clock,
    Dump,
    Changes,
    Repeat,
    Ping,
    /// Tells the board not to answer the next question to all boards.
    Hush,
}

impl Question {
    pub(super) fn bytes(self, to: Address) -> [u8; 4] {
        let command = match self {
            Self::Version => BusCommand::Version(to),
            Self::Clock => BusCommand::Clock(to),
            Self::Dump => BusCommand::Dump(to),
            Self::Changes => BusCommand::Changes(to),
            Self::Repeat => BusCommand::RepeatChanges(to),
            Self::Ping => BusCommand::Ping(Some(to)),
            Self::Hush => BusCommand::IgnoreNextPing(to),
        };
        command.bytes()
    }
}

/// An answer that owns its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Version(Option<(u8, u8)>),
    Clock(ClockSaid),
    Dump(Box<Squares>),
    Changes(Vec<u8>),
    Pong,
}

impl Answer {
    /// None for an answer that no [`Question`] asks for.
    pub(super) fn of(answer: &BusAnswer<'_>) -> Option<Self> {
        Some(match answer {
            BusAnswer::Said(Message::Firmware(main, sub)) => Self::Version(Some((*main, *sub))),
            BusAnswer::Other { id, data: [] } if *id == BusAnswer::VERSION => Self::Version(None),
            BusAnswer::Said(Message::Clock(reading)) => Self::Clock(ClockSaid::Reading(*reading)),
            BusAnswer::Said(Message::NoClock) => Self::Clock(ClockSaid::Absent),
            BusAnswer::Said(Message::Dump(squares)) => Self::Dump(Box::new(**squares)),
            BusAnswer::Changes(records) => Self::Changes(records.to_vec()),
            BusAnswer::Pong => Self::Pong,
            BusAnswer::Said(_)
            | BusAnswer::SinceStart(_)
            | BusAnswer::StartTagWritten
            | BusAnswer::Other { .. } => return None,
        })
    }

    /// True if this answers `question`.
    pub(super) fn is_to(&self, question: Question) -> bool {
        matches!(
            (self, question),
            (Self::Version(_), Question::Version)
                | (Self::Clock(_), Question::Clock)
                | (Self::Dump(_), Question::Dump)
                | (Self::Changes(_), Question::Changes | Question::Repeat)
                | (Self::Pong, Question::Ping | Question::Hush)
        )
    }
}

/// A question without its answer yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) question: Question,
    asked: Millis,
    heard: Option<Heard>,
    /// Number of bytes that the answer may have.
    length: u64,
}

/// The part of an answer that has come.
#[derive(Clone, Copy, Debug)]
struct Heard {
    first: Millis,
    last: Millis,
    bytes: u64,
}

impl Exchange {
    pub(super) fn new(now: Millis, question: Question) -> Self {
        Self {
            question,
            asked: now,
            heard: None,
            length: LONGEST,
        }
    }

    /// Takes note that `bytes` bytes came. The answer lacks `missing` bytes after them.
    pub(super) fn hears(&mut self, now: Millis, bytes: usize, missing: usize) {
        let heard = self.heard.get_or_insert(Heard {
            first: now,
            last: now,
            bytes: 0,
        });
        heard.last = now;
        heard.bytes += bytes as u64;
        // Only the answer itself shows how many changes it has.
        if matches!(self.question, Question::Changes | Question::Repeat) && missing > 0 {
            self.length = self.length.max(heard.bytes + missing as u64);
        }
    }

    /// True while the question is still on the wire.
    pub(super) fn is_being_asked(&self, now: Millis) -> bool {
        now.since(self.asked) < QUESTION
    }

    /// True if nothing came at all.
    pub(super) fn is_silent(&self) -> bool {
        self.heard.is_none()
    }

    /// When the master stops waiting for the answer.
    pub(super) fn until(&self) -> Millis {
        let first = self.asked + QUESTION + ANSWER;
        let Some(heard) = self.heard else { return first };
        // Allows an eighth more time, because some boards are slower than they should be.
        let whole = first + wire_ms(self.length * 9 / 8);
        let at_pace = heard.first + PAUSES + 2 * wire_ms(heard.bytes);
        first.max((heard.last + REST).min(whole).min(at_pace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With noise, or with another program that never stops, the other boards still have their turn.
    #[test]
    fn the_master_gives_up_a_line_that_is_never_quiet() {
        let mut exchange = Exchange::new(Millis(1000), Question::Clock);
        for ms in (1000..30_000).step_by(20) {
            exchange.hears(Millis(ms), 20, 0);
        }
        assert_eq!(exchange.until(), Millis(1000 + 105 + 124));
    }

    /// Bytes that come one by one are no answer, whatever they announce.
    #[test]
    fn the_master_gives_up_an_answer_that_comes_byte_by_byte() {
        let mut exchange = Exchange::new(Millis(1000), Question::Changes);
        let mut now = Millis(1010);
        while now < exchange.until() {
            exchange.hears(now, 1, 7000);
            now = now + REST - 1;
        }
        assert!(now.since(Millis(1000)) < 200, "{now:?}");
    }

    /// The changes that a board can keep take 8.3 s (protocol 3.5). Adapters hand bytes on in groups of some.
    #[test]
    fn the_master_waits_for_the_end_of_the_longest_answer() {
        let mut exchange = Exchange::new(Millis(0), Question::Repeat);
        let (mut now, mut left) = (Millis(100), 7942);
        while left > 0 {
            assert!(now < exchange.until(), "{left} bytes are left");
            let came = left.min(16);
            left -= came;
            exchange.hears(now, came, left);
            now = now + wire_ms(16) + 1;
        }
    }
}

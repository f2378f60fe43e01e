//! One question on the line, and the wait for its answer.

use super::super::{
    bus::{Address, BusAnswer, BusCommand},
    message::Message,
};
use super::order::{ClockSaid, Squares};
use crate::time::Millis;

/// Boards answer within 20 ms, those behind slow adapters later (protocol 2.6).
const ANSWER: u64 = 100;
/// Silence after which a damaged answer is over.
const REST: u64 = 40;
/// The longest answer, all changes that a board can keep, takes 8.3 s (protocol 3.5). What goes on for longer is none: a line
/// that is never quiet keeps nobody waiting.
const LONGEST: u64 = 9000;
/// A question of four bytes on the wire.
pub(super) const QUESTION: u64 = 5;

/// What may be asked on a line that boards share. There is no other: what writes into a board, resets it or takes it off the line
/// cannot be expressed. The original program writes a tag into each board's log when a game begins (`85`), so that it can ask
/// for all that happened since (`86`). That log is the board's memory, and what it would mend is mended without it: a repeat (`84`)
/// has the changes that were lost on the way, and the whole board (`82`) tells what stands there in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Version,
    Clock,
    Dump,
    Changes,
    Repeat,
    Ping,
    /// To be quiet when all are asked whether they are there.
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

/// An answer, on its own feet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Version(Option<(u8, u8)>),
    Clock(ClockSaid),
    Dump(Box<Squares>),
    Changes(Vec<u8>),
    Pong,
}

impl Answer {
    /// None for what nobody on this line asks for.
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

    /// Whether this is what was asked for.
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

/// A question that was asked, and has no answer yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) question: Question,
    asked: Millis,
    heard: Option<Millis>,
}

impl Exchange {
    pub(super) fn new(now: Millis, question: Question) -> Self {
        Self {
            question,
            asked: now,
            heard: None,
        }
    }

    /// Something came, if only a part of an answer.
    pub(super) fn hears(&mut self, now: Millis) {
        self.heard = Some(now);
    }

    /// Nothing came at all.
    pub(super) fn is_silent(&self) -> bool {
        self.heard.is_none()
    }

    /// When the answer is not waited for any longer.
    pub(super) fn until(&self) -> Millis {
        let first = self.asked + QUESTION + ANSWER;
        let longest = self.asked + LONGEST;
        self.heard
            .map_or(first, |heard| first.max((heard + REST).min(longest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise, or another program that never stops: the other boards have their turn.
    #[test]
    fn a_line_that_is_never_quiet_is_given_up() {
        let mut exchange = Exchange::new(Millis(1000), Question::Clock);
        for ms in (1000..30_000).step_by(20) {
            exchange.hears(Millis(ms));
        }
        assert_eq!(exchange.until(), Millis(1000 + LONGEST));
    }
}

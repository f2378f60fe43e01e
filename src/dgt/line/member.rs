//! One board of a line, as the line knows it.

use super::{
    super::{
        bus::Address,
        eventlog::{LogRecord, LogRecords},
        message::Message,
    },
    exchange::Question,
    order::{BoardModel, ClockSaid, Happened, VisitOutcome},
    stand_in::{Known, StandIn},
};
use crate::time::Millis;

/// Between two questions for the same board (milliseconds, as all below): it scans its squares in 200.
const REST: u64 = 100;
/// Between two questions for a running clock with some minutes left, for one that stands, and where none is.
const CLOCK: [u64; 3] = [900, 2000, 5000];
/// And for each board of the line: on a long one what changes is worth more than the seconds in between. A press tells its time.
const CLOCK_A_BOARD: u64 = 60;
/// A clock with less left than this many seconds is asked at each visit.
const SHORT: u32 = 300;
/// What a visit with an answer too many counts for, against one with a damaged answer.
pub(super) const ECHOED: u32 = 3;
/// Where that was said twice, one board or two may have answered, us or us and another program: the board is left alone for so long at
/// the least, and twice as long at the most. Who answers meanwhile is asked by another program.
const LISTEN: u64 = 1000;
/// The golden ratio, by which times that lie next to each other are scattered.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;
/// More than this does not count: a board that was not understood for hours is understood again after some visits.
const MOST_GARBLED: u32 = 16;
/// A board that does not tell of its clock is asked this seldom.
const NO_ANSWER: u64 = 10_000;
/// Bytes of changes that a board keeps (protocol 3.5).
const STORE: usize = 0x1f00;
/// So many times in a row without an answer, and a question is not asked at each visit any more.
const TRIES: u32 = 3;

/// How often a board could not be understood, or was not heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// Questions without any answer.
    pub silent: u64,
    /// Answers that came damaged.
    pub damaged: u64,
    /// Whole boards that showed changes which were never told.
    pub lost: u64,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) address: Address,
    serial: String,
    /// It answers.
    pub(super) is_here: bool,
    /// What it has to tell is from before it was here.
    pub(super) is_fresh: bool,
    /// Visits in a row in which it said nothing.
    pub(super) misses: u32,
    /// Visits in a row in which nothing that it said was understood.
    pub(super) fruitless: u32,
    /// Visits in which what it said was damaged while the others were well, or said twice, less those in which all was well.
    pub(super) garbled: u32,
    /// Since the last visit more came from its address than was asked for.
    pub(super) echoed: bool,
    /// Since the last visit something came damaged.
    pub(super) damaged: bool,
    /// In the last visit something did.
    pub(super) was_damaged: bool,
    pub(super) firmware: Option<(u8, u8)>,
    version_tries: u32,
    pub(super) stand_in: StandIn,
    pub(super) model: BoardModel,
    /// The last changes that it told.
    pub(super) last_changes: Option<Vec<u8>>,
    /// All changes that it told, as it keeps them itself: a board that comes tells first what was told last, and what came since.
    log: Vec<u8>,
    /// It is not known whether it has told its changes: they are to be repeated first.
    pub(super) is_unsettled: bool,
    /// What it said may have been lost, and who watches it does not know that yet.
    pub(super) may_have_lost: bool,
    /// The last visit came much later than the one before.
    pub(super) is_overdue: bool,
    /// When it was last asked anything.
    pub(super) asked: Option<Millis>,
    visited: Option<Millis>,
    /// It may be one of two of its address.
    is_doubtful: bool,
    clock_asked: Option<Millis>,
    clock_silent: u32,
    pub(super) errors: Errors,
}

impl Member {
    pub(super) fn new(address: Address, serial: String) -> Self {
        Self {
            address,
            serial,
            is_here: false,
            is_fresh: false,
            misses: 0,
            fruitless: 0,
            garbled: 0,
            echoed: false,
            damaged: false,
            was_damaged: false,
            firmware: None,
            version_tries: 0,
            stand_in: StandIn::default(),
            model: BoardModel::default(),
            last_changes: None,
            log: Vec::new(),
            is_unsettled: false,
            may_have_lost: false,
            is_overdue: false,
            asked: None,
            visited: None,
            is_doubtful: false,
            clock_asked: None,
            clock_silent: 0,
            errors: Errors::default(),
        }
    }

    /// It answers, for the first time or again. Who was told something last may have died of it: it is asked to repeat that first, and
    /// asked for more when somebody awaits what stands on it. Till then what it has to tell is safe with it.
    pub(super) fn arrive(&mut self) {
        let (address, serial) = (self.address, std::mem::take(&mut self.serial));
        *self = Self {
            is_here: true,
            is_fresh: true,
            is_unsettled: true,
            last_changes: self.last_changes.take(),
            log: std::mem::take(&mut self.log),
            garbled: self.garbled,
            errors: self.errors,
            asked: self.asked,
            ..Self::new(address, serial)
        };
    }

    /// When it may be visited again.
    pub(super) fn due(&self) -> Millis {
        let Some(visited) = self.visited else {
            return Millis(0);
        };
        // Another program that does as we do waits as well, and its time began at another moment: it waits for another while.
        let listens = LISTEN + (visited.0.wrapping_mul(SCATTER) >> 32) % LISTEN;
        visited + if self.is_doubtful { listens } else { REST }
    }

    /// What to ask it now, on a line of so many boards, in this order; the changes come last. The whole board is left out unless `may_dump`.
    pub(super) fn questions(&mut self, now: Millis, boards: u64, may_dump: bool) -> Vec<Question> {
        let is_awaited = self.model.squares.is_some() || may_dump && self.stand_in.dump_wanted;
        if !is_awaited && !self.is_unsettled {
            return vec![Question::Version];
        }
        let mut questions = Vec::new();
        if self.firmware.is_none() && self.version_tries < TRIES {
            self.version_tries += 1;
            questions.push(Question::Version);
        }
        if !self.is_fresh && self.misses == 0 {
            if self.clock_due(boards).is_none_or(|due| due <= now) {
                self.clock_asked = Some(now);
                questions.push(Question::Clock);
            }
            if may_dump && self.stand_in.dump_wanted {
                questions.push(Question::Dump);
            }
        }
        questions.push(if self.is_unsettled {
            Question::Repeat
        } else {
            Question::Changes
        });
        questions
    }

    /// When its clock is to be asked; none when at once.
    fn clock_due(&self, boards: u64) -> Option<Millis> {
        let asked = self.clock_asked?;
        let [running, standing, absent] = CLOCK;
        if self.clock_silent >= TRIES {
            return Some(asked + NO_ANSWER);
        }
        if self.stand_in.clock_wanted {
            return None;
        }
        Some(match self.model.clock? {
            ClockSaid::Absent => asked + absent,
            ClockSaid::Reading(reading) if !reading.running => asked + standing,
            ClockSaid::Reading(reading) if reading.left.seconds.min(reading.right.seconds) < SHORT => asked,
            ClockSaid::Reading(_) => asked + running.max(boards * CLOCK_A_BOARD),
        })
    }

    /// Its clock was standing when it was last asked, and something was played or pressed since.
    pub(super) fn may_have_started(&self, changes: &[u8]) -> bool {
        let stood = match self.model.clock {
            Some(ClockSaid::Reading(reading)) => !reading.running,
            Some(ClockSaid::Absent) => false,
            None => self.clock_silent < TRIES,
        };
        let is_news = |record| matches!(record, LogRecord::Field { .. } | LogRecord::Time { .. });
        stood && !self.is_fresh && LogRecords::new(changes).any(is_news)
    }

    /// Its last answers came no longer ago than this.
    pub(super) fn is_answered_within(&self, now: Millis, ms: u64) -> bool {
        self.visited.is_some_and(|visited| now.since(visited) <= ms)
    }

    /// It was asked something no longer ago than this.
    pub(super) fn is_asked_within(&self, now: Millis, ms: u64) -> bool {
        self.asked.is_some_and(|asked| now.since(asked) <= ms)
    }

    /// It told these changes.
    pub(super) fn note_changes(&mut self, changes: &[u8]) {
        self.log.extend_from_slice(changes);
        if self.log.len() > 2 * STORE {
            self.log.drain(..self.log.len() - STORE);
        }
    }

    /// What it told may have had a gap, or be of two boards: nobody knows what it was.
    pub(super) fn forget_log(&mut self) {
        self.log.clear();
    }

    /// It did not tell of its clock.
    pub(super) fn clock_is_silent(&mut self) {
        self.clock_silent += 1;
    }

    /// A visit is over that brought the changes, on a line that may be noisy for all. Returns the milliseconds since the one before.
    pub(super) fn visited(&mut self, now: Millis, clock: bool, is_noisy: bool) -> Option<u64> {
        (self.misses, self.fruitless) = (0, 0);
        let (echoed, damaged) = (
            std::mem::take(&mut self.echoed),
            std::mem::take(&mut self.damaged),
        );
        self.was_damaged = damaged;
        match (echoed, damaged) {
            (true, _) => self.is_garbled_by(ECHOED),
            (false, true) => self.is_garbled_by(u32::from(!is_noisy)),
            (false, false) => self.garbled = self.garbled.saturating_sub(2),
        }
        self.is_doubtful = echoed && self.garbled > ECHOED;
        if clock {
            self.clock_silent = 0;
        }
        self.visited.replace(now).map(|before| now.since(before))
    }

    /// What it said was damaged or said twice, which counts for so much.
    pub(super) fn is_garbled_by(&mut self, count: u32) {
        self.garbled = (self.garbled + count).min(MOST_GARBLED);
    }

    /// A visit came to nothing.
    pub(super) fn missed(&mut self, now: Millis) {
        self.visited = Some(now);
    }

    /// What its watcher says to it. Returns what is answered at once.
    pub(super) fn hear(&mut self, now: Millis, bytes: &[u8]) -> Vec<u8> {
        let clock = self.model.clock;
        let known = known(self.address, &self.serial, self.firmware, clock);
        self.stand_in.hear(now, bytes, &known)
    }

    /// What its watcher is told of what came, whose clock said `before`.
    pub(super) fn tell(&mut self, now: Millis, told: &VisitOutcome, before: Option<ClockSaid>) -> Vec<u8> {
        self.errors.lost += u64::from(told.lost);
        self.stand_in.dump_wanted |= told.is_odd;

        let known = Known {
            clock_before: before,
            ..known(self.address, &self.serial, self.firmware, self.model.clock)
        };
        let lost = (self.may_have_lost || self.is_overdue) && is_news(&told.happened, before);
        self.may_have_lost &= !lost;
        let mut bytes = self.stand_in.tell(now, &told.happened, lost, &known);
        if self.stand_in.takes_log() {
            let end = [LogRecord::END];
            Message::EventLog(&[&self.log[..], &end].concat()).encode(&mut bytes);
        }
        bytes
    }
}

/// Whether something was played or pressed: a clock whose time runs tells nothing that could be judged.
fn is_news(happened: &[Happened], before: Option<ClockSaid>) -> bool {
    let lever = |said: ClockSaid| match said {
        ClockSaid::Reading(reading) => Some(reading.lever),
        ClockSaid::Absent => None,
    };
    happened.iter().any(|one| match one {
        Happened::Field { .. } => true,
        Happened::Clock(said) => lever(*said) != before.and_then(lever),
        Happened::Dump(_) => false,
    })
}

fn known(address: Address, serial: &str, firmware: Option<(u8, u8)>, clock: Option<ClockSaid>) -> Known<'_> {
    Known {
        address: address.get(),
        serial,
        firmware,
        clock_runs: matches!(clock, Some(ClockSaid::Reading(reading)) if reading.running),
        clock_before: clock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::{
        clock::{ClockReading, ClockTime, Lever},
        message::PieceCode,
    };

    /// Whether a board's clock, which showed so many seconds, is asked again so long after.
    fn is_asked_again(seconds: u32, after: u64) -> bool {
        let mut member = Member::new(Address::new(7).unwrap(), "7".to_owned());
        member.model.squares = Some(Box::new([PieceCode::EMPTY; 64]));
        let first = member.questions(Millis(1000), 12, false);
        assert!(first.contains(&Question::Clock), "it is not known yet");
        let time = ClockTime {
            seconds,
            ..ClockTime::default()
        };
        member.model.clock = Some(ClockSaid::Reading(ClockReading {
            left: time,
            right: time,
            running: true,
            lever: Lever::LeftHigh,
            battery_low: false,
        }));
        member
            .questions(Millis(1000 + after), 12, false)
            .contains(&Question::Clock)
    }

    #[test]
    fn a_clock_is_asked_more_often_where_time_is_short() {
        assert!(is_asked_again(SHORT - 1, REST));
        assert!(!is_asked_again(SHORT, 800) && is_asked_again(SHORT, 900));
    }
}

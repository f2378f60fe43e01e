//! One board of a line, as the master knows it.

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

/// Between two visits of the same board (milliseconds, as all below). The board scans its squares in 200.
const REST: u64 = 100;
/// Between two questions for the clock: for a running clock with some minutes left, for a stopped one, and
/// where there is none.
const CLOCK: [u64; 3] = [900, 2000, 5000];
/// The same for a running clock, multiplied by the number of boards. On a long line, changes are worth more
/// than the seconds between, and a press has its time anyway.
const CLOCK_A_BOARD: u64 = 60;
/// The master asks for a clock with less left than this many seconds at each visit.
const SHORT: u32 = 300;
/// How much a visit with an extra answer counts, compared with one with a damaged answer.
pub(super) const ECHOED: u32 = 3;
/// After extra answers, either two boards have one address, or another program asks as well. So the master
/// leaves the board alone for this long at least, and twice as long at most. If it answers meanwhile, another
/// program asks it.
const LISTEN: u64 = 1000;
/// The golden ratio. It scatters times that lie next to each other.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;
/// The count of garbled visits goes no higher, so that a board that was garbled for hours counts as
/// understood again after some good visits.
const MOST_GARBLED: u32 = 16;
/// Between two questions for the clock of a board that does not answer them.
const NO_ANSWER: u64 = 10_000;
/// Number of bytes of changes that a board keeps (protocol 3.5).
const STORE: usize = 0x1f00;
/// After this many times in a row without an answer, the master no longer asks a question at each visit.
const TRIES: u32 = 3;

/// How often a board did not answer or was not understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// Number of questions without any answer.
    pub silent: u64,
    /// Number of answers that came damaged.
    pub damaged: u64,
    /// Number of dumps that showed changes which the board had never told.
    pub lost: u64,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) address: Address,
    serial: String,
    /// The board answers.
    pub(super) is_here: bool,
    /// The board has just begun to answer: the changes that it tells first are from before.
    pub(super) is_fresh: bool,
    /// Number of visits in a row in which it sent nothing.
    pub(super) misses: u32,
    /// Number of visits in a row in which the master understood nothing.
    pub(super) fruitless: u32,
    /// Counts visits with extra answers, or with damaged answers while the other boards' were good. Good
    /// visits count against them.
    pub(super) garbled: u32,
    /// Since the last visit, extra answers came from its address.
    pub(super) echoed: bool,
    /// Since the last visit, an answer came damaged.
    pub(super) damaged: bool,
    /// In the last visit, an answer came damaged.
    pub(super) was_damaged: bool,
    pub(super) firmware: Option<(u8, u8)>,
    version_tries: u32,
    pub(super) stand_in: StandIn,
    pub(super) model: BoardModel,
    /// The last changes that the board told.
    pub(super) last_changes: Option<Vec<u8>>,
    /// What a board that has just begun to answer told last before.
    pub(super) repeated: Vec<u8>,
    /// All changes that the board told, as it keeps them itself. A board that begins to answer first repeats
    /// the changes that it told last, and then tells those since.
    log: Vec<u8>,
    /// The master does not know whether it missed the last changes, so it first asks the board to repeat
    /// them.
    pub(super) is_unsettled: bool,
    /// Changes may have been lost, and the board's watcher does not know that yet.
    pub(super) may_have_lost: bool,
    /// The last visit came much later than it should have.
    pub(super) is_overdue: bool,
    /// When the master last asked this board.
    pub(super) asked: Option<Millis>,
    visited: Option<Millis>,
    /// Until when it has told its changes.
    told: Option<Millis>,
    /// Two boards may have this address.
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
            repeated: Vec::new(),
            log: Vec::new(),
            is_unsettled: false,
            may_have_lost: false,
            is_overdue: false,
            asked: None,
            visited: None,
            told: None,
            is_doubtful: false,
            clock_asked: None,
            clock_silent: 0,
            errors: Errors::default(),
        }
    }

    /// The board answers, for the first time or again. The last program that asked may have ended before it
    /// used the changes. So the master first asks the board to repeat them, and asks for more only when a
    /// watcher waits for the position. Until then the board keeps its changes.
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

    /// When the master may visit the board again.
    pub(super) fn due(&self) -> Millis {
        let Some(visited) = self.visited else {
            return Millis(0);
        };
        // Another program like this one waits as well. The scatter makes it wait for another time, because
        // its time began at another moment.
        let listens = LISTEN + (visited.0.wrapping_mul(SCATTER) >> 32) % LISTEN;
        visited + if self.is_doubtful { listens } else { REST }
    }

    /// The questions for this visit, on a line of `boards` boards, in their order. The changes come last.
    /// There is a dump only if `may_dump`.
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

    /// When the clock is due; none if it is due at once.
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

    /// True if the clock stood at the last question, and `changes` have a half-move or a press since.
    pub(super) fn may_have_started(&self, changes: &[u8]) -> bool {
        let stood = match self.model.clock {
            Some(ClockSaid::Reading(reading)) => !reading.running,
            Some(ClockSaid::Absent) => false,
            None => self.clock_silent < TRIES,
        };
        let is_news = |record| matches!(record, LogRecord::Field { .. } | LogRecord::Time { .. });
        stood && !self.is_fresh && LogRecords::new(changes).any(is_news)
    }

    /// True if its last answers came no longer ago than `ms`.
    pub(super) fn is_answered_within(&self, now: Millis, ms: u64) -> bool {
        self.visited.is_some_and(|visited| now.since(visited) <= ms)
    }

    /// True if the master asked it no longer ago than `ms`.
    pub(super) fn is_asked_within(&self, now: Millis, ms: u64) -> bool {
        self.asked.is_some_and(|asked| now.since(asked) <= ms)
    }

    /// Notes changes that the board told.
    pub(super) fn note_changes(&mut self, changes: &[u8]) {
        self.log.extend_from_slice(changes);
        if self.log.len() > 2 * STORE {
            self.log.drain(..self.log.len() - STORE);
        }
    }

    /// Forgets the changes, because they may have a gap or come from two boards.
    pub(super) fn forget_log(&mut self) {
        self.log.clear();
    }

    /// Notes that the board did not answer the question for its clock.
    pub(super) fn clock_is_silent(&mut self) {
        self.clock_silent += 1;
    }

    /// Ends a visit that brought the changes until `asked`. `is_noisy` says that the whole line is noisy. Returns the
    /// milliseconds since the visit before, or since its question: its answer may have waited while this program slept.
    pub(super) fn visited(&mut self, now: Millis, asked: Millis, clock: bool, is_noisy: bool) -> Option<u64> {
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
        let visited = self.visited.replace(now).map(|before| now.since(before));
        let told = self.told.replace(asked).map(|before| asked.since(before));
        visited.max(told)
    }

    /// Counts a damaged or an extra answer as much as `count`.
    pub(super) fn is_garbled_by(&mut self, count: u32) {
        self.garbled = (self.garbled + count).min(MOST_GARBLED);
    }

    /// Ends a visit that brought nothing.
    pub(super) fn missed(&mut self, now: Millis) {
        self.visited = Some(now);
    }

    /// Takes bytes that the watcher sends to the board. Returns the answer that can be given at once.
    pub(super) fn hear(&mut self, now: Millis, bytes: &[u8]) -> Vec<u8> {
        let clock = self.model.clock;
        let known = known(self.address, &self.serial, self.firmware, clock);
        self.stand_in.hear(now, bytes, &known)
    }

    /// The bytes for the watcher after a visit. `before` is what the clock showed before the visit.
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

/// True if a square changed or the lever moved. The time of a running clock alone is nothing that a watcher
/// could judge.
fn is_news(happened: &[Happened], before: Option<ClockSaid>) -> bool {
    let lever = |said: ClockSaid| match said {
        ClockSaid::Reading(reading) => Some(reading.lever),
        ClockSaid::Absent => None,
    };
    happened.iter().any(|one| match one {
        Happened::Field { .. } => true,
        Happened::Clock(said) => lever(*said) != before.and_then(lever),
        Happened::Dump(_) | Happened::Since => false,
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
        clock::{ClockReading, Lever},
        message::PieceCode,
    };

    /// True if the master asks again, `after` milliseconds later, for a running clock that showed `seconds`.
    fn is_asked_again(seconds: u32, after: u64) -> bool {
        let mut member = Member::new(Address::new(7).unwrap(), "7".to_owned());
        member.model.squares = Some(Box::new([PieceCode::EMPTY; 64]));
        let first = member.questions(Millis(1000), 12, false);
        assert!(first.contains(&Question::Clock), "the clock is not known yet");
        let reading = ClockReading::of_seconds(seconds, seconds, true, Lever::LeftHigh);
        member.model.clock = Some(ClockSaid::Reading(reading));
        member
            .questions(Millis(1000 + after), 12, false)
            .contains(&Question::Clock)
    }

    #[test]
    fn the_master_asks_more_often_for_a_clock_with_little_time() {
        assert!(is_asked_again(SHORT - 1, REST));
        assert!(!is_asked_again(SHORT, 800) && is_asked_again(SHORT, 900));
    }

    /// This program slept for ten seconds while an answer waited that has what happened before. The next one, which comes
    /// soon, has what happened in all these seconds.
    #[test]
    fn an_answer_that_waited_tells_nothing_of_the_time_in_which_it_did() {
        let mut member = Member::new(Address::new(7).unwrap(), "7".to_owned());
        let mut visit = |asked, now| member.visited(Millis(now), Millis(asked), false, false);
        assert_eq!(visit(1000, 1020), None);
        assert_eq!(visit(1250, 1270), Some(250));
        assert_eq!(visit(1500, 11_500), Some(10_230));
        assert_eq!(visit(11_540, 11_560), Some(10_040));
        assert_eq!(visit(11_790, 11_810), Some(250));
    }
}

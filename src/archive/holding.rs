//! What the archive has of one board, and the question that is under way for what it lacks.

use super::stretches::Stretches;

/// How long events that are under way may take before their numbers count as missing.
const SETTLE_MS: u64 = 1_000;
/// How long until the archive asks again for what an answer did not have: it may have been on its way.
const CONFIRM_MS: u64 = 5_000;
/// The first and the longest time until it asks a silent gateway again.
const PATIENCE_MS: (u64, u64) = (5_000, 600_000);
/// After this many questions without an answer a person is told.
const MAX_UNANSWERED: u32 = 3;

/// A stretch of numbers that the database has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The gateway.
    pub(super) gateway: String,
    /// Its board.
    pub(super) board: String,
    /// The first number.
    pub(super) first: u64,
    /// The last one.
    pub(super) last: u64,
    /// True where there is no event, and nobody tells one.
    pub(super) is_hole: bool,
}

/// A stretch of numbers of which nobody tells the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    /// The gateway.
    pub(super) gateway: String,
    /// Its board.
    pub(super) board: String,
    /// The first number.
    pub(super) first: u64,
    /// The last one.
    pub(super) last: u64,
    /// Why, for a person.
    pub(super) why: String,
}

/// A board.
#[derive(Clone, Debug, Default)]
pub(super) struct Holding {
    /// Numbers that are in the database or in the queue, or that nobody tells.
    settled: Stretches,
    /// Those that nobody tells. An event may come all the same, if the gateway had it in memory alone.
    holes: Stretches,
    /// The newest number that the gateway gave out.
    newest: u64,
    /// Since when a number is missing.
    missing_since: Option<u64>,
    is_asked: bool,
    /// When the next question may be asked.
    not_before: u64,
    unanswered: u32,
    /// What the last answer lacked.
    doubt: Vec<(u64, u64)>,
}

impl Holding {
    /// Takes note that the gateway gave out `number`.
    pub(super) fn gave_out(&mut self, number: u64) {
        self.newest = self.newest.max(number);
    }

    /// True where the event of this number is in the database or in the queue.
    pub(super) fn has(&self, number: u64) -> bool {
        self.settled.has(number) && !self.holes.has(number)
    }

    /// Takes note that these events are in the database or in the queue.
    pub(super) fn took(&mut self, first: u64, last: u64) {
        self.settled.add(first, last);
        self.newest = self.newest.max(last);
        if self.gap().is_none() {
            self.missing_since = None;
        }
    }

    /// Takes note that nobody tells the events of these numbers.
    pub(super) fn gave_up(&mut self, first: u64, last: u64) {
        self.holes.add(first, last);
        self.took(first, last);
    }

    /// Forgets what it has: the database tells it anew.
    pub(super) fn forget(&mut self) {
        self.settled = Stretches::default();
        self.holes = Stretches::default();
        self.is_asked = false;
        self.doubt.clear();
    }

    /// The next question, if one is due: `after` and `before`.
    pub(super) fn ask(&mut self, now: u64) -> Option<(u64, u64)> {
        let (first, last) = self.gap()?;
        let since = *self.missing_since.get_or_insert(now);
        if self.is_asked || now < self.not_before || now < since + SETTLE_MS {
            return None;
        }
        self.is_asked = true;
        Some((first - 1, last + 1))
    }

    /// The newest numbers that are missing.
    fn gap(&self) -> Option<(u64, u64)> {
        self.settled.newest_gap(self.newest.saturating_add(1))
    }

    /// Takes note of an answer that told of all numbers from `first` to `last`, after its events were taken. Returns
    /// what could not be had: what the second answer lacks, too.
    pub(super) fn answered(&mut self, first: u64, last: u64, now: u64) -> Vec<(u64, u64)> {
        self.is_asked = false;
        self.unanswered = 0;
        self.not_before = now;
        let missing = self.settled.gaps(first, last);
        if missing.is_empty() || missing == self.doubt {
            self.doubt.clear();
            return missing;
        }
        self.doubt = missing;
        self.not_before = now + CONFIRM_MS;
        Vec::new()
    }

    /// Takes note that a question did not get through, or that there is no room for its answer.
    pub(super) fn put_off(&mut self, now: u64) {
        self.is_asked = false;
        self.not_before = now + CONFIRM_MS;
    }

    /// Takes note that no answer came, or a refusal. True where a person should hear of it.
    pub(super) fn unanswered(&mut self, now: u64) -> bool {
        let (first, longest) = PATIENCE_MS;
        self.is_asked = false;
        self.not_before = now + (first << self.unanswered.min(10)).min(longest);
        self.unanswered += 1;
        self.unanswered == MAX_UNANSWERED
    }

    /// Asks at once: the gateway is back.
    pub(super) fn ask_anew(&mut self) {
        self.is_asked = false;
        self.not_before = 0;
        self.unanswered = 0;
    }

    /// True while a question is under way.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_the_newest_gap_once_events_had_their_time() {
        let mut board = Holding::default();
        assert_eq!(board.ask(0), None);
        board.took(5, 6);
        assert_eq!(board.ask(0), None);
        assert_eq!(board.ask(SETTLE_MS), Some((0, 5)));
        assert_eq!(board.ask(SETTLE_MS), None, "one at a time");
        board.took(3, 4);
        assert_eq!(board.answered(3, 4, 2_000), []);
        assert_eq!(board.ask(2_000), Some((0, 3)), "the rest of it");
        board.took(1, 2);
        assert_eq!(board.answered(1, 2, 2_100), []);
        board.gave_out(9);
        assert_eq!(board.ask(3_000), None);
        assert_eq!(board.ask(4_000), Some((6, 10)));
    }

    #[test]
    fn what_two_answers_lack_cannot_be_had() {
        let mut board = Holding::default();
        board.took(9, 9);
        board.ask(0);
        assert_eq!(board.ask(1_000), Some((0, 9)));
        board.took(7, 8);
        assert_eq!(board.answered(1, 8, 1_000), []);
        assert_eq!(board.ask(1_001), None);
        assert_eq!(board.ask(1_000 + CONFIRM_MS), Some((0, 7)));
        board.took(4, 4);
        assert_eq!(board.answered(1, 6, 7_000), [], "it lacks other numbers");
        assert_eq!(board.ask(7_000 + CONFIRM_MS), Some((4, 7)));
        assert_eq!(board.answered(5, 6, 13_000), []);
        board.ask(18_000);
        assert_eq!(board.answered(5, 6, 18_000), [(5, 6)]);
        board.gave_up(5, 6);
        assert!(!board.has(5) && board.has(4));
        assert_eq!(board.ask(18_000), Some((0, 4)));
    }

    #[test]
    fn a_silent_gateway_is_asked_with_growing_patience() {
        let mut board = Holding::default();
        board.took(2, 2);
        board.ask(0);
        let (mut now, mut told, mut waits) = (1_000, Vec::new(), Vec::new());
        for _ in 0..10 {
            assert!(board.ask(now).is_some());
            told.push(board.unanswered(now));
            let next = (now..)
                .step_by(1_000)
                .find(|&at| board.clone().ask(at).is_some())
                .unwrap();
            waits.push((next - now) / 1_000);
            now = next;
        }
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
        assert_eq!(told.iter().filter(|told| **told).count(), 1);
        board.unanswered(now);
        board.ask_anew();
        assert!(board.ask(now).is_some());
    }
}

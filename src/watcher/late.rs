//! Bytes that come late: a line that stood still for seconds, a machine that slept, a network that gathers. What waited comes
//! in one lump, in order, and nobody knows when each of it happened.
//!
//! A clock that runs speaks every second. While it is silent, nobody knows what is on its way: the core's time stands still.
//! What comes then is held for a moment. If it is a lump, the clock's own seconds tell when its parts happened, as far as that can be told.
//!
//! A line that gathers does so all the time: what has not come by now may have been said some time ago, and all that comes together
//! happened since the line last spoke.

use super::gathers::{AT_ONCE_MS, Gathers, TOGETHER_MS};
use crate::{
    dgt::{ClockReading, Message, eventlog::besides_logs},
    time::Millis,
};

/// A running clock that says nothing for so long is not heard.
const SILENT_MS: u64 = 1200;
/// It is believed to have been there for no longer than this: a cable is pulled, or this clock does not speak each second.
const MOST_MS: u64 = 90_000;
/// So many messages at once have waited; fewer may have come so.
const LUMP: usize = 3;
/// What comes together after so long has waited: a line that gathers does so in less.
const QUIET_MS: u64 = 1000;
/// A reading of a clock that comes so much after it was shown has waited, and what came before it.
const OVERDUE_MS: u64 = 300;
/// A line that says more than this at once, a log apart, was not late: it never stops.
const MOST_HELD: usize = 2048;
/// The same with what claims to be a log.
const MOST_WITH_LOG: usize = MOST_HELD + 0x2000;
/// Between two changes of squares.
const FIELD_MS: u64 = 150;
/// Before a press of the clock.
const PRESS_MS: u64 = 250;
/// Before any other reading of it.
const CLOCK_MS: u64 = 50;

/// What is on its way, by the line's time.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// When a message last came.
    heard: Option<Millis>,
    /// The last reading of a clock, and when it was shown.
    clock: Option<(ClockReading, Millis)>,
    /// Bytes that came after a silence, and when they did.
    held: Vec<(Millis, Vec<u8>)>,
    /// The silence has lasted so long that it is believed.
    believed: bool,
    /// Changes of squares and readings of a clock that came in the same instant after a silence, and when.
    at_once: (Millis, usize),
    /// When the last message came.
    came: Millis,
    /// Nothing is held of this line any more: who works off much at once keeps the other boards waiting.
    floods: bool,
    /// What the line shows, or is known to do, besides.
    gathers: Gathers,
}

impl Late {
    /// Of a line that is known to gather bytes for `gathered` milliseconds; 0 where that is not known.
    pub(super) fn new(gathered: u64) -> Self {
        Self {
            gathers: Gathers::known(gathered),
            ..Self::default()
        }
    }

    /// The link is another one.
    pub(super) fn end(&mut self) {
        *self = Self {
            gathers: self.gathers.anew(),
            ..Self::default()
        };
    }

    /// For how many milliseconds the line gathers.
    pub(super) fn gathered(&self) -> u64 {
        self.gathers.ms()
    }

    /// Until when the line may have gathered, though nobody knew for how long; `before` is what another link, or an earlier run, left.
    pub(super) fn unmeasured(&self, before: Option<Millis>) -> Option<Millis> {
        self.gathers.unmeasured(before)
    }

    /// Until when it is known, at `now`, what has come.
    pub(super) fn known(&self, now: Millis) -> Millis {
        let told = match self.gathers.ms() {
            0 => now,
            ms => self.heard.max(Some(now - ms)).map_or(now, |told| told.min(now)),
        };
        self.known_until().map_or(told, |until| until.min(told))
    }

    /// Until when all that was said has come for sure, at `now`: while a clock runs, until the line
    /// was last heard.
    pub(super) fn told(&self, now: Millis) -> Millis {
        let heard = self.heard.filter(|_| self.known_until().is_some());
        heard.map_or(now, |heard| heard.min(now))
    }

    /// When it will be known what came until `at`; none where the line has been silent for too long.
    pub(super) fn known_at(&self, at: Millis) -> Option<Millis> {
        let within = self.known_until().is_none_or(|until| at <= until);
        let told = match (self.gathers.ms(), self.heard) {
            (0, _) => at,
            (_, Some(heard)) if at <= heard => heard,
            (ms, _) => at + ms,
        };
        within.then_some(told)
    }

    /// Until when it is known what has come, while a clock runs: after it nobody knows what is on its way.
    pub(super) fn known_until(&self) -> Option<Millis> {
        let runs = self.clock.is_some_and(|(reading, _)| reading.running);
        let known = runs && !self.believed && !self.floods;
        self.heard.filter(|_| known).map(|heard| heard + SILENT_MS)
    }

    /// True where what came at `now` came after a silence, or comes so always.
    fn is_late(&self, now: Millis) -> bool {
        self.gathers.ms() > 0 || self.known_until().is_some_and(|until| until <= now)
    }

    /// True where what is held came after a silence.
    pub(super) fn was_silent(&self) -> bool {
        self.held.first().is_some_and(|(came, _)| self.is_late(*came))
    }

    /// Takes bytes that are to be held: they come after a silence, or are `awaited`, and what comes together with them may have
    /// been late. Returns false where there is no reason to.
    pub(super) fn holds(&mut self, now: Millis, bytes: &[u8], awaited: bool) -> bool {
        let held = || self.held.iter().flat_map(|(_, bytes)| bytes);
        self.floods |= besides_logs(held()) >= MOST_HELD || held().count() >= MOST_WITH_LOG;
        if self.held.is_empty() && !awaited && !self.is_late(now) || self.floods {
            return false;
        }
        self.held.push((now, bytes.to_vec()));
        true
    }

    /// When what is held is to be taken, or else the silence is believed.
    pub(super) fn due(&self) -> Option<Millis> {
        match self.held.last() {
            Some((last, _)) => Some(*last + TOGETHER_MS),
            None => self.known_until().map(|until| until + MOST_MS),
        }
    }

    /// Time passes, and nothing came.
    pub(super) fn tick(&mut self, now: Millis) {
        self.believed |= self.held.is_empty() && self.due().is_some_and(|due| due <= now);
    }

    /// True when what is held has all come by `now`.
    pub(super) fn is_due(&self, now: Millis) -> bool {
        !self.held.is_empty() && self.due().is_some_and(|due| due <= now)
    }

    /// Something came at `now`, whenever it happened.
    pub(super) fn heard_at(&mut self, now: Millis) {
        self.heard = self.heard.max(Some(now));
    }

    /// Takes what is held.
    pub(super) fn take(&mut self) -> Vec<(Millis, Vec<u8>)> {
        std::mem::take(&mut self.held)
    }

    /// True where what came last was one of so many messages in one instant that they have waited: nobody knows when each of
    /// them happened.
    pub(super) fn has_waited(&self) -> bool {
        self.at_once.1 >= LUMP
    }

    /// Takes note of a message that happened at `at`.
    pub(super) fn note(&mut self, now: Millis, at: Millis, message: &Message<'_>) {
        self.heard = Some(at);
        self.gathers.heard(now, message);
        self.believed = false;
        // A line that speaks all the time tells several squares at once when they changed at once.
        if now.since(self.came) > QUIET_MS {
            self.at_once = (now, 0);
        }
        self.came = now;
        let shows = matches!(Sort::of(message), Sort::Field | Sort::Clock(_));
        let at_once = now.since(self.at_once.0) <= AT_ONCE_MS;
        self.at_once.1 = if at_once {
            self.at_once.1 + usize::from(shows)
        } else {
            0
        };
        match message {
            Message::Clock(reading) => self.clock = Some((*reading, at)),
            Message::NoClock => self.clock = None,
            _ => {}
        }
    }

    /// Since when what came may have happened.
    pub(super) fn since(&self, came: &[(Millis, Sort)]) -> Option<Millis> {
        let runs = self.clock.is_some_and(|(reading, _)| reading.running);
        let ms = self.gathers.ms();
        if ms == 0 || runs && !self.believed {
            return self.heard;
        }
        let (first, _) = came.first()?;
        self.heard.max(Some(*first - ms))
    }

    /// True where the clock's seconds tell that several messages came later than they were said.
    fn is_overdue(&self, came: &[(Millis, Sort)]) -> bool {
        let Some((last, shown)) = self.clock.filter(|_| came.len() > 1) else {
            return false;
        };
        came.iter().any(|(now, sort)| match sort {
            Sort::Clock(reading) => elapsed(&last, reading).is_some_and(|ms| shown + ms + OVERDUE_MS < *now),
            _ => false,
        })
    }

    /// When each of the messages happened that were held, and came at these times. What a board's log was told before is
    /// known to have waited for it.
    pub(super) fn times(&self, came: &[(Millis, Sort)]) -> Vec<Millis> {
        let log = came.iter().any(|(_, sort)| matches!(sort, Sort::Log));
        let is_lump = came.len() >= LUMP || self.gathers.ms() > 0 || self.is_overdue(came);
        let (Some(heard), Some((now, _)), true) = (self.since(came), came.last(), is_lump && !log) else {
            return came.iter().map(|(at, _)| *at).collect();
        };
        let (mut at, mut clock) = (heard, self.clock);
        let mut happened = Vec::with_capacity(came.len());
        for (_, sort) in came {
            at = match sort {
                Sort::Field => at + FIELD_MS,
                Sort::Clock(reading) => {
                    let shown = clock.and_then(|(last, shown)| Some(shown + elapsed(&last, reading)?));
                    let at = shown.map_or(at + PRESS_MS, |shown| shown.max(at + CLOCK_MS));
                    clock = Some((*reading, at));
                    at
                }
                Sort::Other | Sort::Log => at,
            };
            happened.push(at);
        }
        // It did not take longer than the silence. The recogniser's time has gone on for a while before the silence was known:
        // what happened by then would all happen at once.
        let gone_on = self.known_until().filter(|_| self.gathers.ms() == 0);
        let base = gone_on.map_or(heard, |until| until.clamp(heard, (*now).max(heard)));
        let (took, silence) = (at.since(heard).max(1), now.since(base));
        let within = |at: Millis| base + at.since(heard) * silence.min(took) / took;
        happened.into_iter().map(within).collect()
    }
}

/// What a message tells of the time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sort {
    Field,
    Clock(ClockReading),
    Log,
    Other,
}

impl Sort {
    pub(super) fn of(message: &Message<'_>) -> Self {
        match message {
            Message::Field { .. } => Self::Field,
            Message::Clock(reading) => Self::Clock(*reading),
            Message::EventLog(_) => Self::Log,
            _ => Self::Other,
        }
    }
}

/// Milliseconds that passed on a clock from one reading to the next; none where it was pressed or stopped in between.
fn elapsed(last: &ClockReading, next: &ClockReading) -> Option<u64> {
    let side = last.counting().filter(|side| next.counting() == Some(*side))?;
    let seconds = last.time(side).seconds.checked_sub(next.time(side).seconds)?;
    Some(u64::from(seconds) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::{ClockTime, Lever};

    fn clock(left: u32, right: u32, lever: Lever) -> ClockReading {
        let time = |seconds| ClockTime {
            seconds,
            ..ClockTime::default()
        };
        ClockReading {
            left: time(left),
            right: time(right),
            running: true,
            lever,
            battery_low: false,
        }
    }

    fn late() -> Late {
        let mut late = Late::default();
        late.note(
            Millis(1000),
            Millis(1000),
            &Message::Clock(clock(100, 100, Lever::RightHigh)),
        );
        late
    }

    #[test]
    fn a_log_may_be_long_and_nothing_else() {
        let holds = |bytes: &[u8]| {
            let mut late = late();
            let chunks = bytes
                .chunks(64)
                .take_while(|bytes| late.holds(Millis(60_000), bytes, false));
            chunks.count() * 64
        };
        let mut log = Vec::new();
        Message::EventLog(&[0x41; 0x1000]).encode(&mut log);
        assert_eq!(holds(&log), log.len().next_multiple_of(64), "{}", log.len());
        // Without its end, and a flood of whole boards: the watcher would work on what is held for seconds.
        assert_eq!(holds(&[&log[..3], &[0; 0x8000]].concat()), MOST_WITH_LOG);
        let mut boards = Vec::new();
        while boards.len() < 0x2000 {
            Message::Dump(&[crate::dgt::PieceCode::EMPTY; 64]).encode(&mut boards);
        }
        assert_eq!(holds(&boards), MOST_HELD);
    }

    #[test]
    fn a_running_clock_that_is_silent_is_waited_for_and_one_that_stands_is_not() {
        let mut late = late();
        assert_eq!(late.known_until(), Some(Millis(2200)));
        assert!(!late.holds(Millis(2000), &[1], false), "it is heard");
        assert!(late.holds(Millis(2300), &[1], false));
        assert!(late.holds(Millis(2301), &[2], false), "it may be the rest");
        assert_eq!(late.due(), Some(Millis(2321)));
        assert_eq!(late.take().len(), 2);
        let mut stands = clock(100, 100, Lever::RightHigh);
        stands.running = false;
        late.note(Millis(3000), Millis(3000), &Message::Clock(stands));
        assert_eq!(late.known_until(), None);
    }

    #[test]
    fn a_silence_is_believed_in_the_end() {
        let mut late = late();
        late.tick(Millis(60_000));
        assert!(late.known_until().is_some());
        let due = late.due().unwrap();
        late.tick(due);
        assert_eq!((late.known_until(), late.due()), (None, None));
    }

    #[test]
    fn the_clock_tells_when_the_parts_of_a_lump_happened() {
        let late = late();
        let side = clock(100, 100, Lever::RightHigh).counting().unwrap();
        let after = |seconds: u32| {
            let mut reading = clock(100, 100, Lever::RightHigh);
            match side {
                crate::dgt::ClockSide::Left => reading.left.seconds -= seconds,
                crate::dgt::ClockSide::Right => reading.right.seconds -= seconds,
            }
            Sort::Clock(reading)
        };
        let now = Millis(9000);
        let came = [after(1), Sort::Field, Sort::Field, after(4)].map(|sort| (now, sort));
        let times: Vec<u64> = late.times(&came).iter().map(|at| at.0).collect();
        // From when its silence was known on.
        assert_eq!(times, [3200, 3350, 3500, 6200]);
        let few = [(now, Sort::Field), (now, Sort::Field)];
        assert_eq!(late.times(&few), [now, now], "they may have come so");
    }

    #[test]
    fn on_a_line_that_gathers_nobody_knows_what_has_not_come() {
        let mut late = Late::new(1000);
        late.heard_at(Millis(5000));
        assert!(
            late.holds(Millis(5600), &[1], false),
            "all that comes was said before"
        );
        assert_eq!(
            (late.known(Millis(5500)), late.known(Millis(6500))),
            (Millis(5000), Millis(5500))
        );
        assert_eq!(late.known_at(Millis(4000)), Some(Millis(5000)));
        assert_eq!(late.known_at(Millis(5200)), Some(Millis(6200)));
        // One change alone happened in the last second, whenever that was.
        let came = [(Millis(9000), Sort::Field)];
        assert_eq!(late.times(&came), [Millis(8000 + FIELD_MS)]);
        late.end();
        assert_eq!(late.gathered(), 1000, "another link to the same server");
    }

    #[test]
    fn a_lump_is_no_longer_than_the_silence() {
        let late = late();
        let came = [(Millis(2500), Sort::Field); 100];
        let times = late.times(&came);
        assert!(times.is_sorted() && times[0] > Millis(1000));
        assert_eq!(times[99], Millis(2500));
    }
}

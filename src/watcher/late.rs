//! Bytes that come late: a line stood still for seconds, a machine slept, a network gathers. The messages
//! that waited come in one lump, in order, and nobody knows when each happened.
//!
//! A running clock sends a frame every second. While it is silent, nobody knows what is on its way, so the
//! core's time stands still. `Late` holds the bytes that come then for a moment. If they are a lump, the
//! seconds of the clock tell roughly when its messages happened.
//!
//! A caller that stood still, as a process that was stopped, knows what waited meanwhile, whether a clock runs or not.
//!
//! A line that gathers does so all the time. The board may have sent a message some time ago that has not
//! come by now, and all messages of a lump happened since the lump before.

use super::gathers::{AT_ONCE_MS, Gathers, TOGETHER_MS};
use crate::{
    dgt::{ClockReading, Message, eventlog::besides_logs},
    time::Millis,
};

/// If a running clock sends nothing for this long, the line is late.
const SILENT_MS: u64 = 1200;
/// After this long, the watcher believes the silence: a cable is pulled, or this clock does not send a frame
/// each second.
const MOST_MS: u64 = 90_000;
/// This many messages at once have waited. Fewer may have come by chance.
const LUMP: usize = 3;
/// After a silence this long, messages that come together have waited. A line that gathers sends sooner.
const QUIET_MS: u64 = 1000;
/// A frame of the clock that comes this long after the clock showed it has waited, with the messages before
/// it.
const OVERDUE_MS: u64 = 300;
/// A line that sends more bytes than these at once, besides a log, was not late: it never stops.
const MOST_HELD: usize = 2048;
/// The same, including bytes that claim to be a log.
const MOST_WITH_LOG: usize = MOST_HELD + 0x2000;
/// What a board was asked for before its line stood still is read within this time after that.
const ON_THE_WAY_MS: u64 = 20;
/// After its line stood still, a board is asked again within so many times as long as the line gathers.
const ROUNDS: u64 = 3;
/// Time between two changes of squares.
const FIELD_MS: u64 = 150;
/// Time before a press of the clock.
const PRESS_MS: u64 = 250;
/// Time before any other frame of the clock.
const CLOCK_MS: u64 = 50;

/// Bytes that are held, and what tells that a line is late. All times are the line's.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// When the last message happened, or bytes last came.
    heard: Option<Millis>,
    /// The last frame of the clock, and when the clock showed it.
    clock: Option<(ClockReading, Millis)>,
    /// Bytes that are held, with the times at which they came.
    held: Vec<(Millis, Vec<u8>)>,
    /// The silence has lasted so long that the watcher believes it.
    believed: bool,
    /// When messages last came at once after a silence, and the number of changes and frames among them.
    at_once: (Millis, usize),
    /// What came in the last instant in which something came.
    instant: Instant,
    /// When the last message came.
    came: Millis,
    /// `Late` holds no more bytes of this line, for working them off at once would keep the other boards
    /// waiting.
    floods: bool,
    /// Since when, and until when, the caller last stood still for long.
    stood_still: Option<(Millis, Millis)>,
    /// The board says something only when the line asks it.
    is_asked: bool,
    /// What is being read waited for much longer than a line gathers.
    waited_long: bool,
    /// Whether the line gathers.
    pub(super) gathers: Gathers,
}

/// What came in one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Instant {
    at: Millis,
    /// The number of changes and frames.
    shown: usize,
    /// The last frame of the clock.
    clock: Option<ClockReading>,
    /// The clock showed its lever first so, and then otherwise.
    pressed: bool,
}

impl Instant {
    /// Takes in a message that came at `now`.
    fn hear(&mut self, now: Millis, message: &Message<'_>) {
        if self.at != now {
            *self = Self {
                at: now,
                ..Self::default()
            };
        }
        let sort = Sort::of(message);
        self.shown += usize::from(sort.shows());
        if let Sort::Clock(next) = sort {
            let otherwise = |last: ClockReading| last.lever != next.lever || last.running != next.running;
            self.pressed |= self.clock.is_some_and(otherwise);
            self.clock = Some(next);
        }
    }
}

impl Late {
    /// For a line that is known to gather bytes for `gathered` milliseconds; 0 where that is not known. `is_asked` says whether the
    /// board says something only when the line asks it.
    pub(super) fn new(gathered: u64, is_asked: bool) -> Self {
        Self {
            gathers: Gathers::known(gathered),
            is_asked,
            ..Self::default()
        }
    }

    /// The link is a new one.
    pub(super) fn end(&mut self) {
        *self = Self {
            gathers: self.gathers.anew(),
            is_asked: self.is_asked,
            ..Self::default()
        };
    }

    /// The time until which, at `now`, it is known what has come.
    pub(super) fn known(&self, now: Millis) -> Millis {
        let told = match self.gathers.ms() {
            0 => now,
            ms => self.heard.max(Some(now - ms)).map_or(now, |told| told.min(now)),
        };
        let told = self.known_until().map_or(told, |until| until.min(told));
        let unasked = self.unasked().filter(|(_, until)| now <= *until);
        let told = unasked.map_or(told, |(since, _)| told.min(since));
        self.unread_since().map_or(told, |since| told.min(since))
    }

    /// The time until which, at `now`, everything sent has certainly come. While a clock runs, that is the
    /// time of the last message.
    pub(super) fn told(&self, now: Millis) -> Millis {
        let heard = self.heard.filter(|_| self.known_until().is_some());
        heard.map_or(now, |heard| heard.min(now))
    }

    /// When it will be known what was sent until `at`; none where the line has been silent for too long.
    pub(super) fn known_at(&self, at: Millis) -> Option<Millis> {
        let within = self.known_until().is_none_or(|until| at <= until);
        let told = match (self.gathers.ms(), self.heard) {
            (0, _) => at,
            (_, Some(heard)) if at <= heard => heard,
            (ms, _) => at + ms,
        };
        let held = self.unread_since().is_some_and(|since| since < at);
        let read = self.due().filter(|_| held);
        let unasked = self.unasked().filter(|(since, _)| *since < at);
        let told = unasked.map_or(told, |(_, until)| told.max(until + 1));
        within.then_some(read.map_or(told, |due| told.max(due)))
    }

    /// While a clock runs, the time until which it is known what has come. After that, nobody knows what is
    /// on its way.
    pub(super) fn known_until(&self) -> Option<Millis> {
        let runs = self.clock.is_some_and(|(reading, _)| reading.running);
        let known = runs && !self.believed && !self.floods;
        self.heard.filter(|_| known).map(|heard| heard + SILENT_MS)
    }

    /// The caller stood still: what comes by `until` has waited for up to so long.
    pub(super) fn stand_still(&mut self, since: Millis, until: Millis) {
        // A reader that goes on may be late once more with the rest, and so may one that has not asked its board again.
        let again = self.stood_still.filter(|(_, before)| since <= *before + 1);
        let unasked = self.unasked().filter(|(_, asked)| since <= *asked + 1);
        let since = again.or(unasked).map_or(since, |(first, _)| first);
        if until.since(since) > QUIET_MS {
            self.stood_still = Some((since, until));
        }
    }

    /// Since when the caller stood still, and until when it will have asked a board again that waits for that and has not told anything
    /// since.
    fn unasked(&self) -> Option<(Millis, Millis)> {
        let (since, until) = self.stood_still.filter(|_| self.is_asked)?;
        let is_unasked = self.heard.is_none_or(|heard| heard <= since);
        is_unasked.then_some((since, until + self.asks_ms()))
    }

    /// A board that waits to be asked tells what it kept within so long, in milliseconds, after its line stood still: a round takes
    /// longer where all boards are read as a whole.
    fn asks_ms(&self) -> u64 {
        if self.is_asked {
            ROUNDS * self.gathers.ms()
        } else {
            0
        }
    }

    /// Since when what is held may have waited: it has come, and is not read yet.
    fn unread_since(&self) -> Option<Millis> {
        let (came, _) = self.held.first()?;
        Some(self.waited_since(*came).unwrap_or(*came))
    }

    /// Since when the caller had stood still, if bytes that came at `now` waited for it.
    fn waited_since(&self, now: Millis) -> Option<Millis> {
        let waited = self
            .stood_still
            .filter(|(_, until)| now <= *until + self.asks_ms());
        waited.map(|(since, _)| since)
    }

    /// Until when the board has told what it did, by a message that came at `now` and happened at `at`. What it was asked for before
    /// the caller stood still tells nothing of the time since.
    fn heard_until(&self, now: Millis, at: Millis) -> Millis {
        let asked_before = self
            .stood_still
            .filter(|(_, until)| self.is_asked && now <= *until + ON_THE_WAY_MS);
        asked_before.map_or(at, |(since, _)| at.min(since))
    }

    /// True if bytes that came at `now` came after a silence, or the line gathers.
    fn is_late(&self, now: Millis) -> bool {
        let is_after_silence = self.known_until().is_some_and(|until| until <= now);
        self.gathers.ms() > 0 || is_after_silence || self.waited_since(now).is_some()
    }

    /// True if the held bytes came after a silence.
    pub(super) fn was_silent(&self) -> bool {
        self.held.first().is_some_and(|(came, _)| self.is_late(*came))
    }

    /// True if bytes that came at `now` came after a second in which a running clock sent nothing. It may just
    /// have sent its frame late.
    fn is_quiet(&self, now: Millis) -> bool {
        self.known_until().is_some() && now.since(self.came) > QUIET_MS
    }

    /// Holds bytes that come after a silence, or that are `awaited`, so that messages that come together with
    /// them are not missed. Returns false where there is no reason to hold them.
    pub(super) fn holds(&mut self, now: Millis, bytes: &[u8], awaited: bool) -> bool {
        let held = || self.held.iter().flat_map(|(_, bytes)| bytes);
        self.floods |= besides_logs(held()) >= MOST_HELD || held().count() >= MOST_WITH_LOG;
        let stands_out = awaited || self.is_late(now) || self.is_quiet(now);
        if self.held.is_empty() && !stands_out || self.floods {
            return false;
        }
        self.held.push((now, bytes.to_vec()));
        true
    }

    /// When the held bytes are due. If none are held, when the watcher believes the silence.
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

    /// True when the held bytes are due at `now`.
    pub(super) fn is_due(&self, now: Millis) -> bool {
        !self.held.is_empty() && self.due().is_some_and(|due| due <= now)
    }

    /// Bytes came at `now`, whenever their messages happened.
    pub(super) fn heard_at(&mut self, now: Millis) {
        self.heard = self.heard.max(Some(self.heard_until(now, now)));
    }

    /// Takes the held bytes.
    pub(super) fn take(&mut self) -> Vec<(Millis, Vec<u8>)> {
        std::mem::take(&mut self.held)
    }

    /// True if the last message was one of so many in one instant that they have waited. Nobody knows when
    /// each of them happened.
    pub(super) fn has_waited(&self) -> bool {
        // However lively the line is: a clock takes a quarter of a second to show a press.
        let pressed_at_once = self.instant.pressed && self.instant.shown >= LUMP;
        self.at_once.1 >= LUMP || pressed_at_once && self.gathers.is_prompt()
    }

    /// True if messages that came after a quiet second came in one instant, though a board says them at
    /// independent times: a change of a square and a frame of the clock, or two different frames. They may
    /// have waited, or this is chance.
    pub(super) fn coincide(&self, came: &[(Millis, Sort)]) -> bool {
        let quiet = came.first().is_some_and(|(first, _)| self.is_quiet(*first));
        let shown = || came.iter().filter(|(_, sort)| sort.shows());
        let pairs = shown().zip(shown().skip(1));
        let mut at_once = pairs.filter(|((one, _), (next, _))| next.since(*one) <= AT_ONCE_MS);
        quiet
            && at_once.any(|((_, one), (_, next))| match (one, next) {
                (Sort::Clock(one), Sort::Clock(next)) => one != next,
                (Sort::Field, Sort::Field) => false,
                _ => true,
            })
    }

    /// Notes a message that came at `now` and happened at `at`.
    pub(super) fn note(&mut self, now: Millis, at: Millis, message: &Message<'_>) {
        self.heard = Some(self.heard_until(now, at));
        self.gathers.heard(now, message);
        self.believed = false;
        // On a line that is never silent, several messages at once may simply have happened at once.
        if now.since(self.came) > QUIET_MS {
            self.at_once = (now, 0);
        }
        self.came = now;
        self.instant.hear(now, message);
        let shows = Sort::of(message).shows();
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

    /// The earliest time at which the messages `came` may have happened.
    pub(super) fn since(&self, came: &[(Millis, Sort)]) -> Option<Millis> {
        let runs = self.clock.is_some_and(|(reading, _)| reading.running);
        let ms = self.gathers.ms();
        let waited_since = came.first().and_then(|(first, _)| self.waited_since(*first));
        if let Some(since) = waited_since.filter(|_| !runs || self.believed) {
            return self.heard.max(Some(since - ms));
        }
        if ms == 0 || runs && !self.believed {
            return self.heard;
        }
        let (first, _) = came.first()?;
        self.heard.max(Some(*first - ms))
    }

    /// The messages `came` are read now.
    pub(super) fn begin(&mut self, came: &[(Millis, Sort)]) {
        let ms = self.gathers.ms();
        let until = came.last().map(|(came, _)| *came);
        let waited = self
            .since(came)
            .zip(until)
            .map(|(since, until)| until.since(since));
        self.waited_long = ms > 0 && waited.is_some_and(|waited| waited > ms + QUIET_MS);
    }

    /// The messages that came have been read.
    pub(super) fn read(&mut self) {
        self.waited_long = false;
    }

    /// By how many milliseconds the times of messages may be wrong because the line gathers. Those of what waited for much longer are not
    /// known at all.
    pub(super) fn slack(&self) -> u64 {
        if self.waited_long { 0 } else { self.gathers.ms() }
    }

    /// True if the seconds of the clock show that the messages came later than they were sent.
    fn is_overdue(&self, came: &[(Millis, Sort)]) -> bool {
        let Some((last, shown)) = self.clock.filter(|_| came.len() > 1) else {
            return false;
        };
        came.iter().any(|(now, sort)| match sort {
            Sort::Clock(reading) => elapsed(&last, reading).is_some_and(|ms| shown + ms + OVERDUE_MS < *now),
            _ => false,
        })
    }

    /// When each of the held messages happened, which came at these times. Messages that came with a log have
    /// waited for it: `Backlog` gives them times.
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
        // The lump did not take longer than the silence. The core's time went on for a while before the
        // silence was known, so the times begin after that: otherwise all earlier messages would happen at
        // once.
        let gone_on = self.known_until().filter(|_| self.gathers.ms() == 0);
        let base = gone_on.map_or(heard, |until| until.clamp(heard, (*now).max(heard)));
        let (took, silence) = (at.since(heard).max(1), now.since(base));
        let within = |at: Millis| base + at.since(heard) * silence.min(took) / took;
        happened.into_iter().map(within).collect()
    }
}

/// What a message shows of the time at which it happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sort {
    Field,
    Clock(ClockReading),
    Log,
    Other,
}

impl Sort {
    /// True if it shows something that happened at the board.
    fn shows(&self) -> bool {
        matches!(self, Self::Field | Self::Clock(_))
    }

    pub(super) fn of(message: &Message<'_>) -> Self {
        match message {
            Message::Field { .. } => Self::Field,
            Message::Clock(reading) => Self::Clock(*reading),
            Message::EventLog(_) => Self::Log,
            _ => Self::Other,
        }
    }
}

/// Milliseconds that passed on the clock from one frame to the next; none if it was pressed or stopped in
/// between.
fn elapsed(last: &ClockReading, next: &ClockReading) -> Option<u64> {
    let side = last.counting().filter(|side| next.counting() == Some(*side))?;
    let seconds = last.time(side).seconds.checked_sub(next.time(side).seconds)?;
    Some(u64::from(seconds) * 1000)
}

#[cfg(test)]
mod tests;

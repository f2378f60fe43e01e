//! What the frames of the clock tell: it was started, stopped or pressed. Frames come once a second and at
//! each press. A frame with the state before a press may arrive after the frame of that press, and must not
//! count as two more presses (protocol section 4.3).

use std::collections::VecDeque;

use crate::{
    dgt::{ClockReading, ClockSide, Lever},
    time::Millis,
};

/// Something the clock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSignal {
    /// It was started; the time of the lever's side runs.
    Started(Lever),
    /// It was stopped.
    Stopped,
    /// The lever went over while the clock ran; now the time of the lever's side runs.
    Pressed(Lever),
    /// The lever went over while the clock stood.
    Turned(Lever),
    /// The lever did not go over when it seemed to, so that the time of the lever's side would run: it was misread.
    Misread(Lever),
    /// The clock was turned round while it ran: its left side is its right side now.
    TurnedRound,
}

/// A frame from before a press may come this long after it.
const STALE_MS: u64 = 1500;
/// A frame that comes this soon after a press is rather an old one than the next press, unless its times
/// prove a press.
const OVERTAKEN_MS: u64 = 150;
/// A frame that comes later than this after a press is the next press, unless its times prove that it is old.
const DELAYED_MS: u64 = 300;
/// A clock that was stopped is not started again within this time.
const RESTART_MS: u64 = 700;
/// A doubtful frame that no later frame has refuted is believed after this time: frames come once a second.
const DOUBT_MS: u64 = 1300;
/// In a frame that tells of a press, no time has fallen by so many seconds more than have passed since the frame
/// before. A damaged frame whose checksum is right by chance may show that.
const FALL_S: u64 = 15;
/// The next frame after one in which the lever was misread comes no sooner than this: frames come once a second.
const NEXT_FRAME_MS: u64 = 700;
/// A lever that is where it was so long after it went over has rather been pressed back.
const MISREAD_MS: u64 = 1500;
/// Where a press shows so many seconds more than the frame before, each press of the game gives time.
const GIVES_S: i64 = 2;

/// Whether a frame is older than a press that was heard before it.
enum Age {
    New,
    Doubtful,
    Old,
}

/// A frame that waits for the next one to confirm or refute it.
#[derive(Clone, Copy, Debug)]
struct Doubted {
    reading: ClockReading,
    at: Millis,
    why: Doubt,
}

/// Why a frame waits for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// It may be older than the press before it.
    Old,
    /// It shows what no clock does. So the next frame has to confirm it.
    Odd,
    /// The lever went over without the time that every press gives in this game. The lever may have been misread: then the time that
    /// ran runs on.
    GaveNothing,
}

/// Follows the frames of one clock.
#[derive(Clone, Debug, Default)]
pub struct LeverWatch {
    now: Option<ClockReading>,
    /// The frame with which the lever last went over, and when it came.
    flipped: Option<(ClockReading, Millis)>,
    /// When the clock was last stopped.
    stopped_at: Option<Millis>,
    /// When the lever went over last while the clock stood.
    turned_at: Option<Millis>,
    /// The press of `flipped` added time for its player: an older frame would show less.
    gained: bool,
    /// The press of `flipped` may have given time that has passed since the frame before.
    may_have_given: bool,
    /// The frame of `flipped` shows less time for its player than the one before. So it came because a second was over, and a press
    /// that falls together with that is rare.
    ticked: bool,
    /// Presses give time in this game.
    gives: bool,
    doubted: Option<Doubted>,
    /// When the frame came that is believed.
    heard_at: Millis,
    signals: VecDeque<(Millis, ClockSignal)>,
}

impl LeverWatch {
    /// The reading that is believed.
    #[must_use]
    pub fn reading(&self) -> Option<&ClockReading> {
        self.now.as_ref()
    }

    /// The clock is gone, or its frames were missed for a while: the next frame is believed as it is.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Goes on after a clock that showed `reading`: no frame was missed since.
    pub fn go_on(&mut self, reading: ClockReading) {
        *self = Self {
            now: Some(reading),
            ..Self::default()
        };
    }

    /// True while the next frame may show that what seemed a press at `pressed` was none.
    #[must_use]
    pub fn may_be_misread(&self, now: Millis, pressed: Millis) -> bool {
        self.last_ticked().is_some_and(|(_, at)| at == pressed) && now.since(pressed) < MISREAD_MS
    }

    /// The frame with which the lever went over, and when it came, if no other was believed since and it came because a second was over.
    fn last_ticked(&self) -> Option<(ClockReading, Millis)> {
        self.flipped.filter(|(_, at)| self.ticked && *at == self.heard_at)
    }

    /// Takes in a frame. [`Self::poll`] then gives what it signals.
    pub fn heard(&mut self, now: Millis, reading: ClockReading) {
        let Some(last) = self.now else {
            self.now = Some(reading);
            self.heard_at = now;
            if reading.running {
                // The lever may just have gone over: an older frame may be on its way.
                self.flipped = Some((reading, now));
                self.signals.push_back((now, ClockSignal::Started(reading.lever)));
            }
            return;
        };
        let just_turned = self.turned_at.is_some_and(|at| now.since(at) < OVERTAKEN_MS);
        if just_turned && !reading.running && !last.running && reading.lever != last.lever {
            // The frame is older than the turn of the lever: nothing else tells the two apart while no time runs.
            return;
        }
        // A frame from before the stop has the lever as it was then.
        let has_turned_since = self.turned_at >= self.stopped_at;
        let just_stopped = self
            .stopped_at
            .is_some_and(|at| now.since(at) < RESTART_MS && !has_turned_since);
        if reading.running && !last.running && just_stopped && reading.lever == last.lever {
            // Nobody starts a clock again so soon: the frame is older than the stop.
            return;
        }
        let at_once = self.flipped.is_some_and(|(_, at)| now.since(at) < OVERTAKEN_MS);
        if at_once && self.doubted.is_some_and(|doubted| doubted.reading == reading) {
            // Two old frames may have been under way: the second proves no more than the first.
            return;
        }
        if let Some(doubted) = self.doubted.take() {
            if doubted.tells_no_more(&reading) {
                self.doubted = Some(doubted);
                return;
            }
            if self.was_press(&last, &doubted, &reading) {
                self.believe(doubted.at, doubted.reading);
            }
        }
        let doubt = match self.age_of(now, &reading) {
            _ if self.was_misread(now, &reading) => None,
            Age::Old => return,
            _ if self.is_odd(now, &reading) => Some(Doubt::Odd),
            Age::Doubtful => Some(Doubt::Old),
            Age::New => self.gave_nothing(now, &reading).then_some(Doubt::GaveNothing),
        };
        match doubt {
            Some(why) => {
                self.doubted = Some(Doubted {
                    reading,
                    at: now,
                    why,
                });
            }
            None => self.believe(now, reading),
        }
    }

    /// Time passes: a doubtful frame that was not refuted is believed.
    pub fn tick(&mut self, now: Millis) {
        if let Some(Doubted { reading, at, .. }) = self.doubted.filter(|doubted| doubted.why != Doubt::Odd)
            && now.since(at) >= DOUBT_MS
        {
            self.doubted = None;
            self.believe(at, reading);
        }
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        let waits = self.doubted.filter(|doubted| doubted.why != Doubt::Odd);
        waits.map(|doubted| doubted.at + DOUBT_MS)
    }

    /// The next signal with its time.
    pub fn poll(&mut self) -> Option<(Millis, ClockSignal)> {
        self.signals.pop_front()
    }

    /// Whether a frame in which the lever has gone back soon after a press is older than that press. An older
    /// frame has the times from before the press: the player's without what the press added, and the
    /// opponent's as it stood then.
    fn age_of(&self, now: Millis, reading: &ClockReading) -> Age {
        let (Some(last), Some((flip, at))) = (&self.now, &self.flipped) else {
            return Age::New;
        };
        if now.since(*at) >= STALE_MS {
            return Age::New;
        }
        if !reading.running || !last.running || reading.lever == last.lever {
            return Age::New;
        }
        let (presser, opponent) = (flip.lever.pressed(), flip.lever.pressed().other());
        let seconds = |of: &ClockReading, side| of.time(side).seconds;
        let (then, shown) = (seconds(flip, opponent), seconds(reading, opponent));
        if shown > then + 1 {
            // The opponent has got time for a press since.
            Age::New
        } else if seconds(reading, presser) < seconds(last, presser) {
            // The time of a player who has pressed does not run. An older frame shows less only where the press gave him time: if
            // not, the lever has gone back.
            if self.gained || self.gives || self.may_have_given {
                Age::Old
            } else {
                Age::New
            }
        } else if self.gained || shown < then || now.since(*at) >= DELAYED_MS {
            Age::New
        } else {
            Age::Doubtful
        }
    }

    /// True when `reading`, which came at `now`, shows that the clock was turned round while it ran.
    #[must_use]
    pub fn turns_round(&self, now: Millis, reading: &ClockReading) -> bool {
        self.now
            .is_some_and(|last| is_turned_round(&last, reading, now.since(self.heard_at)))
    }

    /// Whether a frame tells of a press and of more time that has passed than has.
    fn is_odd(&self, now: Millis, reading: &ClockReading) -> bool {
        let Some(last) = self.now.filter(|last| last.running) else {
            return false;
        };
        let most = FALL_S + now.since(self.heard_at).div_ceil(1000);
        let fell = |side| last.time(side).seconds.saturating_sub(reading.time(side).seconds);
        reading.lever != last.lever
            && [ClockSide::Left, ClockSide::Right]
                .into_iter()
                .any(|side| u64::from(fell(side)) > most)
    }

    /// True where `reading`, which came at `now`, shows that the lever did not go over with the last press: it is where it was, and
    /// meanwhile the time of that player ran, and that of the other did not.
    fn was_misread(&self, now: Millis, reading: &ClockReading) -> bool {
        let Some((flip, at)) = self.last_ticked() else {
            return false;
        };
        let (presser, opponent) = (flip.lever.pressed(), flip.lever.pressed().other());
        let seconds = |of: &ClockReading, side| of.time(side).seconds;
        let ran = reading.running && seconds(reading, presser) < seconds(&flip, presser);
        let stood = seconds(reading, opponent) == seconds(&flip, opponent);
        reading.lever != flip.lever && ran && stood && (NEXT_FRAME_MS..=MISREAD_MS).contains(&now.since(at))
    }

    /// True where the lever goes over and the press gives no time, though each before it did.
    fn gave_nothing(&self, now: Millis, reading: &ClockReading) -> bool {
        let Some(last) = self.now.filter(|last| last.running && reading.running) else {
            return false;
        };
        let is_press = reading.lever != last.lever && !self.turns_round(now, reading);
        is_press && self.gives && given(&last, reading, now.since(self.heard_at)) <= 0
    }

    /// Whether the doubted frame told of a press after all, now that the next frame is there. If the lever
    /// never went back, the opponent's time has run on, which the doubted frame denies. What no clock does,
    /// the next frame must show as well.
    fn was_press(&self, last: &ClockReading, doubted: &Doubted, next: &ClockReading) -> bool {
        let Doubted { reading, at, why } = doubted;
        match why {
            Doubt::Odd => {
                let shows = |side| next.time(side).seconds <= reading.time(side).seconds;
                return next.lever == reading.lever && shows(ClockSide::Left) && shows(ClockSide::Right);
            }
            // If the time of the player runs on who seems to have pressed, nobody pressed.
            Doubt::GaveNothing => {
                let presser = reading.lever.pressed();
                return next.time(presser).seconds >= reading.time(presser).seconds;
            }
            Doubt::Old => {}
        }
        let opponent = last.lever.pressed().other();
        let soon = self
            .flipped
            .is_some_and(|(_, flip)| at.since(flip) < OVERTAKEN_MS);
        let ran = next.time(opponent).seconds < reading.time(opponent).seconds;
        next.lever != last.lever || !soon && !ran
    }

    fn believe(&mut self, at: Millis, reading: ClockReading) {
        let is_misread = self.was_misread(at, &reading);
        let last = self.now.replace(reading);
        let elapsed = at.since(self.heard_at);
        self.heard_at = at;
        let Some(last) = last else { return };
        match (last.running, reading.running) {
            (false, true) => self.signals.push_back((at, ClockSignal::Started(reading.lever))),
            (true, false) => {
                if reading.lever != last.lever {
                    self.signals.push_back((at, ClockSignal::Pressed(reading.lever)));
                }
                self.stopped_at = Some(at);
                self.signals.push_back((at, ClockSignal::Stopped));
            }
            (true, true) if is_turned_round(&last, &reading, elapsed) => {
                self.flipped = None;
                self.signals.push_back((at, ClockSignal::TurnedRound));
            }
            (true, true) if is_misread => {
                self.flipped = None;
                self.signals.push_back((at, ClockSignal::Misread(last.lever)));
            }
            (true, true) if reading.lever != last.lever => {
                let presser = reading.lever.pressed();
                self.ticked = reading.time(presser).seconds < last.time(presser).seconds;
                self.gained = reading.time(presser).seconds > last.time(presser).seconds;
                self.may_have_given = given(&last, &reading, elapsed) > 0;
                self.gives = match (given(&last, &reading, 0), given(&last, &reading, elapsed)) {
                    (GIVES_S.., _) => true,
                    (_, 1..) => self.gives,
                    _ => false,
                };
                self.flipped = Some((reading, at));
                self.signals.push_back((at, ClockSignal::Pressed(reading.lever)));
            }
            (false, false) if reading.lever != last.lever => {
                self.turned_at = Some(at);
                self.signals.push_back((at, ClockSignal::Turned(reading.lever)));
            }
            _ => {}
        }
    }
}

impl Doubted {
    /// True where `next` shows the same, and a press that gave nothing is neither confirmed nor refuted.
    fn tells_no_more(&self, next: &ClockReading) -> bool {
        self.why == Doubt::GaveNothing && *next == self.reading
    }
}

/// How many seconds the press between `last` and `reading`, `elapsed` ms later, gave its player at least, as far as whole seconds tell.
fn given(last: &ClockReading, reading: &ClockReading, elapsed: u64) -> i64 {
    let presser = reading.lever.pressed();
    let seconds = |of: &ClockReading| i64::from(of.time(presser).seconds);
    let passed = i64::try_from(elapsed / 1000).unwrap_or(i64::MAX);
    seconds(reading) - (seconds(last) - passed).max(0)
}

/// True when both times have changed sides from `last` to `reading`, `elapsed` ms later: the one that stood still stands, and the one
/// that ran has run on. Where a press explains them as well, it was a press.
fn is_turned_round(last: &ClockReading, reading: &ClockReading, elapsed: u64) -> bool {
    if !last.running || !reading.running || last.lever == reading.lever {
        return false;
    }
    let (ran, runs) = (last.lever.to_move(), reading.lever.to_move());
    let seconds = |of: &ClockReading, side| u64::from(of.time(side).seconds);
    let (before, stood) = (seconds(last, ran), seconds(last, ran.other()));
    let has_run_on = |from: u64| {
        let most = elapsed / 1000 + 1;
        (from.saturating_sub(most)..=from).contains(&seconds(reading, runs))
    };
    has_run_on(before) && seconds(reading, runs.other()) == stood && !has_run_on(stood)
}

#[cfg(test)]
mod tests;

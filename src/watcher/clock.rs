//! The clock of a board in the players' terms: which side belongs to whom, and whose time runs.

mod first_times;
mod missed;
mod presses;

use shakmaty::Color;

pub(in crate::watcher) use missed::{LastShown, MissedPresses};
pub(in crate::watcher) use presses::Presses;

use super::ClockSideSetting;
use crate::{
    board::{ClockSignal, LeverWatch, Line},
    dgt::{ClockReading, ClockSide},
    event::ClockState,
    time::Millis,
};

/// The watcher exchanges the sides of the clock when presses that do not fit add up to this.
const EXCHANGED: u32 = 9;

/// If the time that stood before a gap has run for no more seconds than these, the press in the gap was the only one.
const ONE_PRESS_S: u32 = 5;

/// How well a press fits the player who moved last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Good,
    /// The opponent moved last, but may have replied before the press.
    Doubtful,
    Bad,
}

impl Fit {
    /// How well a press of `side` at `at` fits `line`; none unless the last half-move of `line` waits for its
    /// press and nothing differs from `line`.
    pub(super) fn of(line: &Line, side: Color, at: Millis) -> Option<Self> {
        let last = line.plies.last()?;
        let whole = last.pressed.is_none() && line.differing().is_empty();
        let fit = if line.turn() != side {
            Self::Good
        } else if line.is_owed_before_last(at) {
            Self::Doubtful
        } else {
            Self::Bad
        };
        whole.then_some(fit)
    }
}

/// The clock, with its sides assigned to players.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    watch: LeverWatch,
    /// Whether a clock is attached; none before the board has told.
    pub(super) attached: Option<bool>,
    white: Option<ClockSide>,
    fixed: bool,
    /// White's side follows from when half-moves were made and the clock was started, and nobody heard both. No press has
    /// borne it out.
    guessed: bool,
    /// Since when the clock has been stopped, while it is.
    pub(super) stopped_at: Option<Millis>,
    /// Since when it had stood when it was last started. None if nobody heard that.
    pub(super) stood_from: Option<Millis>,
    /// When it was last started.
    pub(super) started_at: Millis,
    /// From when to when it stood the last times, the latest first.
    stood_in: [(Millis, Millis); 2],
    /// Until when nobody heard last whether it ran: the board kept presses for whoever would ask, and no more.
    unheard_until: Option<Millis>,
    /// It ran already when its first frame came, so that nobody heard when it was started.
    found_running: bool,
    /// Whose time is taken to run when it is heard next, while White's side is not known.
    runs_for: Option<Color>,
    /// White's side follows from that alone: the first press that does not fit exchanges the sides.
    is_taken: bool,
    /// What the presses in a row that did not fit add up to.
    misfits: u32,
    /// The increment that the last press of each side gave, in milliseconds: left, right.
    gains: [u64; 2],
    /// The last presses, unless some may have been missed.
    presses: Option<Presses>,
    /// The time that the last press got.
    pressed_at: Millis,
    /// What it showed before a gap after which it has shown nothing yet.
    shown: Option<LastShown>,
    /// How many presses came in the last gap, where the times tell.
    missed: Option<MissedPresses>,
    /// How many were heard since.
    heard_presses: usize,
    /// When the last frame came; none where another program heard it.
    heard_at: Option<Millis>,
    /// The same in milliseconds by the wall clock.
    heard_ms: Option<i64>,
}

/// What the clock did, in the players' terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockEvent {
    Started,
    Stopped,
    /// The player whose time ran pressed.
    Pressed(Color),
    /// What seemed the player's last press was none.
    Misread(Color),
    /// The player turned the lever of a clock that stands.
    Turned(Color),
}

impl Clock {
    pub(super) fn new(setting: ClockSideSetting) -> Self {
        let white = match setting {
            ClockSideSetting::Auto => None,
            ClockSideSetting::WhiteLeft => Some(ClockSide::Left),
            ClockSideSetting::WhiteRight => Some(ClockSide::Right),
        };
        Self {
            white,
            fixed: white.is_some(),
            ..Self::default()
        }
    }

    /// Takes a frame that came at `now`; `at_ms` is the wall clock's time then, where it is known.
    pub(super) fn heard(&mut self, now: Millis, reading: ClockReading, at_ms: Option<i64>) {
        self.attached = Some(true);
        if let Some(last) = self.watch.reading().filter(|last| {
            last.lever != reading.lever && last.running && !self.watch.turns_round(now, &reading)
        }) {
            let side = reading.lever.pressed();
            let gain = reading.time(side).seconds.saturating_sub(last.time(side).seconds);
            self.gains[side as usize] = u64::from(gain) * 1000;
            self.heard_presses += 1;
            let presses = self.presses.get_or_insert(Presses {
                last: side,
                times: [None; 2],
            });
            presses.last = side;
            presses.times[side as usize] = Some((last.time(side).seconds, reading.time(side).seconds));
        }
        if let Some(presses) = self
            .presses
            .as_mut()
            .filter(|presses| presses.last == reading.lever.pressed())
            && let Some((_, after)) = &mut presses.times[presses.last as usize]
        {
            *after = reading.time(presses.last).seconds;
        }
        if self.watch.reading().is_none() {
            self.found_running = reading.running;
            self.missed = self.shown.map(|shown| shown.missed(&reading, now, at_ms));
            self.heard_presses = 0;
            let stood = self.shown.filter(|shown| shown.has_stood_until(&reading));
            let stood_from = stood.and_then(|shown| shown.stopped_at);
            let stands_from = (!reading.running).then_some(now);
            self.stopped_at = stood_from.or(stands_from).or(self.stopped_at);
        }
        (self.heard_at, self.heard_ms) = (Some(now), at_ms);
        self.watch.heard(now, reading);
        if let Some(side) = self.runs_for {
            self.runs_for(side);
        }
    }

    /// The time of `side` is taken to run, now or when the clock is heard next, unless White's side is known. Two presses have to bear it
    /// out.
    pub(super) fn runs_for(&mut self, side: Color) {
        self.runs_for = self.white.is_none().then_some(side);
        if let Some((side, counting)) = self.runs_for.zip(self.counting()) {
            (self.runs_for, self.is_taken) = (None, true);
            self.guess_late(if side == Color::White {
                counting
            } else {
                counting.other()
            });
        }
    }

    pub(super) fn gone(&mut self) {
        self.attached = Some(false);
        self.watch.forget();
        self.presses = None;
        self.stopped_at = None;
        self.shown = None;
        self.missed = None;
    }

    /// Frames may have been missed, so the next one is not compared with the last.
    pub(super) fn gap(&mut self) {
        self.shown = self.shown();
        self.missed = None;
        self.watch.forget();
        self.presses = None;
        self.stopped_at = None;
    }

    /// What to compare with the first frame after a gap that begins now.
    pub(super) fn shown(&self) -> Option<LastShown> {
        // What was missed before is not told yet.
        if self.shown.is_some() {
            return self.shown;
        }
        let reading = self.watch.reading()?;
        let side = reading.lever.to_move();
        let heard = self
            .gains
            .map(|gain| u32::try_from(gain / 1000).unwrap_or_default());
        Some(LastShown {
            left: side == ClockSide::Left,
            stood_s: reading.time(side.other()).seconds,
            ran_s: reading.time(side).seconds,
            gains_s: self.presses.map_or(heard, |presses| presses.add(heard)),
            at: self.heard_at,
            at_ms: self.heard_ms,
            stopped: !reading.running,
            stopped_at: self.stopped_at,
            started_at: self.started_at,
            stood_in: self.stood_in,
            unheard_until: self.unheard_until,
        })
    }

    /// Goes on after a gap that began at `now`, before which the clock showed this.
    pub(super) fn go_on(&mut self, shown: Option<LastShown>, now: Millis) {
        self.shown = shown;
        self.gains = shown.map_or([0; 2], |shown| shown.gains_s.map(|gain| u64::from(gain) * 1000));
        self.started_at = shown.map_or(self.started_at, |shown| shown.started_at.min(now));
        self.stood_in = shown.map_or(self.stood_in, |shown| shown.stood_in);
        self.unheard_until = shown.map_or(self.unheard_until, |shown| shown.unheard_until);
    }

    /// When it was heard last, before a gap, by the wall clock.
    pub(super) fn heard_at_ms(&self) -> Option<i64> {
        self.shown?.at_ms
    }

    /// True where somebody had stopped it before a gap after which nobody has taken in what it shows.
    pub(super) fn stood(&self) -> bool {
        self.shown.is_some_and(|shown| shown.stopped)
    }

    /// What comes next is all that the clock did since the gap began. If it stood then, nobody may have logged that it was started.
    pub(super) fn miss_nothing(&mut self) {
        if let Some((shown, ran)) = self.shown.and_then(|shown| Some((shown, shown.running()?))) {
            self.shown = None;
            (self.heard_at, self.heard_ms) = (shown.at, shown.at_ms);
            self.watch.go_on(ran);
            self.found_running = true;
        }
    }

    /// The player who pressed in the last gap. None where nobody did, or both, or where White's side is not known, or the
    /// clock is silent. Told once.
    pub(super) fn take_missed_press(&mut self) -> Option<Color> {
        let side = self.take_missed()?.once?;
        self.white?;
        Some(self.player(side))
    }

    /// What came in the last gap before which it ran, once it has shown something since. Told once.
    pub(super) fn take_missed(&mut self) -> Option<MissedPresses> {
        self.reading()?;
        let ran = self.shown.take().is_some_and(|shown| !shown.stopped);
        self.missed.filter(|_| ran)
    }

    /// How many presses came in the last gap and since. None where the times do not tell, or the clock is silent since.
    pub(super) fn presses_since_gap(&self) -> Option<usize> {
        Some(self.missed?.count? + self.heard_presses)
    }

    /// True where the times show that it ran through the last gap, after which it has shown nothing but that yet.
    fn has_run_on(&self) -> bool {
        self.shown.is_some() && self.missed.is_some_and(|missed| missed.count.is_some())
    }

    /// True where it stood at `when`, and was started again by `until`.
    pub(super) fn stood_at(&self, when: Millis, until: Millis) -> bool {
        let stood = |(from, to): &(Millis, Millis)| *from < when && when < *to && *to <= until;
        self.stood_in.iter().any(stood)
    }

    /// Nobody heard whether it ran before `until`.
    pub(super) fn was_unheard(&mut self, until: Millis) {
        self.unheard_until = Some(until);
    }

    /// True where it was started again after `from`, and by `until`, or may have been.
    pub(super) fn started_between(&self, from: Millis, until: Millis) -> bool {
        let mut ends = self.stood_in.iter().map(|(_, to)| *to).chain(self.unheard_until);
        ends.any(|to| from < to && to <= until)
    }

    /// Since when it had stood when it was started again, while nobody has pressed since.
    pub(super) fn unpressed_since(&self) -> Option<Millis> {
        let is_unpressed = self.runs() && self.pressed_at < self.started_at;
        self.stood_from.filter(|_| is_unpressed)
    }

    pub(super) fn tick(&mut self, now: Millis) {
        self.watch.tick(now);
    }

    pub(super) fn deadline(&self) -> Option<Millis> {
        self.watch.deadline()
    }

    /// The next thing that the clock did.
    pub(super) fn poll(&mut self) -> Option<(Millis, ClockEvent)> {
        let (at, signal) = self.watch.poll()?;
        let event = match signal {
            ClockSignal::Started(_) => {
                self.stood_from = self.stopped_at.take();
                if let Some(from) = self.stood_from {
                    self.stood_in = [(from, at), self.stood_in[0]];
                }
                if !self.has_run_on() {
                    self.started_at = at;
                }
                ClockEvent::Started
            }
            ClockSignal::Stopped => {
                // Whoever starts it again is heard.
                self.found_running = false;
                self.stopped_at = Some(at);
                ClockEvent::Stopped
            }
            ClockSignal::TurnedRound => {
                self.white = self.white.map(ClockSide::other);
                self.gains.reverse();
                self.presses = None;
                return self.poll();
            }
            ClockSignal::Misread(lever) => {
                return Some((self.pressed_at, ClockEvent::Misread(self.player(lever.pressed()))));
            }
            ClockSignal::Turned(lever) => ClockEvent::Turned(self.player(lever.pressed())),
            ClockSignal::Pressed(lever) => {
                // Presses are told apart by their times, even those of one instant.
                self.pressed_at = at.max(self.pressed_at + 1);
                return Some((self.pressed_at, ClockEvent::Pressed(self.player(lever.pressed()))));
            }
        };
        Some((at, event))
    }

    /// True while the next frame may show that the press at `pressed` was none ([`LeverWatch::may_be_misread`]).
    pub(super) fn may_be_misread(&self, now: Millis, pressed: Millis) -> bool {
        self.watch.may_be_misread(now, pressed)
    }

    pub(super) fn reading(&self) -> Option<&ClockReading> {
        self.watch.reading().filter(|_| self.attached == Some(true))
    }

    /// True when there may be a clock that has sent no frame since the board was last read.
    pub(super) fn is_silent(&self) -> bool {
        self.attached != Some(false) && self.watch.reading().is_none()
    }

    /// True while some time runs.
    pub(super) fn runs(&self) -> bool {
        self.reading().is_some_and(|r| r.running)
    }

    /// The side whose time runs.
    pub(super) fn counting(&self) -> Option<ClockSide> {
        self.reading().and_then(ClockReading::counting)
    }

    /// The player whose time runs.
    pub(super) fn running(&self) -> Option<Color> {
        self.counting().map(|side| self.player(side))
    }

    /// The last presses, unless some may have been missed.
    pub(super) fn presses(&self) -> Option<Presses> {
        self.presses
    }

    /// Whether both sides have been pressed since `presses`, and the same time runs; none while the clock is silent.
    pub(super) fn has_gone_on(&self, presses: Presses) -> Option<bool> {
        Some(presses.are_past(self.reading()?))
    }

    /// True if nobody heard when the clock was started.
    pub(super) fn was_found_running(&self) -> bool {
        self.found_running
    }

    /// White's side, found or configured.
    pub(super) fn white_side(&self) -> Option<ClockSide> {
        self.white
    }

    /// True where the configuration says which side is White's.
    pub(super) fn is_configured(&self) -> bool {
        self.fixed
    }

    /// Sets White's side, unless it is configured.
    pub(super) fn found(&mut self, white: ClockSide) {
        if !self.fixed {
            self.white = Some(white);
            self.misfits = 0;
            self.guessed = false;
        }
    }

    /// Sets White's side, unless it is configured. A press has to bear it out.
    pub(super) fn guess(&mut self, white: ClockSide) {
        self.found(white);
        self.guessed = !self.fixed;
    }

    /// The same of a game that nobody saw begin. The first press may be that of an earlier half-move, so two have to bear it out.
    pub(super) fn guess_late(&mut self, white: ClockSide) {
        self.guess(white);
        self.misfits = 1;
    }

    /// True while White's side may be the other one.
    pub(super) fn is_guessed(&self) -> bool {
        self.guessed || self.runs_for.is_some()
    }

    /// Whose time is taken to run when it is heard next, while White's side is not known.
    pub(super) fn is_to_run_for(&self) -> Option<Color> {
        self.runs_for
    }

    /// Notes how well a press fits the player who moved, and exchanges the sides of the clock after three
    /// presses in a row that do not. A press for a half-move with an early reply counts a third. Returns true
    /// when it exchanged the sides.
    pub(super) fn fits(&mut self, fit: Fit) -> bool {
        if std::mem::take(&mut self.is_taken) && fit == Fit::Bad {
            self.guess_late(self.side_of(Color::Black));
            return true;
        }
        // One that fits may be chance where those before it did not.
        let is_borne_out = fit == Fit::Good && self.misfits == 0;
        self.misfits = match fit {
            Fit::Good if self.guessed => self.misfits.saturating_sub(1),
            Fit::Good => 0,
            Fit::Doubtful => self.misfits + 1,
            Fit::Bad => self.misfits + EXCHANGED / 3,
        };
        self.guessed &= !is_borne_out;
        if self.misfits < EXCHANGED || self.fixed {
            return false;
        }
        self.misfits = 0;
        self.guessed = false;
        self.white = self.white.map(ClockSide::other);
        true
    }

    fn player(&self, side: ClockSide) -> Color {
        let white = self.white.unwrap_or(ClockSide::Left);
        if side == white { Color::White } else { Color::Black }
    }

    /// The players whose flag is down.
    pub(super) fn flags(&self) -> impl Iterator<Item = Color> + '_ {
        let reading = self.reading();
        [ClockSide::Left, ClockSide::Right]
            .into_iter()
            .filter(move |side| reading.is_some_and(|r| r.time(*side).flag))
            .map(|side| self.player(side))
    }

    /// The increment that the last press of `player` gave, in milliseconds.
    pub(super) fn gained(&self, player: Color) -> u64 {
        self.gains[self.side_of(player) as usize]
    }

    /// The side of `player`. Before White's side is known, it is taken to be the left one.
    pub(super) fn side_of(&self, player: Color) -> ClockSide {
        let white = self.white.unwrap_or(ClockSide::Left);
        player.fold_wb(white, white.other())
    }

    /// Both times and the running side.
    pub(super) fn state(&self) -> Option<ClockState> {
        let reading = self.reading()?;
        let white = self.white.unwrap_or(ClockSide::Left);
        let ms = |side| u64::from(reading.time(side).seconds) * 1000;
        Some(ClockState {
            white_ms: ms(white),
            black_ms: ms(white.other()),
            running: self.running().map(Into::into),
        })
    }
}

#[cfg(test)]
mod tests;

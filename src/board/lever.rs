//! What the clock's frames say: started, stopped, pressed, flag. Frames come once a second and
//! at each press; a frame with the state before a press may arrive after it and must not count
//! as two more presses (protocol section 4.3).

use std::collections::VecDeque;

use crate::{
    dgt::{ClockReading, Lever},
    time::Millis,
};

/// Something the clock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSignal {
    /// It was started; the time of the lever's side runs.
    Started(Lever),
    /// It was stopped.
    Stopped,
    /// The lever went over while it ran: the time of this side's opponent was running, now this
    /// lever's runs.
    Pressed(Lever),
}

/// A frame from before a press may come this long after it.
const STALE_MS: u64 = 1500;
/// A clock that was stopped is not started again within this time.
const RESTART_MS: u64 = 700;
/// A doubt that no frame has settled is dropped after this time: frames come once a second.
const DOUBT_MS: u64 = 1300;

/// Follows the frames of one clock.
#[derive(Clone, Debug, Default)]
pub struct LeverWatch {
    now: Option<ClockReading>,
    /// When the lever last went over.
    flipped_at: Option<Millis>,
    /// When the clock was last stopped.
    stopped_at: Option<Millis>,
    /// That press gave its player time: an older frame would show less.
    gained: bool,
    doubted: Option<(ClockReading, Millis)>,
    signals: VecDeque<(Millis, ClockSignal)>,
}

impl LeverWatch {
    /// The reading that is believed.
    #[must_use]
    pub fn reading(&self) -> Option<&ClockReading> {
        self.now.as_ref()
    }

    /// The clock is gone, or its frames were missed for a while: the next one is taken as it is.
    pub fn forget(&mut self) {
        *self = Self {
            now: None,
            ..Self::default()
        };
    }

    /// A frame. Signals are then taken with [`Self::poll`].
    pub fn heard(&mut self, now: Millis, reading: ClockReading) {
        let Some(last) = self.now else {
            self.now = Some(reading);
            if reading.running {
                self.signals.push_back((now, ClockSignal::Started(reading.lever)));
            }
            return;
        };
        let just_stopped = self.stopped_at.is_some_and(|at| now.since(at) < RESTART_MS);
        if reading.running && !last.running && just_stopped && reading.lever == last.lever {
            // Nobody starts a clock again so soon: the frame is older than the stop.
            return;
        }
        if let Some((doubted, at)) = self.doubted {
            if reading.lever == last.lever {
                // The doubted frame was a stale one: the lever never went back.
                self.doubted = None;
            } else {
                self.believe(at, doubted);
                self.doubted = None;
            }
        } else if self.goes_back(now, &last, &reading) {
            let presser = last.lever.pressed();
            if reading.time(presser).seconds < last.time(presser).seconds {
                // The time of a player who has pressed does not run: the frame is older than the press.
                return;
            }
            if !self.gained {
                self.doubted = Some((reading, now));
                return;
            }
        }
        self.believe(now, reading);
    }

    /// Time passes: a doubt that was not refuted is believed.
    pub fn tick(&mut self, now: Millis) {
        if let Some((doubted, at)) = self.doubted
            && now.since(at) >= DOUBT_MS
        {
            self.doubted = None;
            self.believe(at, doubted);
        }
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.doubted.map(|(_, at)| at + DOUBT_MS)
    }

    /// The next signal with its time.
    pub fn poll(&mut self) -> Option<(Millis, ClockSignal)> {
        self.signals.pop_front()
    }

    /// The lever seems to have gone back soon after a press.
    fn goes_back(&self, now: Millis, last: &ClockReading, reading: &ClockReading) -> bool {
        reading.running
            && last.running
            && reading.lever != last.lever
            && self.flipped_at.is_some_and(|at| now.since(at) < STALE_MS)
    }

    fn believe(&mut self, at: Millis, reading: ClockReading) {
        let last = self.now.replace(reading);
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
            (true, true) if reading.lever != last.lever => {
                let presser = reading.lever.pressed();
                self.gained = reading.time(presser).seconds > last.time(presser).seconds;
                self.flipped_at = Some(at);
                self.signals.push_back((at, ClockSignal::Pressed(reading.lever)));
            }
            _ => {}
        }
    }
}

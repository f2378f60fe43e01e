//! The last presses, as the times that the clock showed tell them.

use crate::dgt::{ClockReading, ClockSide};

/// The last presses of both sides, by the times that the clock showed for the pressed side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::watcher) struct Presses {
    /// The side that was pressed last.
    pub(in crate::watcher) last: ClockSide,
    /// For each side, the left one first: the seconds that it showed last before its press, and those that it
    /// showed after it, while it stood. The board logs one of the two.
    pub(in crate::watcher) times: [Option<(u32, u32)>; 2],
}

impl Presses {
    /// True when a board's log may end with these presses: `last` is the side that was pressed last, and
    /// `stopped` has the seconds at which each side stopped.
    pub(in crate::watcher) fn may_be(&self, last: ClockSide, stopped: [Option<u32>; 2]) -> bool {
        let is_it = |(before, after): (u32, u32), seconds: u32| {
            // The side may have run on for a second after the last frame.
            seconds == after || seconds == before || seconds + 1 == before
        };
        let mut sides = self.times.iter().zip(stopped);
        last == self.last
            && sides.all(|(heard, logged)| match heard {
                Some(heard) => logged.is_some_and(|logged| is_it(*heard, logged)),
                None => true,
            })
    }

    /// What a press of each side adds, in seconds, the left one first, where so much was `heard`: a side that has not pressed yet is taken
    /// to get what the other got.
    pub(super) fn add(&self, heard: [u32; 2]) -> [u32; 2] {
        match (self.times, heard) {
            ([Some(_), None], [gain, 0]) | ([None, Some(_)], [0, gain]) => [gain; 2],
            _ => heard,
        }
    }

    /// True when the same time runs as after these presses, and both sides were pressed since.
    pub(super) fn are_past(&self, reading: &ClockReading) -> bool {
        let same_runs = reading.counting() == Some(self.last.other());
        let was = |side: ClockSide| self.times[side as usize].map(|(_, after)| after);
        let shown = |side| reading.time(side).seconds;
        let (rests, runs) = (self.last, self.last.other());
        // A time that stands stays as it is; a time that runs decreases.
        same_runs && (was(rests) != Some(shown(rests)) || was(runs).is_some_and(|was| shown(runs) > was))
    }
}

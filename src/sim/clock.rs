//! The clock on the table: two times, a lever, a start-stop button. It is pure: time is an argument.

use crate::{
    dgt::{ClockReading, ClockSide, ClockTime, Lever},
    time::Millis,
};

/// A clock with a time and an increment for each move.
#[derive(Clone, Debug)]
pub struct SimulatedClock {
    left: Side,
    right: Side,
    increment_ms: u64,
    /// What a side gets for the next period when its time has run out, once.
    next_period_ms: u64,
    lever: Lever,
    running: bool,
    /// The moment of which `left` and `right` tell.
    as_of: Millis,
}

#[derive(Clone, Copy, Debug)]
struct Side {
    ms: u64,
    flag: bool,
    /// The time of the next period has been added.
    added: bool,
}

impl SimulatedClock {
    /// A stopped clock with the same time on both sides and the left side to move.
    #[must_use]
    pub fn new(each_ms: u64, increment_ms: u64) -> Self {
        let side = Side {
            ms: each_ms,
            flag: false,
            added: false,
        };
        Self {
            left: side,
            right: side,
            increment_ms,
            next_period_ms: 0,
            lever: Lever::LeftHigh,
            running: false,
            as_of: Millis(0),
        }
    }

    /// This clock with a second period: a side gets `ms` more when its time has run out.
    #[must_use]
    pub fn then(mut self, ms: u64) -> Self {
        self.next_period_ms = ms;
        self
    }

    /// The side whose time runs or would run.
    #[must_use]
    pub fn to_move(&self) -> ClockSide {
        self.lever.to_move()
    }

    /// When the display changes next if nobody touches the clock.
    #[must_use]
    pub fn next_tick(&self) -> Option<Millis> {
        let ms = self.side(self.to_move()).ms;
        let until = if ms.is_multiple_of(1000) { 1000 } else { ms % 1000 };
        self.running.then(|| self.as_of + until)
    }

    /// Lets the time run until `now`.
    pub fn advance(&mut self, now: Millis) {
        let gone = now.since(self.as_of);
        self.as_of = self.as_of.max(now);
        if !self.running {
            return;
        }
        let next = self.next_period_ms;
        let side = self.side_mut(self.to_move());
        side.ms = side.ms.saturating_sub(gone);
        if side.ms > 0 {
            return;
        }
        side.flag = true;
        if next > 0 && !std::mem::replace(&mut side.added, true) {
            side.ms = next;
        } else {
            // The clock freezes when a flag falls.
            self.running = false;
        }
    }

    /// `side` pushes the lever. This has no effect if the lever is down on that side already.
    pub fn press(&mut self, now: Millis, side: ClockSide) {
        self.advance(now);
        if self.to_move() != side {
            return;
        }
        self.lever = Lever::after_press(side);
        let increment = self.increment_ms;
        if self.running {
            self.side_mut(side).ms += increment;
        }
    }

    /// The start-stop button.
    pub fn stop(&mut self, now: Millis) {
        self.advance(now);
        self.running = false;
    }

    /// The arbiter sets the lever and adds to the times, then starts.
    pub fn set_and_start(&mut self, now: Millis, to_move: ClockSide, add_left_ms: u64, add_right_ms: u64) {
        self.advance(now);
        for (side, added) in [(&mut self.left, add_left_ms), (&mut self.right, add_right_ms)] {
            side.ms += added;
            side.flag &= side.ms == 0;
        }
        self.lever = Lever::after_press(to_move.other());
        self.running = true;
    }

    /// What the clock tells the board.
    #[must_use]
    pub fn reading(&self) -> ClockReading {
        let shown = |side: Side| ClockTime {
            // The last second shows as one until it is over.
            seconds: u32::try_from(side.ms.div_ceil(1000))
                .unwrap_or(u32::MAX)
                .min(ClockTime::MAX_SECONDS),
            flag: side.flag,
            increment: self.increment_ms > 0,
            flag_shown: false,
        };
        ClockReading {
            left: shown(self.left),
            right: shown(self.right),
            running: self.running,
            lever: self.lever,
            battery_low: false,
        }
    }

    fn side(&self, side: ClockSide) -> Side {
        match side {
            ClockSide::Left => self.left,
            ClockSide::Right => self.right,
        }
    }

    fn side_mut(&mut self, side: ClockSide) -> &mut Side {
        match side {
            ClockSide::Left => &mut self.left,
            ClockSide::Right => &mut self.right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_raised_side_runs_and_a_press_adds_the_increment() {
        let mut clock = SimulatedClock::new(60_000, 2000);
        clock.set_and_start(Millis(0), ClockSide::Left, 0, 0);
        clock.press(Millis(5500), ClockSide::Right); // already down
        assert_eq!(clock.reading().left.seconds, 55);
        clock.press(Millis(5500), ClockSide::Left);
        clock.advance(Millis(7500));
        let reading = clock.reading();
        assert_eq!((reading.left.seconds, reading.right.seconds), (57, 58));
        assert_eq!(reading.counting(), Some(ClockSide::Right));
    }

    #[test]
    fn the_flag_falls_and_the_clock_freezes() {
        let mut clock = SimulatedClock::new(1500, 0);
        clock.set_and_start(Millis(0), ClockSide::Left, 0, 0);
        assert_eq!(clock.next_tick(), Some(Millis(500)));
        clock.advance(Millis(500));
        assert_eq!(clock.next_tick(), Some(Millis(1500)));
        clock.advance(Millis(9000));
        assert!(clock.reading().left.flag);
        assert_eq!(clock.next_tick(), None);
    }
}

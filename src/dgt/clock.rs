//! The clock's frame: two times, the lever, running or stopped.

/// One side of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ClockTime {
    /// Seconds shown, 0..=35999.
    pub seconds: u32,
    /// The flag is down and this side is frozen at 0:00:00.
    pub flag: bool,
    /// The increment or delay sign is lit.
    pub increment: bool,
    /// The flag sign is lit although the clock may run on into a next period.
    pub flag_shown: bool,
}

/// Which side of the lever is up, seen from the clock's front: that side's player has pressed
/// least recently, so the time of the *other*... see [`Lever::running`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lever {
    /// Bit 1 of the status is 0: the left side is high, the right side was pressed last.
    LeftHigh,
    /// Bit 1 of the status is 1: the right side is high, the left side was pressed last.
    RightHigh,
}

/// A decoded clock frame with plausible digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockReading {
    /// The left side, seen from the front.
    pub left: ClockTime,
    /// The right side.
    pub right: ClockTime,
    /// True when the clock runs.
    pub running: bool,
    /// The lever.
    pub lever: Lever,
    /// The clock's battery is low.
    pub battery_low: bool,
}

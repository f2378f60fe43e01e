//! The clock's frame: two times, the lever, running or stopped.

/// One side of the clock, seen from its front. The board may be turned, the clock is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockSide {
    /// The left side, the second triple of a frame.
    Left,
    /// The right side, the first triple of a frame.
    Right,
}

impl ClockSide {
    /// The other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// What one side of the clock shows.
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

impl ClockTime {
    /// The longest time that a frame can carry: 9:59:59.
    pub const MAX_SECONDS: u32 = 35_999;
}

/// Which side of the lever is up. A player pushes the own side down, so the side that is up
/// belongs to the player who has not pressed: that player is to move and that time runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lever {
    /// The left side is up (bit 1 of the status is 0): the right side was pressed last and the
    /// LEFT time runs.
    LeftHigh,
    /// The right side is up (bit 1 of the status is 1): the left side was pressed last and the
    /// RIGHT time runs.
    RightHigh,
}

impl Lever {
    /// The side that is to move: its time counts down while the clock runs (protocol 4.2).
    #[must_use]
    pub fn to_move(self) -> ClockSide {
        match self {
            Self::LeftHigh => ClockSide::Left,
            Self::RightHigh => ClockSide::Right,
        }
    }

    /// The side that was pressed last.
    #[must_use]
    pub fn pressed(self) -> ClockSide {
        self.to_move().other()
    }

    /// The lever after `side` was pressed.
    #[must_use]
    pub fn after_press(side: ClockSide) -> Self {
        match side {
            ClockSide::Left => Self::RightHigh,
            ClockSide::Right => Self::LeftHigh,
        }
    }
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

impl ClockReading {
    /// What `side` shows.
    #[must_use]
    pub fn time(&self, side: ClockSide) -> ClockTime {
        match side {
            ClockSide::Left => self.left,
            ClockSide::Right => self.right,
        }
    }

    /// What `side` shows, to be changed.
    pub(crate) fn time_mut(&mut self, side: ClockSide) -> &mut ClockTime {
        match side {
            ClockSide::Left => &mut self.left,
            ClockSide::Right => &mut self.right,
        }
    }

    /// True where play may have led from what `side` shows to `seconds`: the player thought, or gained by presses. Nobody gains
    /// as much as a minute by one; an arbiter adds it. The same time tells nothing.
    pub(crate) fn is_played_on(&self, side: ClockSide, seconds: u32) -> bool {
        const SET_S: u32 = 60;
        let shown = self.time(side).seconds;
        seconds != shown && seconds < shown + SET_S
    }

    /// A reading of so many seconds.
    pub(crate) fn of_seconds(left: u32, right: u32, running: bool, lever: Lever) -> Self {
        let time = |seconds| ClockTime {
            seconds,
            ..ClockTime::default()
        };
        Self {
            left: time(left),
            right: time(right),
            running,
            lever,
            battery_low: false,
        }
    }

    /// The side whose time counts down now; none while the clock is stopped.
    #[must_use]
    pub fn counting(&self) -> Option<ClockSide> {
        self.running.then(|| self.lever.to_move())
    }
}

/// Bytes of a clock frame after its header.
pub(super) const PAYLOAD: usize = 7;

// The upper nibble of an hours byte.
const FLAG: u8 = 0x10;
const INCREMENT: u8 = 0x20;
const FLAG_SHOWN: u8 = 0x40;

// The status byte.
const RUNNING: u8 = 0x01;
const LEVER_RIGHT: u8 = 0x02;
const BATTERY_LOW: u8 = 0x04;
const TURN_LEFT: u8 = 0x08;
const TURN_RIGHT: u8 = 0x10;
const ABSENT: u8 = 0x20;

/// True if the frame says that no clock is attached.
pub(super) fn is_absent(payload: &[u8; PAYLOAD]) -> bool {
    payload[PAYLOAD - 1] & ABSENT != 0
}

/// The reading of a frame that is no ack, from a clock that is attached; none for digits that no clock can
/// show.
#[inline]
pub(super) fn decode(payload: &[u8; PAYLOAD]) -> Option<ClockReading> {
    let [h_right, m_right, s_right, h_left, m_left, s_left, status] = *payload;
    let right = time(h_right, m_right, s_right)?;
    let left = time(h_left, m_left, s_left)?;
    Some(ClockReading {
        left,
        right,
        running: status & RUNNING != 0,
        // Bits 3 and 4 also tell the turn, but sources and clocks disagree on them (4.2).
        lever: if status & LEVER_RIGHT == 0 {
            Lever::LeftHigh
        } else {
            Lever::RightHigh
        },
        battery_low: status & BATTERY_LOW != 0,
    })
}

pub(super) fn encode(reading: &ClockReading) -> [u8; PAYLOAD] {
    let [h_right, m_right, s_right] = triple(reading.right);
    let [h_left, m_left, s_left] = triple(reading.left);
    let mut status = match reading.lever {
        Lever::LeftHigh => TURN_LEFT,
        Lever::RightHigh => LEVER_RIGHT | TURN_RIGHT,
    };
    if reading.running {
        status |= RUNNING;
    }
    if reading.battery_low {
        status |= BATTERY_LOW;
    }
    [h_right, m_right, s_right, h_left, m_left, s_left, status]
}

/// The payload of a board without a clock.
pub(super) const ABSENT_PAYLOAD: [u8; PAYLOAD] = [0, 0, 0, 0, 0, 0, ABSENT];

fn time(hours: u8, minutes: u8, seconds: u8) -> Option<ClockTime> {
    Some(ClockTime {
        seconds: seconds_of(hours & 0x0f, minutes, seconds)?,
        flag: hours & FLAG != 0,
        increment: hours & INCREMENT != 0,
        flag_shown: hours & FLAG_SHOWN != 0,
    })
}

fn triple(time: ClockTime) -> [u8; 3] {
    let [mut hours, minutes, seconds] = digits_of(time.seconds);
    if time.flag {
        hours |= FLAG;
    }
    if time.increment {
        hours |= INCREMENT;
    }
    if time.flag_shown {
        hours |= FLAG_SHOWN;
    }
    [hours, minutes, seconds]
}

/// Seconds of an hours digit and packed minutes and seconds; none when a digit is illegal.
pub(super) fn seconds_of(hours: u8, minutes: u8, seconds: u8) -> Option<u32> {
    if hours > 9 {
        return None;
    }
    Some(u32::from(hours) * 3600 + sixtieths(minutes)? * 60 + sixtieths(seconds)?)
}

/// The hours digit and packed minutes and seconds; cut at 9:59:59.
pub(super) fn digits_of(seconds: u32) -> [u8; 3] {
    let seconds = seconds.min(ClockTime::MAX_SECONDS);
    // Each value is below 60 after the cut.
    let pack = |value: u32| ((value / 10) << 4) as u8 | (value % 10) as u8;
    [
        (seconds / 3600) as u8,
        pack(seconds / 60 % 60),
        pack(seconds % 60),
    ]
}

/// A packed decimal number 00..=59.
fn sixtieths(packed: u8) -> Option<u32> {
    let (tens, ones) = (packed >> 4, packed & 0x0f);
    (tens <= 5 && ones <= 9).then(|| u32::from(tens) * 10 + u32::from(ones))
}

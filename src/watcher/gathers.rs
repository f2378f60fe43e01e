//! A line that gathers: a server between a serial line and a network that sends on what came each second, say, and at once.
//!
//! It is known by configuration, or by what it does. On a line that hands on each byte as it comes, changes of squares and frames
//! of the clock lie anyhow to each other. On one that gathers they come in the same instant, and between two lumps nothing does.

use crate::{dgt::Message, time::Millis};

/// What comes together comes within this time.
pub(super) const TOGETHER_MS: u64 = 20;
/// What comes so soon after the last lump was not gathered.
const LEAST_MS: u64 = 150;
/// No line gathers for longer: the board is asked for a sign of life after this time.
pub const MOST_MS: u64 = 2000;
/// On a line of 9600 baud a message takes longer than this: two at once have waited.
pub(super) const AT_ONCE_MS: u64 = 4;
/// So many lumps of changes and frames are more than chance.
const LUMPS: usize = 3;

/// What is known of the line.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathers {
    /// For how many milliseconds, by configuration.
    known: u64,
    lump: Lump,
    /// The shortest time between two lumps.
    shortest: Option<u64>,
    /// Lumps of both changes and frames since anything came that was not gathered.
    lumps: usize,
    /// The line has handed on something as it came.
    is_prompt: bool,
    /// Until when a line that had never done so held messages back, and for how long was not known.
    unmeasured: Option<Millis>,
}

/// What comes at once.
#[derive(Clone, Copy, Debug, Default)]
struct Lump {
    /// When it began; none before anything has come.
    began: Option<Millis>,
    field: bool,
    clock: bool,
}

impl Gathers {
    /// Of a line that gathers for so many milliseconds; 0 where that is not known.
    pub(super) fn known(ms: u64) -> Self {
        Self {
            known: ms.min(MOST_MS),
            ..Self::default()
        }
    }

    /// The same of another link.
    pub(super) fn anew(&self) -> Self {
        Self::known(self.known)
    }

    /// For how many milliseconds the line gathers; 0 where nothing says that it does.
    pub(super) fn ms(&self) -> u64 {
        let learnt = self.shortest.filter(|_| self.lumps >= LUMPS);
        self.known.max(learnt.unwrap_or_default().min(MOST_MS))
    }

    /// Until when messages came at once that may have been said apart, while it was not known for how long the line gathers; none
    /// on a line that hands on anything as it comes. `before` is what another link, or an earlier run, left.
    pub(super) fn unmeasured(&self, before: Option<Millis>) -> Option<Millis> {
        self.unmeasured.max(before).filter(|_| !self.is_prompt)
    }

    /// A message came at `now`.
    pub(super) fn heard(&mut self, now: Millis, message: &Message<'_>) {
        let passed = self.lump.began.map(|began| now.since(began));
        if passed.is_none_or(|passed| passed > TOGETHER_MS) {
            self.shortest = [self.shortest, passed].into_iter().flatten().min();
            if passed.is_some_and(|passed| passed < LEAST_MS) {
                (self.shortest, self.lumps, self.is_prompt) = (None, 0, true);
            }
            self.lump = Lump {
                began: Some(now),
                ..Lump::default()
            };
        } else if passed.is_some_and(|passed| passed > AT_ONCE_MS) {
            return;
        }
        let both = |lump: &Lump| lump.field && lump.clock;
        let before = both(&self.lump);
        self.lump.field |= matches!(message, Message::Field { .. });
        self.lump.clock |= matches!(message, Message::Clock(_));
        if self.known == 0 && !self.is_prompt && (1..LUMPS).contains(&self.lumps) {
            self.unmeasured = Some(now);
        }
        self.lumps += usize::from(!before && both(&self.lump));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::{ClockReading, ClockTime, Lever, PieceCode};

    const FIELD: Message<'_> = Message::Field {
        square: 0,
        piece: PieceCode::EMPTY,
    };

    fn clock() -> Message<'static> {
        Message::Clock(ClockReading {
            left: ClockTime::default(),
            right: ClockTime::default(),
            running: true,
            lever: Lever::RightHigh,
            battery_low: false,
        })
    }

    /// Of a line on which changes of squares and frames of the clock come so many milliseconds after each other.
    fn after(ms: &[u64], apart: u64) -> Gathers {
        let mut gathers = Gathers::default();
        for at in ms {
            gathers.heard(Millis(*at), &FIELD);
            gathers.heard(Millis(*at + apart), &clock());
        }
        gathers
    }

    #[test]
    fn lumps_that_nothing_comes_between_are_known_by_the_time_between_them() {
        assert_eq!(after(&[1000, 2000], 0).ms(), 0, "that may be chance");
        assert_eq!(after(&[1000, 2000, 3000, 5000], 0).ms(), 1000);
        assert_eq!(after(&[1000, 1203, 1403, 1603], 2).ms(), 200);
        assert_eq!(after(&[1000, 4000, 7000, 10_000], 0).ms(), MOST_MS);
    }

    #[test]
    fn what_comes_as_it_is_said_is_not_gathered() {
        assert_eq!(
            after(&[1000, 2000, 3000, 5000], 10).ms(),
            0,
            "a scan's worth apart"
        );
        let mut line = after(&[1000, 2000, 3000, 4000], 0);
        line.heard(Millis(4100), &FIELD);
        assert_eq!(line.ms(), 0, "between two lumps something came");
        assert_eq!(line.anew().ms(), 0);
    }

    #[test]
    fn a_line_that_never_handed_on_anything_as_it_came_may_gather_until_it_is_known_to() {
        assert_eq!(
            after(&[1000], 0).unmeasured(None),
            None,
            "one lump alone may be chance"
        );
        assert_eq!(after(&[1000, 1200], 0).unmeasured(None), Some(Millis(1200)));
        let known_then = after(&[1000, 1200, 1400, 1600], 0);
        assert_eq!(
            (known_then.ms(), known_then.unmeasured()),
            (200, Some(Millis(1400)))
        );
        let mut line = after(&[1000, 1200], 0);
        line.heard(Millis(1250), &FIELD);
        assert_eq!(line.unmeasured(None), None, "it hands on what comes");
        let mut told = Gathers::known(500);
        told.heard(Millis(0), &FIELD);
        told.heard(Millis(0), &clock());
        told.heard(Millis(0), &FIELD);
        assert_eq!(
            told.unmeasured(None),
            None,
            "the configuration tells for how long"
        );
    }

    #[test]
    fn what_is_known_of_a_line_is_never_forgotten() {
        let mut line = Gathers::known(500);
        for at in [0, 50, 100, 200] {
            line.heard(Millis(at), &FIELD);
        }
        assert_eq!((line.ms(), line.anew().ms()), (500, 500));
        assert_eq!(Gathers::known(100_000).ms(), MOST_MS);
    }
}

//! A line that gathers: a server between a serial line and a network collects bytes, for instance for a
//! second, and then sends them on at once.
//!
//! The watcher knows such a line by configuration, or by its behaviour. On a line that hands on each byte as
//! it comes, changes of squares and frames of the clock come at independent times. On one that gathers they
//! come in the same instant, and nothing comes between two lumps.

use crate::{dgt::Message, time::Millis};

/// Messages of one lump come within this time.
pub(super) const TOGETHER_MS: u64 = 20;
/// A message that comes this soon after the last lump was not gathered.
const LEAST_MS: u64 = 150;
/// No line gathers for longer than this: after this time the watcher asks the board for a sign of life.
pub const MOST_MS: u64 = 2000;
/// On a line of 9600 baud a message takes longer than this. So two messages within this time have waited.
pub(super) const AT_ONCE_MS: u64 = 4;
/// This many lumps with both changes and frames are more than chance.
const LUMPS: usize = 3;

/// What the watcher knows of the line.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathers {
    /// For how many milliseconds the line gathers, by configuration.
    known: u64,
    lump: Lump,
    /// The shortest time between two lumps.
    shortest: Option<u64>,
    /// Number of lumps with both changes and frames since the last message that was not gathered.
    lumps: usize,
    /// The line has handed on something as it came.
    is_prompt: bool,
    /// Until when a line that had never done so held messages back, and for how long was not known.
    unmeasured: Option<Millis>,
}

/// Messages that come at once.
#[derive(Clone, Copy, Debug, Default)]
struct Lump {
    /// When it began; none before anything has come.
    began: Option<Millis>,
    field: bool,
    clock: bool,
}

impl Gathers {
    /// For a line that gathers for `ms` milliseconds; 0 where that is not known.
    pub(super) fn known(ms: u64) -> Self {
        Self {
            known: ms.min(MOST_MS),
            ..Self::default()
        }
    }

    /// The state for a new link to the same board.
    pub(super) fn anew(&self) -> Self {
        Self::known(self.known)
    }

    /// For how many milliseconds the line gathers; 0 where nothing shows that it does.
    pub(super) fn ms(&self) -> u64 {
        let learnt = self.shortest.filter(|_| self.lumps >= LUMPS);
        self.known.max(learnt.unwrap_or_default().min(MOST_MS))
    }

    /// True once the line has handed on something as it came.
    pub(super) fn is_prompt(&self) -> bool {
        self.is_prompt
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
    use crate::dgt::{ClockReading, Lever, PieceCode};

    const FIELD: Message<'_> = Message::Field {
        square: 0,
        piece: PieceCode::EMPTY,
    };

    fn clock() -> Message<'static> {
        Message::Clock(ClockReading::of_seconds(0, 0, true, Lever::RightHigh))
    }

    /// A line on which changes of squares come at `ms`, and a frame of the clock `apart` milliseconds after
    /// each.
    fn after(ms: &[u64], apart: u64) -> Gathers {
        let mut gathers = Gathers::default();
        for at in ms {
            gathers.heard(Millis(*at), &FIELD);
            gathers.heard(Millis(*at + apart), &clock());
        }
        gathers
    }

    #[test]
    fn a_line_that_gathers_is_known_by_the_time_between_its_lumps() {
        assert_eq!(after(&[1000, 2000], 0).ms(), 0, "two lumps may be chance");
        assert_eq!(after(&[1000, 2000, 3000, 5000], 0).ms(), 1000);
        assert_eq!(after(&[1000, 1203, 1403, 1603], 2).ms(), 200);
        assert_eq!(after(&[1000, 4000, 7000, 10_000], 0).ms(), MOST_MS);
    }

    #[test]
    fn a_line_that_hands_on_each_byte_does_not_gather() {
        assert_eq!(
            after(&[1000, 2000, 3000, 5000], 10).ms(),
            0,
            "change and frame come 10 ms apart"
        );
        let mut line = after(&[1000, 2000, 3000, 4000], 0);
        line.heard(Millis(4100), &FIELD);
        assert_eq!(line.ms(), 0, "a change came between two lumps");
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
            (known_then.ms(), known_then.unmeasured(None)),
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
    fn a_configured_line_gathers_whatever_it_shows() {
        let mut line = Gathers::known(500);
        for at in [0, 50, 100, 200] {
            line.heard(Millis(at), &FIELD);
        }
        assert_eq!((line.ms(), line.anew().ms()), (500, 500));
        assert_eq!(Gathers::known(100_000).ms(), MOST_MS);
    }
}

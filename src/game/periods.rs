//! The periods of the time control, and the period that each player is in. At the fall of a flag the first question is
//! whether the moves of the period were complete (6.4).

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::Color;

/// A period of the time control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// Moves that must be made in it; none in the last.
    pub moves: Option<u32>,
    /// Minutes of main time.
    pub minutes: u32,
    /// Seconds added for each move.
    #[serde(default)]
    pub increment: u32,
}

impl Period {
    /// True of the seconds that a clock may show before the first half-move.
    #[must_use]
    pub fn begins_with(&self, seconds: u32) -> bool {
        let main = self.minutes.saturating_mul(60);
        seconds == main || seconds == main.saturating_add(self.increment)
    }
}

/// Writes a period in the form that [`parse`] reads.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(moves) = self.moves {
            write!(f, "{moves}/")?;
        }
        write!(f, "{}", self.minutes)?;
        if self.increment > 0 {
            write!(f, "+{}", self.increment)?;
        }
        Ok(())
    }
}

/// Reads a time control of periods: `40/90+30, 20/50+30, 15+30`, in moves, minutes and seconds.
///
/// # Errors
/// What cannot be understood, and how to write it.
pub fn parse(text: &str) -> Result<Vec<Period>, String> {
    let wrong = |part: &str| {
        format!("`{part}` is not a period; write 40/90+30 for 40 moves in 90 minutes with 30 seconds a move")
    };
    let number = |part: &str, digits: &str| digits.trim().parse::<u32>().map_err(|_| wrong(part));
    text.split(',')
        .map(|part| {
            let (moves, time) = match part.split_once('/') {
                Some((moves, time)) => (Some(number(part, moves)?), time),
                None => (None, part),
            };
            let (minutes, increment) = time.split_once('+').unwrap_or((time, "0"));
            Ok(Period {
                moves,
                minutes: number(part, minutes)?,
                increment: number(part, increment)?,
            })
        })
        .collect()
}

/// The period that each player is in, known by the main time that the clock adds. Some clocks add it after the last
/// move of a period, some when the time has run down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// How many periods are over for White and for Black.
    over: [usize; 2],
    /// Milliseconds that the clock last showed for White and for Black.
    shown: [Option<u64>; 2],
}

impl Progress {
    /// Takes a reading: the clock shows `ms` for `player`, who has completed `made` moves.
    ///
    /// A new period has begun if the clock adds at least half of its main time, and at most half as much again, near
    /// the end of the moves of the old one. An arbiter who sets the clock adds two minutes, not half an hour.
    pub fn shows(&mut self, periods: &[Period], player: Color, made: u32, ms: u64) {
        let side = player as usize;
        let Some(shown) = self.shown[side].replace(ms) else {
            return;
        };
        let added = ms.saturating_sub(shown);
        let over = &mut self.over[side];
        let (Some(due), Some(next)) = (due(periods, *over), periods.get(over.saturating_add(1))) else {
            return;
        };
        let main = u64::from(next.minutes) * 60_000;
        // One move may still wait for its press, and the record may lack another.
        if made + 2 >= due && (main / 2..=main + main / 2).contains(&added) && added > 0 {
            *over += 1;
        }
    }

    /// True where the flag that `player` shows is no irregularity, because the moves of the period that it ends were
    /// complete. False also where that is not known.
    #[must_use]
    pub fn complete(&self, periods: &[Period], player: Color, made: u32) -> bool {
        let side = player as usize;
        // A clock that shows time beside the flag has already added the main time of the next period.
        let added = usize::from(self.shown[side].is_some_and(|ms| ms > 0));
        due(periods, self.over[side].saturating_sub(added)).is_some_and(|due| made >= due)
    }

    /// True when `player` is known to be in the last period.
    #[must_use]
    pub fn is_last(&self, periods: &[Period], player: Color) -> bool {
        !periods.is_empty() && self.over[player as usize].saturating_add(1) >= periods.len()
    }
}

/// How many moves must be complete when the period of this index ends; none for the last one.
fn due(periods: &[Period], index: usize) -> Option<u32> {
    periods.get(..=index)?.iter().map(|period| period.moves).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;
    const THREE: [Period; 3] = [
        Period {
            moves: Some(40),
            minutes: 100,
            increment: 30,
        },
        Period {
            moves: Some(20),
            minutes: 50,
            increment: 30,
        },
        Period {
            moves: None,
            minutes: 15,
            increment: 30,
        },
    ];

    fn shown(readings: &[(u32, u64)]) -> Progress {
        let mut progress = Progress::default();
        for (made, ms) in readings {
            progress.shows(&THREE, Color::White, *made, *ms);
        }
        progress
    }

    #[test]
    fn a_period_begins_with_its_minutes_or_with_those_and_an_increment() {
        let period = |minutes| Period {
            moves: None,
            minutes,
            increment: 2,
        };
        let begins = [179, 180, 181, 182].map(|seconds| period(3).begins_with(seconds));
        assert_eq!(begins, [false, true, false, true]);
        assert!(!period(u32::MAX).begins_with(180), "nobody plays for so long");
    }

    #[test]
    fn a_flag_before_the_moves_are_made_is_a_flag() {
        let progress = shown(&[(0, 100 * MINUTE), (39, 1000), (39, 0)]);
        assert!(!progress.complete(&THREE, Color::White, 39));
        assert!(progress.complete(&THREE, Color::White, 40));
    }

    #[test]
    fn a_clock_that_adds_time_at_zero_may_show_the_flag_beside_it() {
        let progress = shown(&[(0, 100 * MINUTE), (41, 0), (41, 50 * MINUTE)]);
        assert!(progress.complete(&THREE, Color::White, 41));
        assert!(!progress.is_last(&THREE, Color::White));
    }

    #[test]
    fn after_the_time_of_the_next_period_was_added_its_moves_are_due() {
        let mut progress = shown(&[(0, 100 * MINUTE), (39, 300_000), (40, 55 * MINUTE), (52, 0)]);
        assert!(!progress.complete(&THREE, Color::White, 52));
        assert!(progress.complete(&THREE, Color::White, 60));
        progress.shows(&THREE, Color::White, 60, 15 * MINUTE);
        assert!(progress.is_last(&THREE, Color::White));
        progress.shows(&THREE, Color::White, 90, 0);
        assert!(!progress.complete(&THREE, Color::White, 90));
    }

    #[test]
    fn penalties_and_increments_are_no_period() {
        let progress = shown(&[(39, 60_000), (40, 90_000), (40, 210_000), (41, 0)]);
        assert!(
            progress.complete(&THREE, Color::White, 41),
            "still the first period"
        );
    }

    #[test]
    fn text_is_read_or_refused() {
        assert_eq!(parse("40/100+30, 20/50+30, 15+30").as_deref(), Ok(&THREE[..]));
        assert_eq!(parse("5").map(|list| list[0].increment), Ok(0));
        for wrong in ["", "x", "40/", "90+", "40/90+30,", "-1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn unknown_periods_say_nothing() {
        let progress = shown(&[(40, 0)]);
        assert!(!progress.complete(&[], Color::White, 40));
        assert!(!progress.is_last(&[], Color::White));
    }
}

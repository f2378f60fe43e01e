//! Whether the record is still as the sender of a command saw it: a page may be stale, and two arbiters may put the same
//! right.

use super::{past::Past, play::Play};
use crate::{
    event::Event,
    watcher::{
        command::{CommandError, Expected},
        last_correction::LastCorrection,
    },
};

/// Refuses a command whose sender saw another record than the present one, or than that of `past`.
pub(super) fn is_as_expected(
    play: &Play,
    expects: Expected,
    past: Option<&[Event]>,
) -> Result<(), CommandError> {
    let last = match past {
        Some(events) => events.iter().rev().find_map(LastCorrection::of),
        None => play.out.put_right.clone(),
    };
    if let (Some(seen), Some(last)) = (expects.seq, last)
        && last.seq > seen
    {
        return Err(CommandError::MovedOn(last.in_words()));
    }
    let have = match past {
        Some(events) => Past::of(events).map(|past| past.plies()),
        None => play.phase.game().map(|game| game.course.record.plies()),
    };
    match (expects.ply, have) {
        (Some(seen), Some(have)) if seen as usize != have => Err(CommandError::MovedOn(format!(
            "it has {have} half-moves, and had {seen} then"
        ))),
        _ => Ok(()),
    }
}

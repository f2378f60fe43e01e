//! When the board is asked for its log, and what a log that it sends is held against.

use super::phase::Phase;
use crate::{dgt::Squares, families::Protocol, time::Millis, watcher::clock::Clock};

/// Keeps the record and the readings `raw` that go with it, if nothing is known to be missing.
pub(super) fn note_whole(phase: &mut Phase, raw: Option<&Squares>, clock: &Clock) {
    if let (Some(game), Some(raw)) = (phase.game_mut(), raw)
        && !game.gap.is_open
        && game.gap.unbridged.is_none()
    {
        let plies = game.course.record.plies();
        game.gap.recall.note_whole(plies, raw, clock.presses());
    }
}

/// Returns true if the board, which speaks `protocol`, is to be asked for its log now, and notes that it is asked.
pub(super) fn take_wanted(phase: &mut Phase, protocol: Protocol, now: Millis) -> bool {
    let has_log = protocol == Protocol::Dgt;
    let game = phase.game_mut();
    game.is_some_and(|game| game.gap.recall.take_wanted(now, has_log))
}

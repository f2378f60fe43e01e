//! Half-moves that were taken back. If that was while the clock stood, and nobody plays on from there, the players only looked at the
//! game: to count repetitions, or after its end.

use super::{Press, doubt::NOTICED_MS, positions::Positions, press::PressQueue, waits::JUDGE_MS};
use crate::watcher::ctx::Ctx;

/// Whether a player has agreed by a press that the last half-move is taken back.
pub(super) enum GivenBack {
    No,
    /// It may be. Or he moved a piece of the opponent's, and somebody stops the clock.
    Unknown,
    /// The game goes back to the position after so many half-moves.
    Yes(usize),
}

/// The player to move may have pressed without a half-move, where the board stands as before the last one, and the record
/// `is_sound`. Either he agrees that it is taken back, or he moved a piece of the opponent's.
pub(super) fn gives_back(
    ctx: &mut Ctx<'_>,
    positions: &Positions<'_>,
    presses: &mut PressQueue,
    is_sound: bool,
    press: &Press,
) -> GivenBack {
    let (course, seen) = (positions.course, ctx.sensed.placement());
    let record = &course.record;
    let before = record.plies().checked_sub(1);
    let is_theirs = press.side == course.to_move() && course.on_record() && is_sound;
    let stands = is_theirs && before.is_some() && positions.earlier(seen) == before;
    if stands && ctx.passed(press.at, JUDGE_MS) {
        presses.gave_back = Some((press.at, record.plies()));
    }
    // Half-moves that are told since are not those that he took back.
    let waits = presses.gave_back == Some((press.at, record.plies()));
    // The half-move may have been put up again, or a person may have changed the record.
    let is_put_up = positions.unread.is_shown(record.stand().placement(), seen);
    let Some(before) = before.filter(|_| !waits || ctx.clock.stopped_at.is_none() && !is_put_up) else {
        presses.gave_back = None;
        return GivenBack::No;
    };
    // A piece that is only lifted may come back to where it was.
    let earlier = record.stand_at(before).placement();
    let mut changed = earlier.differing(seen).into_iter();
    let has_moved = changed.any(|square| ctx.sensed.at(square).is_piece());
    if waits && (has_moved || ctx.passed(press.at, NOTICED_MS)) {
        return GivenBack::Yes(before);
    }
    if !stands && !waits {
        return GivenBack::No;
    }
    ctx.wait_for("somebody to stop the clock, or play to go on");
    GivenBack::Unknown
}

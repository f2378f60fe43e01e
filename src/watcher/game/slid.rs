//! Pieces that slide: where one was read last before its press may be a square on its way.

use shakmaty::attacks;

use super::course::Course;
use crate::board::Sensed;

/// What the board reads further on by then, two scans after the press, stood there at the press: no other hand is there so soon.
const READ_ON_MS: u64 = 450;

/// True where the record has all half-moves of the best hypothesis but the last, in which the piece went further on the same way: it was
/// read there after the press for both, and so soon that it stood there at the press.
pub(super) fn was_read_further_on(course: &Course, sensed: &Sensed) -> bool {
    let (kept, record) = (course.kept(), &course.record);
    if course.base + kept + 1 != record.plies() {
        return false;
    }
    let (said, ply) = (record.last(), course.lines.best().plies.get(kept));
    let (Some(said), Some(ply)) = (said, ply) else {
        return false;
    };
    let (Some((start, end)), Some((from, to))) = (said.kind.from_to(), ply.kind.from_to()) else {
        return false;
    };
    let is_further = start == from && attacks::between(from, to).contains(end);
    let stands = sensed.at(end).is_empty() && sensed.at(to) == ply.stand.placement().at(to);
    let soon = said.at..=said.at + READ_ON_MS;
    let is_read = sensed.seen_at(to).is_some_and(|at| soon.contains(&at));
    is_further && stands && is_read && ply.pressed == Some(said.at)
}

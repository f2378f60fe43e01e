//! Pieces that hands moved about and put back while the clock ran: nothing was played.

use super::course::Course;
use crate::watcher::ctx::Ctx;

/// For so many half-moves without a press it stays open whether they were played.
const OPEN: usize = 24;

/// Looks whether the board shows again what stood at the last press: that nothing was played since is one more hypothesis.
pub(super) fn look(ctx: &Ctx<'_>, course: &mut Course) {
    if ctx.clock.runs() {
        let base = course.record.stand_at(course.base).clone();
        course.lines.put_back(ctx.now, ctx.sensed, &base);
    }
}

/// Number of half-moves since the base that may be closed to correction: those after the last press stay open while the clock runs.
pub(super) fn held(ctx: &Ctx<'_>, course: &Course) -> usize {
    if !ctx.clock.runs() {
        return usize::MAX;
    }
    let plies = &course.lines.best().plies;
    let said = plies.len().min(course.announced());
    let last = plies.backwards().skip(plies.len() - said);
    said - last.take(OPEN).take_while(|ply| ply.is_unpressed()).count()
}

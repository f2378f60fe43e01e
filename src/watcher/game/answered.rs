//! An illegal move that nobody pressed for, and that the opponent answered: play goes on from it. Without a clock also castling that is
//! not allowed, before anybody answers.

use super::{
    cases::Cases, course::Course, doubt::Doubt, finding::Finding, gap::Gap, positions::Positions,
    press::PressQueue, record::GameRecord, unread::Unread, untold,
};
use crate::{board::stands_back, event::Certainty, watcher::ctx::Ctx};

/// Looks for an illegal move that the opponent has answered, where nobody presses: it is one more hypothesis.
pub(super) fn look(
    ctx: &Ctx<'_>,
    course: &mut Course,
    presses: &PressQueue,
    gap: &Gap,
    doubt: &Doubt,
    cases: &Cases,
    unread: &Unread,
) {
    let stopped = course.clock_used && !ctx.clock.runs();
    let astray = gap.is_unexplained(course) || doubt.any();
    let at_work = cases.at_board().next().is_some();
    if stopped || !presses.is_empty() || astray || at_work || course.lines.frozen || ctx.sensed.is_felt() {
        return;
    }
    let positions = Positions::of(course, cases, unread);
    let seen = ctx.sensed.placement();
    let last = course.record.last().and_then(|made| made.kind.from_to());
    let takes_back = || stands_back(last, course.record.stand().placement(), ctx.sensed);
    let goes_back = || positions.earlier(seen).is_some() || positions.put_up_again(seen).is_some();
    let is_new = course.on_record() && !takes_back() && !goes_back() && !positions.explains(seen);
    if is_new {
        let announced = course.announced();
        let base = course.record.stand_at(course.base).clone();
        course
            .lines
            .suspect_answered(ctx.now, ctx.sensed, &base, announced);
    }
}

/// A suspicion, where the last half-move of the record is an illegal move that only its answer tells of.
pub(super) fn of_last(record: &GameRecord, cases: &Cases) -> Option<Finding> {
    let (mut finding, act) = untold::last(record)?;
    if act.from_to().is_none() || cases.all().any(|case| case.ply == finding.ply) {
        return None;
    }
    finding.certainty = Certainty::Suspected;
    Some(finding)
}

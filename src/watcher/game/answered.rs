//! An illegal move that nobody pressed for, and that the opponent answered: play goes on from it.

use super::{
    Made,
    cases::Cases,
    course::Course,
    doubt::Doubt,
    finding::{Finding, Scene},
    gap::Gap,
    positions::Positions,
    press::PressQueue,
    record::GameRecord,
    unread::Unread,
};
use crate::{
    board::{PlyKind, Sensed},
    event::Certainty,
    watcher::ctx::Ctx,
};

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
    let positions = Positions {
        course,
        cases,
        unread,
    };
    let seen = ctx.sensed.placement();
    let goes_back = || positions.earlier(seen).is_some() || positions.put_up_again(seen).is_some();
    let is_new =
        course.on_record() && !takes_back(course, ctx.sensed) && !goes_back() && !positions.explains(seen);
    if is_new {
        let announced = course.announced();
        course.lines.suspect_answered(ctx.now, ctx.sensed, announced);
    }
}

/// True where the last piece that moved stands again where it came from: the players take half-moves back.
fn takes_back(course: &Course, sensed: &Sensed) -> bool {
    let (last, stand) = (course.record.last(), course.record.stand());
    let went = last.and_then(|made| made.kind.from_to());
    went.is_some_and(|(from, to)| {
        let piece = stand.placement().at(to);
        sensed.at(from) == piece && sensed.at(to) != piece
    })
}

/// A suspicion, where the last half-move of the record is an illegal move that only its answer tells of.
pub(super) fn of_last(record: &GameRecord, cases: &Cases) -> Option<Finding> {
    let ply = record.plies();
    let Made {
        kind: PlyKind::Illegal(act),
        at,
        clock,
        stand,
        ..
    } = record.last()?
    else {
        return None;
    };
    if act.from_to().is_none() || cases.all().any(|case| case.ply == ply) {
        return None;
    }
    let before = record.stand_at(ply - 1).clone();
    let by = before.turn();
    let scene = Scene {
        ply,
        before,
        seen: stand.placement().clone(),
        at: *at,
        clock: *clock,
    };
    let mut finding = Finding::illegal(by, act, scene);
    finding.certainty = Certainty::Suspected;
    Some(finding)
}

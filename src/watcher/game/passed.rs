//! A player pressed without a move, and his opponent simply moved: the turn has passed.

use super::{
    Open, Press, cases::Cases, course::Course, positions::Positions, press::PressQueue, unread::Unread,
    waits::JUDGE_MS,
};
use crate::{
    board::{Line, Placement, Sensed},
    event::CompletedBy,
    terms::IrregularityKind,
    watcher::ctx::Ctx,
};

/// The player whose turn it is not has pressed for a half-move of his, after a press without a move that was reported. That one
/// counts as a half-move then, which has no name. Returns true if so, and while it may be.
pub(super) fn go_on(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    cases: &Cases,
    unread: &Unread,
    presses: &PressQueue,
    press: &Press,
) -> bool {
    let ply = course.record.plies() + 1;
    if press.side == course.to_move() || course.announced() > 0 {
        return false;
    }
    let passed = |open: &Open| open.kind == IrregularityKind::PressWithoutMove && open.ply == ply;
    let Some(said) = cases.find(passed).map(|index| cases.open[index].said) else {
        return false;
    };
    let is_explained = Positions::of(course, cases, unread).explains_legally(ctx.sensed.placement());
    let stand = course.record.stand().clone();
    let left = stand.left_as(stand.placement());
    let mut replies = left.candidates().map(|reply| reply.after(stand.placement()));
    let reply = replies.find(|after| shows(after, ctx.sensed, press));
    let Some(replied) = reply.filter(|_| !is_explained) else {
        return false;
    };
    // The updates of his half-move may be lost. A dump would tell of it. Without one, he goes on as if there were none.
    let read = ctx.sensed.last_dump().is_some_and(|dump| dump + JUDGE_MS >= said);
    let goes_on = replied.differing(ctx.sensed.placement()).any();
    if !read && !goes_on {
        ctx.wait_for("a dump, or the next half-move of who pressed without one");
        return true;
    }
    let pressed = presses.all().map(|press| (press.side, press.at));
    let passed = Line::new(stand, ctx.sensed, ctx.now).after_pass(ctx.sensed, ctx.now, pressed);
    let Some(ply) = passed.plies.last().cloned() else {
        return false;
    };
    // The hypotheses that he had moved, and the board did not tell, stay.
    course.announce(ctx, &ply, CompletedBy::Reply);
    course.lines.add(ctx.now, ctx.sensed, passed);
    course.lines.grow_all(ctx.now, ctx.sensed);
    true
}

/// True where `replied` stands, but for pieces that were lifted since the press.
fn shows(replied: &Placement, sensed: &Sensed, press: &Press) -> bool {
    let lifted = |square| sensed.at(square).is_empty() && sensed.since(square) >= press.at;
    replied.differing(sensed.placement()).into_iter().all(lifted)
}

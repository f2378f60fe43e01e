//! Half-moves that the watcher cannot name: it knows what stands on the board after them.

use shakmaty::Color;

use super::{
    course::Course,
    doubt::Doubt,
    finding::{Finding, Scene},
    press::PressQueue,
    record::GameRecord,
};
use crate::{
    board::{IllegalAct, Line, Placement, PlyKind},
    event::CompletedBy,
    time::Millis,
    watcher::ctx::Ctx,
};

/// Leads from the record to `standing`, with `turn` to move, by half-moves that the watcher cannot name.
pub(super) fn lead_to(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    doubt: &mut Doubt,
    standing: &Placement,
    turn: Color,
) {
    let act = IllegalAct::left(None, standing);
    let untold = 1 + usize::from(course.to_move() == turn);
    for _ in 0..untold {
        announce(ctx, course, doubt, &act, ctx.now);
    }
}

/// Enters a half-move into the record that the watcher cannot name; `act` is what it left.
fn announce(ctx: &mut Ctx<'_>, course: &mut Course, doubt: &mut Doubt, act: &IllegalAct, pressed: Millis) {
    let before = Line::new(course.record.stand().clone(), ctx.sensed, ctx.now);
    let line = before.after_act(act.clone(), ctx.sensed, ctx.now);
    if let Some(mut ply) = line.plies.last().cloned() {
        ply.pressed = Some(pressed);
        course.announce(ctx, &ply, CompletedBy::Recovered);
        doubt.of_gap(course.record.plies());
    }
}

/// Enters a half-move into the record that the watcher cannot name. The game goes on from what the board
/// shows after it.
pub(super) fn take_as_it_stands(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    doubt: &mut Doubt,
    presses: &mut PressQueue,
    pressed: Millis,
) {
    let best = course.lines.best();
    let suspected = best.plies.get(course.announced()).map(|ply| ply.kind.clone());
    let act = match suspected {
        Some(PlyKind::Suspect(act)) => *act,
        _ => {
            let mut left = ctx.sensed.placement().clone();
            for square in best.faults().hidden {
                left.set(square, best.placement().at(square));
            }
            IllegalAct::left(None, &left)
        }
    };
    presses.judged = None;
    announce(ctx, course, doubt, &act, pressed);
    course.restart_lines(ctx);
    course.press_again(ctx, &presses.later);
}

/// The act that is the last half-move of the record, and had no name.
pub(super) fn last(record: &GameRecord) -> Option<(Finding, IllegalAct)> {
    let made = record.last()?;
    let PlyKind::Illegal(act) = &made.kind else {
        return None;
    };
    let ply = record.plies();
    let before = record.stand_at(ply - 1).clone();
    let by = before.turn();
    let scene = Scene {
        ply,
        before,
        seen: made.stand.placement().clone(),
        at: made.at,
        clock: made.clock,
    };
    Some((Finding::illegal(by, act, scene), (**act).clone()))
}

//! A piece that was never read does not stand on the board at all: it was missing from the initial position (7.2.1). A piece without a
//! working chip would be in the way of what is played.

use std::sync::Arc;

use shakmaty::{Color, Move, Role, Square, uci::UciMove};

use super::{
    Made, array::array_wrong, course::Course, doubt::Doubt, finding::Finding, press::PressQueue,
    record::GameRecord, unread::Unread,
};
use crate::{
    board::{Code, PlyKind, Stand},
    event::Certainty,
    laws::IrregularityKind,
    watcher::{arrays::castling_of, ctx::Ctx},
};

/// A wrong initial position, if the next half-move of the best hypothesis is illegal because of a piece alone that was never read.
/// Without that piece it is legal, so the piece was missing from the beginning. The game has begun so then.
pub(super) fn look(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    presses: &PressQueue,
    unread: &mut Unread,
    doubt: &mut Doubt,
) -> Option<Finding> {
    let (best, next) = (course.lines.best(), course.announced());
    // Where more was played since, the piece may have moved away before.
    let goes_on = best.plies.len() > next + 1;
    let act = match best.plies.get(next).map(|ply| &ply.kind) {
        Some(PlyKind::Suspect(act)) if !goes_on && course.on_record() => act.from_to()?,
        _ => return None,
    };
    let never_read =
        |square: &Square| ctx.sensed.at(*square).is_empty() && ctx.sensed.since(*square) <= course.began;
    let hidden = best.faults().hidden & course.record.start.placement().occupied();
    let mut without = hidden
        .into_iter()
        .filter(never_read)
        .filter_map(|square| Some((square, played_without(&course.record, square, act)?)));
    let (Some((square, record)), None) = (without.next(), without.next()) else {
        return None;
    };
    let code = course.record.start.placement().at(square);
    unread.pieces.retain(|(named, _)| *named != code);
    doubt.unread &= !unread.pieces.is_empty();
    drop(without);
    begin_without(ctx, course, presses, &record);
    let array = course.record.start.placement().clone();
    Some(array_wrong(
        ctx,
        &course.record,
        &array,
        square.into(),
        Certainty::Probable,
    ))
}

/// `record` from the initial position without the piece on `square`, if all its half-moves are legal there and so is `act`.
fn played_without(record: &GameRecord, square: Square, act: (Square, Square)) -> Option<GameRecord> {
    let start = &record.start;
    if start.turn() != Color::White || start.board().role_at(square) == Some(Role::King) {
        return None;
    }
    let mut placement = start.placement().clone();
    placement.set(square, Code::EMPTY);
    let start = Arc::new(Stand::of_placement(
        &placement,
        start.turn(),
        castling_of(&placement),
    ));
    let is_it = |_, made: &Made, mv| UciMove::from_move(mv, start.mode()) == made.uci;
    let played = record.replayed(0, &start, is_it)?;
    let stand = played.last().map_or(&start, |made| &made.stand).clone();
    let is_act = |mv: Move| !mv.is_castle() && mv.from() == Some(act.0) && mv.to() == act.1;
    let is_legal = stand.candidates().any(|candidate| is_act(candidate.mv));
    let mut record = GameRecord::new(start);
    for made in played {
        record.push(made);
    }
    is_legal.then_some(record)
}

/// The game has the half-moves of `record`.
fn begin_without(ctx: &mut Ctx<'_>, course: &mut Course, presses: &PressQueue, record: &GameRecord) {
    let reason = IrregularityKind::InitialPositionWrong.as_str();
    course.count_from(ctx, record.start.clone(), reason);
    for made in record.iter() {
        course.enter(ctx, made.clone());
    }
    course.restart_lines(ctx);
    course.lines.grow_all(ctx.now, ctx.sensed);
    for press in presses.judged.iter().chain(&presses.later) {
        course.lines.press(press.at, ctx.sensed, press.side);
    }
}

//! A piece that was never read does not stand on the board at all: it was missing from the initial position (7.2.1). A piece without a
//! working chip would be in the way of what is played.

use std::sync::Arc;

use shakmaty::{Color, Move, Role, Square};

use super::{Game, array::array_wrong, course::Course, press::PressQueue, record::GameRecord};
use crate::{
    board::{Code, PlyKind, Stand},
    event::Certainty,
    laws::IrregularityKind,
    watcher::{arrays::castling_of, ctx::Ctx},
};

/// Returns true where the next half-move, `act`, is illegal because of a piece alone that was never read. Without that piece it is legal, so
/// the piece was missing from the beginning: the initial position was wrong, and the game has begun so.
pub(super) fn begins_without(game: &mut Game, ctx: &mut Ctx<'_>, act: Option<(Square, Square)>) -> bool {
    let course = &mut game.course;
    let Some(act) = act else {
        return false;
    };
    let hidden = course.lines.best().faults().hidden & course.record.start.placement().occupied();
    let mut without = hidden
        .into_iter()
        .filter(|square| was_never_read(ctx, course, *square))
        .filter_map(|square| Some((square, played_without(&course.record, square, act)?)));
    let (Some((square, record)), None) = (without.next(), without.next()) else {
        return false;
    };
    let code = course.record.start.placement().at(square);
    game.unread.pieces.retain(|(named, _)| *named != code);
    game.doubt.unread &= !game.unread.pieces.is_empty();
    drop(without);
    begin_without(ctx, course, &game.presses, &record);
    let array = course.record.start.placement().clone();
    let finding = array_wrong(ctx, &course.record, &array, square.into(), Certainty::Probable);
    game.accuse(ctx, finding, None);
    true
}

/// The act that the best hypothesis suspects. Where more was played since, the piece that was never read may have moved away before.
pub(super) fn suspected(course: &Course) -> Option<(Square, Square)> {
    let (best, next) = (course.lines.best(), course.announced());
    let is_last = best.plies.len() == next + 1 && course.on_record();
    match best.plies.get(next).filter(|_| is_last).map(|ply| &ply.kind) {
        Some(PlyKind::Suspect(act)) => act.from_to(),
        _ => None,
    }
}

/// The way of a piece to where one of its own player's should stand, for which he has pressed.
pub(super) fn came_where_nothing_stands(ctx: &Ctx<'_>, course: &Course) -> Option<(Square, Square)> {
    let (best, sensed) = (course.lines.best(), ctx.sensed);
    let pressed = best.awaits()?;
    if best.plies.len() != course.announced() || !course.on_record() {
        return None;
    }
    let is_own =
        |square: &Square| sensed.at(*square).color() == Some(best.turn()) && sensed.since(*square) <= pressed;
    let mut came = (best.differing() & best.faults().hidden)
        .into_iter()
        .filter(is_own);
    let to = came.next().filter(|_| came.next().is_none())?;
    let has_left = |from: &Square| sensed.at(*from).is_empty() && best.placement().at(*from) == sensed.at(to);
    let mut left = best.differing().into_iter().filter(has_left);
    let from = left.next().filter(|_| left.next().is_none())?;
    Some((from, to))
}

/// True where nothing was read on `square` since before the game, unless another piece has come there since.
fn was_never_read(ctx: &Ctx<'_>, course: &Course, square: Square) -> bool {
    let emptied = ctx.sensed.emptied_at(square);
    emptied.is_some_and(|emptied| emptied <= course.began)
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
    let played = record.played_from(&start)?;
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
    course.press_again(ctx, presses.all());
}

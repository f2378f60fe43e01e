//! A wrong initial position (7.2.1): people put it right on the board once the game has begun, or the first half-move shows that it
//! was wrong.

use std::sync::Arc;

use shakmaty::{Bitboard, CastlingMode, Color, Square};

use super::{
    Open, Press,
    cases::Cases,
    course::Course,
    finding::{Finding, Scene},
    press::PressQueue,
    record::GameRecord,
    waits::REST_MS,
};
use crate::{
    board::{Placement, Stand},
    event::{Certainty, Resolution, notice},
    laws::IrregularityKind,
    watcher::{
        arrays::{array_with_pawn_astray, is_full_array},
        ctx::Ctx,
    },
};

/// In a longer record, in half-moves, nobody puts the initial position right any more: with limited supervision the Laws have the
/// game go on after ten moves (A.5.1.2).
const EARLY: usize = 20;

/// A beginning of the game other than the one that the watcher took for it.
#[derive(Debug)]
pub(in crate::watcher) struct Beginning {
    /// The position before the first half-move. The player who has the move there has pressed.
    pub(in crate::watcher) start: Arc<Stand>,
    pub(in crate::watcher) press: Press,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// A pawn stood astray, and the watcher took it for the first half-move, which nobody saw made.
    PawnAstray,
    ByBlack,
}

/// The board lies sideways (7.2.2).
pub(in crate::watcher) fn board_sideways(ctx: &Ctx<'_>, record: &GameRecord) -> Finding {
    let kind = IrregularityKind::BoardOrientationWrong;
    found_at_start(ctx, record, kind, Certainty::Certain)
}

/// White's and Black's pieces stand the other way round than the settings of the table say (7.3). The
/// board cannot see whether the players changed their seats as well.
pub(in crate::watcher) fn colours_reversed(ctx: &Ctx<'_>, record: &GameRecord) -> Finding {
    let kind = IrregularityKind::ColoursReversed;
    found_at_start(ctx, record, kind, Certainty::Probable)
}

/// The initial position `array` is wrong on `squares` (7.2.1).
pub(in crate::watcher) fn array_wrong(
    ctx: &Ctx<'_>,
    record: &GameRecord,
    array: &Placement,
    squares: Bitboard,
    certainty: Certainty,
) -> Finding {
    let mut finding = found_at_start(ctx, record, IrregularityKind::InitialPositionWrong, certainty);
    finding.seen = array.clone();
    finding.squares = squares;
    finding
}

/// An irregularity of the start that has no offender.
fn found_at_start(
    ctx: &Ctx<'_>,
    record: &GameRecord,
    kind: IrregularityKind,
    certainty: Certainty,
) -> Finding {
    let scene = Scene::shown(ctx, 0, record.start.clone(), ctx.now);
    Finding::new(kind, certainty, None, scene)
}

/// Where the pieces stand as the half-moves of the record lead from the right initial position, somebody has put it right,
/// and the record goes on from there.
pub(super) fn look_for_put_right(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    cases: &mut Cases,
    presses: &mut PressQueue,
) {
    let seen = ctx.sensed.placement();
    let recorded = course.record.stand().placement();
    let alike = recorded.occupied().count() == seen.occupied().count();
    if course.record.plies() > EARLY || recorded == seen || !alike {
        return;
    }
    let right = Arc::new(Stand::initial());
    if course.record.start.placement() == right.placement() {
        return;
    }
    // What is illegal in the record may have been legal for the piece that should have stood there.
    let Some(record) = course.record.played_from(&right) else {
        return;
    };
    let stands = record.last().map_or(&right, |made| &made.stand);
    if stands.placement() != seen || !ctx.still_for(REST_MS) {
        return;
    }
    course.count_from(ctx, right, notice::ARRAY_PUT_RIGHT);
    for made in record {
        course.enter(ctx, made);
    }
    presses.clear();
    course.restart_lines(ctx);
    let of_start = |open: &Open| open.kind == IrregularityKind::InitialPositionWrong;
    while let Some(index) = cases.find(of_start) {
        cases.resolve(ctx, course, index, Resolution::Restored);
    }
    // From the right position the half-moves are legal.
    let plies = course.record.plies();
    let of_moves =
        |open: &Open| open.kind == IrregularityKind::IllegalMove && open.ply <= plies && !open.by_hand;
    while let Some(index) = cases.find(of_moves) {
        cases.withdraw(ctx, course, index);
    }
    let message = "The pieces were put right: the half-moves of the game count from the initial position.";
    course.notice(ctx, notice::ARRAY_PUT_RIGHT, message);
}

/// What the first press shows of a beginning other than the record's; none if it shows nothing.
pub(in crate::watcher) fn begun_otherwise(
    ctx: &Ctx<'_>,
    course: &Course,
    cases: &Cases,
    presses: &PressQueue,
) -> Option<Beginning> {
    let press = presses.only()?;
    let (start, how) = match begun_with_pawn_astray(ctx, course) {
        Some(start) => (start, How::PawnAstray),
        None => (begun_by_black(ctx, &course.record, cases, press)?, How::ByBlack),
    };
    Some(Beginning {
        start: Arc::new(start),
        press: press.clone(),
        how,
    })
}

/// The position in which a pawn stood before its square when the game began, as if its half-move had been made, where a player
/// has pressed for another half-move of the same side.
fn begun_with_pawn_astray(ctx: &Ctx<'_>, course: &Course) -> Option<Stand> {
    let start = &course.record.start;
    if course.base != 0 || course.record.plies() > 1 || start.placement() != &Placement::ARRAY {
        return None;
    }
    // The record may begin with that pawn, or with the other half-move.
    let astray = array_with_pawn_astray(ctx.sensed, start.turn(), course.began)?;
    let after = Stand::of_placement(&astray, !start.turn(), CastlingMode::Standard);
    let astray = Stand::of_placement(&astray, start.turn(), CastlingMode::Standard);
    let seen = ctx.sensed.placement();
    let goes_on = |from: &Stand| from.candidates().any(|c| from.after(&c).placement() == seen);
    (!goes_on(&after) && goes_on(&astray)).then_some(astray)
}

/// The initial position with Black to move, where nothing is on the record and `press` came for a half-move of Black's.
fn begun_by_black(ctx: &Ctx<'_>, record: &GameRecord, cases: &Cases, press: &Press) -> Option<Stand> {
    let start = &record.start;
    let is_first = record.is_empty() && cases.all().next().is_none();
    let is_array = start.turn() == Color::White && is_full_array(start.placement());
    if !is_first || !is_array || ctx.sensed.is_felt() {
        return None;
    }
    let stand = Stand::of_placement(start.placement(), Color::Black, start.mode());
    let seen = ctx.sensed.placement();
    // A reply may be read after White's press, and White's half-move may not be read at all.
    let in_time = |to: Square| ctx.sensed.since(to) <= press.at;
    let is_shown = stand
        .candidates()
        .any(|c| stand.after(&c).placement() == seen && in_time(c.mv.to()));
    is_shown.then_some(stand)
}

/// The game began otherwise than the record has it. Its half-moves count from there. Returns what was wrong with the beginning.
pub(in crate::watcher) fn begin_otherwise(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    presses: &mut PressQueue,
    beginning: Beginning,
) -> Option<Finding> {
    let Beginning { start, press, how } = beginning;
    let reason = match how {
        How::PawnAstray => IrregularityKind::InitialPositionWrong.as_str(),
        How::ByBlack => notice::BLACK_BEGAN,
    };
    let side = start.turn();
    course.count_from(ctx, start, reason);
    course.restart_lines(ctx);
    course.lines.press(press.at, ctx.sensed, side);
    presses.judged = Some(Press { side, ..press });
    match how {
        How::PawnAstray => {
            let array = course.record.start.placement().clone();
            let squares = array.differing(&Placement::ARRAY);
            let suspected = Certainty::Suspected;
            Some(array_wrong(ctx, &course.record, &array, squares, suspected))
        }
        How::ByBlack => {
            let message = "Black has made the first half-move, and White begins the game (1.2): the half-moves count as they \
                           are played. If it is the game of the round, the players have to begin anew.";
            course.notice(ctx, notice::BLACK_BEGAN, message);
            None
        }
    }
}

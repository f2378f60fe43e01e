//! A position that was set up while the clock stood, and that did not occur in the game: a ruling, or pieces that were put back
//! otherwise than they had stood. Once a player has moved from there, the game goes on from there.

use shakmaty::{Bitboard, CastlingMode, Move};

use super::{
    Press,
    cases::Cases,
    course::Course,
    doubt::Doubt,
    gap::{Gap, GapSearch},
    positions::Positions,
    unread::Unread,
};
use crate::{
    board::{Placement, Stand, act::is_lifted_only, bridge, candidate::Candidate},
    watcher::{arrays::is_playable, ctx::Ctx},
};

/// Hands have left the board this long before the clock is started again.
const SET_UP_MS: u64 = 500;
/// The players may have made this many half-moves beside a clock that stood.
const UNCLOCKED: usize = 4;

/// The clock runs again. True where what stands on the board was set up while it stood: not by half-moves, but as a person wanted it. The
/// next half-move tells.
pub(super) fn is_set_up(
    ctx: &mut Ctx<'_>,
    course: &mut Course,
    gap: &mut Gap,
    doubt: &mut Doubt,
    cases: &Cases,
    unread: &Unread,
) -> bool {
    // The hypotheses did not grow while the clock stood.
    course.lines.grow_all(ctx.now, ctx.sensed);
    if gap.unbridged.is_some() || !is_set_up_otherwise(ctx, course, unread) {
        return false;
    }
    let seen = ctx.sensed.placement();
    let explains = |course: &Course| Positions::of(course, cases, unread).explains(seen);
    if explains(course) {
        return true;
    }
    let limits = bridge::Limits {
        plies: UNCLOCKED,
        ..bridge::Limits::default()
    };
    gap.bridge(ctx, course, doubt, GapSearch::within(limits));
    !explains(course)
}

/// True where hands have left the board for a while as the clock is started: nobody makes a half-move then.
pub(super) fn hands_are_off(ctx: &Ctx<'_>) -> bool {
    ctx.sensed.most_between(ctx.sensed.last_change(), ctx.now) >= SET_UP_MS
}

/// True where pieces stand on the board otherwise than in the record, and all that differs was changed while the clock stood.
fn is_set_up_otherwise(ctx: &Ctx<'_>, course: &Course, unread: &Unread) -> bool {
    let seen = ctx.sensed.placement();
    let Some(stopped) = ctx.clock.stood_from else {
        return false;
    };
    if !hands_are_off(ctx) || ctx.sensed.is_felt() || !is_playable(seen) {
        return false;
    }
    // A hypothesis of as many half-moves explains it, although the record has them otherwise.
    let mut as_long = course
        .lines
        .all()
        .filter(|line| line.plies.len() <= course.announced());
    if as_long.any(|line| unread.is_shown(line.placement(), seen)) {
        return false;
    }
    let apart = course.record.stand().placement().differing(seen);
    let stands: Bitboard = apart
        .into_iter()
        .filter(|s| ctx.sensed.at(*s).is_piece())
        .collect();
    stands.any() && apart.into_iter().all(|s| ctx.sensed.since(s) >= stopped)
}

/// What becomes of a position that was set up, once a player has pressed.
pub(super) enum SetUp {
    /// The half-moves of the game explain what stands on the board.
    Explained,
    /// This stands.
    Stands(Placement),
    /// This stands, and what stands otherwise than in the record has no part in the half-move of the press.
    Beside(Placement, Move),
    /// The half-move of the press was made from this: the game goes on from there.
    GoesOn(Placement),
}

impl SetUp {
    /// What becomes of `set_up` after `press`. The game goes on from there where the half-move of the press is legal there, and is not
    /// from the record.
    pub(super) fn after(ctx: &Ctx<'_>, positions: &Positions<'_>, set_up: Placement, press: &Press) -> Self {
        let (seen, course) = (ctx.sensed.placement(), positions.course);
        if positions.explains_legally(seen) {
            return Self::Explained;
        }
        let Some(candidate) = half_move(&set_up, seen, press).filter(|_| course.on_record()) else {
            return Self::Stands(set_up);
        };
        // The half-move may be on the record already.
        let ends = |candidate: &Candidate| (candidate.mv.from(), candidate.mv.to());
        let of_record = |record: &Stand| record.candidates().find(|other| ends(other) == ends(&candidate));
        let stands = candidate.after(&set_up);
        if course.to_move() != press.side {
            return Self::Stands(stands);
        }
        if let Some(made) = of_record(course.record.stand()) {
            return Self::Beside(stands, made.mv);
        }
        Self::GoesOn(set_up)
    }
}

/// The legal half-move of the player who pressed that leads from `set_up` to what is `seen`. The opponent may have lifted pieces since.
fn half_move(set_up: &Placement, seen: &Placement, press: &Press) -> Option<Candidate> {
    let stand = Stand::of_placement(set_up, press.side, CastlingMode::Standard);
    let mut candidates = stand.candidates();
    candidates.find(|candidate| is_lifted_only(&candidate.after(set_up), seen, !press.side))
}

//! Searches for what was played in a gap.

use std::{iter, sync::Arc};

use shakmaty::{Bitboard, Color, Move, Square};

use crate::{
    board::{
        Bill, Item, Line, Placement, Ply, PlyKind, Sensed, Stand,
        bridge::{Bridges, Limits, bridge},
        lines::shared,
    },
    event::CompletedBy,
    watcher::{
        ctx::Ctx,
        game::{Made, course::Course},
    },
};

/// Cost of a half-move that a search found, in nats.
const RECOVERED: f32 = 0.8;
/// So many more half-moves are less likely than one that is not pressed for yet.
const MANY_MORE: usize = 3;
/// Of more half-moves the watcher does not suppose that the last is not pressed for.
const UNPRESSED: usize = 3;
/// Cost of each half-move in which a hypothesis contradicts the record, in nats.
const CONTRADICTED: f32 = 0.5;

/// How far a search goes, and from where.
#[derive(Clone, Copy, Debug)]
pub(in crate::watcher) struct GapSearch {
    pub(in crate::watcher) limits: Limits,
    /// Pieces may have been put back in the gap that stood wrong before it: an irregularity is open.
    pub(in crate::watcher) may_be_put_right: bool,
}

impl GapSearch {
    /// A search of a game in which nothing was to be put right.
    pub(in crate::watcher) fn within(limits: Limits) -> Self {
        Self {
            limits,
            may_be_put_right: false,
        }
    }
}

/// `root`, continued by the half-moves of `path` that a search found.
pub(in crate::watcher::game) fn recovered(root: &Line, path: Vec<(Move, Arc<Stand>)>, ctx: &Ctx<'_>) -> Line {
    let mut line = root.clone();
    for (mv, stand) in path {
        let step = Bill::of(Item::Recovered, RECOVERED);
        line = line.played(PlyKind::Recovered(mv), stand, ctx.sensed, ctx.now, &step);
    }
    line.forget_presses();
    line
}

/// What stands on the board, as far as `root` tells: pieces that were not read before the gap stand where they stood, unless
/// something else is read there.
fn standing(root: &Line, sensed: &Sensed) -> Placement {
    let mut placement = sensed.placement().clone();
    for square in root.faults().hidden {
        if placement.at(square).is_empty() {
            placement.set(square, root.placement().at(square));
        }
    }
    placement
}

/// `lines` without those whose half-moves repeat an earlier hypothesis.
pub(super) fn distinct(lines: Vec<Line>) -> Vec<Line> {
    let mut distinct: Vec<Line> = Vec::new();
    for line in lines {
        let known =
            |other: &Line| other.plies.len() == line.plies.len() && shared(other, &line) == line.plies.len();
        if !distinct.iter().any(known) {
            distinct.push(line);
        }
    }
    distinct
}

/// True when half-moves with these landings, in place of those of the record that may still change, leave out none that was read: a piece
/// that was read where it went, and has stood there since, went there then.
fn keeps_read(ctx: &Ctx<'_>, course: &Course, landings: impl Iterator<Item = Option<Square>>) -> bool {
    let went = |made: &Made| {
        let was_heard = made.landed && made.completed_by != CompletedBy::Recovered;
        let (_, to) = made.kind.from_to().filter(|_| was_heard)?;
        let piece = made.stand.placement().at(to);
        (piece.is_piece() && ctx.sensed.at(to) == piece && ctx.sensed.since(to) <= made.at).then_some(to)
    };
    let landings = landings.chain(iter::repeat(None));
    let mut both = course.record[course.base..].iter().zip(landings);
    both.all(|(made, landing)| went(made).is_none_or(|to| landing == Some(to)))
}

/// The shortest half-moves from `from` to `to` after which the time of `turn` runs. Where they are many more than those after which the
/// other player is to move, the last of these is not pressed for yet: the board was read between the two.
fn pressed_or_not(from: &Arc<Stand>, to: &Placement, turn: Option<Color>, limits: Limits) -> Bridges {
    let in_turn = bridge(from, to, turn, limits);
    let shortest = in_turn.found.first().map_or(limits.plies + MANY_MORE, Vec::len);
    let Some(mover) = turn.filter(|_| shortest > MANY_MORE) else {
        return in_turn;
    };
    let limits = Limits {
        plies: (shortest - MANY_MORE).min(UNPRESSED).min(limits.plies),
        ..limits
    };
    let unpressed = bridge(from, to, Some(!mover), limits);
    if unpressed.found.is_empty() {
        in_turn
    } else {
        unpressed
    }
}

/// An offence was put right while nobody read the board: what stood there before is no sign against what was played since.
fn put_right(ctx: &Ctx<'_>, course: &Course) -> Option<Line> {
    if course.base < course.record.plies() {
        return None;
    }
    let mut line = Line::new(course.record.stand().clone(), ctx.sensed, ctx.now);
    line.charge(Item::Shared, course.lines.best().cost_before_plies());
    Some(line)
}

/// Searches from the best hypotheses, by legal half-moves, to the position on the board; where `may_be_put_right`, from the record as
/// well. Returns the hypotheses found, and whether the search was cut short.
pub(super) fn bridged(
    ctx: &Ctx<'_>,
    course: &Course,
    limits: Limits,
    may_be_put_right: bool,
) -> (Vec<Line>, bool) {
    let turn = ctx.clock.running();
    let mut found = Vec::new();
    let mut cut = false;
    let anew = may_be_put_right.then(|| put_right(ctx, course)).flatten();
    for root in anew.iter().chain(course.lines.all().take(4)) {
        let mut bridges = pressed_or_not(&root.stand, ctx.sensed.placement(), turn, limits);
        if bridges.found.is_empty() && root.faults().hidden.any() {
            bridges = pressed_or_not(&root.stand, &standing(root, ctx.sensed), turn, limits);
        }
        cut |= bridges.cut;
        found.extend(bridges.found.into_iter().map(|path| recovered(root, path, ctx)));
    }
    let landing = |ply: &Ply| ply.kind.from_to().map(|(_, to)| to);
    found.retain(|line: &Line| keeps_read(ctx, course, line.plies.iter().map(landing)));
    (found, cut)
}

/// True when pieces of both players are missing that the board has not read since the gap. A hand lifts
/// one piece; an exchange takes one of each player off the board.
pub(super) fn exchanged_unseen(ctx: &Ctx<'_>, course: &Course) -> bool {
    let best = course.lines.best();
    let gone = |s: &Square| ctx.sensed.at(*s).is_empty() && ctx.sensed.seen_at(*s).is_none();
    let gone: Bitboard = best.differing().into_iter().filter(gone).collect();
    let of = |color| {
        gone.into_iter()
            .any(|s| best.placement().at(s).color() == Some(color))
    };
    of(Color::White) && of(Color::Black)
}

/// Searches for other half-moves in place of the last ones of the record, up to what a dump shows: the
/// record may be wrong if updates were lost.
pub(super) fn said_otherwise(ctx: &Ctx<'_>, course: &mut Course) {
    let said = course.announced();
    let root = Line::new(course.record.stand_at(course.base).clone(), ctx.sensed, ctx.now);
    let limits = Limits {
        plies: said + 1,
        nodes: 30_000,
        most: 8,
    };
    let mut paths = bridge(&root.stand, ctx.sensed.placement(), ctx.clock.running(), limits).found;
    let before = course.lines.best().cost_before_plies();
    let landing = |(mv, _): &(Move, Arc<Stand>)| PlyKind::Recovered(*mv).from_to().map(|(_, to)| to);
    paths.retain(|path| path.len() >= said && keeps_read(ctx, course, path.iter().map(landing)));
    for path in paths {
        let other = path.iter().zip(&course.record[course.base..]);
        let contradicted = other
            .filter(|((mv, _), made)| made.kind.legal() != Some(*mv))
            .count();
        let mut line = recovered(&root, path, ctx);
        line.charge(Item::Shared, before);
        line.charge(Item::Contradicted, CONTRADICTED * contradicted as f32);
        course.lines.add(ctx.now, ctx.sensed, line);
    }
}

//! Searches for what was played in a gap.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move};

use crate::{
    board::{Bill, Item, Line, Placement, PlyKind, Sensed, Stand, bridge, lines::shared},
    watcher::{ctx::Ctx, game::course::Course},
};

/// Cost of a half-move that a search found, in nats.
const RECOVERED: f32 = 0.8;
/// Cost of each half-move in which a hypothesis contradicts the record, in nats.
const CONTRADICTED: f32 = 0.5;

/// `root`, continued by the half-moves of `path` that a search found.
fn recovered(root: &Line, path: Vec<(Move, Arc<Stand>)>, ctx: &Ctx<'_>) -> Line {
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

/// Searches from the best hypotheses, by legal half-moves, to the position on the board. Returns the
/// hypotheses found, and whether the search was cut short.
pub(super) fn bridged(ctx: &Ctx<'_>, course: &Course, limits: bridge::Limits) -> (Vec<Line>, bool) {
    let turn = ctx.clock.running();
    let mut found = Vec::new();
    let mut cut = false;
    for root in course.lines.all().take(4) {
        let mut bridges = bridge::bridge(&root.stand, ctx.sensed.placement(), turn, limits);
        if bridges.found.is_empty() && root.faults().hidden.any() {
            bridges = bridge::bridge(&root.stand, &standing(root, ctx.sensed), turn, limits);
        }
        cut |= bridges.cut;
        found.extend(bridges.found.into_iter().map(|path| recovered(root, path, ctx)));
    }
    (found, cut)
}

/// True when pieces of both players are missing that the board has not read since the gap. A hand lifts
/// one piece; an exchange takes one of each player off the board.
pub(super) fn exchanged_unseen(ctx: &Ctx<'_>, course: &Course) -> bool {
    let best = course.lines.best();
    let gone = |s: &shakmaty::Square| ctx.sensed.at(*s).is_empty() && ctx.sensed.seen_at(*s).is_none();
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
    let limits = bridge::Limits {
        plies: said + 1,
        nodes: 30_000,
        most: 8,
    };
    let paths = bridge::bridge(&root.stand, ctx.sensed.placement(), ctx.clock.running(), limits).found;
    let before = course.lines.best().cost_before_plies();
    for path in paths.into_iter().filter(|path| path.len() >= said) {
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

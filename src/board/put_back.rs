//! What hands did to the pieces without playing: they were bumped, or somebody showed a variation on the board, and all was put back.

use std::sync::Arc;

use shakmaty::Bitboard;

use super::{bill::Item, line::Line, sensed::Sensed, stand::Stand, weight};
use crate::time::Millis;

/// So many half-moves without a press are rather none. (A player who puts back his own piece alone has thought again.)
const RATHER_NONE: usize = 2;
/// What hands do to the pieces explains all of these items of a hypothesis.
const EXPLAINED: [Item; 3] = [Item::Lasted, Item::Early, Item::AtOnce];

/// The least that any of these hypotheses has paid for what hands do to the pieces, item by item.
pub(super) struct Least([f32; EXPLAINED.len()]);

impl Least {
    /// The least that any of `lines` has paid.
    pub(super) fn of<'a>(lines: &(impl Iterator<Item = &'a Line> + Clone)) -> Self {
        let least = |item| weight::least(lines.clone().map(|line| line.bill.paid_for(item)));
        Self(EXPLAINED.map(least))
    }
}

/// How many half-moves at the end of `line` nobody pressed for.
pub(super) fn unpressed(line: &Line) -> usize {
    line.plies
        .backwards()
        .take_while(|ply| ply.is_unpressed())
        .count()
}

/// `line` without the half-moves that nobody pressed for, if the board shows again what stood before them: the lever has not moved
/// since, so nothing was played. `base` is what stands before the first half-move, and `least` what any hypothesis has paid.
pub(super) fn put_back(
    line: &Line,
    base: &Arc<Stand>,
    least: &Least,
    sensed: &Sensed,
    now: Millis,
) -> Option<Line> {
    let n = unpressed(line);
    if n < RATHER_NONE || !line.pending.is_empty() {
        return None;
    }
    let before = line.plies.backwards().nth(n).map_or(base, |ply| &ply.stand);
    let began = line.plies.backwards().take(n).map(|ply| ply.began).min()?;
    // A square that read something else before counts for nothing here.
    let apart = before.placement().differing(sensed.placement());
    if (apart & sensed.changed_since(began) & !line.faults.hidden).any() {
        return None;
    }
    let missed: f32 = line.plies.backwards().take(n).map(|ply| ply.missed).sum();
    let mut back = line.clone();
    for _ in 0..n {
        back = back.without_last(base, sensed, now);
    }
    back.faults.hidden &= before.placement().occupied();
    back.hold_against(Bitboard::FULL, sensed);
    back.charge(Item::HalfMoves, -weight::PLY * n as f32);
    back.charge(Item::Unpressed, -missed);
    for (item, least) in EXPLAINED.into_iter().zip(least.0) {
        let more = back.bill.paid_for(item) - least;
        back.charge(item, -more);
    }
    back.charge(Item::PutBack, weight::PUT_BACK);
    Some(back)
}

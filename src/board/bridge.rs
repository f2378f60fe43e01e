//! Legal half-moves that lead from one placement to another: what may have been played while
//! nothing was seen.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move};

use super::{placement::Placement, stand::Stand};

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Bridges {
    /// The shortest sequences that lead there, at most [`Limits::most`].
    pub found: Vec<Vec<(Move, Arc<Stand>)>>,
    /// True when the search ended by its bound: there may be more.
    pub cut: bool,
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Half-moves at the most.
    pub plies: usize,
    /// Positions looked at, at the most.
    pub nodes: usize,
    /// Sequences to find before stopping.
    pub most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            plies: 6,
            nodes: 60_000,
            most: 16,
        }
    }
}

/// The shortest legal sequences from `from` to `to`, after which `turn` is to move if that is known.
#[must_use]
pub fn bridge(from: &Arc<Stand>, to: &Placement, turn: Option<Color>, limits: Limits) -> Bridges {
    let mut bridges = Bridges::default();
    let mut nodes = limits.nodes;
    for plies in 1..=limits.plies {
        if turn.is_some_and(|turn| (turn == from.turn()) != plies.is_multiple_of(2)) {
            continue;
        }
        let mut path = Vec::new();
        search(from, to, plies, limits.most, &mut nodes, &mut path, &mut bridges);
        if !bridges.found.is_empty() || bridges.cut {
            break;
        }
    }
    bridges
}

fn search(
    stand: &Arc<Stand>,
    to: &Placement,
    left: usize,
    most: usize,
    nodes: &mut usize,
    path: &mut Vec<(Move, Arc<Stand>)>,
    bridges: &mut Bridges,
) {
    let differing = stand.placement().differing(to);
    if left == 0 {
        if differing.is_empty() {
            bridges.found.push(path.clone());
        }
        return;
    }
    if !reachable(differing, left) {
        return;
    }
    for candidate in stand.candidates() {
        if bridges.found.len() >= most {
            return;
        }
        // The last half-moves must each put something right.
        let touched = candidate.squares() & differing;
        if left <= 2 && touched.is_empty() {
            continue;
        }
        if *nodes == 0 {
            bridges.cut = true;
            return;
        }
        *nodes -= 1;
        let after = candidate.after(stand.placement());
        if !reachable(after.differing(to), left - 1) {
            continue;
        }
        let next = Arc::new(stand.after(candidate));
        path.push((candidate.mv, next.clone()));
        search(&next, to, left - 1, most, nodes, path, bridges);
        path.pop();
    }
}

/// A half-move puts at most two squares right, castling four, en passant three; each side castles
/// once.
fn reachable(differing: Bitboard, left: usize) -> bool {
    differing.count() <= 2 * left + 2 * left.min(2)
}

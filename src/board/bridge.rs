//! Searches legal half-moves that lead from one placement to another: the players may have made them while
//! the board was not read.

use std::sync::Arc;

use shakmaty::{Color, Move};

use super::{candidate::Candidate, placement::Placement, stand::Stand};

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Bridges {
    /// The shortest sequences that lead there, at most [`Limits::most`].
    pub found: Vec<Vec<(Move, Arc<Stand>)>>,
    /// True when the search ended at its bound: there may be more sequences.
    pub cut: bool,
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most half-moves of a sequence.
    pub plies: usize,
    /// The most positions that the search looks at.
    pub nodes: usize,
    /// The search stops when it has found so many sequences.
    pub most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            plies: 8,
            nodes: 60_000,
            most: 16,
        }
    }
}

/// The shortest legal sequences from `from` to `to`, after which `turn` is to move if that is known.
#[must_use]
pub fn bridge(from: &Arc<Stand>, to: &Placement, turn: Option<Color>, limits: Limits) -> Bridges {
    let mut nodes = limits.nodes;
    let mut shortest = 1;
    for plies in 1..=limits.plies {
        if turn.is_some_and(|turn| (turn == from.turn()) != plies.is_multiple_of(2)) {
            continue;
        }
        let bridges = bridges_of(from, to, plies, 2, limits.most, &mut nodes);
        if bridges.cut {
            break;
        }
        if !bridges.found.is_empty() {
            return bridges;
        }
        shortest = plies + 1;
    }
    // There are too many sequences of so many half-moves to try all. From here on each half-move must touch a
    // square that differs.
    let mut nodes = limits.nodes;
    for plies in shortest..=limits.plies {
        if turn.is_some_and(|turn| (turn == from.turn()) != plies.is_multiple_of(2)) {
            continue;
        }
        let bridges = bridges_of(from, to, plies, plies, limits.most, &mut nodes);
        if !bridges.found.is_empty() || bridges.cut {
            return bridges;
        }
    }
    Bridges::default()
}

/// The sequences of `plies` half-moves of which the last `aimed` each touch what differs.
fn bridges_of(
    from: &Arc<Stand>,
    to: &Placement,
    plies: usize,
    aimed: usize,
    most: usize,
    nodes: &mut usize,
) -> Bridges {
    let mut search = Search {
        to,
        aimed,
        most,
        nodes,
        path: Vec::new(),
        bridges: Bridges::default(),
    };
    search.from(from, plies);
    search.bridges
}

struct Search<'a> {
    to: &'a Placement,
    /// So many of the last half-moves must each touch a square that differs.
    aimed: usize,
    most: usize,
    nodes: &'a mut usize,
    path: Vec<(Move, Arc<Stand>)>,
    bridges: Bridges,
}

impl Search<'_> {
    fn from(&mut self, stand: &Arc<Stand>, left: usize) {
        let differing = stand.placement().differing(self.to);
        if left == 0 {
            if differing.is_empty() && !is_idle(&self.path) {
                self.bridges.found.push(self.path.clone());
            }
            return;
        }
        if !reachable(stand.placement(), self.to, stand.turn(), left) {
            return;
        }
        for mv in stand.moves() {
            if self.bridges.found.len() >= self.most {
                return;
            }
            let touched = Candidate::touched(mv) & differing;
            if left <= self.aimed && touched.is_empty() {
                continue;
            }
            if *self.nodes == 0 {
                self.bridges.cut = true;
                return;
            }
            *self.nodes -= 1;
            let candidate = stand.candidate(mv);
            let after = candidate.after(stand.placement());
            if !reachable(&after, self.to, !stand.turn(), left - 1) {
                continue;
            }
            let next = Arc::new(stand.after(&candidate));
            self.path.push((candidate.mv, next.clone()));
            self.from(&next, left - 1);
            self.path.pop();
        }
    }
}

/// True when a piece goes to a square and back, and takes nothing. Any other piece might have done so as
/// well, and nothing on the board speaks for either.
fn is_idle(path: &[(Move, Arc<Stand>)]) -> bool {
    let returns = |out: &Move, back: &Move| {
        out.from() == Some(back.to())
            && back.from() == Some(out.to())
            && !out.is_capture()
            && !back.is_capture()
            && !out.is_castle()
    };
    let same_side = |i: usize| path.iter().enumerate().skip(i + 2).step_by(2);
    path.iter()
        .enumerate()
        .any(|(i, (out, _))| same_side(i).any(|(_, (back, _))| returns(out, back)))
}

/// True when `left` half-moves, of which `turn` makes the first, may lead from `placement` to `to`. A half-move takes one piece of
/// its player from a square and brings it to another, castling two, and each side castles once; it takes at most one piece of the
/// opponent's off the board.
fn reachable(placement: &Placement, to: &Placement, turn: Color, left: usize) -> bool {
    let (mut gone, mut come) = ([0; 2], [0; 2]);
    let differing = placement.differing(to);
    for square in differing {
        if let Some(color) = placement.at(square).color() {
            gone[color as usize] += 1;
        }
        match to.at(square).color() {
            Some(color) => come[color as usize] += 1,
            None if to.at(square).is_empty() => {}
            // The board does not tell whose piece it is. A half-move changes two squares, a capture en passant three and castling
            // four.
            None => return differing.count() <= 2 * left + 2 * left.min(2),
        }
    }
    Color::ALL.into_iter().all(|color| {
        let made = |by: Color| if by == turn { left.div_ceil(2) } else { left / 2 };
        let (own, opponents) = (made(color), made(!color));
        let (gone, come) = (gone[color as usize], come[color as usize]);
        // Castling puts two pieces on their squares.
        let most = own + usize::from(own > 0);
        come <= gone && come <= most && gone <= come + opponents
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use shakmaty::{Square, uci::UciMove};

    use crate::board::placement::Code;

    fn played(start: &Arc<Stand>, moves: &[&str]) -> Arc<Stand> {
        moves.iter().fold(start.clone(), |stand, uci| {
            let found = stand
                .candidates()
                .find(|c| UciMove::from_standard(c.mv).to_string() == *uci);
            Arc::new(stand.after(&found.unwrap()))
        })
    }

    fn paths(from: &Arc<Stand>, to: &Stand) -> Vec<String> {
        let bridges = bridge(from, to.placement(), Some(to.turn()), Limits::default());
        let text = |path: &Vec<(Move, Arc<Stand>)>| {
            let moves = path.iter().map(|(mv, _)| UciMove::from_standard(*mv).to_string());
            moves.collect::<Vec<_>>().join(" ")
        };
        bridges.found.iter().map(text).collect()
    }

    #[test]
    fn one_order_of_play_is_found() {
        let start = Arc::new(Stand::initial());
        let moves = ["e2e4", "d7d5", "e4d5", "d8d5"];
        assert_eq!(paths(&start, &played(&start, &moves)), [moves.join(" ")]);
    }

    #[test]
    fn six_half_moves_of_which_each_needs_the_one_before_are_found() {
        let start = played(&Arc::new(Stand::initial()), &["e2e4", "e7e5"]);
        let moves = ["d2d4", "e5d4", "d1d4", "b8c6", "d4a4", "c6e5"];
        assert_eq!(paths(&start, &played(&start, &moves)), [moves.join(" ")]);
    }

    #[test]
    fn eight_half_moves_are_found_and_none_where_a_player_would_need_more() {
        let start = Arc::new(Stand::initial());
        let moves = ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5", "c2c3", "g8f6"];
        let found = paths(&start, &played(&start, &moves));
        let are_whole = found.iter().all(|path| path.split(' ').count() == moves.len());
        assert!(!found.is_empty() && are_whole, "{found:?}");
        let white_alone = ["e2e4", "a7a6", "d2d4", "a6a5", "g1f3", "a5a4", "f1c4", "a4a3"];
        let to = played(&start, &white_alone);
        // White needs four half-moves, or three with castling.
        assert!(!reachable(start.placement(), to.placement(), Color::Black, 5));
        assert!(reachable(start.placement(), to.placement(), Color::White, 8));
    }

    #[test]
    fn every_order_of_play_is_found() {
        let start = Arc::new(Stand::initial());
        let orders = paths(&start, &played(&start, &["e2e4", "e7e5", "g1f3"]));
        assert_eq!(orders.len(), 2, "{orders:?}");
    }

    #[test]
    fn the_side_to_move_decides_how_many_half_moves_there_are() {
        let start = Arc::new(Stand::initial());
        let one = played(&start, &["e2e4"]);
        let bridges = bridge(&start, one.placement(), Some(Color::White), Limits::default());
        assert!(bridges.found.iter().all(|path| path.len() % 2 == 0));
    }

    #[test]
    fn a_search_for_a_placement_out_of_reach_finds_nothing_and_ends() {
        let start = Arc::new(Stand::initial());
        let mut nonsense = start.placement().clone();
        nonsense.set(Square::A4, Code::from(Color::White.king()));
        let limits = Limits {
            nodes: 2000,
            ..Limits::default()
        };
        assert!(bridge(&start, &nonsense, None, limits).found.is_empty());
    }
}

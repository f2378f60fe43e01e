//! Finds out whether a side can still mate by any series of legal moves, with the opponent's help (5.1.2, 5.2.2, 6.9,
//! 7.5.5).
//!
//! An answer is never a guess. A line is replayed before it is given. "Unwinnable" is a proof: no legal move, material,
//! a forced loop, a wall, or the whole set of reachable positions without a mate among them. Where a bound stops the
//! search the answer is undetermined, and the decision stays with the arbiter.
//!
//! Repetition and the count of moves (9.6) are outside of the question, because they belong to the game and not to the
//! position.

mod closure;
mod key;
mod solver;
mod wall;

use shakmaty::{Chess, Color, Move, MoveList, Position};

use closure::{Closure, explore};
use key::Key;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Legal moves from the position given, the last of which mates.
    Winnable(Vec<Move>),
    /// No series of legal moves mates.
    Unwinnable(Proof),
    /// A bound stopped the search.
    Undetermined(Limit),
}

/// Why no series of legal moves mates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// There is no legal move, and `winner` has not mated.
    Terminal,
    /// The material does not suffice.
    Material,
    /// Every move is forced, and the moves lead back to an earlier position.
    ForcedLoop,
    /// A wall: the winner cannot mate even in a relaxed game in which pieces only gain freedom.
    Wall,
    /// After each legal move the material or a wall proves it.
    WallAfterAnyMove,
    /// All reachable positions were looked at, except behind those whose material proves it.
    Closure {
        /// How many positions.
        positions: u32,
    },
}

/// The bound that stopped the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// More positions are reachable than the budget allows to look at.
    Positions(u32),
    /// A side has more than 16 pieces, which no game can bring about.
    Pieces,
}

/// The cost that a search may have. A larger budget turns "undetermined" into an answer, and never one answer into the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many positions an exhaustive proof may look at. Each costs about 100 bytes and a microsecond.
    pub closure_positions: u32,
}

/// The number fills a table of two million places to seven eighths, its full load: some 150 MB and five seconds.
impl Default for Budget {
    fn default() -> Self {
        Self {
            closure_positions: 1_800_000,
        }
    }
}

/// With no more legal moves than this, the static proof is worth a try whatever pieces there are.
const FEW_MOVES: usize = 6;

/// How many forced half-moves are followed at most. An earlier end is harmless.
const FORCED_PLIES: usize = 256;

/// Whether `winner` can mate from `position`.
///
/// In the rare hard cases the search takes some seconds, so the task that serves a board must not call it.
#[must_use]
pub fn can_mate(position: &Chess, winner: Color, budget: &Budget) -> Verdict {
    if !key::fits(position) {
        return Verdict::Undetermined(Limit::Pieces);
    }
    let mut line = Vec::new();
    let Some(position) = walk_forced(position.clone(), &mut line) else {
        return Verdict::Unwinnable(Proof::ForcedLoop);
    };
    if position.legal_moves().is_empty() {
        return if is_mate_by(&position, winner) {
            Verdict::Winnable(line)
        } else {
            Verdict::Unwinnable(Proof::Terminal)
        };
    }
    if let Some(proof) = quick_proof(&position, winner) {
        return Verdict::Unwinnable(proof);
    }
    if is_crowd(&position) {
        return Verdict::Undetermined(Limit::Pieces);
    }
    let found = |rest: Vec<Move>| Verdict::Winnable(line.iter().copied().chain(rest).collect());
    if let Some(rest) = solver::line(&position, winner) {
        return found(rest);
    }
    match explore(&position, winner, budget.closure_positions) {
        Closure::Empty { positions } => Verdict::Unwinnable(Proof::Closure { positions }),
        Closure::Mate(rest) => found(rest),
        Closure::Cut => Verdict::Undetermined(Limit::Positions(budget.closure_positions)),
    }
}

/// True where a side has more pieces than it begins with. The solver does not know such positions. To explore them
/// takes seconds and proves nothing.
fn is_crowd(position: &Chess) -> bool {
    let board = position.board();
    Color::ALL
        .into_iter()
        .any(|side| board.by_color(side).count() > 16)
}

/// True where a queen, rook or knight can move about, with which the argument of walls nearly always fails.
fn is_loose(position: &Chess, moves: usize) -> bool {
    let board = position.board();
    moves > FEW_MOVES && (board.queens() | board.rooks() | board.knights()).any()
}

/// The proofs that take microseconds.
fn quick_proof(position: &Chess, winner: Color) -> Option<Proof> {
    if position.has_insufficient_material(winner) {
        return Some(Proof::Material);
    }
    if is_loose(position, position.legal_moves().len()) {
        return None;
    }
    if wall::proves_unwinnable(position, winner) {
        return Some(Proof::Wall);
    }
    let hopeless_after = |by: Move| {
        let mut after = position.clone();
        after.play_unchecked(by);
        after.has_insufficient_material(winner) && !is_mate_by(&after, winner)
            || wall::proves_unwinnable(&after, winner)
    };
    position
        .legal_moves()
        .into_iter()
        .all(hopeless_after)
        .then_some(Proof::WallAfterAnyMove)
}

/// Plays moves as long as there is exactly one. None when the moves run in a circle.
fn walk_forced(mut position: Chess, line: &mut Vec<Move>) -> Option<Chess> {
    let mut seen = Vec::new();
    // Spare pieces may lie about on a board. A circle is not worth looking for among so many.
    let most = if key::fits(&position) { FORCED_PLIES } else { 0 };
    while line.len() < most {
        let moves: MoveList = position.legal_moves();
        let [only] = moves.as_slice() else { break };
        let key = Key::of(&position);
        if seen.contains(&key) {
            return None;
        }
        seen.push(key);
        line.push(*only);
        position.play_unchecked(*only);
    }
    Some(position)
}

/// True when the opponent of `winner` is mated.
fn is_mate_by(position: &Chess, winner: Color) -> bool {
    position.turn() != winner && position.is_checkmate()
}

/// True when neither side can mate, by a check that is quick enough for every move (5.2.2): forced moves, material,
/// walls. False means "not shown". A position of mate is not dead either.
#[must_use]
pub fn is_dead_quick(position: &Chess) -> bool {
    is_dead_quick_with(position, position.legal_moves().len())
}

/// The same where it is known how many legal `moves` there are.
#[must_use]
pub(crate) fn is_dead_quick_with(position: &Chess, moves: usize) -> bool {
    // Nearly every position of a game is such, and the check would prove nothing.
    if is_loose(position, moves) && !position.is_insufficient_material() {
        return false;
    }
    let mut line = Vec::new();
    let Some(position) = walk_forced(position.clone(), &mut line) else {
        return true;
    };
    if position.legal_moves().is_empty() {
        return position.is_stalemate();
    }
    Color::ALL
        .into_iter()
        .all(|winner| quick_proof(&position, winner).is_some())
}

/// True when the same quick check shows that `winner` cannot mate.
#[must_use]
pub fn cannot_mate_quick(position: &Chess, winner: Color) -> bool {
    let mut line = Vec::new();
    let Some(position) = walk_forced(position.clone(), &mut line) else {
        return true;
    };
    if position.legal_moves().is_empty() {
        return !is_mate_by(&position, winner);
    }
    quick_proof(&position, winner).is_some()
}

#[cfg(test)]
mod tests;

//! Can this side still mate, by any series of legal moves, the opponent helping? (5.1.2, 5.2.2, 6.9, 7.5.5)
//!
//! An answer is never a guess. A line is replayed before it is given. "Unwinnable" is a proof:
//! nothing to move, material, a forced loop, or the whole set of reachable positions without a
//! mate among them. What a bound leaves open is undetermined, and stays with the arbiter.
//!
//! Outside of the question, as everywhere else: repetition and the count of moves (9.6), which
//! belong to the game and not to the position.

mod closure;
mod key;
mod solver;
mod wall;

use shakmaty::{Chess, Color, Move, MoveList, Position};

use closure::{Closure, explore};
use key::Key;

/// What can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Legal moves from the position given, the last of which mates.
    Winnable(Vec<Move>),
    /// No series of legal moves mates.
    Unwinnable(Proof),
    /// A bound was met.
    Undetermined(Limit),
}

/// Why no series of legal moves mates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// There is no legal move, and no mate of the right side.
    Terminal,
    /// The material does not suffice.
    Material,
    /// Every move is forced, and they lead back to a position that was there before.
    ForcedLoop,
    /// A wall: in a relaxed game in which pieces only gain freedom, none can give mate.
    Wall,
    /// After each legal move, material or a wall.
    WallAfterAnyMove,
    /// All reachable positions were looked at, up to those where the material settles it.
    Closure {
        /// How many.
        positions: u32,
    },
}

/// What bound was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// More positions are reachable than the budget allows to look at.
    Positions(u32),
    /// More than 16 pieces of a side, which no game can bring about.
    Men,
}

/// How much may be spent. More of it turns "undetermined" into an answer, never one answer into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Positions in an exhaustive proof; about 100 bytes and a microsecond each.
    pub closure_positions: u32,
}

/// What fills a table of two million places to seven eighths, its full load: some 150 MB and five seconds.
impl Default for Budget {
    fn default() -> Self {
        Self {
            closure_positions: 1_800_000,
        }
    }
}

/// With so few legal moves the static proof is worth trying whatever pieces there are.
const FEW_MOVES: usize = 6;

/// Longest walk along forced moves; stopping early is harmless.
const FORCED_PLIES: usize = 256;

/// Can `winner` mate from `position`?
///
/// Spends up to some seconds in the rare hard cases: not for the task that serves a board.
#[must_use]
pub fn can_mate(position: &Chess, winner: Color, budget: &Budget) -> Verdict {
    if !key::fits(position) {
        return Verdict::Undetermined(Limit::Men);
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
        return Verdict::Undetermined(Limit::Men);
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

/// True where a side has more pieces than it begins with. The solver does not know such positions, and to look at them one by one
/// takes seconds and leads nowhere.
fn is_crowd(position: &Chess) -> bool {
    let board = position.board();
    Color::ALL
        .into_iter()
        .any(|side| board.by_color(side).count() > 16)
}

/// True where a queen, rook or knight on the loose breaks the argument of walls nearly always.
fn is_loose(position: &Chess, moves: usize) -> bool {
    let board = position.board();
    moves > FEW_MOVES && (board.queens() | board.rooks() | board.knights()).any()
}

/// The proofs that cost microseconds.
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

/// Plays moves for as long as there is exactly one. None when they run in a circle.
fn walk_forced(mut position: Chess, line: &mut Vec<Move>) -> Option<Chess> {
    let mut seen = Vec::new();
    while line.len() < FORCED_PLIES {
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

/// True when neither side can mate, by a check so quick that it can follow every move (5.2.2):
/// forced moves, material, walls. False means "not shown": a mated position is not dead either.
#[must_use]
pub fn is_dead_quick(position: &Chess) -> bool {
    // Nearly every position of a game: nothing would be proved.
    if is_loose(position, position.legal_moves().len()) && !position.is_insufficient_material() {
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

/// True when `winner` can be shown not to be able to mate, by the same quick check.
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

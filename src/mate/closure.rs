//! The exhaustive proof, over all positions that can be reached.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
};

use shakmaty::{Chess, Color, Move, Position};

use super::{is_mate_by, key::Key};

/// The result of the exploration.
pub(super) enum Closure {
    /// All positions were looked at, and none is a mate.
    Empty { positions: u32 },
    /// Moves that mate.
    Mate(Vec<Move>),
    /// There are more positions than the budget allows.
    Cut,
}

/// A position in the exploration, and the one before it.
struct Step {
    parent: u32,
    by: Move,
}

/// Looks at all positions reachable from `root`, nearest first. It leaves a position out only for its material: where
/// that does not suffice for `winner`, it never will again.
pub(super) fn explore(root: &Chess, winner: Color, cap: u32) -> Closure {
    let mut seen: HashSet<Key, BuildHasherDefault<Mixer>> = HashSet::default();
    let mut steps: Vec<Step> = Vec::new();
    // Positions at one distance, each with the number of the step that led to it (0 for the root).
    let mut frontier = vec![(root.clone(), 0_u32)];
    let mut next = Vec::new();
    seen.insert(Key::of(root));
    while !frontier.is_empty() {
        for (position, step) in frontier.drain(..) {
            let moves = position.legal_moves();
            if moves.is_empty() {
                if is_mate_by(&position, winner) {
                    return Closure::Mate(path(&steps, step));
                }
                continue;
            }
            if position.has_insufficient_material(winner) {
                continue;
            }
            for by in moves {
                let mut after = position.clone();
                after.play_unchecked(by);
                if !seen.insert(Key::of(&after)) {
                    continue;
                }
                if seen.len() > cap as usize {
                    return Closure::Cut;
                }
                steps.push(Step { parent: step, by });
                next.push((after, steps.len() as u32));
            }
        }
        std::mem::swap(&mut frontier, &mut next);
    }
    Closure::Empty {
        positions: seen.len() as u32,
    }
}

/// The moves from the root to a step.
fn path(steps: &[Step], mut at: u32) -> Vec<Move> {
    let mut moves = Vec::new();
    while let Some(step) = at.checked_sub(1).and_then(|i| steps.get(i as usize)) {
        moves.push(step.by);
        at = step.parent;
    }
    moves.reverse();
    moves
}

/// A quick hash. Collisions do no harm, because keys are compared in full.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().rev().fold(0_u64, |n, b| (n << 8) | u64::from(*b));
            self.write_u64(word);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

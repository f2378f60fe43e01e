//! How lines go on: half-moves are proposed with what they cost, and a line is made of one only
//! where it will be ranked. Most are not: that is what makes a board cheap to watch.

use std::sync::Arc;

use shakmaty::Bitboard;

use super::{
    candidate::Candidate,
    line::Line,
    lines::{BEHIND, Lines, MOST_LINES},
    ply::PlyKind,
    sensed::Sensed,
    weight,
};
use crate::time::Millis;

/// Half-moves that one reading may add to a line.
const DEPTH: usize = 4;

/// A half-move with which a line may go on, before it is known whether that is worth making.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    /// Index of the line.
    parent: usize,
    /// Index of the half-move among those of its position.
    candidate: usize,
    /// What the half-move costs.
    step: f32,
    /// What the line costs with it.
    cost: f32,
}

impl Lines {
    /// Adds lines for half-moves of pieces that were lifted before an unexplained press and whose
    /// arrival was not seen: an update may be lost.
    pub fn grow_blind(&mut self, now: Millis, sensed: &Sensed) {
        let mut blind = Vec::new();
        for (parent, line) in self.lines.iter().enumerate() {
            if line.awaits().is_none() {
                continue;
            }
            for (i, candidate) in line.stand.candidates().iter().enumerate() {
                if line.may_be_unseen(candidate, sensed) {
                    blind.push(self.proposal(parent, i, sensed, weight::PLY + weight::BLIND));
                }
            }
        }
        let fresh = blind.iter().any(|proposal| self.known(proposal).is_none());
        self.take_in(now, sensed, self.limit(now, sensed), &blind);
        if fresh {
            // What is seen may be the reply to a half-move that was not.
            self.grow(now, sensed, Bitboard::FULL);
        }
        self.rank(now, sensed);
    }

    /// Makes lines go on with half-moves that touch `squares` and speak for what is seen, and with those
    /// that follow from them.
    pub(super) fn grow(&mut self, now: Millis, sensed: &Sensed, squares: Bitboard) {
        let limit = self.limit(now, sensed);
        let mut fresh = Vec::new();
        for parent in 0..self.lines.len() {
            self.propose(parent, squares, sensed, &mut fresh);
        }
        for _ in 0..DEPTH {
            if fresh.is_empty() {
                break;
            }
            let known = self.lines.len();
            self.take_in(now, sensed, limit, &fresh);
            fresh.clear();
            for parent in known..self.lines.len() {
                self.propose(parent, Bitboard::FULL, sensed, &mut fresh);
            }
            if fresh.len() > 4 * MOST_LINES {
                fresh.sort_by(|a, b| a.cost.total_cmp(&b.cost));
                fresh.truncate(4 * MOST_LINES);
            }
        }
    }

    /// What costs more than this will not be ranked, nor will what follows from it.
    fn limit(&self, now: Millis, sensed: &Sensed) -> f32 {
        let totals = self.lines.iter().map(|line| line.total(sensed, now));
        totals.fold(f32::INFINITY, f32::min) + BEHIND
    }

    /// Makes the lines that are proposed at no more than `limit`, unless the same half-moves are there
    /// for less.
    fn take_in(&mut self, now: Millis, sensed: &Sensed, limit: f32, fresh: &[Proposal]) {
        let mut cheaper = Vec::new();
        for proposal in fresh.iter().filter(|proposal| proposal.cost <= limit) {
            match self.known(proposal) {
                None => self.lines.push(self.made(proposal, now, sensed)),
                Some(i) if proposal.cost < self.lines[i].cost => {
                    cheaper.push((i, self.made(proposal, now, sensed)));
                }
                Some(_) => {}
            }
        }
        // Not before: other proposals go on from the lines as they were.
        for (i, line) in cheaper {
            self.replace(i, line);
        }
    }

    /// The half-move proposed, and the line that it lengthens.
    fn proposed(&self, proposal: &Proposal) -> (&Line, &Candidate) {
        let line = &self.lines[proposal.parent];
        (line, &line.stand.candidates()[proposal.candidate])
    }

    /// Index of the line with the half-moves that are proposed, if there is one.
    fn known(&self, proposal: &Proposal) -> Option<usize> {
        let (parent, candidate) = self.proposed(proposal);
        let mut lines = self.lines.iter();
        lines.position(|line| line.is_child(parent, candidate.mv))
    }

    /// The line that is proposed.
    fn made(&self, proposal: &Proposal, now: Millis, sensed: &Sensed) -> Line {
        let (parent, candidate) = self.proposed(proposal);
        let stand = Arc::new(parent.stand.after(candidate));
        let kind = if self.recovering {
            PlyKind::Recovered(candidate.mv)
        } else {
            PlyKind::Legal(candidate.mv)
        };
        parent.played(kind, stand, sensed, now, proposal.step)
    }

    /// Adds the half-moves that touch `squares` and speak for what is seen where line `parent` leads.
    fn propose(&self, parent: usize, squares: Bitboard, sensed: &Sensed, into: &mut Vec<Proposal>) {
        let line = &self.lines[parent];
        if !line.may_go_on(sensed) {
            return;
        }
        for (i, candidate) in line.stand.candidates().iter().enumerate() {
            if (candidate.squares() & squares).is_empty() || (candidate.squares() & line.differing).is_empty()
            {
                continue;
            }
            let cost = if line.speaks_for(candidate, sensed) {
                weight::PLY
            } else if line.taken_at_once(candidate, sensed) {
                weight::PLY + weight::TAKEN_AT_ONCE
            } else {
                continue;
            };
            into.push(self.proposal(parent, i, sensed, cost));
        }
    }

    /// Half-move `candidate` of line `parent`, which by itself costs `cost`.
    fn proposal(&self, parent: usize, candidate: usize, sensed: &Sensed, cost: f32) -> Proposal {
        let line = &self.lines[parent];
        let played = &line.stand.candidates()[candidate];
        let mut step = cost + self.unpressed(line);
        step += line.too_early(played, sensed) + line.at_once(played, sensed) + line.unfelt(played, sensed);
        Proposal {
            parent,
            candidate,
            step,
            cost: line.cost + step,
        }
    }

    /// What it costs `line` to go on although its last half-move was not pressed.
    pub(super) fn unpressed(&self, line: &Line) -> f32 {
        match line.plies.last() {
            Some(ply) if self.clock_runs && ply.pressed.is_none() => weight::UNPRESSED,
            _ => 0.0,
        }
    }
}

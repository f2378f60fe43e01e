//! How lines grow. A half-move is proposed with its price, and a line is made of the proposal only if that
//! line will be ranked. Most are not, which makes a board cheap to watch.

use std::sync::Arc;

use shakmaty::Bitboard;

use super::{BEHIND, MOST_LINES};
use crate::{
    board::{
        act::IllegalAct,
        bill::{Bill, Item},
        candidate::Candidate,
        evidence::{Evidence, Traces},
        line::{Glance, Line},
        occupancy,
        ply::{Ply, PlyKind},
        sensed::Sensed,
        sleeve::{takes_row_for_fall, with_fall},
        stand::Stand,
        suspect::{answered, suspects},
        weight,
    },
    time::Millis,
};

/// Half-moves that one reading may add to a line.
const DEPTH: usize = 4;

/// A half-move that may continue a line. No line is made of it yet.
#[derive(Clone, Debug)]
struct Proposal {
    /// Index of the line.
    parent: usize,
    /// The half-move.
    candidate: Candidate,
    /// No reading told of it: it is a guess.
    guessed: bool,
    /// What the half-move costs.
    step: Bill,
    /// What the line has paid with this half-move.
    cost: f32,
    /// The least that the line can cost then, with what will still differ.
    least: f32,
}

/// A line that may be continued.
#[derive(Clone, Copy)]
struct Parent<'a> {
    index: usize,
    line: &'a Line,
    /// What its differences cost now.
    differs: f32,
    /// The most that one of them costs.
    most: f32,
}

impl Parent<'_> {
    /// The least that the differences cost once so many of them are explained.
    fn differs_after(&self, explained: usize) -> f32 {
        (self.differs - self.most * explained as f32).max(0.0)
    }
}

/// The growth of lines at a moment. It adds lines, and makes lines that are there likelier.
pub(super) struct Growth<'a> {
    #[allow(clippy::vec_box, reason = "as in `Lines`")]
    pub(super) lines: &'a mut Vec<Box<Line>>,
    /// Half-moves are found after a gap in the record.
    pub(super) recovering: bool,
    /// When the clock was started last.
    pub(super) seen_to: Millis,
    pub(super) now: Millis,
    pub(super) sensed: &'a Sensed,
}

impl Growth<'_> {
    /// Adds lines for half-moves whose arrival was not read: of pieces that were lifted before an unexplained
    /// press, for the update of their arrival may be lost, and of pieces that are never read.
    pub(super) fn blind(&mut self) {
        let Self { now, sensed, .. } = *self;
        let mut blind = Vec::new();
        let glance = Glance::new(sensed, now);
        let awaits = |index: &usize| self.lines[*index].awaits().is_some();
        for index in (0..self.lines.len()).filter(awaits) {
            let parent = self.parent(index, glance);
            let line = parent.line;
            let evidence = Evidence { line, sensed };
            for candidate in evidence.unread_half_moves() {
                let step = Bill::half_move().and(Item::Unread, weight::UNREAD);
                blind.push(Proposal {
                    guessed: true,
                    ..Self::proposal(parent, candidate, sensed, step)
                });
            }
            let lifted = evidence.lifted_unseen();
            if lifted.is_empty() {
                continue;
            }
            let moves = line.moves().iter();
            let of_lifted = moves.filter(|mv| (Candidate::touched(**mv) & lifted).any());
            for candidate in of_lifted.map(|mv| line.stand.candidate(*mv)) {
                let [(from, _), ..] = candidate.changes() else {
                    continue;
                };
                if lifted.contains(*from) && !evidence.speaks_for(&candidate) {
                    if line.faults.silent.contains(candidate.mv.to()) {
                        let step = Bill::half_move().and(Item::Unread, weight::UNREAD_BUT_TOLD);
                        blind.push(Self::proposal(parent, candidate, sensed, step));
                        continue;
                    }
                    let elsewhere = evidence.read_elsewhere(&candidate);
                    let step = Self::blind_step(&candidate, sensed).and(Item::Elsewhere, elsewhere);
                    blind.push(Self::proposal(parent, candidate, sensed, step));
                }
            }
        }
        if !blind.is_empty() {
            let fresh = blind.iter().any(|proposal| self.known(proposal).is_none());
            self.take_in(self.limit(glance), &blind);
            if fresh {
                // The readings may be the reply to a half-move that was not read.
                self.on(Bitboard::FULL);
            }
        }
    }

    /// What a half-move costs of which nothing but the lifting was read.
    fn blind_step(candidate: &Candidate, sensed: &Sensed) -> Bill {
        let mut step = Bill::half_move().and(Item::Blind, weight::BLIND);
        if sensed.ever_read().contains(candidate.mv.to()) {
            step.pay(Item::SensorFault, weight::READ_BEFORE);
        }
        step
    }

    /// Continues lines with half-moves that touch `squares` and that the readings speak for. Continues the
    /// lines that result in the same way.
    pub(super) fn on(&mut self, squares: Bitboard) {
        let Self { now, sensed, .. } = *self;
        let glance = Glance::new(sensed, now);
        let mut fresh = Vec::new();
        let parents: Vec<_> = (0..self.lines.len()).map(|i| self.parent(i, glance)).collect();
        let totals = parents
            .iter()
            .map(|parent| parent.line.total_if(parent.differs, now));
        let limit = weight::least(totals) + BEHIND;
        for parent in parents {
            self.propose(parent, squares, limit, &mut fresh);
        }
        for _ in 0..DEPTH {
            if fresh.is_empty() {
                break;
            }
            let taken = self.take_in(limit, &fresh);
            fresh.clear();
            for index in taken {
                self.propose(self.parent(index, glance), Bitboard::FULL, limit, &mut fresh);
            }
            if fresh.len() > 4 * MOST_LINES {
                fresh.sort_by(|a, b| a.least.total_cmp(&b.least));
                fresh.truncate(4 * MOST_LINES);
            }
        }
    }

    /// Adds lines for acts that seem illegal where a press waits for its half-move.
    pub(super) fn suspect(&mut self) {
        let Self { now, sensed, .. } = *self;
        let mut grown = Vec::new();
        for line in self.lines.iter().filter(|l| l.awaits().is_some()) {
            for (act, left) in suspects(line, sensed) {
                let step = Self::illegal_step(&act, weight::ILLEGAL).and(Item::Unpressed, line.unpressed());
                grown.push(line.played(PlyKind::Suspect(Box::new(act)), left, sensed, now, &step));
            }
        }
        self.offer_all(grown);
    }

    /// What `act` costs: `otherwise`, unless it can only be castling.
    fn illegal_step(act: &IllegalAct, otherwise: f32) -> Bill {
        let is_castling = act.reason.is_of_castling();
        Bill::of(
            Item::Illegal,
            if is_castling { weight::CASTLED } else { otherwise },
        )
    }

    /// Adds lines in which a player did something against the Laws that nobody pressed for, and his opponent answered, after the first
    /// `n` half-moves of the best line or later; `base` is what stands before its first. Returns true when there are such lines.
    pub(super) fn suspect_answered(&mut self, base: &Arc<Stand>, n: usize) -> bool {
        let Self { now, sensed, .. } = *self;
        let least = self.lines[0].bill.paid_for(Item::Lasted);
        let answer = |line: &Line| {
            let (act, left) = answered(line, sensed)?;
            let mut step = Self::illegal_step(&act, weight::ANSWERED).and(Item::Unpressed, line.unpressed());
            if act.reason.is_of_castling() {
                // What it explains has not differed, however long it took until somebody answered.
                let differed = line.bill.paid_for(Item::Lasted) - least;
                step.pay(Item::Lasted, -differed.max(0.0));
            }
            Some(line.played(PlyKind::Illegal(Box::new(act)), left, sensed, now, &step))
        };
        let best = self.lines[0].as_ref();
        let lines = self.lines.iter().map(Box::as_ref);
        let begun = lines.filter(|line| line.plies.len() >= n && begins(best, line));
        let mut grown: Vec<_> = begun.filter_map(answer).collect();
        let castled = |line: &Line| {
            let last = line.plies.last().map(|last| &last.kind);
            matches!(last, Some(PlyKind::Illegal(act)) if act.reason.is_of_castling())
        };
        // Nothing else looks like castling, so that is looked for where nothing else is.
        grown.extend(self.dropped(base, n).iter().filter_map(answer).filter(castled));
        let is_grown = !grown.is_empty();
        self.offer_all(grown);
        is_grown
    }

    /// Takes lines in, and continues all lines if one of them was not there.
    pub(super) fn offer_all(&mut self, lines: Vec<Line>) {
        let mut fresh = false;
        for line in lines {
            fresh |= self.offer(line);
        }
        if fresh {
            self.on(Bitboard::FULL);
        }
    }

    /// The best line without its last half-moves, as far as `n` leaves some and no line is so: what the board shows was too dear for it
    /// meanwhile. `base` is what stands before the first.
    fn dropped(&self, base: &Arc<Stand>, n: usize) -> Vec<Line> {
        let Self { now, sensed, .. } = *self;
        let best = self.lines[0].as_ref();
        let mut line = best.clone();
        let mut dropped = Vec::new();
        while line.plies.len() > n {
            line = line.without_last(base, sensed, now);
            line.charge(Item::HalfMoves, -weight::PLY);
            let is_there = |other: &Line| other.plies.len() == line.plies.len() && begins(best, other);
            if !self.lines.iter().any(|other| is_there(other)) {
                dropped.push(line.clone());
            }
        }
        dropped
    }

    /// Adds lines in which pieces fell while the last half-move was made.
    pub(super) fn fallen(&mut self) {
        let sensed = self.sensed;
        if sensed.is_felt() {
            return;
        }
        if !self.lines.iter().all(|line| takes_row_for_fall(line, sensed)) {
            self.lines.retain(|line| !takes_row_for_fall(line, sensed));
        }
        let fallen: Vec<Line> = self
            .lines
            .iter()
            .filter_map(|line| with_fall(line, sensed))
            .collect();
        for line in fallen {
            self.offer(line);
        }
    }

    fn parent(&self, index: usize, glance: Glance<'_>) -> Parent<'_> {
        let line = &self.lines[index];
        Parent {
            index,
            line,
            differs: line.differs(glance),
            most: if self.sensed.is_felt() {
                weight::MISSING + weight::LEFT_EMPTY
            } else {
                weight::WRONG
            },
        }
    }

    /// The highest price of a line that will be ranked. What follows from a dearer line is no cheaper.
    fn limit(&self, glance: Glance<'_>) -> f32 {
        let totals = self.lines.iter().map(|line| line.total_at(glance));
        weight::least(totals) + BEHIND
    }

    /// Makes the lines that are proposed at no more than `limit`, unless the same half-moves are there for
    /// less. Returns the indices of the lines that are new or have become cheaper: what follows from them is
    /// new or cheaper, too.
    fn take_in(&mut self, limit: f32, fresh: &[Proposal]) -> Vec<usize> {
        let mut taken = Vec::new();
        let mut cheaper = Vec::new();
        for proposal in fresh.iter().filter(|proposal| proposal.least <= limit) {
            match self.known(proposal) {
                None => {
                    taken.push(self.lines.len());
                    let line = self.made(proposal);
                    self.lines.push(Box::new(line));
                }
                Some(i) if proposal.cost < self.lines[i].bill.total() => {
                    cheaper.push((i, self.made(proposal)));
                }
                Some(_) => {}
            }
        }
        // Only now, for the other proposals continue the lines as they were.
        for (i, line) in cheaper {
            self.replace(i, line);
            if !taken.contains(&i) {
                taken.push(i);
            }
        }
        taken
    }

    /// Index of the line with the half-moves that are proposed, if there is one.
    fn known(&self, proposal: &Proposal) -> Option<usize> {
        let parent = &self.lines[proposal.parent];
        let mv = proposal.candidate.mv;
        let way = parent.plies.way_on(mv);
        let mut lines = self.lines.iter();
        lines.position(|line| line.plies.goes(way) && line.is_child(parent, mv))
    }

    /// The line that is proposed.
    fn made(&self, proposal: &Proposal) -> Line {
        let Self { now, sensed, .. } = *self;
        let (parent, candidate) = (&self.lines[proposal.parent], &proposal.candidate);
        let stand = Arc::new(parent.stand.after(candidate));
        let kind = if self.recovering || proposal.guessed {
            PlyKind::Recovered(candidate.mv)
        } else {
            PlyKind::Legal(candidate.mv)
        };
        parent.played(kind, stand, sensed, now, &proposal.step)
    }

    /// Proposes the half-moves that may continue `parent`, touch `squares` and have readings that speak for
    /// them. Proposes none if each would cost more than `limit`.
    fn propose(&self, parent: Parent<'_>, squares: Bitboard, limit: f32, into: &mut Vec<Proposal>) {
        let (line, sensed) = (parent.line, self.sensed);
        let evidence = Evidence { line, sensed };
        let waits = line.faults.fall.is_some_and(|fall| fall.waits_for_order());
        let least = line.bill.total() + (weight::PLY + line.unpressed()) + parent.differs_after(4);
        if least > limit || waits || !evidence.may_go_on() {
            return;
        }
        let traces = Traces::new(evidence);
        for mv in line.moves() {
            let answered = traces.tell_of_reply_to(mv);
            let touched = answered || (Candidate::touched(*mv) & squares).any();
            if !touched || !traces.speak_for(mv) {
                continue;
            }
            let candidate = line.stand.candidate(*mv);
            let step = if evidence.speaks_for(&candidate) {
                Bill::half_move()
            } else if evidence.taken_at_once(&candidate) {
                Bill::half_move().and(Item::TakenAtOnce, evidence.unread_until_taken(&candidate))
            } else if evidence.unread_half_move(&candidate) {
                Bill::half_move().and(Item::Unread, weight::UNREAD_BUT_TOLD)
            } else if answered {
                Self::blind_step(&candidate, sensed)
            } else {
                continue;
            };
            into.push(Self::proposal(parent, candidate, sensed, step));
        }
    }

    /// The proposal to continue `parent` with `candidate`, which by itself costs `step`.
    fn proposal(parent: Parent<'_>, candidate: Candidate, sensed: &Sensed, mut step: Bill) -> Proposal {
        let line = parent.line;
        let evidence = Evidence { line, sensed };
        step.pay(Item::Unpressed, line.unpressed());
        step.pay(Item::Early, evidence.too_early(&candidate));
        step.pay(Item::AtOnce, evidence.at_once(&candidate));
        step.pay(Item::Underpromotion, evidence.unseen_role(&candidate));
        step.pay(Item::Unfelt, occupancy::unfelt(line, &candidate, sensed));
        let cost = line.bill.total() + step.total();
        let explained = (candidate.squares() & line.differing).count();
        Proposal {
            parent: parent.index,
            candidate,
            guessed: false,
            step,
            cost,
            least: cost + parent.differs_after(explained),
        }
    }

    /// Takes a line in unless the same half-moves are there at no higher cost. Returns true when they were
    /// not there at all.
    pub(super) fn offer(&mut self, line: Line) -> bool {
        match self.lines.iter().position(|other| other.same_as(&line)) {
            Some(i) if line.bill.total() < self.lines[i].bill.total() => self.replace(i, line),
            Some(_) => {}
            None => {
                self.lines.push(Box::new(line));
                return true;
            }
        }
        false
    }

    /// Replaces line `i` by a likelier line with the same half-moves, which takes over the presses that these
    /// were given.
    fn replace(&mut self, i: usize, line: Line) {
        let known = std::mem::replace(&mut *self.lines[i], line);
        for (k, old) in known.plies.iter().enumerate() {
            let plies = &mut self.lines[i].plies;
            if old.pressed.is_some() && plies.get(k).is_some_and(|ply| ply.pressed.is_none()) {
                plies[k].pressed = old.pressed;
            }
        }
    }
}

/// True when the half-moves of `line` are the first ones of `best`.
fn begins(best: &Line, line: &Line) -> bool {
    best.plies
        .begin_alike(&line.plies, line.plies.len(), Ply::is_alike)
}

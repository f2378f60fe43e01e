//! Half-moves from where pieces stand that were displaced, and that nobody has put back.

use std::sync::Arc;

use shakmaty::Bitboard;

use super::grow::Growth;
use crate::board::{
    astray,
    bill::{Bill, Item},
    candidate::Candidate,
    evidence::Evidence,
    line::Line,
    ply::PlyKind,
    weight,
};

/// What was read within this time may belong to a half-move that follows one that was only just found.
const LATELY_MS: u64 = 1000;

impl Growth<'_> {
    /// Adds lines in which pieces stay where they were displaced to, and a half-move is made from there that touches `squares` and
    /// that cannot be made otherwise.
    pub(super) fn goes_on_displaced(&mut self, squares: Bitboard) {
        if self.sensed.is_felt() {
            return;
        }
        // The half-move before may have been found only now.
        let squares = squares | self.sensed.changed_within(Bitboard::FULL, LATELY_MS, self.now);
        let grown: Vec<Line> = self
            .lines
            .iter()
            .flat_map(|line| self.played_where_they_stand(line, squares))
            .collect();
        self.offer_all(grown);
    }

    /// `line` with each half-move that the readings speak for from what stands on the board, and not from what it has there.
    fn played_where_they_stand(&self, line: &Line, squares: Bitboard) -> Vec<Line> {
        let sensed = self.sensed;
        let us = Some(line.turn());
        let mut arrived = squares.into_iter();
        let waits = line.faults.fall.is_some_and(|fall| fall.waits_for_order());
        if waits || !arrived.any(|square| sensed.at(square).color() == us) {
            return Vec::new();
        }
        let Some(standing) = astray::standing(line, sensed, self.seen_to, self.now) else {
            return Vec::new();
        };
        let displaced = line.displaced_as(&standing.placement, sensed);
        let evidence = Evidence {
            line: &displaced,
            sensed,
        };
        let made = |candidate: &Candidate| {
            let is_touched = (candidate.squares() & squares).any();
            is_touched && !line.moves().contains(&candidate.mv) && evidence.speaks_for(candidate)
        };
        let grown = displaced.stand.candidates().filter(made).map(|candidate| {
            // A displaced piece that was taken where it stands was not put back.
            let is_taken = !candidate.mv.is_en_passant()
                && candidate.mv.is_capture()
                && line.placement().at(candidate.mv.to()).is_empty();
            let stays = if is_taken {
                weight::TAKEN_DISPLACED
            } else {
                weight::STAYS_DISPLACED
            };
            let mut step = Bill::half_move().and(Item::Displaced, standing.price + stays);
            step.pay(Item::Unpressed, line.unpressed());
            step.pay(Item::Early, evidence.too_early(&candidate));
            step.pay(Item::AtOnce, evidence.at_once(&candidate));
            step.pay(Item::Underpromotion, evidence.unseen_role(&candidate));
            let stand = Arc::new(displaced.stand.after(&candidate));
            let kind = PlyKind::Legal(candidate.mv);
            displaced.played(kind, stand, sensed, self.now, &step)
        });
        grown.collect()
    }
}

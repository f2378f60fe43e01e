//! Boards that do not know their pieces. A square tells that something stands on it, and not what. So the
//! squares that were felt empty, and the times, have to tell half-moves apart.

use shakmaty::{Move, Square};

use super::{
    candidate::Candidate,
    line::Line,
    placement::Code,
    sensed::{SCAN_MS, Sensed},
    weight,
};

/// In a capture en passant the captured pawn is lifted at most this long before the capturing one.
const PASSING_MS: u64 = 3000;

impl Line {
    /// True when `candidate` may be a capture on a board that does not know its pieces: a capture leaves one
    /// square empty, and nothing else changes.
    pub(super) fn may_have_taken(&self, candidate: &Candidate, sensed: &Sensed) -> bool {
        let to = candidate.mv.to();
        let Move::Normal {
            from,
            capture: Some(_),
            ..
        } = candidate.mv
        else {
            return false;
        };
        sensed.at(to) == Code::MAN && self.differing.contains(from) && sensed.at(from).is_empty()
    }

    /// True when what stands on `square` may have come there since the last half-move. A board that does not
    /// know its pieces shows the capturing piece as it showed the captured one, so there the time decides.
    pub(super) fn came(&self, square: Square, sensed: &Sensed) -> bool {
        let stood = sensed.at(square) == Code::MAN && !self.placement().at(square).is_empty();
        !stood
            || self
                .plies
                .last()
                .is_none_or(|last| sensed.since(square) > last.at)
    }

    /// What it costs that a board which does not know its pieces did not feel what tells `candidate` from
    /// others, such as the exchange of two pieces on the square of a capture.
    #[must_use]
    pub(super) fn unfelt(&self, candidate: &Candidate, sensed: &Sensed) -> f32 {
        let to = candidate.mv.to();
        if sensed.at(to) != Code::MAN {
            return 0.0;
        }
        let Some(from) = candidate.mv.from().filter(|_| !candidate.mv.is_castle()) else {
            return 0.0;
        };
        // A piece arrives after it has left its square. A promoted piece may arrive before or after the pawn
        // has left.
        let left = sensed.at(from).is_empty() && sensed.since(from) <= sensed.since(to) + SCAN_MS;
        let exchanged = sensed.before(to).is_empty() && self.came(to, sensed);
        if candidate.mv.is_en_passant() {
            let victim = Square::from_coords(to.file(), from.rank());
            let together = sensed.since(from).since(sensed.since(victim)) <= PASSING_MS;
            return if left && together { 0.0 } else { weight::UNFELT };
        }
        let quiet = !candidate.mv.is_capture();
        let felt = if quiet {
            candidate.mv.is_promotion() || left
        } else {
            left && exchanged
        };
        if felt { 0.0 } else { weight::UNFELT }
    }
}

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

/// True when `candidate` may be a capture on a board that does not know its pieces: a capture leaves one
/// square empty, and nothing else changes.
pub(super) fn may_have_taken(line: &Line, candidate: &Candidate, sensed: &Sensed) -> bool {
    let to = candidate.mv.to();
    let Move::Normal {
        from,
        capture: Some(_),
        ..
    } = candidate.mv
    else {
        return false;
    };
    sensed.at(to) == Code::UNKNOWN && line.differing.contains(from) && sensed.at(from).is_empty()
}

/// What it costs that a board which does not know its pieces did not feel what tells `candidate` from
/// others, such as the exchange of two pieces on the square of a capture.
#[must_use]
pub(super) fn unfelt(line: &Line, candidate: &Candidate, sensed: &Sensed) -> f32 {
    let to = candidate.mv.to();
    if sensed.at(to) != Code::UNKNOWN {
        return 0.0;
    }
    let Some(from) = candidate.mv.from().filter(|_| !candidate.mv.is_castle()) else {
        return 0.0;
    };
    // A piece arrives after it has left its square. A promoted piece may arrive before or after the pawn
    // has left.
    let left = sensed.at(from).is_empty() && sensed.since(from) <= sensed.since(to) + SCAN_MS;
    let exchanged = sensed.before(to).is_empty() && line.came(to, sensed);
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

//! Where the piece of a half-move stood: what its squares have shown tells it from one that went on.

use shakmaty::{Bitboard, Square};

use super::Line;
use crate::board::{bill::Item, ply::Ply, sensed::Sensed, weight};

/// A piece that was read on a square for less than this was on its way.
pub(in crate::board) const SLID_MS: u64 = 600;
/// A hand that has second thoughts holds a piece over a square for less than this.
const HOVERED_MS: u64 = 1500;
/// A piece that a hand has lifted is put down again within this time.
const SOON_MS: u64 = 5000;

/// What `line` pays for assuming that the piece on `square` is there and is not read, where it was read before.
pub(super) fn price_of_unread(line: &Line, square: Square, sensed: &Sensed) -> f32 {
    let was_read = sensed.before(square) == line.placement().at(square);
    if was_read && sensed.stood_for(square) < SLID_MS {
        weight::READ_IN_PASSING
    } else if has_gone_on(line, square, sensed) {
        weight::READ_FOR_A_WHILE
    } else {
        0.0
    }
}

/// True where the piece of `square` was read there, and no more from before the press for the half-move that put it there: the square
/// reads that piece, so it rather went on.
pub(super) fn has_gone_on(line: &Line, square: Square, sensed: &Sensed) -> bool {
    let is_gone = sensed.at(square).is_empty() && sensed.before(square) == line.placement().at(square);
    let is_put = |ply: &&Ply| ply.kind.from_to().is_some_and(|(_, to)| to == square);
    let pressed = || line.plies.backwards().find(is_put).and_then(|ply| ply.pressed);
    // A dump may be older than what an update told just before it.
    let left = sensed.seen_at(square).filter(|_| is_gone);
    left.is_some_and(|left| pressed().is_some_and(|pressed| left < pressed))
}

/// `square` shows something else than before. Where it had shown, for a while and since the press for it, the very piece that a
/// half-move of `line` put elsewhere, where it was never read but in passing, that half-move was rather another one.
pub(in crate::board) fn left(line: &mut Line, square: Square, sensed: &Sensed) {
    let was = sensed.before(square);
    let stood = sensed.slack() == 0 && sensed.stood_for(square) >= SLID_MS;
    if !was.is_piece() || !stood || was.agrees(line.expects(square)) {
        return;
    }
    let came = sensed.since(square) - sensed.stood_for(square);
    let is_there = |ply: &Ply| {
        let to = ply.kind.from_to().map(|(_, to)| to);
        let in_passing = |to: Square| sensed.before(to) == was && sensed.stood_for(to) < SLID_MS;
        let is_unread = |to: &Square| {
            let is_gone = sensed.at(*to).is_empty() && sensed.since(*to) < came;
            is_gone && (line.faults.silent.contains(*to) || in_passing(*to))
        };
        ply.pressed.is_some_and(|pressed| pressed < came)
            && to
                .filter(is_unread)
                .is_some_and(|to| line.placement().at(to) == was)
    };
    if line.plies.backwards().any(is_there) {
        line.bill.pay(Item::Elsewhere, weight::STOOD_ELSEWHERE);
    }
}

/// True when the piece that had stood on `square`, and is not read there any more, was read on another square for a while soon after
/// it had left: no half-move of `line` put one like it there.
pub(super) fn stood_elsewhere(line: &Line, square: Square, sensed: &Sensed) -> bool {
    let (piece, left) = (line.placement().at(square), sensed.since(square));
    // Where nobody measured when readings came, nobody knows how long a piece stood.
    if sensed.slack() > 0 || sensed.before(square) != piece || sensed.stood_for(square) < SLID_MS {
        return false;
    }
    let put = |ply: &Ply| ply.kind.from_to().map(|(_, to)| to);
    let put: Bitboard = line.plies.iter().filter_map(put).collect();
    let mut others = (!(put | line.placement().squares_of(piece))).into_iter();
    others.any(|other| sensed.has_stood(other, piece, left, left + SOON_MS, HOVERED_MS))
}

//! Where the piece of a half-move stood: what its squares have shown tells it from one that went on.

use shakmaty::{Bitboard, Move, Piece, Role, Square};

use crate::board::{
    placement::{Code, Placement},
    ply::{Plies, Ply, PlyKind},
    sensed::Sensed,
    weight,
};
use crate::time::Millis;

/// A piece that was read on a square for less than this was on its way.
pub(in crate::board) const SLID_MS: u64 = 600;
/// A hand that has second thoughts holds a piece over a square for less than this.
const HOVERED_MS: u64 = 1500;
/// A piece that a hand has lifted is put down again within this time.
const SOON_MS: u64 = 5000;

/// What it costs to assume that `piece`, which `plies` put on `square`, stands there and is not read, where it was read before.
pub(super) fn price_of_unread(plies: &Plies, piece: Code, square: Square, sensed: &Sensed) -> f32 {
    if sensed.before(square) == piece && sensed.stood_for(square) < SLID_MS {
        weight::READ_IN_PASSING
    } else if has_gone_on(plies, piece, square, sensed) {
        weight::READ_FOR_A_WHILE
    } else {
        0.0
    }
}

/// What it costs that the piece which `plies` put on `square`, and which was thought not to be read, is read. The piece of a promotion
/// is known only then: what it cost that it is another than a queen is given back.
pub(super) fn price_of_reading(plies: &Plies, square: Square) -> f32 {
    let is_put = |ply: &&Ply| ply.kind.from_to().is_some_and(|(_, to)| to == square);
    let put = plies.backwards().find(is_put).filter(|ply| !ply.landed);
    let lesser = put.and_then(|ply| ply.kind.legal()?.promotion().filter(|role| *role != Role::Queen));
    if lesser.is_some() {
        -weight::UNDERPROMOTION
    } else {
        weight::READ_AFTER_ALL
    }
}

/// True where the piece of the half-move `kind` from the position `from_here` stood on another square at its press, and was taken on from
/// there: the player made the half-move otherwise than he had pressed for. A press is read at most `read` after what came before it.
pub(super) fn went_on(
    kind: &PlyKind,
    from_here: &Placement,
    pressed: Millis,
    read: u64,
    sensed: &Sensed,
) -> bool {
    let Some((from, to)) = kind.legal().and_then(|_| kind.from_to()) else {
        return false;
    };
    let piece = from_here.at(from);
    let stood = |square: Square| {
        let has_left = sensed.seen_at(square).is_some_and(|left| left > pressed);
        sensed.before(square) == piece && has_left && sensed.before_since(square) <= pressed + read
    };
    let empty = !sensed.placement().occupied() & !from_here.occupied();
    sensed.seen_at(to).is_some_and(|came| came > pressed) && empty.into_iter().any(stood)
}

/// True where `piece` was read on `square`, and no more from before the press for the half-move of `plies` that put it there: the
/// square reads that piece, so it rather went on.
pub(super) fn has_gone_on(plies: &Plies, piece: Code, square: Square, sensed: &Sensed) -> bool {
    let is_gone = sensed.at(square).is_empty() && sensed.before(square) == piece;
    let is_put = |ply: &&Ply| ply.kind.from_to().is_some_and(|(_, to)| to == square);
    let pressed = || plies.backwards().find(is_put).and_then(|ply| ply.pressed);
    // A dump may be older than what an update told just before it.
    let left = sensed.seen_at(square).filter(|_| is_gone);
    left.is_some_and(|left| pressed().is_some_and(|pressed| left + sensed.slack() < pressed))
}

/// True where `square`, which shows something else now, had shown for a while, and since the press for it, the very piece that a
/// half-move of `plies` put elsewhere, where it was never read but in passing, or from where it had gone on before that press: that
/// half-move was rather another one. The same holds where a half-move put another piece of a promotion on `square` itself. `silent` are
/// the squares on which pieces are not read.
pub(in crate::board) fn has_stood_elsewhere(
    plies: &Plies,
    placement: &Placement,
    silent: Bitboard,
    square: Square,
    sensed: &Sensed,
) -> bool {
    let was = sensed.before(square);
    if !was.is_piece() || sensed.slack() > 0 {
        return false;
    }
    let came = sensed.before_since(square);
    let is_long = sensed.stood_for(square) >= SLID_MS;
    let is_unread = |to: Square, pressed: Millis| {
        let left = sensed.since(to);
        let is_gone = sensed.at(to).is_empty() && left < came;
        let in_passing = sensed.before(to) == was && sensed.stood_for(to) < SLID_MS;
        let has_gone_on = sensed.before(to) == was && left < pressed;
        is_gone && (is_long && (silent.contains(to) || in_passing) || has_gone_on)
    };
    let is_there = |ply: &Ply| {
        let (Some(pressed), Some((_, to))) = (ply.pressed, ply.kind.from_to()) else {
            return false;
        };
        let is_exchanged = is_long && to == square && is_otherwise_promoted(ply, was, square, sensed);
        pressed < came && (placement.at(to) == was && is_unread(to, pressed) || is_exchanged)
    };
    plies.backwards().any(is_there)
}

/// True where `was`, another piece of its player's, stood where `ply` promoted a pawn, and the piece of `ply` was not read there after
/// its press.
fn is_otherwise_promoted(ply: &Ply, was: Code, square: Square, sensed: &Sensed) -> bool {
    let piece = ply.stand.placement().at(square);
    let is_promotion = ply.kind.legal().is_some_and(Move::is_promotion);
    let is_other = |was: Piece| was.color != ply.stand.turn() && !matches!(was.role, Role::Pawn | Role::King);
    let is_read = || {
        ply.pressed
            .is_some_and(|pressed| sensed.was_read_since(square, piece, pressed))
    };
    is_promotion && was != piece && was.piece().is_some_and(is_other) && !is_read()
}

/// True when the piece that had stood on `square`, and is not read there any more, was read on another square for a while soon after
/// it had left: no half-move of `plies` put one like it there.
pub(super) fn was_put_elsewhere(
    plies: &Plies,
    placement: &Placement,
    square: Square,
    sensed: &Sensed,
) -> bool {
    let (piece, left) = (placement.at(square), sensed.since(square));
    // Where nobody measured when readings came, nobody knows how long a piece stood.
    if sensed.slack() > 0 || sensed.before(square) != piece || sensed.stood_for(square) < SLID_MS {
        return false;
    }
    let put = |ply: &Ply| ply.kind.from_to().map(|(_, to)| to);
    let put: Bitboard = plies.iter().filter_map(put).collect();
    let mut others = (!(put | placement.squares_of(piece))).into_iter();
    others.any(|other| sensed.has_stood(other, piece, left, left + SOON_MS, HOVERED_MS))
}

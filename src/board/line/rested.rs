//! What pieces cost that rested elsewhere before a press. A player may think again until he presses: the half-move that counts is the
//! one that stands then, however long something else had stood.

use shakmaty::{Bitboard, Role, Square};

use super::LATE_MS;
use crate::board::{
    candidate::Candidate,
    placement::Code,
    ply::{Plies, PlyKind},
    sensed::Sensed,
    weight,
};

/// What a pawn may become.
const PIECES: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];

/// What differences that lasted have cost, square by square, as far as it was not given back.
#[derive(Clone, Debug, Default)]
pub(super) struct Rested {
    paid: Vec<(Square, f32)>,
    /// What was due for second thoughts at the last half-move.
    thoughts: f32,
}

impl Rested {
    /// What is remembered: see [`super::KeptLine`].
    pub(super) fn of(paid: Vec<(Square, f32)>, thoughts: f32) -> Self {
        Self { paid, thoughts }
    }

    /// The squares that have cost anything.
    pub(super) fn squares(&self) -> Bitboard {
        self.paid.iter().map(|(square, _)| *square).collect()
    }

    /// What was paid for each square.
    pub(super) fn paid(&self) -> &[(Square, f32)] {
        &self.paid
    }

    /// What was due for second thoughts at the last half-move.
    pub(super) fn thoughts(&self) -> f32 {
        self.thoughts
    }

    /// `square` has cost `nats` more.
    pub(super) fn pay(&mut self, square: Square, nats: f32) {
        match self.paid.iter_mut().find(|(paid, _)| *paid == square) {
            Some((_, sum)) => *sum += nats,
            None => self.paid.push((square, nats)),
        }
    }

    /// The same as another half-move begins.
    pub(super) fn begun(&self) -> Self {
        Self::of(self.paid.clone(), 0.0)
    }

    /// `squares` are as they should be: gives back what they have cost, but for what a second thought costs.
    pub(super) fn give_back(&mut self, squares: Bitboard) -> f32 {
        let back = |(square, _): &(Square, f32)| squares.contains(*square);
        let sum: f32 = self
            .paid
            .iter()
            .filter(|paid| back(paid))
            .map(|(_, nats)| nats)
            .sum();
        self.paid.retain(|paid| !back(paid));
        let due = (weight::THOUGHT_AGAIN - self.thoughts).min(sum);
        self.thoughts += due;
        sum - due
    }
}

/// Those of `squares`, none of which differs any more, on which something was put right by the press for the last of `plies`, whose
/// piece is read: pieces of its player had stood elsewhere in his turn, or were missing, another one stood where he promotes, or the
/// rook had castled before the king.
pub(super) fn put_right(plies: &Plies, squares: Bitboard, sensed: &Sensed) -> Bitboard {
    let mut backwards = plies.backwards();
    let read = backwards.next().filter(|last| last.landed && last.seen);
    let last = read.and_then(|last| match last.kind {
        PlyKind::Legal(mv) => Some((last, last.pressed?, mv)),
        _ => None,
    });
    let Some((last, pressed, mv)) = last else {
        return Bitboard::EMPTY;
    };
    let us = Some(!last.stand.turn());
    let before = backwards.next();
    let begun = before.map_or(last.began, |before| before.pressed.unwrap_or(before.at));
    let own = Candidate::touched(mv);
    let stood_elsewhere = |square: &Square| {
        let (was, since) = (sensed.before(*square), sensed.since(*square));
        // It was lifted and put back, or it had come there in this turn.
        let is_back = sensed.vanished_at(*square, sensed.at(*square)).is_some();
        let has_come = was.color() == us && sensed.before_since(*square) >= begun;
        let own = sensed.at(*square).color() == us && is_back || has_come;
        own && begun <= since && since <= pressed
    };
    let elsewhere: Bitboard = (squares & !own).into_iter().filter(stood_elsewhere).collect();
    let was_other = |role: Role| {
        let piece = Code::from(role.of(!last.stand.turn()));
        sensed.has_stood(mv.to(), piece, begun, pressed, 0)
    };
    let promoted = mv.promotion().filter(|_| squares.contains(mv.to()));
    let is_exchanged =
        promoted.is_some_and(|to| PIECES.into_iter().any(|role| role != to && was_other(role)));
    if elsewhere.is_empty() && !is_exchanged && !mv.is_castle() {
        return Bitboard::EMPTY;
    }
    let is_right = |square: &Square| {
        let lands = last.stand.placement().at(*square).color() == us;
        let until = if lands { pressed + LATE_MS } else { pressed };
        let in_time = (begun..=until).contains(&sensed.since(*square));
        in_time && (!lands || is_exchanged || mv.is_castle())
    };
    let own: Bitboard = (squares & own).into_iter().filter(is_right).collect();
    elsewhere | own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_thought_costs_the_same_however_long_a_piece_had_rested() {
        let (mut long, mut short) = (Rested::default(), Rested::default());
        long.pay(Square::D5, 1.5);
        long.pay(Square::D5, 2.5);
        long.pay(Square::D7, 2.0);
        long.pay(Square::A1, 1.0);
        let moved = Bitboard::from_square(Square::D5).with(Square::D7);
        assert_eq!(long.give_back(moved), 6.0 - weight::THOUGHT_AGAIN);
        assert_eq!(long.give_back(moved), 0.0, "only once");
        assert_eq!(long.squares(), Bitboard::from_square(Square::A1));
        long.pay(Square::G1, 2.0);
        assert_eq!(
            long.give_back(Square::G1.into()),
            2.0,
            "it is the same second thought"
        );
        short.pay(Square::D5, 0.5);
        assert_eq!(short.give_back(moved), 0.0);
    }
}

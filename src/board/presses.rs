//! Which press was for which half-move.

use std::sync::Arc;

use shakmaty::{Color, Move, Piece, Role, Square};

use super::{
    act::IllegalAct,
    bill::{Bill, Item},
    line::Line,
    ply::PlyKind,
    sensed::{SCAN_MS, Sensed},
    weight,
};
use crate::time::Millis;

/// A press this soon after a half-move is for it, even when the opponent has replied.
const SOON_MS: u64 = 2500;
/// After this time a press is late for a half-move that has been answered.
const PROMPT_MS: u64 = 500;
/// A late press becomes less likely for as long as this.
const LAG_MS: u64 = 2000;

impl Line {
    /// `side` pressed the clock. If the half-move that owes a press has been answered, the press may be for a
    /// later one, and the first press was forgotten or not heard: the line that is returned says so.
    pub(super) fn pressed_by(&mut self, side: Color, now: Millis) -> Option<Self> {
        let mover_of_last = !self.turn();
        let n = self.plies.len();
        // Presses come in the order of the half-moves: this one is for the first half-move that owes one, if
        // that is fresh.
        let since = self.plies.rposition(|p| p.pressed.is_some()).map_or(0, |i| i + 1);
        let own = |i: usize| (n - 1 - i).is_multiple_of(2) == (side == mover_of_last);
        let fresh = (since..n).find(|i| own(*i) && now.since(self.plies[*i].at) <= SOON_MS);
        let owed = fresh.or_else(|| (since..n).rev().find(|i| own(*i)).filter(|i| i + 2 >= n));
        // His opponent has pressed since, for a reply that is still to be found: the press of what nobody saw was not heard
        // either.
        let is_answered = self.pending.iter().any(|(by, _)| *by != side);
        let unheard = |i: &usize| is_answered && matches!(self.plies[*i].kind, PlyKind::Recovered(_));
        let Some(i) = owed.filter(|i| !unheard(i)) else {
            if self.turn() == side || !self.pending.is_empty() {
                self.pending.push((side, now));
            } else if n > 0 {
                self.bill.pay(Item::EmptyPress, weight::EMPTY_PRESS);
            }
            return None;
        };
        let later = (i + 1 < n).then(|| {
            let mut later = self.clone();
            match (i + 2..n).rev().find(|i| own(*i)) {
                Some(j) => later.complete(j, now),
                None => later.pending.push((side, now)),
            }
            later
        });
        self.complete(i, now);
        later
    }

    /// This hypothesis if `side` presses because of what fell ([`super::fall::Fall::returned_by`]).
    pub(super) fn returned_by(&self, side: Color, now: Millis) -> Option<Self> {
        let fall = self.faults.fall.filter(|_| side == self.turn())?;
        let (fall, nats) = fall.returned_by(side, now)?;
        let mut line = self.clone();
        line.faults.fall = Some(fall);
        line.bill.pay(Item::Displaced, nats);
        Some(line)
    }

    /// `side` presses after putting right what fell. Returns false when that is not what happened ([`super::fall::Fall::pressed_again_by`]).
    pub(super) fn takes_back_press(&mut self, side: Color) -> bool {
        let fall = self.faults.fall.as_mut().filter(|_| side != self.stand.turn());
        let Some(nats) = fall.and_then(|fall| fall.pressed_again_by(side)) else {
            return false;
        };
        self.bill.pay(Item::Displaced, nats);
        true
    }

    /// This line, in which nothing was pressed, where the side to move has let its turn pass by a press without a move. `presses` came
    /// later.
    #[must_use]
    pub fn after_pass(
        &self,
        sensed: &Sensed,
        now: Millis,
        presses: impl Iterator<Item = (Color, Millis)>,
    ) -> Self {
        let left = Arc::new(self.stand.left_as(self.placement()));
        let act = IllegalAct::left(None, self.placement());
        let kind = PlyKind::Illegal(Box::new(act));
        let mut passed = self.played(kind, left, sensed, now, &Bill::default());
        passed.pending.extend(presses);
        if let Some((_, at)) = passed.pending.first().copied() {
            passed.plies.change_last(|ply| ply.pressed = Some(at));
        }
        passed
    }

    /// True where the press at `now` was for the last half-move, and something else was read then: its piece left the square where this
    /// line has it and was read on another one, or a promoted piece was exchanged for another of the player's.
    pub(super) fn is_pressed_otherwise(&self, now: Millis, sensed: &Sensed) -> bool {
        let last = self.plies.last().filter(|last| last.pressed == Some(now));
        let Some((last, (_, to))) = last.and_then(|last| Some((last, last.kind.from_to()?))) else {
            return false;
        };
        let (seen, code) = (sensed.at(to), self.placement().at(to));
        let is_promotion = last.kind.legal().is_some_and(Move::is_promotion);
        let is_own =
            |piece: Piece| piece.color != self.turn() && !matches!(piece.role, Role::Pawn | Role::King);
        if is_promotion && seen != code && seen.piece().is_some_and(is_own) {
            return true;
        }
        let Some(left) = sensed.seen_at(to) else {
            return false;
        };
        let is_there = |s: Square| sensed.at(s) == code && sensed.since(s) >= left;
        let was_here = seen.is_empty() && sensed.before(to) == code;
        was_here && self.differing.into_iter().any(is_there)
    }

    /// True where the press at `now` was for a half-move that was made in the opponent's time, and the player has lifted another piece in
    /// his own time since: whoever presses does so for what he did last.
    pub(super) fn is_pressed_for_another(&self, now: Millis, sensed: &Sensed) -> bool {
        let mut last = self.plies.backwards();
        let (Some(made), Some(before)) = (last.next(), last.next()) else {
            return false;
        };
        let is_plain = matches!(made.kind, PlyKind::Legal(mv) if !mv.is_castle());
        let Some(began) = before
            .pressed
            .filter(|_| is_plain && made.seen && made.pressed == Some(now))
        else {
            return false;
        };
        let is_lifted = |square: Square| {
            let own = self.placement().at(square).color() == Some(!self.turn());
            let left = sensed
                .seen_at(square)
                .filter(|_| own && sensed.at(square).is_empty());
            left.is_some_and(|left| left > began)
        };
        made.at <= began && self.differing.into_iter().any(is_lifted)
    }

    /// The press at `now` was for half-move `i`.
    fn complete(&mut self, i: usize, now: Millis) {
        let answered = i + 1 < self.plies.len();
        let ply = &mut self.plies[i];
        ply.pressed = Some(now);
        self.faults.fall = self.faults.fall.map(|fall| fall.followed(Some(now)));
        if !answered {
            return;
        }
        let (at, missed) = (ply.at, std::mem::take(&mut ply.missed));
        let late = now.since(at + PROMPT_MS).min(LAG_MS) as f32 / 1000.0;
        self.bill
            .pay(Item::LatePress, weight::LATE_PRESS + weight::LAG * late);
        self.bill.pay(Item::Unpressed, -missed);
        // The opponent could have pressed for the reply, and has not.
        let last = i + 2 == self.plies.len();
        let reply = &mut self.plies[i + 1];
        if !last && reply.pressed.is_none() && reply.missed == 0.0 && self.clock_runs {
            reply.missed = weight::UNPRESSED;
            self.bill.pay(Item::Unpressed, weight::UNPRESSED);
        }
    }

    /// True when the presses that wait here are those of `waiting`, without the press that the last half-move
    /// took.
    pub(super) fn takes_over(&self, waiting: &[(Color, Millis)]) -> bool {
        let own = self.plies.last().and_then(|ply| ply.pressed);
        let same = |press: &&(Color, Millis)| Some(press.1) != own;
        self.pending == waiting || self.pending.iter().eq(waiting.iter().filter(same))
    }

    /// What it costs to go on although the last half-move lacks its press. It costs nothing if the half-move
    /// before lacks its press, too: the clock then still ran for the player of that one, and there was
    /// nothing to press. (A player needs a moment to see the half-move to which he replies: a piece that
    /// moves sooner was rather knocked over.)
    pub(super) fn unpressed(&self) -> f32 {
        let Some(last) = self.plies.last().filter(|_| self.clock_runs) else {
            return 0.0;
        };
        let before = self.plies.len().checked_sub(2).map(|i| &self.plies[i]);
        let could_not = before
            .is_some_and(|ply| ply.pressed.is_none() && ply.missed > 0.0 && last.at >= ply.at + SCAN_MS);
        if last.pressed.is_some() || could_not {
            0.0
        } else {
            weight::UNPRESSED
        }
    }

    /// True when a press at `now` may be for the half-move before the last one: that half-move owes a press,
    /// and the reply came sooner.
    #[must_use]
    pub fn is_owed_before_last(&self, now: Millis) -> bool {
        let answered = self.plies.backwards().nth(1);
        answered.is_some_and(|ply| ply.pressed.is_none() && now.since(ply.at) <= SOON_MS)
    }

    /// When the side to move pressed for a half-move that has not been read yet.
    #[must_use]
    pub fn awaits(&self) -> Option<Millis> {
        self.pending
            .first()
            .filter(|(side, _)| *side == self.turn())
            .map(|(_, at)| *at)
    }

    /// How many presses wait for their half-moves.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Takes back the press at `at`: it was none.
    pub(super) fn forget_press(&mut self, at: Millis) {
        self.pending.retain(|(_, pressed)| *pressed != at);
    }

    /// The last half-move was not pressed for, if it seemed to be at `at`.
    pub(super) fn take_back_press(&mut self, at: Millis) {
        if self.plies.last().is_some_and(|ply| ply.pressed == Some(at)) {
            self.plies.change_last(|ply| ply.pressed = None);
        }
    }

    /// Gives up the presses that still wait for their half-moves.
    pub fn forget_presses(&mut self) {
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    use shakmaty::{
        Bitboard,
        Square::{D2, D3, D4},
    };

    use crate::board::{
        Bill, Code, Sensed, Stand,
        line::{GIVE_UP_MS, Span},
    };

    fn board() -> (Arc<Stand>, Sensed) {
        let stand = Arc::new(Stand::initial());
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), stand.placement());
        (stand, sensed)
    }

    #[test]
    fn a_press_of_the_wrong_side_completes_nothing() {
        let (stand, sensed) = board();
        let mut line = Line::new(stand, &sensed, Millis(0));
        line.pressed_by(Color::Black, Millis(1000));
        assert_eq!(line.awaits(), None);
    }

    #[test]
    fn a_press_after_the_opponents_is_not_for_what_was_before_that() {
        let (stand, sensed) = board();
        let first = stand.moves()[0];
        let after = Arc::new(stand.after(&stand.candidate(first)));
        let line = Line::new(stand, &sensed, Millis(0));
        let kind = PlyKind::Recovered(first);
        let mut line = line.played(kind, after, &sensed, Millis(0), &Bill::default());
        line.pressed_by(Color::Black, Millis(1000));
        line.pressed_by(Color::White, Millis(2000));
        assert_eq!((line.plies[0].pressed, line.waiting()), (None, 2));
    }

    /// A pawn was read on d3, went on to d4, and stands there at the press.
    #[test]
    fn a_piece_that_is_read_further_on_at_its_press_was_not_moved_to_the_square_before() {
        let slid = [(1000, D2, 0), (1300, D3, 1), (1500, D3, 0), (1700, D4, 1)];
        assert!(is_pressed_otherwise(&slid, D3) && !is_pressed_otherwise(&slid, D4));
        // A pawn that is read on d4 alone may be a ghost, and the update of d3 lost.
        assert!(!is_pressed_otherwise(&[slid[0], slid[3]], D3));
    }

    /// Whether White's pawn of d2, moved to `to` and pressed for after these changes, is read on another square then.
    fn is_pressed_otherwise(changes: &[(u64, Square, u8)], to: Square) -> bool {
        let (stand, mut sensed) = board();
        for (at, square, code) in changes {
            sensed.set(Millis(*at), *square, Code(*code));
        }
        let candidate = stand
            .candidates()
            .find(|c| c.mv.from() == Some(D2) && c.mv.to() == to);
        let candidate = candidate.unwrap();
        let after = Arc::new(stand.after(&candidate));
        let kind = PlyKind::Legal(candidate.mv);
        let mut line = Line::new(stand.clone(), &sensed, Millis(0));
        line.hold_against(Bitboard::FULL, &sensed);
        let mut line = line.played(kind, after, &sensed, Millis(1700), &Bill::default());
        line.pressed_by(Color::White, Millis(2000));
        line.is_pressed_otherwise(Millis(2000), &sensed)
    }

    #[test]
    fn a_press_whose_half_move_is_never_read_is_given_up() {
        let (stand, sensed) = board();
        let mut line = Line::new(stand, &sensed, Millis(0));
        line.pressed_by(Color::White, Millis(1000));
        assert_eq!(line.awaits(), Some(Millis(1000)));
        line.age(&Span::new(
            &sensed,
            Bitboard::FULL,
            Millis(1000),
            Millis(1001 + GIVE_UP_MS),
        ));
        assert_eq!(line.awaits(), None);
        assert!(line.total(&sensed, Millis(1001 + GIVE_UP_MS)) >= weight::EMPTY_PRESS);
    }
}

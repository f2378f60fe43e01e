//! Cables that are pulled, and squares that are not read. A half-move that nobody could tell from another one
//! meanwhile is not played.

use std::ops::RangeInclusive;

use shakmaty::{Move, Position, Square};

use super::{
    director::Director,
    fault::Fault,
    timeline::{LeverAct, Misread},
    trouble::CableOut,
    truth::Knowable,
};

impl Director<'_> {
    /// Before a half-move, something may fail.
    pub(super) fn begin_outages(&mut self) {
        let early = self.truth.moves.len() < 4 || self.outages.is_untidy();
        if !early && self.outages.cable.is_none() && self.happens(Fault::CableOut) {
            self.pull_cable(1..=6, Some(Vec::new()));
        }
        if !early && self.outages.cable.is_none() && self.strikes(Fault::GapLong) {
            self.pull_cable(4..=8, None);
        }
        let is_late = self.timeline.late.last().is_some_and(|late| late.1 > self.at);
        if !early && !is_late && self.strikes(Fault::Late) {
            let from = self.at + self.rng.u64(0..2000);
            let lasts = self.rng.u64(1500..9000);
            self.timeline.late.push((from, from + lasts));
        }
        if !early && self.stage.clock && self.outages.clock.is_none() && self.happens(Fault::ClockOut) {
            let out = self.at + self.rng.u64(300..900);
            let rest = self.rng.u32(1..=5);
            self.outages.clock = Some(CableOut {
                out,
                rest,
                used: None,
            });
        }
        if !early
            && self.running.is_some()
            && !self.outages.any(self.at)
            && self.strikes(Fault::ClockForgotten)
        {
            self.stop_unnoticed();
        }
        let dead = self.outages.dead.is_some_and(|(_, until)| until > self.at);
        if !early && !dead && self.happens(Fault::DeadSquare) {
            self.kill_square();
        }
        self.misread();
    }

    /// Somebody stops the clock and speaks. The players believe that it runs, and turn the lever as ever.
    fn stop_unnoticed(&mut self) {
        self.timeline.lever(self.at + 300, LeverAct::Stop);
        self.outages.stands = Some(self.rng.u32(2..=8));
        self.at += self.rng.u64(1500..20_000);
    }

    fn clock_is_noticed(&mut self) {
        if self.outages.stands.take().is_some() {
            self.at += self.rng.u64(600..5000);
            self.start_clock(self.at, self.position.turn(), 0, 0);
        }
    }

    fn pull_cable(&mut self, half_moves: RangeInclusive<u32>, used: Option<Vec<Square>>) {
        // What was on its way still arrives.
        let out = self.at + self.rng.u64(700..1200);
        let rest = self.rng.u32(half_moves);
        self.outages.cable = Some(CableOut { out, rest, used });
        // Somebody pulls it between two moves, or over one.
        if self.rng.bool() {
            self.at = out;
        }
    }

    /// What can be known of `mv`, which is being made.
    pub(super) fn known(&mut self, mv: Move) -> Knowable {
        match (self.outages.cable_is_out(), self.log) {
            (true, true) => Knowable::InAnyOrder,
            (true, false) => Knowable::Nothing,
            (false, _) => self.read_of(mv),
        }
    }

    fn kill_square(&mut self) {
        let square = Square::new(self.rng.u32(0..64));
        let stands = self.pieces[usize::from(square)];
        let other = self.pieces[self.rng.usize(0..64)];
        let shown = if stands.is_some() && self.rng.u8(0..4) > 0 {
            None
        } else {
            other
        };
        if shown == stands || self.touched.contains(&square) {
            return;
        }
        let lasts = if self.rng.u8(0..4) == 0 {
            10_000_000
        } else {
            self.rng.u64(5000..60_000)
        };
        // The square dies at any moment, and not just at the press.
        let from = self.at + self.rng.u64(0..4000);
        let until = from + lasts;
        self.timeline.misreads.push(Misread {
            from,
            until,
            square,
            shown,
        });
        self.outages.dead = Some((square, until));
    }

    /// A square shows something else for a moment.
    fn misread(&mut self) {
        if !self.happens(Fault::Misread) {
            return;
        }
        let from = self.at + self.rng.u64(0..3000);
        let until = from + self.rng.u64(150..500);
        let square = Square::new(self.rng.u32(0..64));
        let shown = if self.rng.bool() {
            None
        } else {
            self.pieces[self.rng.usize(0..64)]
        };
        self.timeline.misreads.push(Misread {
            from,
            until,
            square,
            shown,
        });
    }

    /// After a half-move, cables may be plugged in again.
    pub(super) fn end_half_move(&mut self, squares: &[Square]) {
        if let Some(rest) = &mut self.outages.stands {
            *rest -= 1;
            if *rest == 0 {
                self.clock_is_noticed();
            }
        }
        if let Some(cable) = &mut self.outages.clock {
            cable.rest -= 1;
            if cable.rest == 0 {
                self.clock_back();
            }
        }
        if let Some(cable) = &mut self.outages.cable {
            if let Some(used) = &mut cable.used {
                used.extend(squares);
            }
            cable.rest -= 1;
            if cable.rest == 0 {
                self.cable_back();
            }
        }
    }

    fn clock_back(&mut self) {
        if let Some(cable) = self.outages.clock.take() {
            let back = self.at.max(cable.out) + self.rng.u64(300..1500);
            self.timeline.clock_cable.push((cable.out, back));
            self.at = back + 300;
        }
    }

    fn cable_back(&mut self) {
        if let Some(cable) = self.outages.cable.take() {
            let back = self.at.max(cable.out) + self.rng.u64(300..2000);
            self.timeline.cable.push((cable.out, back));
            // By then the host has asked for the whole board.
            self.at = back + self.rng.u64(2500..5000);
            if cable.used.is_none() {
                // The board has told where everything stands before the next hand goes up.
                self.left = self.at;
            }
        }
    }

    /// At the end everything works.
    pub(super) fn end_outages(&mut self) {
        self.outages.stands = None;
        self.clock_back();
        self.cable_back();
        if let Some((square, until)) = self.outages.dead.take()
            && until > self.at
        {
            self.at += 300;
            let at = self.at;
            let dead = self
                .timeline
                .misreads
                .iter_mut()
                .filter(|m| m.square == square && m.until > at);
            dead.for_each(|m| m.until = at);
            self.at += 1000;
        }
    }
}

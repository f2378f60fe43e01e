//! Cables that come out, squares that are not read. Moves that could not be told from others meanwhile are not played.

use std::ops::RangeInclusive;

use shakmaty::{Color, Move, Square};

use super::{
    fallen::{Fall, is_in_the_way},
    fault::Fault,
    game::Director,
    silent::Silent,
    timeline::Misread,
    truth::Known,
};

/// What is out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Outages {
    cable: Option<Cable>,
    clock: Option<Cable>,
    dead: Option<(Square, u64)>,
    /// Squares that never read anything.
    silent: Vec<Silent>,
    /// Pieces that lie where they fell, until that many half-moves are made.
    lying: Vec<Fall>,
    until: usize,
}

#[derive(Clone, Debug)]
struct Cable {
    out: u64,
    /// Half-moves until it is back.
    rest: u32,
    /// Squares of half-moves meanwhile, of which each piece makes one; none where there is no such limit.
    used: Option<Vec<Square>>,
}

impl Outages {
    pub(super) fn cable_is_out(&self) -> bool {
        self.cable.is_some()
    }

    /// Whether anything is out of order at `at`.
    pub(super) fn any(&self, at: u64) -> bool {
        self.cable.is_some()
            || self.clock.is_some()
            || self.dead.is_some_and(|(_, until)| until > at)
            || self.is_untidy()
    }

    /// Whether `mv` can be told from others.
    pub(super) fn allow(&self, mv: Move, color: Color, at: u64) -> bool {
        let squares = squares_of(mv, color);
        if let Some((dead, until)) = self.dead
            && until > at
            && squares.contains(&dead)
            // What leaves a dead square is seen where it arrives.
            && (mv.is_castle() || mv.from() != Some(dead))
        {
            return false;
        }
        if !self.can_be_read(mv, &squares) || is_in_the_way(&self.lying, mv, &squares) {
            return false;
        }
        // Each man moves once, or the record would have a shorter explanation.
        let used = |cable: &Cable| {
            let used = cable.used.iter().flatten();
            used.into_iter().any(|square| squares.contains(square))
        };
        !self.cable.as_ref().is_some_and(used)
    }
}

impl Outages {
    /// `square` never reads anything.
    pub(super) fn kill(&mut self, square: Square) {
        self.silent.push(Silent::new(square));
    }

    /// Whether `square` never reads anything.
    pub(super) fn hides(&self, square: Square) -> bool {
        self.silent.iter().any(|silent| silent.square == square)
    }

    /// Whether squares that never read anything leave enough of `mv` to be read.
    fn can_be_read(&self, mv: Move, squares: &[Square]) -> bool {
        let hidden = squares.iter().filter(|s| self.hides(**s)).count();
        if hidden == 0 {
            return true;
        }
        let read_from = self.dead.map(|(dead, _)| dead) != mv.from();
        let promoted = mv.is_promotion() && self.hides(mv.to());
        hidden == 1 && read_from && !promoted && !self.cable_is_out()
    }

    /// The squares that never read anything.
    pub(super) fn silents(&self) -> &[Silent] {
        &self.silent
    }

    /// `square`, if it never reads anything.
    pub(super) fn silent(&mut self, square: Square) -> Option<&mut Silent> {
        self.silent.iter_mut().find(|silent| silent.square == square)
    }

    /// Pieces lie about until so many half-moves are made.
    pub(super) fn lie(&mut self, falls: Vec<Fall>, until: usize) {
        (self.lying, self.until) = (falls, until);
    }

    /// Whether pieces lie about.
    pub(super) fn is_untidy(&self) -> bool {
        !self.lying.is_empty()
    }

    /// The pieces that lie about, when so many half-moves are made or the game ends.
    pub(super) fn found(&mut self, half_moves: usize, at_the_end: bool) -> Option<Vec<Fall>> {
        let due = self.is_untidy() && (at_the_end || half_moves >= self.until);
        due.then(|| std::mem::take(&mut self.lying))
    }
}

/// All squares that change.
pub(super) fn squares_of(mv: Move, color: Color) -> Vec<Square> {
    match mv {
        Move::Castle { king, rook } => {
            let side = shakmaty::CastlingSide::from_king_side(king < rook);
            vec![king, rook, side.king_to(color), side.rook_to(color)]
        }
        Move::EnPassant { from, to } => vec![from, to, Square::from_coords(to.file(), from.rank())],
        Move::Normal { from, to, .. } => vec![from, to],
        Move::Put { to, .. } => vec![to],
    }
}

impl Director<'_> {
    /// Before a half-move: something may go out of order.
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
            self.outages.clock = Some(Cable {
                out,
                rest,
                used: None,
            });
        }
        let dead = self.outages.dead.is_some_and(|(_, until)| until > self.at);
        if !early && !dead && self.happens(Fault::DeadSquare) {
            self.kill_square();
        }
        self.misread();
    }

    fn pull_cable(&mut self, half_moves: RangeInclusive<u32>, used: Option<Vec<Square>>) {
        // What was on its way arrives.
        let out = self.at + self.rng.u64(700..1200);
        let rest = self.rng.u32(half_moves);
        self.outages.cable = Some(Cable { out, rest, used });
        // Somebody pulls it between two moves, or over one.
        if self.rng.bool() {
            self.at = out;
        }
    }

    /// What can be known of `mv`, which is made now.
    pub(super) fn known(&mut self, mv: Move) -> Known {
        match (self.outages.cable_is_out(), self.log) {
            (true, true) => Known::InAnyOrder,
            (true, false) => Known::Nothing,
            (false, _) => self.read_of(mv),
        }
    }

    fn kill_square(&mut self) {
        let square = Square::new(self.rng.u32(0..64));
        let stands = self.men[usize::from(square)];
        let other = self.men[self.rng.usize(0..64)];
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
        // At any moment, not at the press.
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
            self.men[self.rng.usize(0..64)]
        };
        self.timeline.misreads.push(Misread {
            from,
            until,
            square,
            shown,
        });
    }

    /// After a half-move: cables come back.
    pub(super) fn end_half_move(&mut self, squares: &[Square]) {
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
            // The host has asked for everything by then.
            self.at = back + self.rng.u64(2500..5000);
            if cable.used.is_none() {
                // The board has told where everything stands before a hand takes something away.
                self.left = self.at;
            }
        }
    }

    /// At the end everything works.
    pub(super) fn end_outages(&mut self) {
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

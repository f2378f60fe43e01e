//! Cables that come out, squares that are not read. Moves that could not be told from others meanwhile are not played.

use shakmaty::{Color, Move, Square};

use super::{fault::Fault, game::Director, timeline::Misread};

/// What is out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Outages {
    cable: Option<Cable>,
    clock: Option<Cable>,
    dead: Option<(Square, u64)>,
}

#[derive(Clone, Debug)]
struct Cable {
    out: u64,
    /// Half-moves until it is back.
    rest: u32,
    /// Squares of half-moves meanwhile.
    used: Vec<Square>,
}

impl Outages {
    pub(super) fn cable_is_out(&self) -> bool {
        self.cable.is_some()
    }

    /// Whether anything is out of order at `at`.
    pub(super) fn any(&self, at: u64) -> bool {
        self.cable.is_some() || self.clock.is_some() || self.dead.is_some_and(|(_, until)| until > at)
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
        // Each man moves once, or the record would have a shorter explanation.
        let used = |cable: &Cable| squares.iter().any(|square| cable.used.contains(square));
        !self.cable.as_ref().is_some_and(used)
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
        let early = self.truth.moves.len() < 4;
        if !early && self.outages.cable.is_none() && self.happens(Fault::CableOut) {
            // What was on its way arrives.
            let out = self.at + self.rng.u64(700..1200);
            let rest = self.rng.u32(1..=6);
            self.outages.cable = Some(Cable {
                out,
                rest,
                used: Vec::new(),
            });
            // Somebody pulls it between two moves, or over one.
            if self.rng.bool() {
                self.at = out;
            }
        }
        if !early && self.stage.clock && self.outages.clock.is_none() && self.happens(Fault::ClockOut) {
            let out = self.at + self.rng.u64(300..900);
            let rest = self.rng.u32(1..=5);
            self.outages.clock = Some(Cable {
                out,
                rest,
                used: Vec::new(),
            });
        }
        let dead = self.outages.dead.is_some_and(|(_, until)| until > self.at);
        if !early && !dead && self.happens(Fault::DeadSquare) {
            self.kill_square();
        }
        self.misread();
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
        let (from, until) = (self.at, self.at + lasts);
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
            cable.used.extend(squares);
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

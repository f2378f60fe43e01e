//! How a hand makes a legal move: what leaves and reaches which square, and when.

use shakmaty::{Color, Move, Piece, Role, Square, attacks};

use super::{Hand, Pause, castle::castle, figure::TaggedPiece};

impl Hand<'_> {
    /// Makes `mv` for `color`.
    pub(in crate::sim) fn make(&mut self, mv: Move, color: Color) {
        match mv {
            Move::Castle { king, rook } => castle(self, king, rook, color),
            Move::EnPassant { from, to } => self.en_passant(from, to),
            Move::Normal {
                from,
                to,
                promotion: Some(role),
                ..
            } => self.promote(from, to, role.of(color)),
            Move::Normal { from, to, .. } => self.carry(from, to),
            Move::Put { .. } => {}
        }
    }

    /// Carries a piece from `from` to `to`, and takes what stands there.
    pub(in crate::sim) fn carry(&mut self, from: Square, to: Square) {
        let piece = self.pieces[usize::from(from)];
        if self.free(to) {
            if self.slips.place_first {
                // The hand pushes the piece, which for a moment stands on both squares.
                self.place(to, piece);
                self.motion.wait(self.rng.u64(10..90));
                return self.lift(from);
            }
            self.lift(from);
            self.drag(from, to, piece);
            self.pass(10);
            return self.place(to, piece);
        }
        match self.way_of_capture() {
            0 | 1 => {
                self.take(to);
                self.pass(7);
                self.lift(from);
                self.drag(from, to, piece);
                self.pass(10);
            }
            2 => {
                self.lift(from);
                self.pass(6);
                self.take(to);
                self.pass(10);
            }
            _ => {
                self.lift(from);
                self.drag(from, to, piece);
                self.pass(10);
            }
        }
        self.place(to, piece);
    }

    fn way_of_capture(&mut self) -> u8 {
        match (self.is_even(), self.slips.lifts_victim) {
            (true, _) => 3,
            (false, true) => self.rng.u8(0..3),
            (false, false) => self.rng.u8(0..4),
        }
    }

    /// Lets the piece slide over squares on its way, or brush over one beside its new square.
    fn drag(&mut self, from: Square, to: Square, piece: Option<TaggedPiece>) {
        if !self.slips.drag {
            return;
        }
        let knight = piece.is_some_and(|p| p.role == Role::Knight);
        let mut over: Vec<Square> = attacks::between(from, to)
            .into_iter()
            .filter(|&s| self.free(s))
            .collect();
        over.sort_by_key(|s| s.distance(from));
        if over.is_empty() {
            let beside = attacks::king_attacks(to)
                .into_iter()
                .filter(|&s| self.free(s) && s != from);
            let beside: Vec<Square> = beside.collect();
            let one = (knight || self.rng.u8(0..3) == 0).then(|| self.rng.choice(&beside).copied());
            over = one.flatten().into_iter().collect();
        } else if self.rng.u8(0..5) < 2 {
            over = self.rng.choice(&over).copied().into_iter().collect();
        }
        self.motion.wait(self.rng.u64(50..200));
        for square in over {
            self.place(square, piece);
            self.motion.wait(self.rng.u64(80..260));
            self.lift(square);
            self.motion.wait(self.rng.u64(0..40));
        }
    }

    fn en_passant(&mut self, from: Square, to: Square) {
        let pawn = self.pieces[usize::from(from)];
        let victim = Square::from_coords(to.file(), from.rank());
        match if self.slips.any_en_passant {
            self.rng.u8(0..4)
        } else {
            0
        } {
            0 => {
                self.transfer(from, to);
                self.pause(Pause::Victim);
                self.take(victim);
            }
            1 => {
                self.take(victim);
                self.pass(7);
                self.transfer(from, to);
            }
            2 => {
                self.lift(from);
                self.pass(6);
                self.take(victim);
                self.pass(10);
                self.place(to, pawn);
            }
            _ => {
                self.transfer(from, to);
                self.pass(20);
                self.take(victim);
            }
        }
    }

    fn promote(&mut self, from: Square, to: Square, new: Piece) {
        let new = TaggedPiece::from(new);
        let new = if self.slips.spare_piece { new.unread() } else { new };
        let (new, capture) = (Some(new), !self.free(to));
        if self.is_even() {
            self.lift(from);
            self.pass(10);
            return self.place(to, new);
        }
        let order = if self.slips.any_promotion {
            self.rng.u8(0..5)
        } else {
            0
        };
        if capture && (order < 3 || self.rng.bool()) {
            self.take(to);
            self.pass(7);
        }
        match order {
            // The pawn goes to the last rank and is exchanged there.
            0 => {
                self.transfer(from, to);
                self.pass(10);
                self.lift(to);
                self.pass(15);
                self.place(to, new);
            }
            // The pawn leaves the board at once.
            1 | 4 => {
                self.lift(from);
                self.pass(15);
                self.place(to, new);
            }
            // The new piece stands there before the pawn leaves.
            2 => {
                self.place(to, new);
                self.pass(10);
                self.lift(from);
            }
            // The new piece replaces the pawn on the last rank without an empty square between them.
            _ => {
                self.transfer(from, to);
                self.pass(13);
                self.place(to, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use shakmaty::{CastlingMode, Chess, Position, fen::Fen};

    use super::{
        super::{
            HandPace, Motion, Slips,
            figure::{pieces_of, reading},
        },
        *,
    };

    /// Whatever the order and the slips are, the pieces stand right in the end.
    #[test]
    fn every_motion_ends_in_the_position() {
        let positions = [
            "r3k2r/1P1p4/8/2pPp3/3p4/8/PPP2PpP/R3K2R w KQkq c6 0 1",
            "r3k2r/1P1pp3/8/8/3pP3/8/PPP2PpP/R3K2R b KQkq e3 0 1",
            "1r2k1r1/8/8/8/8/8/8/1RK3R1 w BGbg - 0 1",
            "5k1r/8/8/8/8/8/8/R4K1R w HAh - 0 1",
        ];
        for (index, fen) in positions.into_iter().enumerate() {
            let mode = if index < 2 {
                CastlingMode::Standard
            } else {
                CastlingMode::Chess960
            };
            let position: Chess = fen.parse::<Fen>().unwrap().into_position(mode).unwrap();
            for seed in 0..200 {
                for mv in position.legal_moves() {
                    check(&position, mv, seed);
                }
            }
        }
    }

    fn check(position: &Chess, mv: Move, seed: u64) {
        let pieces = pieces_of(position.board());
        let mut rng = Rng::with_seed(seed);
        let slips = Slips {
            drag: rng.bool(),
            swept: rng.bool(),
            place_first: rng.bool(),
            any_castling: rng.bool(),
            any_promotion: rng.bool(),
            any_en_passant: rng.bool(),
            ..Slips::default()
        };
        let pace = [HandPace::Even, HandPace::Drawn(100..400)][usize::from(seed > 0)].clone();
        let motion = Motion::default();
        let mut hand = Hand {
            pieces,
            pace,
            slips,
            rng: &mut rng,
            motion,
        };
        hand.make(mv, position.turn());
        let mut stand = pieces;
        let mut now = 0;
        for (at, square, piece) in hand.motion.steps {
            assert!(at >= now, "{mv}");
            now = at;
            stand[usize::from(square)] = piece;
        }
        let after = position.clone().play(mv).unwrap();
        for square in Square::ALL {
            assert_eq!(
                reading(stand[usize::from(square)]),
                after.board().piece_at(square),
                "{mv} {square} {seed}"
            );
        }
    }
}

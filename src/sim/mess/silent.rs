//! Squares that never read anything, and the half-moves on them that readings prove nevertheless.

use shakmaty::{Bitboard, Color, Move, Piece, Position, Role, Square, attacks};

use super::{director::Director, trouble::Landed, truth::Knowable};

impl Director<'_> {
    /// What can be known of `mv`, which is being made, in spite of the squares that never read anything.
    pub(super) fn read_of(&mut self, mv: Move) -> Knowable {
        let Some(from) = mv.from().filter(|_| !mv.is_castle()) else {
            return Knowable::Fully;
        };
        let (to, half_move) = (mv.to(), self.truth.moves.len());
        if self.outages.hides(to) {
            let reach = self.reach(mv, from);
            let elsewhere = reach.into_iter().any(|s| s != to && self.outages.hides(s));
            if let Some(silent) = self.outages.silent(to) {
                silent.candidates &= reach;
                if elsewhere {
                    silent.landed = Landed::SomeWhere;
                } else {
                    silent.landed = Landed::Here;
                    silent.provable.push(half_move);
                }
            }
            return Knowable::Origin;
        }
        let sources = self.sources(mv, to);
        let Some(silent) = self.outages.silent(from) else {
            return Knowable::Fully;
        };
        silent.candidates &= sources;
        match std::mem::replace(&mut silent.landed, Landed::Never) {
            Landed::Never => return Knowable::Fully,
            Landed::Here => silent.provable.push(half_move),
            Landed::SomeWhere => {}
        }
        Knowable::Goal
    }

    /// Where the piece that leaves `from` could go without being read.
    fn reach(&self, mv: Move, from: Square) -> Bitboard {
        if mv.is_en_passant() {
            return mv.to().into(); // the captured pawn proves it
        }
        let unread = |other: &&Move| {
            let empty = self.position.board().piece_at(other.to()).is_none();
            other.from() == Some(from)
                && !other.is_castle()
                && !other.is_en_passant()
                && (empty || self.outages.hides(other.to()))
        };
        let legal = self.position.legal_moves();
        legal.iter().filter(unread).map(|other| other.to()).collect()
    }

    /// Where the piece that arrives on `to` could have stood without being read.
    fn sources(&self, mv: Move, to: Square) -> Bitboard {
        let board = self.position.board();
        let hidden: Bitboard = Square::ALL
            .into_iter()
            .filter(|s| board.piece_at(*s).is_none() || self.outages.hides(*s))
            .collect();
        let (color, role) = (self.position.turn(), mv.role());
        let reached = if role != Role::Pawn {
            attacks::attacks(to, Piece { color, role }, board.occupied())
        } else if mv.is_capture() {
            attacks::pawn_attacks(!color, to)
        } else {
            pushed_from(to, color)
        };
        reached & hidden
    }

    /// At the end of the game, half-moves that later readings have proved become fair questions.
    pub(super) fn prove(&mut self) {
        for silent in self.outages.silents() {
            if silent.candidates.count() != 1 {
                continue;
            }
            for &half_move in &silent.provable {
                if let Some(made) = self.truth.moves.get_mut(half_move) {
                    made.known = Knowable::Fully;
                }
            }
        }
    }
}

/// Squares from which a pawn of `color` is pushed to `to`.
fn pushed_from(to: Square, color: Color) -> Bitboard {
    let back = color.fold_wb(-8, 8);
    [to.offset(back), to.offset(2 * back)]
        .into_iter()
        .flatten()
        .collect()
}

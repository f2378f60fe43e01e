//! Hardware that does not work: chips, squares, a queen of another set. Pieces without a working chip move
//! all the same. A half-move that nobody could tell from another one is not played.

use shakmaty::{CastlingMode, Move, Piece, Role, Square};

use super::{super::hand::figure::TaggedPiece, director::Director, fault::Fault};
use crate::laws::IrregularityKind;

impl Director<'_> {
    /// Breaks what is broken from the start of the game. `whole`: the pieces stand in the initial position.
    pub(super) fn begin_broken(&mut self, whole: bool) {
        if self.strikes(Fault::DeadSquares) {
            self.kill_squares(whole);
        }
        // Only the initial position shows that an unread piece is missing. Elsewhere that would be no fair
        // question.
        if whole
            && self.strikes(Fault::DeadChip)
            && let Some((square, figure)) = self.any_piece()
        {
            self.pieces[usize::from(square)] = Some(figure.unread());
            self.truth.calm = true;
        }
        if whole && self.mode == CastlingMode::Standard && self.strikes(Fault::WrongChip) {
            self.exchange_chip();
        }
        if self.strikes(Fault::ChipDies) {
            self.dies = Some(self.rng.usize(4..24));
        }
    }

    /// Kills one square, and in a third of the games two.
    fn kill_squares(&mut self, whole: bool) {
        let number = if self.rng.u8(0..3) == 0 { 2 } else { 1 };
        while self.timeline.dead.len() < number {
            let square = if self.rng.u8(0..4) > 0 {
                Square::new(self.rng.u32(16..48))
            } else {
                Square::new(self.rng.u32(0..64))
            };
            // Only the initial position tells what stood on a dead square before the first reading.
            let fair = whole || self.pieces[usize::from(square)].is_none();
            if fair && !self.timeline.dead.contains(&square) {
                self.timeline.dead.push(square);
                self.outages.kill(square);
            }
        }
    }

    /// Gives a piece the chip of another one of its colour. Where a piece captures one that is read like it, no reading tells.
    fn exchange_chip(&mut self) {
        let Some((square, figure)) = self.any_piece() else {
            return;
        };
        let others = |piece: &Piece| *piece != figure.piece();
        let pieces = Role::ALL.map(|role| role.of(figure.color));
        let mut pieces: Vec<Piece> = pieces.into_iter().filter(others).collect();
        self.rng.shuffle(&mut pieces);
        if let Some(other) = pieces.pop() {
            self.pieces[usize::from(square)] = Some(figure.with_chip_of(other));
        }
    }

    /// Any piece on the board, and seldom a king.
    fn any_piece(&mut self) -> Option<(Square, TaggedPiece)> {
        let mut standing = self.standing(|_, _| true);
        self.rng.shuffle(&mut standing);
        let kings = self.rng.u8(0..5) == 0;
        standing
            .into_iter()
            .find(|(_, figure)| kings || figure.role != Role::King)
    }

    /// Lets a chip die when its time has come. The piece then vanishes while no hand is at the board, or
    /// nobody notices before it is put down again.
    pub(super) fn kill_chip(&mut self, mv: Move) {
        let due = self.dies.is_some_and(|ply| self.truth.moves.len() >= ply);
        if !due || self.outages.any(self.at) {
            return;
        }
        let mover = mv.from().and_then(|s| Some((s, self.pieces[usize::from(s)]?)));
        let mover = mover.filter(|(_, figure)| figure.role != Role::King);
        let moves_next = self.rng.bool();
        let Some((square, figure)) = mover.filter(|_| moves_next).or_else(|| self.any_piece()) else {
            return;
        };
        self.dies = None;
        self.truth.calm = true;
        if self.rng.u8(0..3) == 0 {
            let at = self.at.max(self.left) + self.rng.u64(700..2000);
            self.put(at, square, Some(figure.unread()));
            (self.at, self.left) = (at + 500, at + 500);
        } else {
            self.pieces[usize::from(square)] = Some(figure.unread());
        }
    }

    /// Whether the queen that `mv` brings is of another set.
    pub(super) fn is_spare(&mut self, mv: Move) -> bool {
        if mv.promotion() != Some(Role::Queen) || !self.strikes(Fault::SpareQueen) {
            return false;
        }
        self.truth.calm = true;
        self.truth.may.push(IrregularityKind::PromotionNotReplaced);
        true
    }
}

//! The offences of which an arbiter should hear.

use shakmaty::{Color, Move, Position, Rank, Role, Square, attacks};

use super::{
    super::hand::figure::{TaggedPiece, pieces_of},
    director::{Director, position_of},
    fault::Fault,
    trouble::squares_of,
    truth::{HalfMove, Knowable},
};
use crate::laws::IrregularityKind as Kind;

impl Director<'_> {
    /// The player to move may offend. Returns true if he has done so in place of a legal half-move.
    pub(super) fn offend(&mut self) -> bool {
        let color = self.position.turn();
        let fair = self.running == Some(color)
            && self.truth.moves.len() >= 4
            && !self.offended.contains(&color)
            // With pieces that are not read nobody could tell an offence from a move.
            && !self.truth.calm
            && !self.outages.any(self.at);
        if !fair {
            return false;
        }
        let kinds: Vec<Fault> = self.faults.kinds().filter(|fault| fault.is_offence()).collect();
        for fault in kinds {
            if self.happens(fault) && self.commit(fault, color) {
                self.offended.push(color);
                return true;
            }
        }
        false
    }

    fn commit(&mut self, fault: Fault, color: Color) -> bool {
        match fault {
            Fault::IllegalMove => self.carry_wrongly(color, Self::impossible),
            Fault::KingInCheck => self.carry_wrongly(color, |director| director.to_check(color)),
            Fault::OwnCaptured => self.carry_wrongly(color, |director| director.own_captured(color)),
            Fault::OpponentsPiece => self.carry_wrongly(color, |director| director.opponents(color)),
            Fault::IllegalCastling => self.castle_wrongly(color),
            Fault::IllegalStands => self.stand(color),
            Fault::PressWithoutMove if self.timeline.dead.is_empty() => {
                let at = self.at + self.rng.u64(1200..5000);
                self.press(at, color);
                self.offence(&[Kind::PressWithoutMove], Some(color), self.ply(), at);
                self.call_arbiter(at, color);
                true
            }
            Fault::PawnLeft => self.leave_pawn(color),
            Fault::Displaced => self.displace(color),
            Fault::Fallen => self.fell(color),
            // These are decided before the game.
            _ => false,
        }
    }

    /// The arbiter restores the position before the offence.
    fn call_arbiter(&mut self, at: u64, color: Color) {
        let stop = at + self.rng.u64(800..4000);
        let pieces = pieces_of(self.position.board());
        self.put_right(stop, &pieces, color, Some(!color));
    }

    /// When a hand goes up for an offence. Nobody offends by a hand that goes up before the opponent has
    /// pressed.
    pub(super) fn in_earnest(&mut self) -> u64 {
        let think = self.rng.u64(self.tempo.think.clone());
        (self.at + think.max(300)).max(self.left + 300)
    }

    fn carry_wrongly(&mut self, color: Color, squares: impl Fn(&Self) -> Vec<(Square, Square)>) -> bool {
        let mut candidates = squares(self);
        candidates.retain(|pair| self.is_read(*pair));
        let Some(&(from, to)) = self.rng.choice(&candidates) else {
            return false;
        };
        let at = self.carry(from, to);
        self.press(at, color);
        self.offence(&[Kind::IllegalMove], Some(color), self.ply(), at);
        self.call_arbiter(at, color);
        true
    }

    /// Whether the board reads both squares.
    fn is_read(&self, (from, to): (Square, Square)) -> bool {
        !self.outages.hides(from) && !self.outages.hides(to)
    }

    /// Carries a piece, and returns when the clock is pressed.
    fn carry(&mut self, from: Square, to: Square) -> u64 {
        let piece = self.pieces[usize::from(from)];
        let mut now = self.in_earnest();
        if self.pieces[usize::from(to)].is_some() && self.rng.bool() {
            self.put(now, to, None);
            now += self.rng.u64(self.tempo.hand.clone()) * 7 / 10;
        }
        self.put(now, from, None);
        now += self.rng.u64(self.tempo.hand.clone());
        self.put(now, to, piece);
        self.press_time(now)
    }

    /// Moves that no piece of its kind can make, for the pieces of the player to move.
    fn impossible(&self) -> Vec<(Square, Square)> {
        let color = self.position.turn();
        let own = self.standing(|_, piece| piece.color == color && piece.role != Role::King);
        let pairs = own
            .into_iter()
            .flat_map(|(from, piece)| Square::ALL.map(|to| (from, piece, to)));
        let wrong = pairs.filter(|&(from, piece, to)| {
            let taken = self.pieces[usize::from(to)];
            let free = taken.is_none_or(|taken| taken.color != color && taken.role != Role::King);
            let last = matches!(to.rank(), Rank::First | Rank::Eighth);
            from != to && free && !(piece.role == Role::Pawn && last) && !self.can_go(from, piece, to)
        });
        wrong.map(|(from, _, to)| (from, to)).collect()
    }

    /// Whether `piece` can go from `from` to `to` by its own way, be its king in check afterwards or not.
    fn can_go(&self, from: Square, piece: TaggedPiece, to: Square) -> bool {
        if piece.role != Role::Pawn {
            return self.position.board().attacks_from(from).contains(to);
        }
        if self.position.ep_square(shakmaty::EnPassantMode::Always) == Some(to)
            && attacks::pawn_attacks(piece.color, from).contains(to)
        {
            return true;
        }
        if self.pieces[usize::from(to)].is_some() {
            return attacks::pawn_attacks(piece.color, from).contains(to);
        }
        let forward = piece.color.fold_wb(8, -8);
        let home = piece.color.fold_wb(Rank::Second, Rank::Seventh);
        let step = from.offset(forward);
        let free = step.is_some_and(|s| self.pieces[usize::from(s)].is_none());
        step == Some(to) || (free && from.rank() == home && from.offset(2 * forward) == Some(to))
    }

    /// Moves of `color`'s pieces by their own ways, to squares whose piece `land` allows.
    fn by_the_rules(
        &self,
        color: Color,
        land: impl Fn(Option<TaggedPiece>) -> bool,
    ) -> Vec<(Square, Square)> {
        let own = self.standing(|_, piece| piece.color == color);
        let pairs = own
            .into_iter()
            .flat_map(|(from, piece)| Square::ALL.map(|to| (from, piece, to)));
        let able = pairs.filter(|&(from, piece, to)| {
            let last = matches!(to.rank(), Rank::First | Rank::Eighth);
            let en_passant = piece.role == Role::Pawn
                && from.file() != to.file()
                && self.pieces[usize::from(to)].is_none();
            from != to
                && land(self.pieces[usize::from(to)])
                && !(piece.role == Role::Pawn && last)
                && !en_passant
                && self.can_go(from, piece, to)
        });
        able.map(|(from, _, to)| (from, to)).collect()
    }

    fn to_check(&self, color: Color) -> Vec<(Square, Square)> {
        let land = |taken: Option<TaggedPiece>| {
            taken.is_none_or(|taken| taken.color != color && taken.role != Role::King)
        };
        let legal = self.legal_pairs();
        let mut moves = self.by_the_rules(color, land);
        moves.retain(|pair| !legal.contains(pair));
        moves
    }

    fn own_captured(&self, color: Color) -> Vec<(Square, Square)> {
        let land = |taken: Option<TaggedPiece>| {
            taken.is_some_and(|taken| taken.color == color && taken.role != Role::King)
        };
        let mut moves = self.by_the_rules(color, land);
        // A king that takes a rook may be castling. If a piece takes one of its own kind, it looks as if one
        // had vanished.
        moves.retain(|(from, to)| {
            let piece = self.pieces[usize::from(*from)];
            piece != self.pieces[usize::from(*to)] && piece.is_some_and(|piece| piece.role != Role::King)
        });
        moves
    }

    /// Moves of the opponent's pieces to free squares.
    fn opponents(&self, color: Color) -> Vec<(Square, Square)> {
        let mut moves = self.by_the_rules(!color, |taken| taken.is_none());
        moves.retain(|(from, _)| {
            self.pieces[usize::from(*from)].is_some_and(|piece| piece.role != Role::King)
        });
        moves
    }

    fn castle_wrongly(&mut self, color: Color) -> bool {
        let rank = color.fold_wb(Rank::First, Rank::Eighth);
        let at = |file| Square::from_coords(shakmaty::File::new(file), rank);
        let piece_at = |director: &Self, file| director.pieces[usize::from(at(file))];
        let is =
            |director: &Self, file, piece| piece_at(director, file).map(TaggedPiece::piece) == Some(piece);
        if !is(self, 4, Role::King.of(color)) {
            return false;
        }
        let legal = self.position.castling_moves(shakmaty::CastlingSide::KingSide);
        let other = self.position.castling_moves(shakmaty::CastlingSide::QueenSide);
        let sides = [(7, 6, 5, vec![5, 6], legal), (0, 2, 3, vec![1, 2, 3], other)];
        for (rook, king_to, rook_to, between, legal) in sides {
            let free = between
                .iter()
                .all(|&file| piece_at(self, file).is_none() && !self.outages.hides(at(file)));
            if !is(self, rook, Role::Rook.of(color))
                || !free
                || !legal.is_empty()
                || !self.is_read((at(4), at(rook)))
            {
                continue;
            }
            let mut now = self.in_earnest();
            for (from, to) in [(4, king_to), (rook, rook_to)] {
                let piece = piece_at(self, from);
                self.put(now, at(from), None);
                now += self.rng.u64(self.tempo.hand.clone());
                self.put(now, at(to), piece);
                now += self.rng.u64(self.tempo.hand.clone()) / 2;
            }
            let pressed = self.press_time(now);
            self.press(pressed, color);
            self.offence(&[Kind::IllegalMove], Some(color), self.ply(), pressed);
            self.call_arbiter(pressed, color);
            return true;
        }
        false
    }

    /// An illegal move that nobody notices, so that play goes on.
    fn stand(&mut self, color: Color) -> bool {
        let mut candidates = self.impossible();
        candidates.retain(|(from, to)| self.pieces[usize::from(*to)].is_none() && self.is_read((*from, *to)));
        let Some(&(from, to)) = self.rng.choice(&candidates) else {
            return false;
        };
        let mut board = self.position.board().clone();
        if let Some(piece) = board.remove_piece_at(from) {
            board.set_piece_at(to, piece);
        }
        let Some(after) = position_of(board, !color, &self.position) else {
            return false;
        };
        if after.is_game_over() {
            return false;
        }
        let at = self.carry(from, to);
        self.press(at, color);
        self.offence(&[Kind::IllegalMove], Some(color), self.ply(), at);
        self.past.push(std::mem::replace(&mut self.position, after));
        self.truth.moves.push(HalfMove {
            uci: format!("{from}{to}"),
            placement: self.position.board().to_string(),
            at,
            known: Knowable::Fully,
        });
        (self.left, self.at) = (at, at);
        self.touched = vec![from, to];
        true
    }

    /// A pawn goes to the last rank and stays a pawn.
    fn leave_pawn(&mut self, color: Color) -> bool {
        let legal = self.position.legal_moves();
        let queens: Vec<Move> = legal
            .iter()
            .copied()
            .filter(|mv| mv.promotion() == Some(Role::Queen))
            .collect();
        let Some(&mv) = self.rng.choice(&queens) else {
            return false;
        };
        let Some(from) = mv.from().filter(|from| self.is_read((*from, mv.to()))) else {
            return false;
        };
        let at = self.carry(from, mv.to());
        self.press(at, color);
        self.offence(&[Kind::PromotionNotReplaced], Some(color), self.ply(), at);
        self.record(mv, at);
        let pieces = pieces_of(self.position.board());
        let stop = at + self.rng.u64(800..4000);
        self.put_right(stop, &pieces, !color, Some(!color));
        true
    }

    /// A legal half-move that displaces other pieces.
    fn displace(&mut self, color: Color) -> bool {
        let Some(mv) = self
            .choose()
            .filter(|mv| !mv.is_promotion() && !mv.is_en_passant() && !self.outages.hides(mv.to()))
        else {
            return false;
        };
        let Some(falls) = self.falls(mv, color) else {
            return false;
        };
        let begin = self.in_earnest();
        let end = self.make(mv, begin);
        let mut now = end + self.rng.u64(0..100);
        for (from, to) in falls {
            let piece = self.pieces[usize::from(from)];
            self.put(now, from, None);
            // A sleeve throws it there, or the hand sets up on the wrong square what it has knocked over. With a piece of the opponent's
            // nobody could tell that from the opponent's own hand.
            let is_own = piece.is_some_and(|piece| piece.color == color);
            let is_set_up = is_own && self.rng.bool();
            let later = if is_set_up {
                self.rng.u64(250..700)
            } else {
                self.rng.u64(5..40)
            };
            self.put(now + later, to, piece);
            now += if is_set_up { later } else { self.rng.u64(10..60) };
        }
        let at = self.press_time(now.max(end + 100));
        self.press(at, color);
        self.offence(
            &[Kind::PiecesDisplaced, Kind::DisplacedPieceFound],
            Some(color),
            self.ply(),
            at,
        );
        self.record(mv, at);
        let pieces = pieces_of(self.position.board());
        let stop = at + self.rng.u64(800..4000);
        self.put_right(stop, &pieces, !color, None);
        true
    }

    /// One or two pieces, each with a free square beside it to which neither player could have moved it.
    fn falls(&mut self, mv: Move, color: Color) -> Option<Vec<(Square, Square)>> {
        let mut taken = squares_of(mv, color);
        let mut moves = self.legal_pairs();
        let after = self.position.clone().play(mv).ok()?;
        moves.extend(
            after
                .legal_moves()
                .iter()
                .filter_map(|mv| Some((mv.from()?, mv.to()))),
        );
        let mut pieces = self.standing(|_, piece| piece.role != Role::King);
        self.rng.shuffle(&mut pieces);
        let number = self.rng.usize(1..=2);
        let mut falls = Vec::new();
        for (from, piece) in pieces {
            let last =
                |to: Square| piece.role == Role::Pawn && matches!(to.rank(), Rank::First | Rank::Eighth);
            let free = |to: &Square| {
                let empty = self.pieces[usize::from(*to)].is_none()
                    && !taken.contains(to)
                    && self.is_read((from, *to));
                empty && !last(*to) && !moves.contains(&(from, *to))
            };
            let beside: Vec<Square> = attacks::king_attacks(from).into_iter().filter(free).collect();
            if taken.contains(&from) || falls.len() == number {
                continue;
            }
            if let Some(&to) = self.rng.choice(&beside) {
                taken.extend([from, to]);
                falls.push((from, to));
            }
        }
        (!falls.is_empty()).then_some(falls)
    }
}

//! Pieces that the mover's sleeve took along and that are off their squares when the clock is pressed.

use shakmaty::{Board, Color, Move, Position, Rank, Role, Square};

use super::{
    super::hand::figure::{TaggedPiece, men_of},
    director::Director,
    fault::Fault,
    trouble::{FallenPiece, squares_of},
    turns::KNOCK_LATER,
};
use crate::laws::IrregularityKind as Kind;

/// What the players do about a fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// The clock is stopped, the pieces are put back, and the clock is started for the opponent.
    Stopped,
    /// The player puts the pieces back in the opponent's time.
    PutBack,
    /// Nobody notices for some half-moves.
    Overlooked,
    /// The opponent presses, and the player puts the pieces back in his own time (edition of 1997).
    PressedBack,
}

impl Course {
    fn name(self) -> &'static str {
        match self {
            Self::Stopped => "clock stopped",
            Self::PutBack => "put back by the player",
            Self::Overlooked => "overlooked",
            Self::PressedBack => "pressed back",
        }
    }
}

impl Director<'_> {
    /// Plays a legal half-move during which a piece or two fall.
    pub(super) fn fell(&mut self, color: Color) -> bool {
        let Some(mv) = self
            .choose()
            .filter(|mv| !mv.is_castle() && !mv.is_promotion() && !mv.is_en_passant())
        else {
            return false;
        };
        let course = self.course();
        let Some(falls) = self.fallen(mv, color, course) else {
            return false;
        };
        let begin = self.in_earnest().max(self.at + KNOCK_LATER);
        let end = self.make(mv, begin);
        let last = self.fall(&falls, begin, end);
        let at = self.press_time(end.max(last + self.seen_by_then(&falls, color, course)));
        self.press(at, color);
        let kinds = [Kind::PiecesDisplaced, Kind::DisplacedPieceFound];
        self.offence(&kinds, Some(color), self.ply(), at);
        if let Some(offence) = self.truth.offences.last_mut() {
            offence.how = course.name();
        }
        self.record(mv, at);
        (self.at, self.left) = (at, end);
        self.touched = squares_of(mv, color);
        self.go_on(course, falls, color);
        true
    }

    fn course(&mut self) -> Course {
        if self.edition.is_some() && self.rng.u8(0..4) > 0 {
            return Course::PressedBack;
        }
        [Course::Stopped, Course::PutBack, Course::Overlooked][self.rng.usize(0..3)]
    }

    /// The least time from the fall to the press. A piece of the opponent's that is missed just after the
    /// press may be in his hand. Only the clock could tell that it is not.
    fn seen_by_then(&self, falls: &[FallenPiece], color: Color, course: Course) -> u64 {
        let doubtful = matches!(course, Course::PutBack | Course::Overlooked)
            && falls.iter().any(|fall| fall.figure.color != color);
        if doubtful {
            self.stage.scan.period_ms + self.stage.scan.late_ms.end + 20
        } else {
            60
        }
    }

    /// The pieces fall while the hand is at the board; returns when the last of them lies.
    fn fall(&mut self, falls: &[FallenPiece], begin: u64, end: u64) -> u64 {
        let moved = self.hands.last().cloned().unwrap_or_default();
        let mut now = self.rng.u64(begin + (end - begin) / 3..=end + 100);
        for fall in falls {
            // The hand has been on that square itself, so the piece falls after that.
            let crossed = moved
                .iter()
                .any(|put| put.square == fall.from || Some(put.square) == fall.to);
            if crossed {
                now = now.max(end + 20);
            }
            self.put(now, fall.from, None);
            if let Some(to) = fall.to {
                let later = self.rng.u64(5..60);
                self.put(now + later, to, Some(fall.figure));
            }
            now += self.rng.u64(0..150);
        }
        now + 60
    }

    /// What happens after the press.
    fn go_on(&mut self, course: Course, falls: Vec<FallenPiece>, color: Color) {
        match course {
            Course::Stopped => {
                let stop = self.at + self.rng.u64(1000..4000);
                self.stop_clock(stop);
                let begin = stop + self.rng.u64(3000..10_000);
                let now = self.put_back(&falls, begin) + self.rng.u64(1500..4000);
                self.start_clock(now, !color, 0, 0);
                (self.at, self.left) = (now, now);
                self.touched.clear();
            }
            Course::PutBack => {
                let begin = self.at + self.rng.u64(1500..3000);
                let now = self.put_back(&falls, begin);
                (self.at, self.left) = (now, now);
                self.touched.clear();
            }
            Course::Overlooked => {
                let until = self.truth.moves.len() + self.rng.usize(2..=6);
                self.outages.lie(falls, until);
                let touched = self.touched.clone();
                self.end_half_move(&touched);
            }
            Course::PressedBack => {
                let back = self.at + self.rng.u64(1000..4000);
                self.press(back, !color);
                let begin = back + self.rng.u64(500..2500);
                let now = self.put_back(&falls, begin) + self.rng.u64(200..900);
                self.press(now, color);
                (self.at, self.left) = (now, now);
                self.touched.clear();
            }
        }
    }

    fn put_back(&mut self, falls: &[FallenPiece], mut now: u64) -> u64 {
        for fall in falls {
            if let Some(to) = fall.to {
                self.put(now, to, None);
                now += self.rng.u64(250..700);
            }
            self.put(now, fall.from, Some(fall.figure));
            now += self.rng.u64(300..900);
        }
        now
    }

    /// Puts back the pieces that have lain long enough, and at the end those that still lie. The clock is
    /// stopped for it, or not.
    pub(super) fn pick_up(&mut self, at_the_end: bool) {
        let Some(falls) = self.outages.found(self.truth.moves.len(), at_the_end) else {
            return;
        };
        let begin = self.at.max(self.left) + self.rng.u64(700..2500);
        if self.rng.bool() {
            let men = men_of(self.position.board());
            self.put_right(begin, &men, self.position.turn(), None);
        } else {
            let now = self.put_back(&falls, begin);
            (self.at, self.left) = (now + 200, now);
            self.touched.clear();
        }
    }

    /// The pieces that fall when `mv` is made. None if the board would then look as well like another
    /// half-move.
    fn fallen(&mut self, mv: Move, color: Color, course: Course) -> Option<Vec<FallenPiece>> {
        let mut taken = squares_of(mv, color);
        let after = self.position.clone().play(mv).ok()?;
        let mut moves = self.legal_pairs();
        let replies = after.legal_moves();
        moves.extend(replies.iter().filter_map(|mv| Some((mv.from()?, mv.to()))));
        let number = if self.rng.u8(0..3) == 0 { 2 } else { 1 };
        let mut falls = Vec::new();
        for (from, figure) in self.within_reach(mv, color) {
            if taken.contains(&from) || falls.len() == number {
                continue;
            }
            let to = if figure.role == Role::King || self.rng.bool() {
                None
            } else {
                // A piece lies where a player might have put it only if somebody puts it right again.
                let anywhere = course != Course::Overlooked && self.rng.u8(0..4) == 0;
                self.lies_on(from, figure, |to| {
                    !taken.contains(&to) && (anywhere || !moves.contains(&(from, to)))
                })
            };
            taken.extend([Some(from), to].into_iter().flatten());
            falls.push(FallenPiece { figure, from, to });
        }
        (!falls.is_empty() && self.is_told_apart(mv, after.board(), &falls)).then_some(falls)
    }

    /// The pieces that may fall. As a rule those near the hand come first.
    fn within_reach(&mut self, mv: Move, color: Color) -> Vec<(Square, TaggedPiece)> {
        let kings = self.rng.u8(0..4) == 0;
        let mut standing = self.standing(|_, figure| kings || figure.role != Role::King);
        standing.retain(|(square, _)| !self.outages.hides(*square));
        self.rng.shuffle(&mut standing);
        if self.rng.u8(0..5) > 0 {
            let edge = color.fold_wb(Rank::First, Rank::Eighth);
            let sleeve = |square: Square| {
                let along = square.file().distance(mv.to().file()) <= 1
                    && square.rank().distance(edge) <= mv.to().rank().distance(edge);
                along || square.distance(mv.to()) <= 2
            };
            standing.sort_by_key(|(square, _)| !sleeve(*square));
        }
        standing
    }

    /// A free square where the piece comes to lie, as a rule beside its own. None if no square is free.
    fn lies_on(
        &mut self,
        from: Square,
        figure: TaggedPiece,
        allowed: impl Fn(Square) -> bool,
    ) -> Option<Square> {
        let far = if self.rng.u8(0..3) == 0 { 3 } else { 1 };
        let free: Vec<Square> = Square::ALL
            .into_iter()
            .filter(|&to| {
                let last = figure.role == Role::Pawn && matches!(to.rank(), Rank::First | Rank::Eighth);
                let empty = self.men[usize::from(to)].is_none() && !self.outages.hides(to);
                to.distance(from) <= far && empty && !last && allowed(to)
            })
            .collect();
        self.rng.choice(&free).copied()
    }

    /// Whether no other legal move explains the board as well as `mv` does.
    fn is_told_apart(&self, mv: Move, after: &Board, falls: &[FallenPiece]) -> bool {
        let mut board = after.clone();
        for fall in falls {
            board.discard_piece_at(fall.from);
        }
        for fall in falls {
            if let Some(to) = fall.to {
                board.set_piece_at(to, fall.figure.piece());
            }
        }
        let differing = |other: &Board| {
            let differs = |square: &Square| other.piece_at(*square) != board.piece_at(*square);
            Square::ALL.into_iter().filter(differs).count()
        };
        let own = differing(after);
        self.position
            .legal_moves()
            .iter()
            .filter(|other| **other != mv)
            .all(|other| {
                let mut position = self.position.clone();
                position.play_unchecked(*other);
                differing(position.board()) > own
            })
    }
}

/// The edition in which the opponent presses back. It is taken in a part of the games where pieces fall.
pub(super) fn edition(faults: &super::fault::FaultRates, rng: &mut fastrand::Rng) -> Option<&'static str> {
    (faults.of(Fault::Fallen) > 0.0 && rng.u8(0..3) == 0).then_some("1997-fritz")
}

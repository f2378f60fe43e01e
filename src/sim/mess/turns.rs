//! A half-move, with all that hands do besides.

use shakmaty::{Move, Position, Square, attacks};

use super::{
    super::hand::figure::TaggedPiece,
    super::hand::{Hand, HandPace, Motion, Slips},
    director::Director,
    fault::Fault,
    tempo::PRESSES_APART,
    trouble::squares_of,
};

/// A piece that falls sooner than this after the opponent's press may have fallen before it, as far as a scan
/// can tell.
pub(super) const KNOCK_LATER: u64 = 700;

impl Director<'_> {
    /// The player to move does something; false when there is nothing left to do.
    pub(super) fn turn(&mut self) -> bool {
        self.pick_up(false);
        self.begin_outages();
        if self.take_back() || self.offend() {
            return true;
        }
        let Some(mv) = self.choose() else { return false };
        self.kill_chip(mv);
        let begin = self.hand_up(mv);
        let begin = self.fidget(begin, mv);
        let end = self.make(mv, begin);
        let end = self.knock_after(end, mv);
        self.complete(mv, end);
        true
    }

    /// Decides when the hand goes up.
    fn hand_up(&mut self, mv: Move) -> u64 {
        let overlap = self.faults.of(Fault::Overlap).max(self.tempo.overlap);
        let early = self.rng.f64() < overlap && self.left + 40 < self.at;
        let begin = if early {
            self.rng.u64(self.left + 40..self.at + 20)
        } else {
            self.at + self.rng.u64(self.tempo.think.clone())
        };
        let meets = squares_of(mv, self.position.turn())
            .iter()
            .any(|s| self.touched.contains(s));
        // If the board had no time to read a piece on its square, that would be no fair question.
        let seen = self.left + self.stage.scan.period_ms + 300;
        if meets { begin.max(seen) } else { begin }
    }

    /// What hands do before the half-move: they centre pieces, knock some over, and take another half-move
    /// back.
    fn fidget(&mut self, mut begin: u64, mv: Move) -> u64 {
        if self.happens(Fault::Adjust) {
            begin = self.adjust(begin.max(self.at));
        }
        if self.happens(Fault::Knocked) && self.rng.bool() {
            begin = self.knock(begin.max(self.at) + KNOCK_LATER, &[]) + self.rng.u64(300..1500);
        }
        if self.happens(Fault::SecondThoughts) {
            begin = self.think_again(begin.max(self.at) + 100, mv);
        }
        begin
    }

    fn adjust(&mut self, at: u64) -> u64 {
        let color = self.position.turn();
        let own: Vec<(Square, TaggedPiece)> = self.standing(|_, piece| piece.color == color);
        let Some(&(square, piece)) = self.rng.choice(&own) else {
            return at;
        };
        let back = at + self.rng.u64(200..500);
        self.put(at, square, None);
        self.put(back, square, Some(piece));
        back + 400
    }

    /// The pieces on the board of which `which` holds, with their squares.
    pub(super) fn standing(&self, which: impl Fn(Square, TaggedPiece) -> bool) -> Vec<(Square, TaggedPiece)> {
        let pieces = Square::ALL
            .into_iter()
            .filter_map(|square| Some((square, self.pieces[usize::from(square)]?)));
        pieces.filter(|&(square, piece)| which(square, piece)).collect()
    }

    /// The player makes another legal half-move and takes it back: none that ends the game (5.1.1, 5.2).
    fn think_again(&mut self, at: u64, mv: Move) -> u64 {
        let plain = |other: &&Move| {
            let plain = !other.is_capture() && !other.is_castle() && !other.is_promotion();
            **other != mv && plain && !self.is_ended_by(**other)
        };
        let legal = self.position.legal_moves();
        let others: Vec<Move> = legal.iter().filter(plain).copied().collect();
        let Some(&other) = self.rng.choice(&others) else {
            return at;
        };
        let (Some(from), to) = (other.from(), other.to()) else {
            return at;
        };
        if !self.outages.allow(other, self.position.turn(), self.at) {
            return at;
        }
        let piece = self.pieces[usize::from(from)];
        let mut at = at;
        self.put(at, from, None);
        at += self.rng.u64(self.tempo.hand.clone());
        self.put(at, to, piece);
        at += self.rng.u64(300..2500);
        self.put(at, to, None);
        at += self.rng.u64(200..600);
        self.put(at, from, piece);
        at + self.rng.u64(300..1500)
    }

    /// True for a half-move after which the game is over.
    fn is_ended_by(&self, mv: Move) -> bool {
        let mut after = self.position.clone();
        after.play_unchecked(mv);
        after.is_game_over()
    }

    /// Up to three pieces fall and are put back. Returns when all stand again.
    fn knock(&mut self, at: u64, spared: &[Square]) -> u64 {
        let pieces = self.standing(|square, _| !spared.contains(&square));
        let Some(&(middle, _)) = self.rng.choice(&pieces) else {
            return at;
        };
        let number = self.rng.usize(1..=3);
        let fallen: Vec<_> = pieces
            .into_iter()
            .filter(|(s, _)| s.distance(middle) <= 1)
            .take(number)
            .collect();
        let mut now = at;
        let mut away = Vec::new();
        for &(square, piece) in &fallen {
            self.put(now, square, None);
            let free =
                |s: &Square| self.pieces[usize::from(*s)].is_none() && !spared.contains(s) && *s != square;
            let beside: Vec<Square> = attacks::king_attacks(square).into_iter().filter(free).collect();
            if self.rng.u8(0..5) < 2
                && let Some(&over) = self.rng.choice(&beside)
                && !fallen.iter().any(|(s, _)| *s == over)
            {
                self.put(now + 10, over, Some(piece));
                away.push(over);
            }
            now += self.rng.u64(0..50);
        }
        now += self.rng.u64(400..1200);
        for square in away {
            self.put(now, square, None);
            now += self.rng.u64(150..500);
        }
        for (square, piece) in fallen {
            self.put(now, square, Some(piece));
            now += self.rng.u64(200..700);
        }
        now
    }

    /// A hand makes the half-move. Returns when the hand is off the board.
    pub(super) fn make(&mut self, mv: Move, begin: u64) -> u64 {
        let slips = Slips {
            drag: self.happens(Fault::Drag),
            swept: self.happens(Fault::Swept),
            place_first: self.happens(Fault::PlaceFirst),
            any_castling: self.happens(Fault::Castling),
            any_promotion: self.happens(Fault::Promotion),
            any_en_passant: self.happens(Fault::EnPassant),
            spare_piece: self.is_spare(mv),
            ..Slips::default()
        };
        let (pace, motion) = (HandPace::Drawn(self.tempo.hand.clone()), Motion::default());
        let mut hand = Hand {
            pieces: self.pieces,
            pace,
            slips,
            rng: &mut self.rng,
            motion,
        };
        hand.make(mv, self.position.turn());
        let motion = hand.motion;
        let before = self.timeline.puts.len();
        for (after, square, piece) in motion.steps {
            self.put(begin + after, square, piece);
        }
        self.hands.push(self.timeline.puts[before..].to_vec());
        begin + motion.at
    }

    fn knock_after(&mut self, end: u64, mv: Move) -> u64 {
        if !self.happens(Fault::Knocked) || self.rng.bool() {
            return end;
        }
        let spared = squares_of(mv, self.position.turn());
        self.knock(end + 50, &spared)
    }

    /// When the clock is pressed, for a half-move that was made by `end`.
    pub(super) fn press_time(&mut self, end: u64) -> u64 {
        let early = self.happens(Fault::EarlyPress);
        let after = if early {
            self.rng.u64(0..30)
        } else {
            self.rng.u64(self.tempo.press.clone())
        };
        (end + after).max(self.at + PRESSES_APART)
    }

    /// The press, unless the player forgets it, and the entry in the truth.
    fn complete(&mut self, mv: Move, end: u64) {
        let color = self.position.turn();
        let at = self.press_time(end);
        // If nobody reads the arrival of a piece, only the press tells of it, so the player must not forget
        // it.
        let seen = self.outages.hides(mv.to());
        if !self.happens(Fault::ForgottenPress) || seen {
            self.press(at, color);
        }
        self.touched = squares_of(mv, color);
        self.left = end;
        self.at = at;
        self.record(mv, at);
        let touched = self.touched.clone();
        self.end_half_move(&touched);
    }

    /// The legal moves of the position as pairs of squares.
    pub(super) fn legal_pairs(&self) -> Vec<(Square, Square)> {
        let legal = self.position.legal_moves();
        legal
            .iter()
            .filter_map(|mv| Some((mv.from()?, mv.to())))
            .collect()
    }
}

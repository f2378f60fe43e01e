//! What happens while the clock is stopped: takebacks, the arbiter's work, kings in the centre.

use shakmaty::{Color, Position, Square};

use super::{
    super::hand::figure::{Men, men_of},
    director::Director,
    fault::Fault,
};
use crate::event::GameResult;

impl Director<'_> {
    /// Both players agree to take back up to three half-moves.
    pub(super) fn take_back(&mut self) -> bool {
        let read = !self.truth.calm && self.timeline.dead.is_empty();
        if self.truth.moves.len() < 6 || self.running.is_none() || self.outages.any(self.at) || !read {
            return false;
        }
        if self.truth.offences.iter().any(|offence| offence.ply > 0) || !self.happens(Fault::Takeback) {
            return false;
        }
        let left = self.truth.moves.len() - self.rng.usize(1..=3);
        let target = self.past[left].clone();
        let again = self
            .past
            .iter()
            .filter(|past| past.board() == target.board())
            .count();
        if again != 1 || self.position.board() == target.board() {
            return false; // it occurred more than once: nobody could tell how far back they went
        }
        self.truth.moves.truncate(left);
        self.past.truncate(left);
        self.position = target;
        let stop = self.at + self.rng.u64(800..2500);
        let men = men_of(self.position.board());
        self.put_right(stop, &men, self.position.turn(), None);
        true
    }

    /// The clock is stopped, the pieces are put as `men` says, and the clock is started for `turn`. The
    /// player `gain` gets two minutes more.
    pub(super) fn put_right(&mut self, stop: u64, men: &Men, turn: Color, gain: Option<Color>) {
        self.stop_clock(stop);
        let begin = stop + self.rng.u64(2000..5000);
        let mut now = self.set_up(begin, men);
        now += self.rng.u64(1500..4000);
        let seconds = |color| if gain == Some(color) { 120 } else { 0 };
        self.start_clock(now, turn, seconds(Color::White), seconds(Color::Black));
        (self.at, self.left) = (now, now);
        self.touched.clear();
    }

    /// Hands first take away what is wrong and then put down what is missing.
    pub(super) fn set_up(&mut self, mut now: u64, men: &Men) -> u64 {
        let mut wrong: Vec<Square> = Square::ALL
            .into_iter()
            .filter(|s| self.men[usize::from(*s)] != men[usize::from(*s)])
            .collect();
        self.rng.shuffle(&mut wrong);
        for &square in &wrong {
            if self.men[usize::from(square)].is_some() {
                self.put(now, square, None);
                now += self.rng.u64(300..900);
            }
        }
        for &square in &wrong {
            if men[usize::from(square)].is_some() {
                self.put(now, square, men[usize::from(square)]);
                now += self.rng.u64(300..900);
            }
        }
        now
    }

    /// The players put the kings in the centre to tell the result.
    pub(super) fn centre_kings(&mut self) {
        let result = [GameResult::WhiteWins, GameResult::BlackWins, GameResult::Draw][self.rng.usize(0..3)];
        let (a, b) = match result {
            GameResult::WhiteWins => (Square::E4, Square::D5),
            GameResult::BlackWins => (Square::D4, Square::E5),
            _ => (Square::E4, Square::E5),
        };
        let board = self.position.board();
        let (Some(white), Some(black)) = (board.king_of(Color::White), board.king_of(Color::Black)) else {
            return;
        };
        let mut kings = [
            (white, self.men[usize::from(white)], a),
            (black, self.men[usize::from(black)], b),
        ];
        if self.rng.bool() {
            (kings[0].2, kings[1].2) = (b, a);
        }
        self.rng.shuffle(&mut kings);
        let mut now = self.at + if self.stage.clock { 1500 } else { 9000 };
        let in_the_way = |director: &Self, square: Square| {
            director.men[usize::from(square)].is_some() && square != white && square != black
        };
        for (_, _, to) in kings {
            if in_the_way(self, to) {
                self.put(now, to, None);
                now += self.rng.u64(300..800);
            }
        }
        let crossing = kings[0].2 == kings[1].0 || kings[1].2 == kings[0].0;
        if crossing || self.rng.bool() {
            for (from, _, _) in kings {
                self.put(now, from, None);
                now += self.rng.u64(200..600);
            }
        }
        for (from, king, to) in kings {
            if king.is_some() && self.men[usize::from(from)] == king && from != to {
                self.put(now, from, None);
                now += self.rng.u64(300..700);
            }
            self.put(now, to, king);
            now += self.rng.u64(400..1200);
        }
        self.at = now;
        self.truth.result = Some(result);
    }
}

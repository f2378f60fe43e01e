//! The beam: the hypotheses that are kept, ranked by what must have gone wrong if they were true. Nothing is
//! decided here: a later reading or press decides between them. Their number is bounded.

mod grow;
mod kept;
mod stays;

use std::sync::Arc;

pub use kept::KeptLines;

use grow::Growth;

use shakmaty::{Bitboard, Color, Square};

use super::{
    bill::Item,
    fall::Fall,
    line::{Glance, Line, Span, stood},
    ply::{PlyKind, Pruning},
    put_back::{self, Least},
    sensed::Sensed,
    stand::Stand,
    weight,
};
use crate::time::Millis;

/// How many lines are kept.
const MOST_LINES: usize = 40;
/// How many nats more than the best a line may cost and stay.
const BEHIND: f32 = 9.0;
/// If the opponent presses this long after a press whose half-move has not been read, the updates of that
/// half-move may be lost.
const OVERDUE_MS: u64 = 400;

/// The beam of hypotheses. The readings that they explain belong to the caller and come as an argument.
#[derive(Clone, Debug)]
pub struct Lines {
    #[allow(
        clippy::vec_box,
        reason = "lines are sorted and dropped all the time, and a line is half a kilobyte"
    )]
    pub(super) lines: Vec<Box<Line>>,
    aged: Millis,
    /// The time for which the lines are ranked, nothing having changed since.
    ranked_at: Option<Millis>,
    /// True while presses are to be expected: a half-move without one costs something.
    pub(super) clock_runs: bool,
    /// While true, half-moves are found after a gap in the record: no update told of them.
    pub recovering: bool,
    /// While true, a gap in the record is not explained: what stands elsewhere than in the record was hardly displaced.
    pub gap_is_open: bool,
    /// While true, readings are not explained: the clock is stopped and pieces may be moved freely.
    pub frozen: bool,
    /// When the game began, or the clock was started last: what stood on the board then was seen to.
    seen_to: Millis,
    /// Another game goes on with what is explained: nothing is here until the lines are set anew.
    left: bool,
}

impl Lines {
    /// A beam that begins with one position.
    #[must_use]
    pub fn new(stand: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let line = Line::new(stand, sensed, now);
        let mut lines = Self {
            lines: vec![Box::new(line)],
            aged: now,
            ranked_at: None,
            clock_runs: false,
            recovering: false,
            gap_is_open: false,
            frozen: false,
            seen_to: now,
            left: false,
        };
        lines.grow_all(now, sensed);
        lines
    }

    /// The clock was started, or is gone: presses are to be expected, or not.
    pub fn set_clock_runs(&mut self, runs: bool) {
        self.ranked_at = None;
        self.clock_runs = runs;
        for line in &mut self.lines {
            line.clock_runs = runs;
        }
    }

    /// The clock was started at `now`, or is gone: the game goes on from what stands on the board. Whoever starts the clock sees to that,
    /// so what differs has lasted since then. Returns true where hands were free to move pieces before.
    pub fn thaw(&mut self, now: Millis) -> bool {
        let thawed = std::mem::take(&mut self.frozen);
        for line in self.lines.iter_mut().filter(|_| thawed) {
            line.differs_since(now);
        }
        thawed
    }

    /// The clock was started at `now`. As [`Self::thaw`].
    pub fn clock_started(&mut self, now: Millis) -> bool {
        self.seen_to = now;
        self.thaw(now)
    }

    /// All lines, the best first.
    #[must_use]
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Line> + Clone {
        self.lines.iter().map(Box::as_ref)
    }

    /// The best line.
    #[must_use]
    pub fn best(&self) -> &Line {
        &self.lines[0]
    }

    /// All lines assume that the pieces on `squares` are not read.
    pub fn hide(&mut self, squares: Bitboard, now: Millis, sensed: &Sensed) {
        for line in &mut self.lines {
            let unread = !sensed.placement().occupied() & line.placement().occupied();
            line.hide(squares & unread, sensed);
        }
        self.rank(now, sensed);
    }

    /// Squares changed: `sensed` shows them as they are now. [`Self::tick`] was called before.
    pub fn changed(&mut self, now: Millis, sensed: &Sensed, squares: Bitboard) {
        if self.left {
            return;
        }
        let back = |s: Square| sensed.was_empty_for(s).filter(|_| sensed.seen_at(s).is_some());
        for line in &mut self.lines {
            for square in squares {
                let stood = !sensed.at(square).is_empty() && line.placement().at(square) == sensed.at(square);
                if let Some(gone) = back(square).filter(|_| stood) {
                    let gone = gone.saturating_sub(sensed.slack());
                    let last = line.plies.last().and_then(|ply| ply.pressed);
                    let gone = (gone, sensed.blinked_before(square));
                    line.tell_fall(|fall| fall.came_back(square, gone, now, last, self.frozen));
                }
                if !sensed.before(square).agrees(line.expects(square))
                    && stood::has_stood_elsewhere(
                        &line.plies,
                        line.placement(),
                        line.faults.silent,
                        square,
                        sensed,
                    )
                {
                    line.bill.pay(Item::Elsewhere, weight::STOOD_ELSEWHERE);
                }
                line.seen(square, sensed.at(square));
            }
            line.forgive(sensed);
        }
        if !self.frozen {
            let is_read = !self.recovering && !self.gap_is_open;
            let mut growth = self.growth(now, sensed);
            growth.on(squares);
            growth.suspect();
            growth.fallen();
            if is_read {
                growth.goes_on_displaced(squares);
            }
        }
        self.rank(now, sensed);
    }

    /// `square` was reported empty although it was empty before: the arrival of a piece there was
    /// lost, for a board reports changes only.
    pub fn left_unseen(&mut self, now: Millis, sensed: &Sensed, square: Square) {
        for line in &mut self.lines {
            if line.placement().at(square).is_empty() {
                line.charge(Item::NeverThere, weight::NEVER_THERE);
            }
        }
        self.rank(now, sensed);
    }

    /// `side` pressed the clock.
    pub fn press(&mut self, now: Millis, sensed: &Sensed, side: Color) {
        self.age(now, sensed);
        let overdue = |line: &Line| line.awaits().is_some_and(|at| now.since(at) >= OVERDUE_MS);
        if self.all().any(overdue) {
            self.grow_blind(now, sensed);
        }
        let mut others = Vec::new();
        for line in &mut self.lines {
            others.extend(line.returned_by(side, now));
            if !line.takes_back_press(side) {
                others.extend(line.pressed_by(side, now));
            }
        }
        self.lines.extend(others.into_iter().map(Box::new));
        for line in &mut self.lines {
            line.forgive(sensed);
            if line.is_pressed_for_another(now, sensed) {
                line.charge(Item::Elsewhere, weight::PRESSED_FOR_LAST);
            }
            if line.is_pressed_otherwise(now, sensed) {
                line.charge(Item::Elsewhere, weight::ELSEWHERE);
            }
        }
        let frozen = self.frozen;
        let mut growth = self.growth(now, sensed);
        growth.suspect();
        if !frozen {
            growth.fallen();
        }
        self.rank(now, sensed);
    }

    /// The suspected act with which the best line begins was reported: it is a part of the game until it is
    /// put right. Lines that begin otherwise are dropped.
    pub fn convict(&mut self) {
        let Some(PlyKind::Suspect(act)) = self.best().plies.first().map(|ply| ply.kind.clone()) else {
            return;
        };
        self.ranked_at = None;
        let suspected = PlyKind::Suspect(act.clone());
        self.lines
            .retain(|line| line.plies.first().is_some_and(|ply| ply.kind == suspected));
        for line in &mut self.lines {
            line.plies[0].kind = PlyKind::Illegal(act.clone());
        }
        self.relieve();
    }

    /// Drops `fall` from all lines: it has been reported, and all pieces are back.
    pub fn forget_fall(&mut self, fall: &Fall) {
        for line in &mut self.lines {
            line.faults.fall = line.faults.fall.filter(|known| !known.is_of(fall));
        }
    }

    /// The clock is stopped. If that is soon after a press, it speaks for a fall or an offence at that press.
    pub fn clock_stopped(&mut self, now: Millis, sensed: &Sensed) {
        for line in &mut self.lines {
            // A player may stop the clock because of an offence, too.
            let last = line.plies.last();
            if last.is_some_and(|ply| matches!(ply.kind, PlyKind::Suspect(_)) && ply.pressed.is_some()) {
                line.charge(Item::Illegal, -weight::STOPPED);
            }
            line.tell_fall(|fall| fall.clock_stopped(now));
        }
        self.rank(now, sensed);
    }

    /// Gives up the presses that still wait for their half-moves.
    pub fn forget_presses(&mut self) {
        self.ranked_at = None;
        for line in &mut self.lines {
            line.forget_presses();
        }
    }

    /// Takes back the press at `at`, for which nothing was found: it was none.
    pub fn forget_press(&mut self, at: Millis) {
        self.ranked_at = None;
        for line in &mut self.lines {
            line.forget_press(at);
        }
    }

    /// Takes back the press at `at`, and what follows from it: it was none.
    pub fn take_back_press(&mut self, at: Millis) {
        let is_by_it = |line: &Line| {
            let last = line.plies.last().filter(|ply| ply.pressed == Some(at));
            last.is_some_and(|ply| matches!(ply.kind, PlyKind::Suspect(_)))
        };
        if !self.all().all(is_by_it) {
            self.lines.retain(|line| !is_by_it(line));
        }
        for line in &mut self.lines {
            line.take_back_press(at);
        }
        self.forget_press(at);
    }

    fn growth<'a>(&'a mut self, now: Millis, sensed: &'a Sensed) -> Growth<'a> {
        Growth {
            lines: &mut self.lines,
            recovering: self.recovering,
            seen_to: self.seen_to,
            now,
            sensed,
        }
    }

    /// Adds lines for half-moves whose arrival was not read: of pieces that were lifted before an unexplained
    /// press, for the update of their arrival may be lost, and of pieces that are never read.
    pub fn grow_blind(&mut self, now: Millis, sensed: &Sensed) {
        self.growth(now, sensed).blind();
        self.rank(now, sensed);
    }

    /// Adds lines in which a player did something against the Laws that nobody pressed for, and his opponent answered, after the first
    /// `n` half-moves of the best line or later; `base` is what stands before its first.
    pub fn suspect_answered(&mut self, now: Millis, sensed: &Sensed, base: &Arc<Stand>, n: usize) {
        if self.growth(now, sensed).suspect_answered(base, n) {
            self.rank(now, sensed);
        }
    }

    /// Adds lines in which nothing was played since the last press, where the board shows again what stood then: hands moved pieces about
    /// and put them back. `base` is what stands before the first half-move.
    pub fn put_back(&mut self, now: Millis, sensed: &Sensed, base: &Arc<Stand>) {
        if !self.clock_runs || self.frozen || self.left {
            return;
        }
        let least = Least::of(&self.all());
        let back = |line: &Line| put_back::put_back(line, base, &least, sensed, now);
        let back: Vec<_> = self.all().filter_map(back).collect();
        if back.is_empty() {
            return;
        }
        let mut growth = self.growth(now, sensed);
        for line in back {
            growth.offer(line);
        }
        self.rank(now, sensed);
    }

    /// Looks on every square for half-moves that the readings speak for.
    pub fn grow_all(&mut self, now: Millis, sensed: &Sensed) {
        self.age(now, sensed);
        self.growth(now, sensed).on(Bitboard::FULL);
        self.rank(now, sensed);
    }

    /// Adds a line found otherwise (by search after a gap, by a ruling).
    pub fn add(&mut self, now: Millis, sensed: &Sensed, line: Line) {
        self.growth(now, sensed).offer(line);
        self.rank(now, sensed);
    }

    /// Replaces all lines.
    pub fn reset(&mut self, now: Millis, sensed: &Sensed, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        self.aged = now;
        self.left = false;
        self.lines = lines.into_iter().map(Box::new).collect();
        self.set_clock_runs(self.clock_runs);
        self.grow_all(now, sensed);
    }

    /// All lines, with which another game goes on. Here stay those that are still asked for, as they are: the best one, and the
    /// one in which an illegal act that was said stands.
    pub fn leave(&mut self) -> Self {
        let says_act = |line: &Line| {
            let first = line.plies.first();
            first.is_some_and(|ply| matches!(ply.kind, PlyKind::Illegal(_)))
        };
        let mut lines = vec![self.lines[0].clone()];
        lines.extend(self.lines[1..].iter().find(|line| says_act(line)).cloned());
        let left = Self {
            lines,
            left: true,
            ..*self
        };
        std::mem::replace(self, left)
    }

    /// The first `n` half-moves of the best line are past doubt: lines with other half-moves are dropped, and
    /// the base moves on.
    pub fn advance(&mut self, n: usize) {
        if n == 0 {
            return;
        }
        self.ranked_at = None;
        let best = self.best().plies.clone();
        self.lines
            .retain(|line| best.begin_alike(&line.plies, n, |x, y| x.kind.same_as(&y.kind)));
        let mut pruning = Pruning::default();
        for line in &mut self.lines {
            pruning.prune(&mut line.plies, n);
        }
        self.relieve();
    }

    /// Subtracts what all lines have cost alike, for that does not tell them apart.
    fn relieve(&mut self) {
        let least = weight::least(self.lines.iter().map(|line| line.bill.total()));
        for line in &mut self.lines {
            line.charge(Item::Shared, -least);
        }
    }

    /// Time passes.
    pub fn tick(&mut self, now: Millis, sensed: &Sensed) {
        // Several parts of the watcher call this at the same time for one message.
        if self.left || self.ranked_at == Some(now) && self.aged == now {
            return;
        }
        self.age(now, sensed);
        self.rank(now, sensed);
    }

    fn age(&mut self, now: Millis, sensed: &Sensed) {
        if now > self.aged {
            if !self.frozen {
                let differing = self.all().fold(Bitboard::EMPTY, |all, line| all | line.differing);
                let span = Span::new(sensed, differing, self.aged, now);
                for line in &mut self.lines {
                    line.tell_fall(|fall| fall.lies_still(now - sensed.slack()));
                    line.age(&span);
                    line.hide_lasting(sensed, now);
                }
            }
            self.aged = now;
        }
    }

    /// Puts the likeliest line first and drops those that will not be needed.
    pub(super) fn rank(&mut self, now: Millis, sensed: &Sensed) {
        self.ranked_at = Some(now);
        if let [only] = &mut self.lines[..] {
            only.ranked = 0.0;
            return;
        }
        let glance = Glance::new(sensed, now);
        for line in &mut self.lines {
            line.ranked = line.total_at(glance);
        }
        let least = weight::least(self.lines.iter().map(|line| line.ranked));
        self.lines.retain(|line| line.ranked <= least + BEHIND);
        self.lines.sort_by(|a, b| {
            a.ranked
                .total_cmp(&b.ranked)
                .then(a.plies.len().cmp(&b.plies.len()))
        });
        // Lines that reach the same position go on alike: the likelier way there is kept.
        let mut kept = 0;
        for i in 0..self.lines.len() {
            let (likelier, line) = (&self.lines[..kept], &self.lines[i]);
            if !likelier.iter().any(|other| other.goes_on_like(line)) {
                if kept < i {
                    self.lines.swap(kept, i);
                }
                kept += 1;
            }
            if kept == MOST_LINES {
                break;
            }
        }
        self.lines.truncate(kept);
        // A board that shows nonsense brings hundreds of lines for a moment.
        self.lines.shrink_to(MOST_LINES);
    }
}

/// How many leading half-moves two lines share.
#[must_use]
pub fn shared(a: &Line, b: &Line) -> usize {
    a.plies.alike(&b.plies, |x, y| x.kind.same_as(&y.kind))
}

#[cfg(test)]
mod tests;

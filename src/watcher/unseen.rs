//! Half-moves whose piece was never read where it went, for an update was lost: where it went was a guess.
//! What is read later may prove another guess, and then the game is told so.

use std::sync::Arc;

use shakmaty::{Move, Square};

use super::game::{Ctx, Game, Made};
use crate::{
    board::{Code, Lines, PlyKind, Sensed, Stand, candidate::Candidate},
    event::Resolution,
    time::Millis,
};

/// A piece that stands where it should not must have stood so long before the record is doubted.
const ASTRAY_MS: u64 = 400;
/// For so many half-moves it stays open where a piece went that was not read there.
const HELD: usize = 40;
/// A piece may be lifted before the opponent has pressed, and that may be read after the own press.
const EARLY_MS: u64 = 1500;
const LATE_MS: u64 = 500;
/// Other ways that the game may have gone, looked at in one go.
const MOST_WAYS: usize = 300;

impl Game {
    /// The first `n` half-moves of the lines are settled: which of their pieces were read where they went?
    pub(super) fn note_landings(&mut self, n: usize) {
        for (made, ply) in self.record[self.base..]
            .iter_mut()
            .zip(&self.lines.best().plies[..n])
        {
            made.landed |= ply.landed;
        }
    }

    /// Pieces stand where the record has none, or left squares where it had none: a piece that was not
    /// read where it went may have gone there.
    pub(super) fn look_for_unseen(&mut self, ctx: &mut Ctx<'_>) {
        let open = self.result.is_none() && !ctx.sensed.is_felt() && !self.lines.frozen && self.on_record();
        if open && self.unlanded(ctx.sensed).next().is_some() && self.may_be_elsewhere(ctx) {
            // Nothing new comes of looking twice at the same.
            let seen = (
                self.plies(),
                ctx.sensed
                    .last_change()
                    .max(ctx.sensed.last_dump().unwrap_or_default()),
            );
            if self.retold.replace(seen) != Some(seen) {
                self.went_elsewhere(ctx, false);
            }
        }
    }

    /// Pieces have stood for a while where no line has them, or a dump says that they do, or one has
    /// left a square where none had been read.
    fn may_be_elsewhere(&self, ctx: &mut Ctx<'_>) -> bool {
        let astray = self.lines.best().misplaced(ctx.sensed);
        let lasts = |ctx: &mut Ctx<'_>, s| {
            let since = ctx.sensed.seen_at(s);
            since.is_none_or(|since| ctx.passed(since, ASTRAY_MS))
        };
        if astray.is_empty() {
            return ctx.sensed.left_unseen().any();
        }
        astray.into_iter().all(|s| lasts(ctx, s))
    }

    /// Half-moves of the record whose piece was never read where it went, the last first.
    fn unlanded<'s>(&'s self, sensed: &'s Sensed) -> impl Iterator<Item = usize> + 's {
        let plies = &self.lines.best().plies;
        let held = self.plies().saturating_sub(HELD);
        (held..self.plies()).rev().filter(move |i| {
            let ply = i.checked_sub(self.base).and_then(|k| plies.get(k));
            let legal = self.record[*i].kind.legal();
            let left = legal.and_then(|mv| sensed.left_unseen_at(mv.to()));
            let proved = left.is_some_and(|at| at > self.record[*i].at);
            legal.is_some() && !proved && !self.record[*i].landed && ply.is_none_or(|ply| !ply.landed)
        })
    }

    /// Tells the game anew if a piece that was not read where it went explains the board by having
    /// gone elsewhere. `excusing`: what is seen is no legal half-move as the record has it. Returns true when it does.
    pub(super) fn went_elsewhere(&mut self, ctx: &mut Ctx<'_>, excusing: bool) -> bool {
        let astray = excusing || self.lines.best().misplaced(ctx.sensed).any();
        let open: Vec<usize> = self.unlanded(ctx.sensed).collect();
        let one = open.iter().map(|i| vec![*i]);
        let two = open
            .iter()
            .flat_map(|j| open.iter().filter(move |i| *i < j).map(move |i| vec![*i, *j]));
        let mut retelling = Retelling {
            game: self,
            sensed: ctx.sensed,
            now: ctx.now,
            astray,
            excusing,
            guessed: Vec::new(),
            told: Vec::new(),
            ways: MOST_WAYS,
        };
        let Some(from) = one
            .chain(two)
            .find(|guessed| retelling.succeeds(guessed))
            .map(|g| g[0])
        else {
            return false;
        };
        let told = retelling.told;
        let presses = self.lines.best().presses_since(self.announced());
        self.withdraw_since(ctx, from);
        self.tell_anew(ctx, told, "update_was_lost");
        for (side, at) in presses {
            self.lines.press(at, ctx.sensed, side);
        }
        true
    }

    /// What was said of half-moves after the first `ply` was said of a game that was not played.
    fn withdraw_since(&mut self, ctx: &mut Ctx<'_>, ply: usize) {
        while let Some(i) = self
            .open
            .iter()
            .position(|open| open.ply > ply && open.target.is_some())
        {
            let open = self.open[i].clone();
            self.open[i].counted = false;
            self.uncount(ctx, &open);
            self.resolve(ctx, i, Resolution::Superseded);
        }
    }
}

/// The end of the record told otherwise, until it explains the board.
struct Retelling<'a> {
    game: &'a Game,
    sensed: &'a Sensed,
    now: Millis,
    /// Pieces stand where the record has none.
    astray: bool,
    /// What is seen is no legal half-move as the record has it.
    excusing: bool,
    /// The half-moves of which another is tried.
    guessed: Vec<usize>,
    told: Vec<Made>,
    ways: usize,
}

impl Retelling<'_> {
    /// Looks for other squares that the pieces of the half-moves `guessed` may have gone to.
    fn succeeds(&mut self, guessed: &[usize]) -> bool {
        self.guessed = guessed.to_vec();
        self.told.clear();
        let stand = self.game.stand_at(guessed[0]).clone();
        self.goes_on(&stand, guessed[0], &[])
    }

    /// Goes on from `stand` with half-move `i` of the record.
    fn goes_on(&mut self, stand: &Arc<Stand>, i: usize, elsewhere: &[Elsewhere]) -> bool {
        let Some(made) = self.game.record.get(i) else {
            self.ways = self.ways.saturating_sub(1);
            return self.explains(stand, elsewhere);
        };
        let Some(said) = made.kind.legal() else {
            return false;
        };
        for candidate in self.instead_of(said, self.guessed.contains(&i), stand, elsewhere) {
            if self.ways == 0 {
                return false;
            }
            let mv = candidate.mv;
            let next = Arc::new(stand.after(&candidate));
            let mut elsewhere: Vec<_> = elsewhere.iter().filter_map(|e| e.after(said, mv)).collect();
            if mv.to() != said.to() {
                elsewhere.push(Elsewhere {
                    said: Some(said.to()),
                    stands: mv.to(),
                });
            }
            let told = self.game.made_otherwise(made, stand, mv, next.clone());
            self.told.push(Made {
                landed: told.landed || mv.to() != said.to(),
                ..told
            });
            if self.goes_on(&next, i + 1, &elsewhere) {
                return true;
            }
            self.told.pop();
        }
        false
    }

    /// What may have been played from `stand` instead of what was said: the same by a piece that stands
    /// elsewhere, or where it was `guessed`, another way of the piece.
    fn instead_of(
        &self,
        said: Move,
        guessed: bool,
        stand: &Stand,
        elsewhere: &[Elsewhere],
    ) -> Vec<Candidate> {
        let moved = elsewhere
            .iter()
            .find(|e| e.said.is_some() && e.said == said.from());
        let from = moved.map(|e| e.stands).or_else(|| said.from());
        let fits = |c: &Candidate| {
            let to = c.mv.to();
            let same = c.mv.from() == from
                && c.mv.promotion() == said.promotion()
                && c.mv.is_castle() == said.is_castle();
            same && guessed != (to == said.to())
        };
        let mut instead: Vec<_> = stand.candidates().filter(fits).collect();
        let piece = from.map_or(Code::EMPTY, |from| stand.placement().at(from));
        instead.sort_by_key(|c| self.sensed.at(c.mv.to()) != piece);
        instead
    }

    /// True when the piece that half-move `made` brought to `square` was taken there later.
    fn taken(&self, square: Square, made: usize) -> bool {
        let told = &self.told[made + 1 - self.guessed[0]..];
        let touches = |mv: &Move| mv.from() == Some(square) || mv.to() == square;
        let next = told.iter().filter_map(|made| made.kind.legal()).find(touches);
        next.is_some_and(|mv| mv.is_capture() && mv.to() == square)
    }

    /// True when something left `square`, where nothing had been read, after half-move `made`; and when its
    /// piece is not there any more, as that was moved.
    fn left(&self, square: Square, made: usize, stands: bool) -> bool {
        let record = &self.game.record;
        let Some(at) = self
            .sensed
            .left_unseen_at(square)
            .filter(|at| *at > record[made].at)
        else {
            return false;
        };
        let from_there = |i: &usize| {
            let told = &self.told[i - self.guessed[0]];
            told.kind.legal().and_then(Move::from) == Some(square)
        };
        let moved = (made + 1..record.len()).find(from_there);
        stands || moved.is_some_and(|i| record[i - 1].at <= at + EARLY_MS && at <= record[i].at + LATE_MS)
    }

    /// True when the board shows `stand`, or what may be played from there, and each piece of the half-moves
    /// that were guessed has been where it went: it stands there, or left it.
    fn explains(&self, stand: &Arc<Stand>, elsewhere: &[Elsewhere]) -> bool {
        let lines = Lines::new(stand.clone(), self.sensed, self.now);
        let best = lines.best();
        let went_on = |from| {
            best.plies
                .iter()
                .any(|ply| ply.kind.from_to().is_some_and(|(a, _)| a == from))
        };
        let was_there = |i: &usize| {
            let to = self.told[i - self.guessed[0]].kind.legal().map(Move::to);
            to.is_some_and(|to| {
                let stands = elsewhere.iter().any(|e| e.stands == to);
                let reads = self.sensed.at(to) == stand.placement().at(to);
                let shown = stands && (reads || went_on(to)) || self.taken(to, *i);
                // Nothing is ever read of a piece without a chip, nor on a square that reads nothing.
                let unread = self.excusing && stands && self.sensed.at(to).is_empty();
                let silent = unread || matches!(self.game.record[*i].kind, PlyKind::Recovered(_));
                self.astray && shown || self.left(to, *i, stands) || silent
            })
        };
        best.misplaced(self.sensed).is_empty() && self.guessed.iter().all(was_there)
    }
}

/// A piece that stands elsewhere than the record says.
#[derive(Clone, Copy)]
struct Elsewhere {
    /// Where the record has it, unless that took it.
    said: Option<Square>,
    stands: Square,
}

impl Elsewhere {
    /// The same after `mv`, which the record has as `said`; none when the piece was moved or taken.
    fn after(&self, said: Move, mv: Move) -> Option<Self> {
        let gone = mv.from() == Some(self.stands) || mv.to() == self.stands;
        let there = self.said.filter(|square| *square != said.to());
        (!gone).then_some(Self { said: there, ..*self })
    }
}

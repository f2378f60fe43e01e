//! The course of a game: the record, which was told, and the hypotheses that go on from it.

mod account;

use std::sync::Arc;

use shakmaty::{Bitboard, CastlingMode, Color, Move, uci::UciMove};

use super::{Made, Press, names, press::PressQueue, record::GameRecord, waits::RESTORED};
use crate::{
    board::{IllegalAct, Item, Line, Lines, Ply, Sensed, Stand},
    event::{Body, CompletedBy, notice},
    time::Millis,
    watcher::ctx::Ctx,
};

/// A command that took half-moves back.
#[derive(Clone, Copy, Debug)]
pub(in crate::watcher) struct TakenBack {
    pub(in crate::watcher) at: Millis,
    /// A notice has said that half-moves were put together from what stood on the board.
    pub(in crate::watcher) told: bool,
}

/// What was told of a game, and what may follow.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Course {
    /// The number of the game.
    pub(in crate::watcher) number: u32,
    /// When the game began, or the daemon took it up.
    pub(in crate::watcher) began: Millis,
    pub(in crate::watcher) record: GameRecord,
    pub(in crate::watcher) lines: Lines,
    /// Number of half-moves of the record before the position where the hypotheses start.
    pub(in crate::watcher) base: usize,
    /// Since when the best hypothesis contradicts the record.
    pub(in crate::watcher) doubted: Option<Millis>,
    /// Since when the best hypothesis has not contained the record, by however little.
    pub(in crate::watcher) left_since: Option<Millis>,
    /// The command that took half-moves back last, until play goes on.
    pub(in crate::watcher) taken_back: Option<TakenBack>,
    /// The clock has run in this game.
    pub(in crate::watcher) clock_used: bool,
}

impl Course {
    pub(super) fn new(number: u32, start: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        Self {
            number,
            began: now,
            lines: Lines::new(start.clone(), sensed, now),
            record: GameRecord::new(start),
            base: 0,
            doubted: None,
            left_since: None,
            taken_back: None,
            clock_used: false,
        }
    }

    /// Number of half-moves of the hypotheses that are on the record.
    pub(in crate::watcher) fn announced(&self) -> usize {
        self.record.plies() - self.base
    }

    /// Emits an event of this game.
    pub(in crate::watcher) fn emit(&self, ctx: &mut Ctx<'_>, at: Option<Millis>, body: Body) -> String {
        if ctx.out.accounts.is_some() {
            let account = self.account(ctx.sensed, ctx.now, Some(ctx.out.seq + 1), ctx.out);
            ctx.out.accounts.get_or_insert_default().push_back(account);
        }
        ctx.out.emit(ctx.settings, Some(self.number), ctx.now, at, body)
    }

    /// Adds a half-move to the record and reports it.
    pub(in crate::watcher) fn announce(&mut self, ctx: &mut Ctx<'_>, ply: &Ply, completed_by: CompletedBy) {
        let shown = ply.kind.legal().filter(|_| self.record.is_empty());
        if let Some(start) = shown.and_then(|mv| self.record.start.allowing(mv)) {
            self.record.start = Arc::new(start);
        }
        let made_in = ply.made_in.as_ref();
        let before = made_in.unwrap_or_else(|| self.record.stand()).clone();
        let (uci, san) = names(&before, &ply.kind, self.record.mode());
        let former = self
            .record
            .former(self.record.plies() + 1, &uci.to_string(), &ply.stand);
        let (clock, at) = if self.is_reconstructed(ctx, &uci) {
            (former.map(|(clock, _)| clock), former.map(|(_, at)| at))
        } else {
            (ctx.clock.state(), None)
        };
        let made = Made {
            kind: ply.kind.clone(),
            uci,
            san,
            stand: ply.stand.clone(),
            completed_by,
            clock,
            at: at.or(ply.pressed).unwrap_or(ply.at),
            accepted: false,
            made_in: ply.made_in.clone(),
            landed: ply.landed,
        };
        self.record.withdrawn.clear();
        self.enter(ctx, made);
    }

    /// True for a half-move that is put together from what had stood on the board before a command took the record back:
    /// nobody saw it made since. A notice says so once.
    fn is_reconstructed(&mut self, ctx: &mut Ctx<'_>, uci: &UciMove) -> bool {
        let Some(taken_back) = self.taken_back else {
            return false;
        };
        let UciMove::Normal { from, to, .. } = uci else {
            return false;
        };
        let squares = Bitboard::from_square(*from).with(*to);
        if (ctx.sensed.changed_since(taken_back.at) & squares).any() {
            self.taken_back = None;
            return false;
        }
        if !taken_back.told {
            let message = format!(
                "A command took the record back to half-move {}, and the pieces stayed as they stood. What follows is put together \
                 from them, so its order may be wrong. If the command was a mistake, put the half-moves back with `correct`: their \
                 times are known.",
                self.record.plies()
            );
            self.notice(ctx, notice::RECONSTRUCTED, &message);
        }
        self.taken_back = Some(TakenBack {
            told: true,
            ..taken_back
        });
        true
    }

    /// Enters `made` into the record.
    pub(super) fn enter(&mut self, ctx: &mut Ctx<'_>, made: Made) {
        let body = made.told(self.record.plies() + 1);
        let at = made.at;
        self.record.push(made);
        self.emit(ctx, Some(at), body);
    }

    /// Takes the half-moves after the first `to` off the record.
    pub(in crate::watcher) fn retract(&mut self, ctx: &mut Ctx<'_>, to: usize, reason: &str) {
        if to >= self.record.plies() {
            return;
        }
        self.record.truncate(to);
        self.base = self.base.min(to);
        let body = Body::MovesRetracted {
            to_ply: to as u32,
            reason: reason.into(),
            fen: None,
            chess960: false,
        };
        self.emit(ctx, None, body);
    }

    /// The game began from `start`, and the record has another position: the game counts from there, and its half-moves have yet to
    /// be entered.
    pub(in crate::watcher) fn count_from(&mut self, ctx: &mut Ctx<'_>, start: Arc<Stand>, reason: &str) {
        let body = Body::MovesRetracted {
            to_ply: 0,
            reason: reason.into(),
            fen: Some(start.fen()),
            chess960: start.mode() == CastlingMode::Chess960,
        };
        self.emit(ctx, None, body);
        self.record = GameRecord::new(start);
    }

    /// Number of half-moves of the record that the best hypothesis contains.
    pub(super) fn kept(&self) -> usize {
        let (plies, said) = (&self.lines.best().plies, &self.record[self.base..]);
        let both = plies.len().min(said.len());
        let pairs = plies
            .backwards()
            .skip(plies.len() - both)
            .zip(said[..both].iter().rev());
        let unlike = pairs
            .enumerate()
            .filter(|(_, (ply, made))| !ply.kind.same_as(&made.kind));
        unlike.last().map_or(both, |(from_end, _)| both - 1 - from_end)
    }

    /// Gives a notice.
    pub(in crate::watcher) fn notice(&self, ctx: &mut Ctx<'_>, code: &'static str, message: &str) {
        self.emit(ctx, None, Body::notice(code, message));
    }

    /// True when `line` contains the record.
    pub(super) fn is_kept_by(&self, line: &Line) -> bool {
        let said = &self.record[self.base..];
        let later = line.plies.len().checked_sub(said.len());
        later.is_some_and(|later| {
            let mut both = line.plies.backwards().skip(later).zip(said.iter().rev());
            both.all(|(ply, made)| ply.kind.same_as(&made.kind))
        })
    }

    /// True when the best hypothesis contains the record.
    pub(in crate::watcher) fn on_record(&self) -> bool {
        self.is_kept_by(self.lines.best())
    }

    /// Starts the beam anew, with the record as its only hypothesis.
    pub(in crate::watcher) fn restart_lines(&mut self, ctx: &Ctx<'_>) {
        let line = Line::new(self.record.stand().clone(), ctx.sensed, ctx.now);
        self.base = self.record.plies();
        self.reset_lines(ctx, vec![line]);
        self.doubted = None;
    }

    /// Replaces the beam. Pieces that were hidden before stay hidden.
    pub(in crate::watcher) fn reset_lines(&mut self, ctx: &Ctx<'_>, lines: Vec<Line>) {
        let hidden = self.lines.best().faults().hidden;
        self.lines.reset(ctx.now, ctx.sensed, lines);
        if hidden.any() {
            self.lines.hide(hidden, ctx.now, ctx.sensed);
        }
    }

    /// Only hypotheses in which `mv` is the next half-move go on, if there are any.
    pub(super) fn keep_lines_with(&mut self, ctx: &Ctx<'_>, mv: Move) {
        let next = self.announced();
        let is_next = |line: &&Line| {
            line.plies
                .get(next)
                .is_some_and(|ply| ply.kind.legal() == Some(mv))
        };
        let kept: Vec<Line> = self.lines.all().filter(is_next).cloned().collect();
        if !kept.is_empty() {
            self.reset_lines(ctx, kept);
        }
    }

    /// Whose move it is.
    pub(in crate::watcher) fn to_move(&self) -> Color {
        self.record.stand().turn()
    }

    /// Enters the first `many` half-moves that were taken back into the record again.
    pub(super) fn reinstate(&mut self, ctx: &mut Ctx<'_>, many: usize) {
        let rest = self.record.withdrawn.split_off(many);
        for made in std::mem::replace(&mut self.record.withdrawn, rest) {
            self.enter(ctx, made);
        }
        self.restart_lines(ctx);
    }

    /// Takes over a beam that starts where the game starts.
    pub(in crate::watcher) fn take_lines(&mut self, lines: Lines) {
        self.lines = lines;
        self.base = 0;
    }

    /// Notes in the record which pieces of the first `n` half-moves of the hypotheses were read where they
    /// went.
    pub(super) fn note_landings(&mut self, n: usize) {
        let settled = self.record.made_mut()[self.base..]
            .iter_mut()
            .zip(self.lines.best().plies.iter().take(n));
        for (made, ply) in settled {
            made.landed |= ply.landed;
        }
    }

    /// The hypotheses go on after `act`, which the board showed where the record had `before`: the players put it right, or it stands.
    pub(super) fn go_on_after(
        &mut self,
        ctx: &Ctx<'_>,
        presses: &PressQueue,
        before: Arc<Stand>,
        act: IllegalAct,
    ) {
        let base = Line::new(before, ctx.sensed, ctx.now);
        let stands = base.after_act(act, ctx.sensed, ctx.now);
        self.rebase(ctx, presses, vec![(base, RESTORED), (stands, 0.0)]);
    }

    /// Replaces the beam by these hypotheses, which start from the record. Each comes with its cost in nats.
    pub(super) fn rebase(&mut self, ctx: &Ctx<'_>, presses: &PressQueue, lines: Vec<(Line, f32)>) {
        self.base = self.record.plies();
        let mut fresh = Vec::new();
        for (mut line, cost) in lines {
            line.charge(Item::PutRight, cost);
            fresh.push(line);
        }
        self.reset_lines(ctx, fresh);
        self.press_again(ctx, &presses.later);
    }

    /// The hypotheses, which were set anew, are told of these presses again.
    pub(super) fn press_again<'p>(&mut self, ctx: &Ctx<'_>, presses: impl IntoIterator<Item = &'p Press>) {
        for press in presses {
            self.lines.press(press.at, ctx.sensed, press.side);
        }
    }

    /// Takes back the end of the record, and reports `told` in its place.
    pub(super) fn tell_anew(&mut self, ctx: &mut Ctx<'_>, told: Vec<Made>, reason: &str) {
        self.retract(ctx, self.record.plies() - told.len(), reason);
        for made in told {
            let ply = Ply {
                kind: made.kind,
                at: made.at,
                began: made.at,
                seen: true,
                landed: made.landed,
                pressed: None,
                missed: 0.0,
                stand: made.stand,
                made_in: made.made_in,
            };
            self.announce(ctx, &ply, made.completed_by);
        }
        self.restart_lines(ctx);
    }
}

//! The game at one board: its record, the hypotheses that go on from it, its open irregularities.

mod account;
pub(in crate::watcher) mod accuse;
pub(in crate::watcher) mod advice;
mod after;
mod amend;
pub(in crate::watcher) mod array;
pub(in crate::watcher) mod case_file;
pub(in crate::watcher) mod cases;
mod closing;
pub(in crate::watcher) mod correct;
mod displaced;
pub(in crate::watcher) mod doubt;
mod ending;
mod exchanged;
mod fallen;
mod felt;
mod finish;
pub(in crate::watcher) mod flags;
pub(in crate::watcher) mod gap;
pub(in crate::watcher) mod glimpse;
mod go_by;
mod judge;
mod made;
pub(in crate::watcher) mod outcome;
mod overruled;
mod passed;
mod periods;
pub(in crate::watcher) mod press;
pub(in crate::watcher) mod recall;
pub(in crate::watcher) mod record;
mod replaced;
mod set_up;
pub(in crate::watcher) mod settle;
mod sure;
pub(in crate::watcher) mod touch;
mod turned;
pub(in crate::watcher) mod unclocked;
mod unread;
mod victim;
mod waits;
mod withdrawn;

use std::sync::Arc;

use shakmaty::{Bitboard, uci::UciMove};

use self::{cases::Cases, finish::is_shown, outcome::GameOutcome, press::PressQueue, record::GameRecord};
pub(super) use self::{
    cases::{Ended, Open},
    made::{Made, names},
    press::Press,
};
use crate::{
    board::{Line, Lines, Placement, Sensed, Stand},
    event::{Body, CompletedBy, GameResult, MoveMade, notice},
    time::Millis,
    watcher::{Rules, Table, ctx::Ctx},
};

/// A command that took half-moves back.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenBack {
    pub(super) at: Millis,
    /// A notice has said that half-moves were put together from what stood on the board.
    pub(super) told: bool,
}

/// The game at one board.
#[derive(Clone, Debug)]
pub(super) struct Game {
    pub(super) number: u32,
    /// The players and the round.
    pub(super) table: Table,
    /// The rules under which it began, unless an arbiter has said that it goes by others.
    pub(super) rules: Arc<Rules>,
    /// Other rules, of which a notice has said that they wait for the next game.
    pub(super) rules_waiting: Option<Rules>,
    /// When the game began, or the daemon took it up.
    pub(super) began: Millis,
    pub(super) record: GameRecord,
    /// What players do who play on although the clock stands.
    pub(super) unclocked: unclocked::Unclocked,
    pub(super) lines: Lines,
    /// Number of half-moves of the record before the position where the hypotheses start.
    pub(super) base: usize,
    pub(super) cases: Cases,
    pub(super) presses: PressQueue,
    pub(super) outcome: GameOutcome,
    /// An earlier game of the board, built from its events: nobody looks for mates in it any more.
    pub(super) is_past: bool,
    /// Since when the best hypothesis contradicts the record.
    pub(super) doubted: Option<Millis>,
    /// Since when the best hypothesis has not contained the record, by however little.
    pub(super) left_since: Option<Millis>,
    /// Squares for which the watcher gave notice that they are not read.
    pub(super) noticed: Bitboard,
    /// Squares whose piece the board did not read before a restart.
    pub(super) hidden_before: Bitboard,
    /// Why the record may be wrong.
    pub(super) doubt: doubt::Doubt,
    /// Pieces and squares that the board does not read, as far as they are known.
    pub(super) unread: unread::Unread,
    pub(super) flags: flags::Flags,
    /// The clock has run in this game.
    pub(super) clock_used: bool,
    /// What hands did with pieces, for suspicions.
    pub(super) hands: touch::Hands,
    /// The link broke, and the board has not been read since.
    pub(super) gap: bool,
    /// The clock, which had stood, was started again in the gap.
    pub(super) restarts: bool,
    /// Since when the board has been read without interruption: since the start, or since the last gap.
    pub(super) read_since: Millis,
    /// When the last gap ended in which pieces moved, and the clock may have been pressed.
    pub(super) missed_until: Option<Millis>,
    /// When a player pressed with whose hand pieces fell, as the watcher suspects and has said.
    pub(super) suspected_fall: Option<Millis>,
    /// When a player pressed who had left on the board what he captured en passant, as the watcher suspects and has said.
    pub(super) suspected_victim: Option<Millis>,
    /// A gap in the record that is not explained yet.
    pub(super) unbridged: Option<gap::Unbridged>,
    /// The command that took half-moves back last, until play goes on.
    pub(super) taken_back: Option<TakenBack>,
    /// A placement that does not count, because a person has put the record right.
    pub(super) overruled: Option<doubt::Overruled>,
    /// What was set up while the clock stood, where nothing explains it and no half-move was made from there yet.
    pub(super) set_up: Option<Placement>,
    /// Whether the board's log is needed, and how far it is.
    pub(super) recall: recall::Recall,
    pub(in crate::watcher) lump: glimpse::Lump,
}

impl Game {
    pub(super) fn new(number: u32, start: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        let lines = Lines::new(start.clone(), sensed, now);
        Self {
            number,
            table: Table::default(),
            rules: Arc::default(),
            rules_waiting: None,
            began: now,
            record: GameRecord::new(start),
            unclocked: unclocked::Unclocked::default(),
            lines,
            base: 0,
            cases: Cases::default(),
            presses: PressQueue::default(),
            outcome: GameOutcome::default(),
            is_past: false,
            doubted: None,
            left_since: None,
            noticed: Bitboard::EMPTY,
            hidden_before: Bitboard::EMPTY,
            doubt: doubt::Doubt::default(),
            unread: unread::Unread::default(),
            flags: flags::Flags::default(),
            clock_used: false,
            hands: touch::Hands::default(),
            gap: false,
            restarts: false,
            read_since: now,
            missed_until: None,
            suspected_fall: None,
            suspected_victim: None,
            unbridged: None,
            taken_back: None,
            overruled: None,
            set_up: None,
            recall: recall::Recall::default(),
            lump: glimpse::Lump::default(),
        }
    }

    /// Number of half-moves of the hypotheses that are on the record.
    pub(super) fn announced(&self) -> usize {
        self.record.plies() - self.base
    }

    /// Emits an event of this game.
    pub(super) fn emit(&self, ctx: &mut Ctx<'_>, at: Option<Millis>, body: Body) -> String {
        if ctx.out.accounts.is_some() {
            let account = self.account(ctx.sensed, ctx.now, Some(ctx.out.seq + 1), ctx.out);
            ctx.out.accounts.get_or_insert_default().push_back(account);
        }
        ctx.out.emit(ctx.settings, Some(self.number), ctx.now, at, body)
    }

    /// Adds a half-move to the record and reports it.
    pub(super) fn announce(&mut self, ctx: &mut Ctx<'_>, ply: &crate::board::Ply, completed_by: CompletedBy) {
        let shown = ply.kind.legal().filter(|_| self.record.is_empty());
        if let Some(start) = shown.and_then(|mv| self.record.start.allowing(mv)) {
            self.record.start = Arc::new(start);
        }
        let before = self.record.stand().clone();
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
    fn enter(&mut self, ctx: &mut Ctx<'_>, made: Made) {
        let body = Body::Move(MoveMade {
            ply: self.record.plies() as u32 + 1,
            uci: made.uci.to_string(),
            san: made.san_text(),
            fen: made.stand.fen(),
            completed_by: made.completed_by,
            clock: made.clock,
            illegal: made.san.is_none(),
        });
        let at = made.at;
        self.record.push(made);
        self.emit(ctx, Some(at), body);
    }

    /// Takes the half-moves after the first `to` off the record.
    pub(super) fn retract(&mut self, ctx: &mut Ctx<'_>, to: usize, reason: &str) {
        if to >= self.record.plies() {
            return;
        }
        if reason == "correction" {
            self.doubt.shaken = true;
            self.doubt.corrected = Some(self.record.plies());
        }
        self.record.truncate(to);
        self.base = self.base.min(to);
        let body = Body::MovesRetracted {
            to_ply: to as u32,
            reason: reason.into(),
            fen: None,
        };
        self.emit(ctx, None, body);
    }

    /// Number of half-moves of the record that the best hypothesis contains.
    fn kept(&self) -> usize {
        self.kept_by(self.lines.best())
    }

    /// Number of half-moves of the record that `line` contains.
    fn kept_by(&self, line: &Line) -> usize {
        let (plies, said) = (&line.plies, &self.record[self.base..]);
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

    /// True when the best hypothesis contains the record.
    pub(in crate::watcher) fn on_record(&self) -> bool {
        self.kept() == self.announced()
    }

    /// True while nobody has touched a piece, and nothing was reported.
    fn is_unplayed(&self) -> bool {
        let best = self.lines.best();
        let is_silent = self.record.is_empty() && self.cases.all().next().is_none();
        is_silent && best.plies.is_empty() && best.differing().is_empty()
    }

    /// The same while nobody has pressed either.
    pub(super) fn is_untouched(&self) -> bool {
        self.is_unplayed() && self.presses.is_empty()
    }

    /// True when the first that anybody did was to press, and no half-move came with it.
    pub(super) fn was_pressed_first_of_all(&self, ctx: &mut Ctx<'_>) -> bool {
        let Some(press) = self
            .presses
            .judged
            .as_ref()
            .filter(|_| self.presses.later.is_empty())
        else {
            return false;
        };
        let waits = waits::JUDGE_MS + ctx.sensed.slack();
        self.is_unplayed() && press.side == self.record.stand().turn() && ctx.is_told(press.at, waits)
    }

    /// True while the game has no result and is not parked.
    pub(super) fn is_watched(&self) -> bool {
        self.outcome.is_open()
    }

    /// Starts the beam anew, with the record as its only hypothesis.
    pub(super) fn restart_lines(&mut self, ctx: &Ctx<'_>) {
        let line = Line::new(self.record.stand().clone(), ctx.sensed, ctx.now);
        self.base = self.record.plies();
        self.reset_lines(ctx, vec![line]);
        self.doubted = None;
    }

    /// Replaces the beam. Pieces that were hidden before stay hidden.
    pub(super) fn reset_lines(&mut self, ctx: &Ctx<'_>, lines: Vec<Line>) {
        let hidden = self.lines.best().faults().hidden;
        self.lines.reset(ctx.now, ctx.sensed, lines);
        if hidden.any() {
            self.lines.hide(hidden, ctx.now, ctx.sensed);
        }
    }

    /// Ends the game, unless it has a result.
    pub(super) fn end(&mut self, ctx: &mut Ctx<'_>, result: GameResult, reason: &str) {
        if self.outcome.result.is_none() {
            self.end_with(ctx, result, reason, None);
        }
    }

    /// Ends the game, or gives it another result, with a person's remark.
    pub(super) fn end_with(
        &mut self,
        ctx: &mut Ctx<'_>,
        result: GameResult,
        reason: &str,
        note: Option<String>,
    ) {
        if self.outcome.result.is_none() && !self.record.withdrawn.is_empty() {
            self.reinstate(ctx, self.record.withdrawn.len());
        }
        self.outcome.result = Some(result);
        self.outcome.parked = false;
        self.outcome.confirmed = reason == "arbiter";
        self.outcome.shown = is_shown(reason);
        self.outcome.ended_by_hand = self.outcome.confirmed || self.outcome.shown;
        self.presses.clear();
        self.emit(
            ctx,
            None,
            Body::GameEnded {
                result,
                reason: reason.into(),
                note,
            },
        );
    }
}

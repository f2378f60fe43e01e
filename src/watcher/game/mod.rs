//! The game at one board: its record, the hypotheses that go on from it, its open irregularities.

pub(in crate::watcher) mod accuse;
pub(in crate::watcher) mod advice;
mod after;
mod amend;
pub(in crate::watcher) mod array;
pub(in crate::watcher) mod case_file;
pub(in crate::watcher) mod cases;
mod closing;
pub(in crate::watcher) mod correct;
pub(in crate::watcher) mod course;
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

use shakmaty::Bitboard;

use self::{cases::Cases, course::Course, finish::is_shown, outcome::GameOutcome, press::PressQueue};
pub(super) use self::{
    cases::{Ended, Open},
    course::TakenBack,
    made::{Made, names},
    press::Press,
};
use crate::{
    board::{Placement, Sensed, Stand},
    event::{Body, GameResult, Why, notice},
    time::Millis,
    watcher::{Rules, Table, ctx::Ctx},
};

/// The game at one board.
#[derive(Clone, Debug)]
pub(super) struct Game {
    pub(super) course: Course,
    /// The players and the round.
    pub(super) table: Table,
    /// The rules under which it began, unless an arbiter has said that it goes by others.
    pub(super) rules: Arc<Rules>,
    /// Other rules, of which a notice has said that they wait for the next game.
    pub(super) rules_waiting: Option<Rules>,
    /// When the game began, or the daemon took it up.
    pub(super) began: Millis,
    /// What players do who play on although the clock stands.
    pub(super) unclocked: unclocked::Unclocked,
    pub(super) cases: Cases,
    pub(super) presses: PressQueue,
    pub(super) outcome: GameOutcome,
    /// Squares for which the watcher gave notice that they are not read.
    pub(super) noticed: Bitboard,
    /// Squares whose piece the board did not read before a restart.
    pub(super) hidden_before: Bitboard,
    /// Why the record may be wrong.
    pub(super) doubt: doubt::Doubt,
    /// Pieces and squares that the board does not read, as far as they are known.
    pub(super) unread: unread::Unread,
    pub(super) flags: flags::Flags,
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
        Self {
            course: Course::new(number, start, sensed, now),
            table: Table::default(),
            rules: Arc::default(),
            rules_waiting: None,
            began: now,
            unclocked: unclocked::Unclocked::default(),
            cases: Cases::default(),
            presses: PressQueue::default(),
            outcome: GameOutcome::default(),
            noticed: Bitboard::EMPTY,
            hidden_before: Bitboard::EMPTY,
            doubt: doubt::Doubt::default(),
            unread: unread::Unread::default(),
            flags: flags::Flags::default(),
            hands: touch::Hands::default(),
            gap: false,
            restarts: false,
            read_since: now,
            missed_until: None,
            suspected_fall: None,
            suspected_victim: None,
            unbridged: None,
            overruled: None,
            set_up: None,
            recall: recall::Recall::default(),
            lump: glimpse::Lump::default(),
        }
    }

    /// True while nobody has touched a piece, and nothing was reported.
    fn is_unplayed(&self) -> bool {
        let best = self.course.lines.best();
        let is_silent = self.course.record.is_empty() && self.cases.all().next().is_none();
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
        self.is_unplayed() && press.side == self.course.record.stand().turn() && ctx.is_told(press.at, waits)
    }

    /// True while the game has no result and is not parked.
    pub(super) fn is_watched(&self) -> bool {
        self.outcome.is_open()
    }

    /// Judges the game by `rules` from now on, and tells what that changes in the open cases.
    pub(super) fn go_by(&mut self, ctx: &mut Ctx<'_>, rules: Arc<Rules>) {
        let message = format!(
            "From now on game {} goes by other rules: {}. Before, it went by these: {}.",
            self.course.number,
            rules.in_words(),
            self.rules.in_words()
        );
        self.put_under(ctx, rules);
        self.course.notice(ctx, notice::RULES_TAKEN, &message);
        for i in 0..self.cases.open.len() {
            self.cases.amend(ctx, &self.course, i, Why::Rules);
            let question = self.cases.open[i].question(self.course.record.mode());
            ctx.out.questions.extend(question);
        }
    }

    /// The same without a word.
    pub(super) fn put_under(&mut self, ctx: &mut Ctx<'_>, rules: Arc<Rules>) {
        let before = std::mem::replace(&mut self.rules, rules.clone());
        self.rules_waiting = None;
        ctx.rules = rules;
        self.cases.judge_anew(ctx, &self.course.record, &before);
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
        if self.outcome.result.is_none() && !self.course.record.withdrawn.is_empty() {
            self.course.reinstate(ctx, self.course.record.withdrawn.len());
        }
        self.outcome.result = Some(result);
        self.outcome.parked = false;
        self.outcome.confirmed = reason == "arbiter";
        self.outcome.shown = is_shown(reason);
        self.outcome.ended_by_hand = self.outcome.confirmed || self.outcome.shown;
        self.presses.clear();
        self.course.emit(
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

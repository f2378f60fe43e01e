//! The game at one board: its record, the hypotheses that go on from it, its open irregularities.

mod absent;
pub(in crate::watcher) mod accuse;
mod advice;
mod after;
mod agreed;
mod amend;
mod answered;
pub(in crate::watcher) mod array;
mod back_in_place;
mod bounced;
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
mod finding;
pub(in crate::watcher) mod finish;
pub(in crate::watcher) mod flags;
pub(in crate::watcher) mod gap;
pub(in crate::watcher) mod glimpse;
mod go_by;
mod judge;
mod lacking;
mod made;
pub(in crate::watcher) mod outcome;
pub(in crate::watcher) mod overruled;
mod passed;
mod positions;
pub(in crate::watcher) mod press;
mod put_back;
mod put_right_unseen;
pub(in crate::watcher) mod recall;
pub(in crate::watcher) mod record;
mod replaced;
mod reported;
mod resigned;
mod resumed;
pub(in crate::watcher) mod review;
mod set_up;
pub(in crate::watcher) mod settle;
mod silence;
mod single_act;
mod slid;
mod sure;
pub(in crate::watcher) mod touch;
mod trust;
mod turned;
pub(in crate::watcher) mod unclocked;
mod unread;
mod untold;
mod victim;
pub(in crate::watcher) mod waits;
mod withdrawn;

use std::sync::Arc;

use self::{
    after::Takebacks, cases::Cases, course::Course, finding::Finding, outcome::GameOutcome,
    overruled::Overruled, positions::Positions, press::PressQueue, reported::reported, trust::Trust,
};
pub(super) use self::{
    cases::{Ended, Open},
    course::TakenBack,
    made::{Made, names},
    press::Press,
    unread::in_words,
};
use crate::{
    board::{IllegalAct, Orientation, Placement, Sensed, Stand},
    dgt::Squares,
    event::{CompletedBy, GameResult, Why, notice},
    time::Millis,
    watcher::{
        Rules, Table,
        clock::Clock,
        command::{CommandError, Correct, Report},
        ctx::Ctx,
    },
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
    /// What players do who play on although the clock stands.
    pub(super) unclocked: unclocked::Unclocked,
    pub(super) cases: Cases,
    pub(super) presses: PressQueue,
    pub(super) silence: silence::UnreadPresses,
    pub(super) outcome: GameOutcome,
    /// Why the record may be wrong.
    pub(super) doubt: doubt::Doubt,
    /// Pieces and squares that the board does not read, as far as they are known.
    pub(super) unread: unread::Unread,
    pub(super) flags: flags::Flags,
    /// What hands did with pieces, for suspicions.
    pub(super) hands: touch::Hands,
    pub(super) gap: gap::Gap,
    /// When a player pressed with whose hand pieces fell, as the watcher suspects and has said.
    pub(super) suspected_fall: Option<Millis>,
    /// When a player pressed who had left on the board what he captured en passant, as the watcher suspects and has said.
    pub(super) suspected_victim: Option<Millis>,
    /// A placement that does not count, because a person has put the record right.
    pub(super) overruled: Option<Overruled>,
    /// After how many half-moves the position stands to which the players have put the pieces back while the clock runs.
    pub(super) agreed: Option<usize>,
    /// What was set up while the clock stood, where nothing explains it and no half-move was made from there yet.
    pub(super) set_up: Option<Placement>,
    pub(in crate::watcher) lump: glimpse::Lump,
}

impl Game {
    pub(super) fn new(number: u32, start: Arc<Stand>, sensed: &Sensed, now: Millis) -> Self {
        Self {
            course: Course::new(number, start, sensed, now),
            table: Table::default(),
            rules: Arc::default(),
            rules_waiting: None,
            unclocked: unclocked::Unclocked::default(),
            cases: Cases::default(),
            presses: PressQueue::default(),
            silence: silence::UnreadPresses::default(),
            outcome: GameOutcome::default(),
            doubt: doubt::Doubt::default(),
            unread: unread::Unread::default(),
            flags: flags::Flags::default(),
            hands: touch::Hands::default(),
            gap: gap::Gap::new(now),
            suspected_fall: None,
            suspected_victim: None,
            overruled: None,
            agreed: None,
            set_up: None,
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
        let Some(press) = self.presses.only() else {
            return false;
        };
        let (at, waits) = (press.at, waits::JUDGE_MS + ctx.sensed.slack());
        // No later than the press would be judged.
        self.is_unplayed()
            && press.side == self.course.record.stand().turn()
            && ctx.passed(at, waits)
            && ctx.is_told(at, waits::judged_after(ctx))
    }

    /// True when the lever went back so soon after the first press that this was rather one act, and nobody has played or reported
    /// anything that shows whose time runs, nor does the configuration: a press is to be judged that no half-move came with.
    pub(super) fn was_lever_turned_first(&self, ctx: &mut Ctx<'_>) -> bool {
        let (record, best) = (&self.course.record, self.course.lines.best());
        let Some(press) = self.presses.only() else {
            return false;
        };
        let second = match record.get(1) {
            None => press.at,
            // The opponent has replied since, and that was taken for his press.
            Some(made)
                if made
                    .kind
                    .from_to()
                    .is_some_and(|(from, _)| ctx.sensed.since(from) > made.at) =>
            {
                made.at
            }
            Some(_) => return false,
        };
        let first = record
            .iter()
            .next()
            .filter(|made| made.completed_by == CompletedBy::Clock);
        let is_one_act = first.is_some_and(|made| {
            // Nobody knows how soon it was where readings came late, or some were missed.
            let is_measured = ctx.sensed.slack() == 0
                && !ctx.timing.is_unmeasured(made.at)
                && self.gap.read_since <= made.at;
            is_measured && second.since(made.at) <= waits::TURNED_MS
        });
        // A hand that has come since belongs to the next half-move.
        let is_since = |s| ctx.sensed.since(s) > press.at;
        let is_at_rest =
            best.plies.len() == self.course.announced() && best.differing().into_iter().all(is_since);
        let (at, waits) = (press.at, waits::JUDGE_MS + ctx.sensed.slack());
        !ctx.clock.is_configured()
            && self.is_watched()
            && record.plies() <= 2
            && is_one_act
            && is_at_rest
            && press.side == self.course.to_move()
            && self.cases.all().next().is_none()
            && ctx.passed(at, waits)
            && ctx.is_told(at, waits::judged_after(ctx))
    }

    /// True while the board tells nothing although both players press.
    pub(super) fn is_silent(&self) -> bool {
        let lines = &self.course.lines;
        !lines.frozen && self.silence.is_of_both(lines.best().turn())
    }

    /// How far record and board are to be trusted.
    pub(super) fn trust(&self) -> Trust<'_> {
        Trust {
            course: &self.course,
            cases: &self.cases,
            doubt: &self.doubt,
            unread: &self.unread,
            gap: &self.gap,
            flags: &self.flags,
            lump: &self.lump,
        }
    }

    /// The positions of the game, as the board shows them.
    pub(super) fn positions(&self) -> Positions<'_> {
        Positions::of(&self.course, &self.cases, &self.unread)
    }

    /// What goes back where half-moves are taken back, or put right.
    pub(super) fn takebacks(&mut self) -> Takebacks<'_> {
        Takebacks {
            course: &mut self.course,
            cases: &mut self.cases,
            hands: &mut self.hands,
            gap: &mut self.gap,
            doubt: &mut self.doubt,
            unread: &self.unread,
        }
    }

    /// The clock runs again. If an earlier position stands on the board, the game goes on from there.
    pub(super) fn started_again(&mut self, ctx: &mut Ctx<'_>) {
        if self.takebacks().started_again(ctx) {
            return;
        }
        let Self {
            course,
            gap,
            doubt,
            cases,
            unread,
            ..
        } = self;
        if set_up::is_set_up(ctx, course, gap, doubt, cases, unread) {
            self.set_up = Some(ctx.sensed.placement().clone());
        }
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
        go_by::judge_anew(ctx, &mut self.cases, &self.course.record, &before);
    }

    /// Reports an irregularity with what the Laws prescribe, and keeps its case open unless it is only a
    /// suspicion. Returns the id.
    pub(super) fn accuse(&mut self, ctx: &mut Ctx<'_>, finding: Finding, act: Option<&IllegalAct>) -> String {
        if let Some(same) = advice::same_act(ctx, &self.cases, &finding) {
            return same.id.clone();
        }
        let how_sure = self.trust().how_sure(ctx, &finding);
        let is_over = self.outcome.result.is_some();
        let case = advice::case(ctx, &self.course.record, &self.flags, is_over, &finding);
        advice::report(ctx, &self.course, &mut self.cases, finding, case, how_sure, act)
    }

    /// Takes a person's report of an irregularity, and rules on it as on a finding of the sensors.
    ///
    /// # Errors
    /// An error says why the report is refused.
    pub(super) fn report(&mut self, ctx: &mut Ctx<'_>, report: Report) -> Result<(), CommandError> {
        let finding = reported(ctx, &self.course.record, &self.cases, report)?;
        self.accuse(ctx, finding, None);
        Ok(())
    }

    /// Reports the act that is the last half-move of the record, and had no name.
    fn accuse_of_last(&mut self, ctx: &mut Ctx<'_>) {
        if let Some((finding, act)) = untold::last(&self.course.record) {
            self.accuse(ctx, finding, Some(&act));
        }
    }

    /// The board is read again after the link was down. Searches for what was played meanwhile.
    pub(super) fn look_after_gap(&mut self, ctx: &mut Ctx<'_>) {
        self.gap
            .look_after(ctx, &mut self.course, &mut self.doubt, &self.cases, &self.unread);
    }

    /// Keeps the record and the readings `raw` that go with it, if nothing is known to be missing.
    pub(super) fn note_whole(&mut self, raw: &Squares, clock: &Clock) {
        if !self.gap.is_open && self.gap.unbridged.is_none() {
            let plies = self.course.record.plies();
            self.gap.recall.note_whole(plies, raw, clock.presses());
        }
    }

    /// Takes the log of the board, which shows `raw` now.
    pub(super) fn log_told(
        &mut self,
        ctx: &mut Ctx<'_>,
        payload: &[u8],
        orientation: Orientation,
        raw: Option<Squares>,
    ) {
        let (is_watched, course) = (self.is_watched(), &mut self.course);
        let told = self
            .gap
            .recall
            .told(ctx, course, is_watched, payload, orientation, raw);
        let Some((whole, path)) = told else { return };
        self.gap.unbridged = None;
        if recall::retell(ctx, course, &mut self.doubt, whole, &path) {
            self.presses.clear();
            self.hands = touch::Hands::default();
        }
    }

    /// A person has put the record right. Notes what the board shows against it.
    pub(super) fn overrule(&mut self, ctx: &Ctx<'_>) {
        self.overruled = if self.gap.is_open {
            Some(Overruled::Next)
        } else {
            Overruled::against(&self.positions(), ctx.sensed.placement())
        };
    }

    /// Carries out a person's correction of the record.
    ///
    /// # Errors
    /// An error says that a half-move does not exist or cannot be played.
    pub(super) fn correct_record(&mut self, ctx: &mut Ctx<'_>, order: &Correct) -> Result<(), CommandError> {
        if !correct::put_right(ctx, &mut self.course, &mut self.cases, &self.presses, order)? {
            return Ok(());
        }
        self.hands = touch::Hands::default();
        self.gap.unbridged = None;
        self.overrule(ctx);
        self.cases.played_on(ctx, &self.course);
        if self.outcome.result.is_none() {
            self.end_by_position(ctx);
        }
        Ok(())
    }

    /// Ends the game if the position after the last half-move ends it.
    fn end_by_position(&mut self, ctx: &mut Ctx<'_>) {
        if let Some((result, reason)) = ending::ended(ctx, &self.course) {
            self.end(ctx, result, reason);
        }
    }

    /// True while the watcher does not listen to the board. No press can belong to what it shows.
    pub(super) fn is_overruled(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(before) = self.overruled.take() else {
            return false;
        };
        let is_over = matches!(&before, Overruled::Shown(then) if then != ctx.sensed.placement());
        self.overruled = before.hold_on(ctx, &self.positions());
        if self.overruled.is_some() && !is_over && self.presses.judged.take().is_some() {
            self.presses.later.clear();
            self.course.restart_lines(ctx);
        }
        self.overruled.is_some()
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
        self.outcome
            .end(ctx, &mut self.course, &mut self.presses, result, reason, note);
    }
}

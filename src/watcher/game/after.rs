//! What follows an irregularity: the players put the board right, or set up an earlier position.

use std::sync::Arc;

use shakmaty::Move;

use super::{
    Made, Open,
    back_in_place::stands_again,
    cases::Cases,
    course::Course,
    doubt::Doubt,
    gap::Gap,
    positions::Positions,
    touch::Hands,
    unread::Unread,
    waits::{FREEZE_MS, JUDGE_MS},
};
use crate::{
    board::{Bill, Line, Placement, PlyKind, Stand, candidate::Candidate},
    event::{CompletedBy, Resolution},
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// Before the watcher calls a position restored, the target, or what was played from it, must stand for this long. So must an earlier
/// position while the clock runs for the player who takes a half-move back.
pub(super) const RESTORED_MS: u64 = 400;
/// With the clock stopped, an earlier position must stand for this long.
pub(super) const TAKEN_BACK_MS: u64 = 1500;
/// Without a clock it must stand longer: the hands may pass through that position on the way to another.
const TAKEN_BACK_CLOCKLESS_MS: u64 = 6000;
/// A press without a move is put right when the offender's time has run again for this long.
const SETTLE_MS: u64 = 700;

/// What goes back where half-moves are taken back, or put right.
pub(in crate::watcher) struct Takebacks<'g> {
    pub(super) course: &'g mut Course,
    pub(super) cases: &'g mut Cases,
    pub(super) hands: &'g mut Hands,
    pub(super) gap: &'g mut Gap,
    pub(super) doubt: &'g mut Doubt,
    pub(super) unread: &'g Unread,
}

impl Takebacks<'_> {
    pub(super) fn positions(&self) -> Positions<'_> {
        Positions::of(self.course, self.cases, self.unread)
    }

    /// Looks whether the players have put an open irregularity right.
    pub(super) fn look_for_put_right(&mut self, ctx: &mut Ctx<'_>) {
        let mut i = 0;
        while i < self.cases.open.len() {
            if self.is_restored(ctx, i) {
                self.restore(ctx, i);
            } else if let Some(made) = self.another_piece(ctx, i) {
                // The player had replaced the pawn.
                self.cases.withdraw(ctx, self.course, i);
                self.enter_ruled(ctx, &made);
            } else {
                i += 1;
            }
        }
    }

    fn is_restored(&self, ctx: &mut Ctx<'_>, i: usize) -> bool {
        let open = &self.cases.open[i];
        let Some(target) = &open.target else { return false };
        // Half-moves have been played since. Only a takeback can restore the target, but for pieces that were displaced.
        let later = self.course.record.plies() > open.plies_at_restoration();
        let seen = ctx.sensed.placement();
        if later {
            return stands_again(ctx, open, self.course.record.stand(), RESTORED_MS);
        }
        if open.kind == IrregularityKind::PressWithoutMove {
            // The next half-move may begin already.
            let differing = target.placement().differing(seen);
            let stands =
                differing.count() <= 1 && differing.into_iter().all(|square| seen.at(square).is_empty());
            // A board that has told nothing since may have told nothing of a half-move before.
            let is_told = ctx.sensed.last_told() + JUDGE_MS >= open.said;
            let runs = ctx.clock.running() == open.offender;
            return stands && is_told && runs && ctx.passed(open.said, SETTLE_MS);
        }
        if !self.unread.is_shown(target.placement(), seen) {
            return false;
        }
        ctx.still_for(RESTORED_MS)
    }

    /// The half-move that promoted to another piece, for instance to a rook that stood upside down (4.4.4).
    /// The watcher had reported that the pawn was not replaced, because the square read nothing. Now the
    /// clock is stopped, and the square reads a piece other than the queen of the ruling.
    fn another_piece(&self, ctx: &mut Ctx<'_>, i: usize) -> Option<Candidate> {
        let open = &self.cases.open[i];
        let (queen, act) = (open.ruled?, open.act.as_ref()?);
        if open.by_hand
            || ctx.clock.stopped_at.is_none()
            || open.ply != self.course.record.plies() + 1
            || act.stood_on(queen.to())
        {
            return None;
        }
        let made = promoted_otherwise(self.course.record.stand(), queen, ctx)?;
        ctx.still_for(TAKEN_BACK_MS).then_some(made)
    }

    /// Enters the half-move `made` into the record, to which a person has seen while the clock stood.
    pub(super) fn enter_ruled(&mut self, ctx: &mut Ctx<'_>, made: &Candidate) {
        let stand = self.course.record.stand().clone();
        let after = Arc::new(stand.after(made));
        let before = Line::new(stand, ctx.sensed, ctx.now);
        let kind = PlyKind::Legal(made.mv);
        let line = before.played(kind, after, ctx.sensed, ctx.now, &Bill::default());
        if let Some(ply) = line.plies.last() {
            self.course.announce(ctx, ply, CompletedBy::Ruling);
        }
        self.course.restart_lines(ctx);
    }

    /// The target of an open irregularity stands on the board, or has stood there.
    pub(super) fn restore(&mut self, ctx: &mut Ctx<'_>, i: usize) {
        let open = self.cases.open[i].clone();
        let ruled = open.ruled.and_then(|mv| {
            let best = self.course.lines.all().find(|l| {
                l.plies
                    .last()
                    .is_some_and(|p| matches!(p.kind, PlyKind::Ruled(m) if m == mv))
            });
            best.cloned()
        });
        self.cases.put_right(ctx, self.course, self.hands, i);
        let of_record = self.course.record.stand().placement();
        let is_of_record = open.target.is_some_and(|target| target.placement() == of_record);
        match ruled {
            Some(line) => self.course.reset_lines(ctx, vec![line]),
            None if is_of_record => self.course.restart_lines(ctx),
            None => {}
        }
    }

    /// Looks whether the players have set up another position of the game, after a takeback or a ruling. Returns the number of half-moves
    /// after which they have taken back the others.
    pub(super) fn look_for_earlier(&mut self, ctx: &mut Ctx<'_>) -> Option<usize> {
        if self.course.record.plies() == 0 {
            return None;
        }
        let wait = match (ctx.clock.stopped_at, ctx.clock.runs()) {
            (Some(_), _) => TAKEN_BACK_MS,
            (None, true) if self.is_given_back(ctx) || self.is_put_up_late(ctx) => RESTORED_MS,
            (None, true) => return None,
            // It stood before nobody read the board, and has told nothing since.
            (None, false) if ctx.clock.stood() => TAKEN_BACK_MS,
            (None, false) => TAKEN_BACK_CLOCKLESS_MS,
        };
        let seen = ctx.sensed.placement();
        if let Some(many) = self.positions().put_up_again(seen) {
            if ctx.still_for(wait) {
                self.course.reinstate(ctx, many);
            }
            return None;
        }
        if let Some(ply) = self.gone_back_unmeasured(ctx, ctx.clock.stopped_at) {
            return ctx.still_for(wait).then_some(ply);
        }
        if self.positions().explains(seen) {
            return None;
        }
        if let Some(ruled) = self.ruled_since_answered(seen) {
            if ctx.still_for(wait) {
                self.carry_out(ctx, ruled);
            }
            return None;
        }
        let ply = self.positions().earlier(seen)?;
        if !ctx.still_for(wait) {
            return None;
        }
        if ctx.clock.runs() {
            self.pardon(ctx, ply);
        }
        Some(ply)
    }

    /// The opponent has pressed without a half-move, so that the mover's time runs again, and the board
    /// stands as before the last half-move. So the players have agreed to take it back.
    fn is_given_back(&self, ctx: &Ctx<'_>) -> bool {
        let ply = self.course.record.plies();
        let given = |open: &Open| open.kind == IrregularityKind::PressWithoutMove && open.ply == ply + 1;
        self.cases.open.iter().any(given)
            && ctx.clock.running() == Some(self.course.record.mover(ply))
            && self.positions().earlier(ctx.sensed.placement()) == Some(ply - 1)
    }

    /// Half-moves were taken back while the clock stood, and only now, before anybody has pressed, does the board show all of it.
    fn is_put_up_late(&self, ctx: &Ctx<'_>) -> bool {
        let last = self.course.record.last().map(|made| made.at);
        let stopped = ctx
            .clock
            .unpressed_since()
            .filter(|stopped| Some(*stopped) > last);
        let to_move = |ply: usize| self.course.record.stand_at(ply).turn();
        let earlier = stopped.and_then(|_| self.positions().earlier(ctx.sensed.placement()));
        earlier.is_some_and(|ply| ctx.clock.running() == Some(to_move(ply)))
    }

    /// Withdraws the presses without a move by which an opponent let a player take a half-move back: they
    /// were no offence.
    fn pardon(&mut self, ctx: &mut Ctx<'_>, from: usize) {
        let given =
            |open: &Open| open.kind == IrregularityKind::PressWithoutMove && open.ply > from && !open.by_hand;
        while let Some(i) = self.cases.find(given) {
            self.cases.withdraw(ctx, self.course, i);
        }
    }

    /// The index of the open irregularity whose target `seen` shows. Its ruling completes the half-move, but
    /// the opponent replied before anybody carried the ruling out.
    fn ruled_since_answered(&self, seen: &Placement) -> Option<usize> {
        self.cases.find(|open| {
            let shown = open.target.as_ref().is_some_and(|t| t.placement() == seen);
            open.ruled.is_some() && open.ply <= self.course.record.plies() && shown
        })
    }

    /// The last earlier position of the game that stands on the board, where half-moves lead back to it that nobody pressed for, and the
    /// line gathered them just after the clock was `stopped`: nobody measured whether they were made before.
    fn gone_back_unmeasured(&self, ctx: &Ctx<'_>, stopped: Option<Millis>) -> Option<usize> {
        let (stopped, slack) = (stopped?, Some(ctx.sensed.slack()).filter(|slack| *slack > 0)?);
        let is_after = |at: Millis| stopped < at && at <= stopped + FREEZE_MS + slack;
        let (record, best) = (&self.course.record, self.course.lines.best());
        let ahead = best.plies.iter().skip(self.course.announced());
        let is_back =
            best.differing().is_empty() && ahead.clone().all(|ply| ply.pressed.is_none() && is_after(ply.at));
        let is_made = |made: &Made| made.completed_by == CompletedBy::Clock || !is_after(made.at);
        let before = record.iter().rposition(is_made).map_or(0, |last| last + 1);
        let placement = |ply: &usize| record.stand_at(*ply).placement();
        // What stands as after the last press has gone back nowhere, however often it has stood there before.
        (1..=before)
            .rev()
            .find(|ply| placement(ply) == best.placement())
            .filter(|ply| is_back && *ply < before)
    }

    /// Goes back to the position before an irregularity, and on from there as its ruling prescribes.
    fn carry_out(&mut self, ctx: &mut Ctx<'_>, index: usize) {
        let open = self.cases.open[index].clone();
        self.go_back(ctx, open.ply - 1, "position_put_up_again");
        let (Some(mv), Some(target)) = (open.ruled, open.target) else {
            return;
        };
        let before = Line::new(self.course.record.stand().clone(), ctx.sensed, ctx.now);
        let ruled = before.played(PlyKind::Ruled(mv), target, ctx.sensed, ctx.now, &Bill::default());
        self.course.reset_lines(ctx, vec![ruled]);
    }

    /// Goes back to the position after `ply` half-moves.
    pub(in crate::watcher) fn go_back(&mut self, ctx: &mut Ctx<'_>, ply: usize, reason: &str) {
        self.course.retract(ctx, ply, reason);
        *self.hands = Hands::default();
        self.gap.unbridged = None;
        let concerned = |o: &Open| !o.kind.is_conduct() && (o.ply == ply + 1 || o.ply > ply && !o.by_hand);
        while let Some(i) = self.cases.find(concerned) {
            let to_before = self.cases.open[i].ply == ply + 1;
            let how = if to_before {
                Resolution::Restored
            } else {
                Resolution::Superseded
            };
            self.cases.resolve(ctx, self.course, i, how);
        }
        // The half-moves that explained the gap are off the record, so nothing of them is in doubt.
        if self.doubt.gap.is_some_and(|told| told.plies > ply) {
            self.doubt.gap_is_known();
        }
        self.course.restart_lines(ctx);
        // Pieces that the board does not read are not read in that position either.
        if self
            .unread
            .is_shown(self.course.record.stand().placement(), ctx.sensed.placement())
        {
            let unread = self.course.lines.best().differing();
            self.course.lines.hide(unread, ctx.now, ctx.sensed);
        }
    }
}

/// `promotion` to another piece, played on `before`, if that is what stands on the board.
pub(super) fn promoted_otherwise(before: &Stand, promotion: Move, ctx: &Ctx<'_>) -> Option<Candidate> {
    before.candidates().find(|candidate| {
        let mv = candidate.mv;
        let is_like = (mv.from(), mv.to()) == (promotion.from(), promotion.to()) && mv != promotion;
        is_like && before.after(candidate).placement() == ctx.sensed.placement()
    })
}

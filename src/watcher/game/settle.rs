//! When a half-move is sure enough to be reported, and when a report must be taken back.

use shakmaty::{Bitboard, Move, Role};

use super::{
    Game, Open, answered, felt, gap::is_under_way, put_back, record::REVISABLE, resigned, slid,
    waits::judged_after,
};
use crate::{
    board::{Ply, PlyKind, Sensed, Stand, candidate::Candidate},
    event::{CompletedBy, Resolution},
    laws::IrregularityKind,
    time::Millis,
    watcher::{arrays::have_come_home, command::CommandError, ctx::Ctx},
};

/// By how much every other hypothesis must be worse, `ms` after the half-move, in nats. The longer nothing
/// contradicts a half-move, the smaller the margin may be.
fn margin(ms: u64) -> f32 {
    match ms {
        0..1200 => 1.4,
        1200..2000 => 0.7,
        2000..2500 => 0.3,
        // Of two hypotheses that are equally likely, the first is taken.
        _ => -0.01,
    }
}

/// The watcher looks at what is due within this time.
const REVIEW_MS: u64 = 100;
/// If a piece slid on, the board has read it further on after this time: one scan, and the line.
const SLIDE_MS: u64 = 300;
/// How long a half-move waits after its press, where a reply was read before that press.
const AFTER_REPLIED_MS: u64 = 500;
/// How long after a press the watcher waits for late updates where the half-move's own squares are not yet as
/// they should be.
const AFTER_PRESS_UNTIDY_MS: u64 = 1500;
/// If the piece is not read where it went, the watcher asks the board for a dump after this time.
const ASK_MS: u64 = 500;
/// If the piece is not read where it went, the half-move waits for this long.
const UNSEEN_MS: u64 = 15_000;
/// How long a half-move without a press waits after a reply to it.
const AFTER_REPLY_MS: u64 = 1200;
/// Without a clock, the board must be at rest for this long.
const STILL_MS: u64 = 6000;
/// The same with a stopped clock.
const STOPPED_MS: u64 = 3000;
/// The position that a ruling prescribes must have stood for this long.
const RULED_MS: u64 = 400;
/// How long a half-move without a press waits that ends the game by mate or stalemate.
const AFTER_MATE_MS: u64 = 1500;
/// Another hypothesis must be better than the record by this many nats, for this long, before the watcher
/// corrects the record.
const CORRECTION: f32 = 2.5;
const CORRECTION_MS: u64 = 1500;
/// After this long, the watcher corrects the record even if the other hypothesis is only a little better.
const LEFT_MS: u64 = 10_000;
/// A hand that sets pieces back beside a stopped clock has done so when the board was at rest for this long,
const SET_UP_MS: u64 = 6000;
/// or this long after the clock was stopped.
const AT_WORK_MS: u64 = 20_000;
/// For this many half-moves it stays open where a piece went that was not read there.
const GUESSED: usize = 24;
impl Game {
    /// Reports every half-move that is sure enough.
    pub(in crate::watcher) fn settle(&mut self, ctx: &mut Ctx<'_>) {
        if self.agreed.is_some() {
            ctx.wait_for("play to go on from what was put up");
            return;
        }
        self.correct(ctx, false);
        while self.is_watched() && !self.unclocked.awaits_other_lever(&self.course) {
            let k = self.course.announced();
            let best = self.course.lines.best();
            let Some(ply) = best.plies.get(k).filter(|_| self.course.on_record()).cloned() else {
                break;
            };
            let margin = margin(ctx.now.since(ply.pressed.unwrap_or(ply.at)));
            if !self.course.lines.agree_on(k, ctx.now, ctx.sensed, margin) {
                ctx.wait_for("other half-moves to become less likely");
                ctx.at(ctx.now + 150);
                break;
            }
            let Some(completed_by) = self.completed(ctx, k, &ply) else {
                break;
            };
            self.say(ctx, &ply, completed_by);
        }
        let announced = self.course.announced();
        let settled = announced.saturating_sub(REVISABLE);
        if settled == 0 {
            return;
        }
        let closed = settled
            .min(felt::held(ctx, &self.course))
            .min(put_back::held(ctx, &self.course))
            .min(self.guessed(ctx.sensed))
            .min(self.course.kept());
        if closed > 0 {
            self.course.note_landings(closed);
            self.course.lines.advance(closed);
            self.course.base += closed;
        }
    }

    /// The first half-move whose piece was not read where it went, or which took a piece on a board that does not tell pieces apart, and
    /// on which the hypotheses disagree. Later readings will decide between them.
    fn guessed(&self, sensed: &Sensed) -> usize {
        let plies = &self.course.lines.best().plies;
        let said = plies.len().min(self.course.announced());
        let numbered = plies
            .backwards()
            .zip((0..plies.len()).rev())
            .skip(plies.len() - said);
        let gone = |ply: &Ply| {
            let to = ply.kind.from_to().map(|(_, to)| to);
            // A hand holds the piece, or it slid on.
            to.is_some_and(|to| {
                sensed.at(to).is_empty() && !self.course.lines.best().placement().at(to).is_empty()
            })
        };
        let takes = |ply: &Ply| sensed.is_felt() && ply.kind.legal().is_some_and(Move::is_capture);
        let is_guess = |ply: &Ply| !ply.landed || gone(ply) || takes(ply);
        let open = |(ply, k): &(&Ply, usize)| is_guess(ply) && !self.course.lines.share(*k);
        let open = numbered.take(GUESSED).filter(open).map(|(_, k)| k);
        open.last().unwrap_or(usize::MAX)
    }

    /// What completes the half-move `ply`, number `k` of the best hypothesis, if something does by now.
    fn completed(&mut self, ctx: &mut Ctx<'_>, k: usize, ply: &Ply) -> Option<CompletedBy> {
        let best = self.course.lines.best();
        let reply = best.plies.get(k + 1);
        if !ply.seen && self.gap.lost_track(&self.course) {
            ctx.wait_for("what stands on the board to be explained");
            return None;
        }
        let by = match ply.kind {
            PlyKind::Ruled(mv) => {
                let unread = !ctx.sensed.is_felt() && ctx.sensed.at(mv.to()).is_empty();
                let shown = !unread && (best.differing().is_empty() || reply.is_some());
                let stands = shown && ctx.still_for(RULED_MS);
                return ctx.once(
                    stands,
                    "the position that the ruling prescribes",
                    CompletedBy::Ruling,
                );
            }
            PlyKind::Recovered(_) if reply.is_none() && is_under_way(ctx, self.course.clock_used, ply) => {
                ply.pressed
            }
            PlyKind::Recovered(_) => {
                let known = !self.gap.recall.is_decisive(ctx) && !self.gap.lost_track(&self.course);
                return ctx.once(known, "what tells of the gap", CompletedBy::Recovered);
            }
            // An illegal act is an accusation: `judge` decides on it.
            PlyKind::Suspect(_) => return None,
            PlyKind::Illegal(_) => None,
            PlyKind::Legal(_) => ply.pressed,
        };
        if let Some(pressed) = by {
            // A reply shows that all updates have arrived. A square that was wrong before is no part of this
            // half-move, except the rook's squares of a castling.
            let castled = ply.kind.legal().filter(|mv| mv.is_castle());
            let own = castled.map_or(Bitboard::EMPTY, Candidate::touched);
            let fresh = |s| ctx.sensed.since(s) >= ply.began || own.contains(s);
            let through = if best.misplaced(ctx.sensed).into_iter().any(fresh) {
                // Pieces that stand wrong may be an offence, so `judge` decides first, also where time has gone on by leaps.
                let (since, judged) = (pressed.max(ply.at), judged_after(ctx));
                let through = ctx.passed(since, (judged + REVIEW_MS).max(AFTER_PRESS_UNTIDY_MS));
                let has_looked = self.presses.looked_at >= since + judged;
                if through && !has_looked {
                    ctx.at(ctx.now);
                }
                through && has_looked
            } else if reply.is_some_and(|reply| reply.at < pressed) {
                // The press may be for the reply.
                ctx.passed(pressed, AFTER_REPLIED_MS)
            } else {
                reply.is_some()
                    || !ply.kind.may_slide_on(self.stand_before(k))
                    || ctx.passed(ply.at, SLIDE_MS)
            };
            if !through {
                ctx.wait_for("updates of the half-move that may be under way");
                return None;
            }
            if !self.was_seen(ctx, k, pressed) {
                ctx.wait_for("the piece to be read where it went");
                return None;
            }
            return Some(CompletedBy::Clock);
        }
        // Beside a clock that stands, hands may only show something, until somebody turns the lever.
        let may_show = self.unclocked.is_played() && !ctx.clock.runs();
        if may_show && reply.is_none_or(|reply| reply.pressed.is_none()) {
            ctx.wait_for("the lever to be turned");
            return None;
        }
        if let Some(reply) = reply {
            let since = reply.pressed.unwrap_or(reply.at).max(reply.at);
            let late = ctx.passed(since, AFTER_REPLY_MS);
            return ctx.once(
                late,
                "a late press of the half-move that was replied to",
                CompletedBy::Reply,
            );
        }
        let rests = match ctx.clock.stopped_at {
            _ if matches!(ply.kind, PlyKind::Illegal(_)) || best.has_part_in(ply, ctx.sensed) => false,
            _ if best.moves().is_empty() => ctx.passed(ply.at, AFTER_MATE_MS),
            _ if ctx.clock.runs() => false,
            Some(stopped) => {
                // While an irregularity is open, an arbiter is at work on the board.
                let at_work = self.cases.at_board().next().is_some();
                !at_work && ctx.passed(stopped, STOPPED_MS) && ctx.still_for(STOPPED_MS)
            }
            None => ctx.still_for(STILL_MS),
        };
        ctx.once(rests, "a press, or a reply", CompletedBy::Stillness)
    }

    /// Where half-move `k` of the best line was played.
    fn stand_before(&self, k: usize) -> &Stand {
        let plies = &self.course.lines.best().plies;
        let before = match k.checked_sub(1) {
            Some(i) => &plies[i].stand,
            None => self.course.record.stand_at(self.course.base),
        };
        plies[k].made_in.as_ref().unwrap_or(before)
    }

    /// False while the piece of half-move `k` is not read where it went. An update may be lost; the next dump
    /// or the next half-moves show where the piece stands.
    fn was_seen(&mut self, ctx: &mut Ctx<'_>, k: usize, pressed: Millis) -> bool {
        let best = self.course.lines.best();
        let after = best.plies[k].stand.placement();
        let before = self.stand_before(k).placement();
        let is_rook_left = best.plies[k].leaves_rook(before, ctx.sensed);
        let unseen = before.differing(after).into_iter().any(|square| {
            // The opponent lifted a piece that vanished after the press.
            !after.at(square).is_empty()
                && best.placement().at(square) == after.at(square)
                && !best.expects(square).is_empty()
                && ctx.sensed.at(square).is_empty()
                && ctx.sensed.since(square) <= pressed
        });
        let played_on = best.plies.len() > k + 2;
        if (unseen || is_rook_left) && ctx.passed(pressed, ASK_MS) {
            self.presses.ask(ctx, pressed);
        }
        if resigned::may_have(ctx, &self.course, &self.unread, k, pressed) {
            return false;
        }
        // A rook that is read where it stood has not castled, and a dump says it again.
        if is_rook_left {
            return played_on;
        }
        !unseen
            || played_on
            || ctx.sensed.last_dump().is_some_and(|dump| dump > pressed)
            || ctx.passed(pressed, UNSEEN_MS)
    }

    /// Reports one half-move and what follows from it.
    pub(in crate::watcher) fn say(&mut self, ctx: &mut Ctx<'_>, ply: &Ply, completed_by: CompletedBy) {
        let illegal = matches!(ply.kind, PlyKind::Illegal(_));
        if !illegal {
            self.replaced_unread(ctx, ply);
            self.unread.look_before(ctx, &self.course, ply);
            self.restored_by_play(ctx, completed_by);
        }
        self.course.announce(ctx, ply, completed_by);
        felt::take_for_granted(ctx, &self.course, ply);
        if illegal || matches!(ply.kind, PlyKind::Ruled(_)) {
            // What players and arbiter did about an irregularity is beyond doubt.
            self.course.lines.advance(self.course.announced());
            self.course.base = self.course.record.plies();
        }
        if let PlyKind::Ruled(mv) = ply.kind
            && let Some(i) = self.cases.find(|o| o.ruled == Some(mv))
        {
            self.cases.put_right(ctx, &self.course, &mut self.hands, i);
        }
        if illegal {
            if let Some(finding) = answered::of_last(&self.course.record, &self.cases) {
                self.accuse(ctx, finding, None);
            }
            self.stands_by_reply(ctx);
        } else {
            for finding in self.hands.suspicions(ctx, &self.course.record, ply) {
                self.accuse(ctx, finding, None);
            }
            self.end_by_position(ctx);
        }
        self.cases.played_on(ctx, &self.course);
    }

    /// Enters an illegal half-move into the record, because the opponent has replied to it.
    pub(super) fn say_illegal(&mut self, ctx: &mut Ctx<'_>, ply: &Ply) {
        self.say(ctx, ply, CompletedBy::Reply);
    }

    /// Ends irregularities that the players put right and then played on so fast that the board did not show
    /// the target for long.
    fn restored_by_play(&mut self, ctx: &mut Ctx<'_>, completed_by: CompletedBy) {
        let next = self.course.record.plies() + 1;
        while let Some(i) = self.cases.find(|o| {
            o.ply == next
                && o.target.is_some()
                && matches!(
                    o.kind,
                    IrregularityKind::IllegalMove
                        | IrregularityKind::PressWithoutMove
                        | IrregularityKind::CastlingIncomplete
                        | IrregularityKind::MovedOutOfTurn
                )
        }) {
            let answered = matches!(completed_by, CompletedBy::Reply | CompletedBy::Recovered);
            if self.cases.open[i].kind == IrregularityKind::PressWithoutMove && answered {
                // The player had moved before the press, and the board had not read it. There was no offence.
                self.cases.withdraw(ctx, &self.course, i);
            } else {
                self.cases.put_right(ctx, &self.course, &mut self.hands, i);
            }
        }
    }

    /// Withdraws a report that a pawn was not replaced: the player replaced it by a piece that the board does
    /// not read.
    fn replaced_unread(&mut self, ctx: &mut Ctx<'_>, ply: &Ply) {
        let next = self.course.record.plies() + 1;
        let replaced = |open: &Open| {
            matches!((ply.kind.legal(), open.ruled), (Some(mv), Some(ruled)) if mv.to() == ruled.to())
                && matches!(ply.kind, PlyKind::Legal(_))
                && open.ply == next
                && !open.by_hand
        };
        while let Some(i) = self.cases.find(replaced) {
            self.cases.withdraw(ctx, &self.course, i);
        }
    }

    /// Lets an illegal move stand after the opponent's reply, where the Laws say so.
    fn stands_by_reply(&mut self, ctx: &mut Ctx<'_>) {
        let ply = self.course.record.plies();
        if let Some(i) = self.cases.find(|o| o.ply == ply && o.may_stand) {
            self.cases.resolve(ctx, &self.course, i, Resolution::Stands);
        }
    }

    /// True while somebody may set up an earlier position beside a stopped clock, or while a search for what was missed is about
    /// to tell whether the board's log has to.
    fn may_be_set_up(&self, ctx: &mut Ctx<'_>) -> bool {
        let lately = |stopped: &Millis| ctx.now.since(*stopped) < AT_WORK_MS;
        let stopped = ctx.clock.stopped_at.filter(lately);
        let at_work = stopped.is_some_and(|at| ctx.sensed.last_change() > at);
        at_work && !ctx.still_for(SET_UP_MS) || self.gap.recall.may_tell() && self.gap.searches_soon(ctx.now)
    }

    /// Corrects the record when another hypothesis has been clearly better for a while, whatever hands do once the game `is_over`.
    fn correct(&mut self, ctx: &mut Ctx<'_>, is_over: bool) {
        let best = self.course.lines.best();
        if self.course.on_record() {
            self.course.doubted = None;
            self.course.left_since = None;
            return;
        }
        // The board's log will tell what was played after the last complete record.
        let whole = self.gap.recall.whole.as_ref().map_or(0, |whole| whole.plies);
        let may_tell =
            self.gap.recall.is_awaited() || self.gap.recall.may_tell() && self.gap.unbridged.is_some();
        if may_tell && self.course.base + self.course.kept() < whole {
            return;
        }
        let left = *self.course.left_since.get_or_insert(ctx.now);
        let is_plain = slid::was_read_further_on(&self.course, ctx.sensed);
        let long = is_plain || !ctx.sensed.is_felt() && ctx.passed(left, LEFT_MS);
        let best_total = best.total(ctx.sensed, ctx.now);
        let kept = self.course.lines.all().find(|line| self.course.is_kept_by(line));
        let clear =
            long || kept.is_none_or(|line| line.total(ctx.sensed, ctx.now) >= best_total + CORRECTION);
        if !clear {
            self.course.doubted = None;
            return;
        }
        let since = *self.course.doubted.get_or_insert(ctx.now);
        // Hands set up the pieces, unless that is where the game stands.
        let (before, seen) = (self.course.record.stand().placement(), ctx.sensed.placement());
        let is_set_up = best.differing().any() && have_come_home(before, seen);
        let may_be = !is_set_up
            && !resigned::is_being_cleared(ctx, &self.course, &self.unread)
            && (is_over || !self.may_be_set_up(ctx));
        if (is_plain || ctx.passed(since, CORRECTION_MS)) && may_be {
            let to = self.course.base + self.course.kept();
            self.course.doubted = None;
            self.course.left_since = None;
            self.withdraw_since(ctx, to);
            self.doubt.shake(self.course.record.plies());
            self.course.retract(ctx, to, "correction");
        }
    }

    /// Withdraws what was reported of half-moves after the first `ply`: they were not played.
    fn withdraw_since(&mut self, ctx: &mut Ctx<'_>, ply: usize) {
        let told = |open: &Open| open.ply > ply + 1 && open.target.is_some() && !open.by_hand;
        while let Some(i) = self.cases.find(told) {
            self.cases.withdraw(ctx, &self.course, i);
        }
    }

    /// Enters the rest of the best hypothesis into the record, as far as the board shows it: nothing more
    /// will come, or the game is over.
    pub(in crate::watcher) fn settle_rest(&mut self, ctx: &mut Ctx<'_>) {
        // What a person entered stands, however the hypotheses explain a board that shows something else. While nobody
        // has read the board again, it shows what it showed.
        let stands = if self.gap.is_open {
            self.overruled.is_some()
        } else {
            self.is_overruled(ctx)
        };
        let is_shown = self.unclocked.is_once() && !self.course.lines.best().differing().is_empty();
        if stands || !self.course.record.withdrawn.is_empty() || is_shown {
            return;
        }
        self.correct(ctx, true);
        self.settle(ctx);
        while self.is_watched() && self.course.on_record() {
            let k = self.course.announced();
            let best = self.course.lines.best();
            let Some(ply) = best.plies.get(k).cloned() else {
                break;
            };
            let last = k + 1 == best.plies.len();
            let unsettled = matches!(ply.kind, PlyKind::Illegal(_)) || !best.misplaced(ctx.sensed).is_empty();
            let resigned = |pressed| resigned::may_have(ctx, &self.course, &self.unread, k, pressed);
            if last && unsettled
                || ply.pressed.is_some_and(resigned)
                || matches!(ply.kind, PlyKind::Suspect(_))
            {
                break;
            }
            let by = match (ply.pressed, last) {
                (Some(_), _) => CompletedBy::Clock,
                (None, false) => CompletedBy::Reply,
                (None, true) => CompletedBy::Stillness,
            };
            self.say(ctx, &ply, by);
        }
    }

    /// Looks at what stands on a board that feels only which squares are occupied, where no hypothesis explains it.
    pub(super) fn look_for_unfelt(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_watched() || !felt::is_stuck(ctx, &self.course) {
            return;
        }
        if let Some(told) = felt::promoted_otherwise(ctx, &self.course) {
            self.course.tell_anew(ctx, told, "promotion_was_another");
            return;
        }
        let Some((finding, act)) = felt::illegal_act(ctx, &self.course, &self.cases) else {
            return;
        };
        // The illegal move came after these half-moves.
        let best = self.course.lines.best().clone();
        for made in best.plies.iter().skip(self.course.announced()) {
            if !matches!(made.kind, PlyKind::Legal(_)) || !self.is_watched() {
                return;
            }
            self.say(ctx, made, CompletedBy::Reply);
        }
        let before = finding.before.clone();
        self.accuse(ctx, finding, Some(&act));
        self.course.go_on_after(ctx, &self.presses, before, act);
    }

    /// An arbiter says what the pawn of half-move `ply` became, or that of the last promotion.
    ///
    /// # Errors
    /// An error says that there was no promotion, or that later half-moves are not legal with that piece.
    pub(in crate::watcher) fn promoted(
        &mut self,
        ctx: &mut Ctx<'_>,
        ply: Option<u32>,
        role: Role,
    ) -> Result<(), CommandError> {
        if self.is_watched() {
            // The promotion may not be on the record yet.
            self.settle_rest(ctx);
        }
        if let Some(told) = felt::promoted(&self.course.record, ply, role)? {
            self.course.tell_anew(ctx, told, "promotion_said_by_arbiter");
        }
        Ok(())
    }
}

//! Judges a press that no legal half-move explains, and irregularities without a press. The watcher accuses
//! only when no innocent hypothesis is left.

use shakmaty::Color;

use super::{
    Game, Press,
    advice::{Finding, Scene},
    doubt::is_noticed,
    waits::{JUDGE_MS, REST_MS, judged_after},
};
use crate::{
    board::{Explanation, Item, Line, Placement, PlyKind, Sensed, act::Reason, explain},
    event::CompletedBy,
    time::Millis,
    watcher::ctx::Ctx,
};

/// By then, every innocent hypothesis must cost this much more than the offence, in nats.
const SURE: f32 = 1.0;
/// An innocent hypothesis of sensor faults must cost this much more than the offence, in nats.
const INNOCENT: f32 = 4.5;
/// The same as `SURE` once the board has been at rest for `AT_REST_MS` after the press.
const SURE_AT_REST: f32 = 0.3;
const AT_REST_MS: u64 = 2000;
/// Cost of the hypothesis that the players put an illegal act right, compared with letting it stand, in nats.
pub(super) const RESTORED: f32 = 0.6;
/// The board must not have changed for this long, unless the watcher kept a placement at rest.
const QUIET_MS: u64 = 350;
/// Updates may arrive up to this long after the press that they belong to.
pub(super) const SCAN_MS: u64 = 450;
/// The board reads a piece that was put down before a press at most this long after the press.
pub(super) const READ_MS: u64 = 250;
/// Where a legal half-move leaves pieces that stand wrong, one illegal act explains the board instead if its
/// hypothesis costs no more than this above the best one, in nats.
const NEARLY: f32 = 1.4;
/// A square that was wrong for this long before the player got the move is a ghost: the player did not change
/// it.
const OLD_MS: u64 = 1000;
/// After this long the watcher stops judging an unexplained press. The next dump or press may explain it.
pub(super) const GIVE_UP_MS: u64 = 20_000;
/// If no reading fits a press after this time, the watcher asks the board for a dump.
const ASK_MS: u64 = 400;
/// A lever that springs back does so within this time after a press, and its player, if he notices it, presses again within this
/// time after that.
const BOUNCE_MS: u64 = 700;
/// A lever that has sprung back sooner than anybody reacts may be pressed again as late as this.
const PRESSED_AGAIN_MS: u64 = 3000;
/// Nobody reacts to a press within this time.
const REACTION_MS: u64 = 200;

/// True for a pawn, or a piece of the opponent, that is read on the last rank: it is seen, so no doubt about the board or the record
/// excuses it.
fn stands_where_it_may_not(explanation: &Explanation) -> bool {
    matches!(
        explanation,
        Explanation::PawnNotReplaced { seen: true, .. } | Explanation::WrongColour { .. }
    )
}

impl Game {
    /// Returns true if the press of `side` at `at` is the second half of an earlier press: the lever had
    /// sprung back, and what looked like a press of the opponent was none.
    pub(in crate::watcher) fn bounced(&mut self, at: Millis, side: Color, sensed: &Sensed) -> bool {
        let sprung = self.presses.last().cloned();
        let best = self.course.lines.best();
        let made = self
            .course
            .record
            .last()
            .filter(|made| made.completed_by == CompletedBy::Clock);
        let pressed = match best.plies.last() {
            Some(ply) => ply.pressed,
            None => made.map(|made| made.at),
        };
        let (Some(sprung), Some(pressed)) = (sprung, pressed) else {
            return false;
        };
        let gap = sprung.at.since(pressed);
        let again = if gap <= REACTION_MS {
            PRESSED_AGAIN_MS
        } else {
            BOUNCE_MS
        };
        let soon = at.since(sprung.at) <= again && gap <= BOUNCE_MS;
        // A reading after the first press, other than of its own half-move, shows that a hand was at work.
        let untouched = sensed.last_change() <= pressed + READ_MS;
        if sprung.side == side || !soon || !untouched || best.awaits() != Some(sprung.at) {
            return false;
        }
        self.forget_last_press();
        true
    }

    /// The link was down for a while, and now the time of `side` runs. If the last press that was heard was
    /// by `side`, the lever has gone back since.
    pub(in crate::watcher) fn sprang_back(&mut self, side: Color) {
        let last = self.presses.last();
        if last.is_some_and(|press| press.side == side) {
            self.forget_last_press();
        }
    }

    /// True when `press` came sooner after the opponent's than anybody reacts: the lever has rather sprung back.
    pub(super) fn is_no_reaction(&self, press: &Press) -> bool {
        let last = self
            .course
            .record
            .last()
            .filter(|last| last.completed_by == CompletedBy::Clock);
        last.is_some_and(|last| (last.at..=last.at + REACTION_MS).contains(&press.at))
    }

    fn forget_last_press(&mut self) {
        if let Some(press) = self.presses.take_last() {
            self.course.lines.forget_press(press.at);
        }
    }

    /// Judges the oldest press that is not judged yet. Without one, looks for a move out of turn.
    pub(in crate::watcher) fn judge(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_watched() {
            return;
        }
        if self.lost_track() {
            self.presses.clear();
            return;
        }
        self.presses.advance();
        if let Some(press) = self.presses.judged.clone()
            && (self.take_back_by_press(ctx, &press)
                || self.go_on_from_set_up(ctx, &press)
                || self.go_on_after_pass(ctx, &press))
        {
            return;
        }
        if self.judge_suspect(ctx) {
            return;
        }
        if let Some(press) = self.presses.judged.clone() {
            self.judge_press(ctx, press);
        } else {
            self.out_of_turn(ctx);
        }
    }

    /// Judges a press whose best hypothesis is an illegal act. Returns true when there is one, even if it is
    /// too early to judge it.
    fn judge_suspect(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let k = self.course.announced();
        let suspected = self.course.lines.best().plies.get(k);
        let suspected =
            suspected.filter(|ply| matches!(ply.kind, PlyKind::Suspect(_)) && self.course.on_record());
        let Some((PlyKind::Suspect(act), Some(pressed), stand)) =
            suspected.map(|ply| (ply.kind.clone(), ply.pressed, ply.stand.clone()))
        else {
            return false;
        };
        if !ctx.is_told(pressed, judged_after(ctx)) || self.presses.may_have_lost(ctx, pressed) {
            ctx.wait_for("readings of the time of the press");
            return true;
        }
        let at_rest = ctx.now.since(pressed.max(ctx.sensed.last_change())) >= AT_REST_MS;
        let sure = if at_rest { SURE_AT_REST } else { SURE };
        // A person who stopped the clock has seen what was done, whatever the board does not read.
        let noticed = ctx.clock.stopped_at.is_some_and(|at| at >= pressed);
        let agreed = self.course.lines.agree_on(k, ctx.now, ctx.sensed, sure)
            || noticed && self.course.lines.agree_on_act(k, ctx.now, ctx.sensed, sure);
        if !agreed {
            ctx.wait_for("innocent hypotheses to become less likely");
            ctx.at(ctx.now + 150);
            return true;
        }
        if self.excuse(ctx) {
            return true;
        }
        let (side, before) = (!stand.turn(), self.course.record.stand().clone());
        let press = self.presses.judged.take_if(|press| press.at == pressed);
        let scene = Scene {
            ply: self.course.record.plies() + 1,
            before,
            seen: stand.placement().clone(),
            at: pressed,
            clock: press.map_or_else(|| ctx.clock.state(), |press| press.clock),
        };
        let finding = Finding::illegal(side, &act, scene);
        self.course.lines.advance(k);
        self.course.base = self.course.record.plies();
        self.accuse(ctx, finding, Some(&act));
        let mut restored = Line::new(self.course.record.stand().clone(), ctx.sensed, ctx.now);
        self.course.lines.convict();
        restored.charge(Item::PutRight, RESTORED);
        self.course.lines.add(ctx.now, ctx.sensed, restored);
        true
    }

    fn judge_press(&mut self, ctx: &mut Ctx<'_>, mut press: Press) {
        if press.rest.is_none() && ctx.passed(press.at, REST_MS) && ctx.still_for(QUIET_MS - 100) {
            press.rest = Some(ctx.sensed.placement().clone());
            self.presses.judged = Some(press.clone());
        }
        let waits = self.course.lines.best().awaits() == Some(press.at);
        if waits && ctx.passed(press.at, ASK_MS) {
            self.presses.ask(ctx, press.at);
        }
        if !ctx.passed(press.at, JUDGE_MS) || !ctx.passed(press.at, judged_after(ctx)) {
            ctx.wait_for("readings of the time of the press");
            return;
        }
        let best = self.course.lines.best();
        if best.awaits() != Some(press.at) {
            if self.single_act(ctx, &press) {
                return;
            }
            if self.early_reply(press.side, press.at) && !self.is_unproven(ctx, Some(press.at)) {
                self.knocked_like_a_move(ctx, &press);
            } else {
                self.presses.judged = None;
            }
            return;
        }
        if ctx.now.since(press.at) > GIVE_UP_MS || self.gap {
            self.presses.judged = None;
            return;
        }
        if self.answers(ctx, &press) {
            self.presses.judged = None;
            self.course.lines.forget_presses();
            return;
        }
        self.course.lines.grow_blind(ctx.now, ctx.sensed);
        if !ctx.still_for(QUIET_MS) && press.rest.is_none() {
            ctx.wait_for("hands to leave the board");
            return;
        }
        // The half-moves before this one must be on the record. Without them there is no position to judge
        // from.
        if self.course.lines.best().awaits() != Some(press.at) || !self.reach_for_judgement(ctx, &press) {
            ctx.wait_for("the half-moves before the press");
            ctx.at(ctx.now + 200);
            return;
        }
        let explanation = explain(self.course.record.stand(), &self.seen_at(ctx, &press));
        let promotion = matches!(
            explanation,
            Explanation::PawnNotReplaced { .. } | Explanation::WrongColour { .. }
        );
        // Only after all readings must have come does an unchanged board prove that the player did nothing.
        let nothing = matches!(explanation, Explanation::Nothing | Explanation::OnlyMissing(_));
        let wait = if self.is_no_reaction(&press) && ctx.clock.runs() {
            PRESSED_AGAIN_MS
        } else {
            JUDGE_MS
        };
        if nothing && !ctx.passed(press.at, wait + ctx.sensed.slack()) {
            ctx.wait_for("the half-move of the press");
            return;
        }
        let stands = stands_where_it_may_not(&explanation);
        if !promotion && self.may_be_innocent(ctx) {
            ctx.wait_for("innocent hypotheses to become less likely");
            ctx.at(ctx.now + 300);
            return;
        }
        if !stands && self.excuse(ctx) {
            return;
        }
        if !ctx.is_told(press.at, judged_after(ctx)) {
            ctx.wait_for("readings of the time of the press");
            return;
        }
        let seen = self.seen_at(ctx, &press);
        self.accuse_press(ctx, &press, seen);
    }

    /// True while a hypothesis that explains the press, with the help of sensor faults or a fall, is not much
    /// less likely than the one that does not.
    fn may_be_innocent(&self, ctx: &Ctx<'_>) -> bool {
        let awaited = self.course.lines.best().awaits();
        let limit = self.course.lines.best().total(ctx.sensed, ctx.now) + INNOCENT;
        let mut lines = self.course.lines.all();
        lines.any(|line| {
            let faults = line.faults();
            // The piece may also be one of a half-move that the record has otherwise.
            let unread = line.plies.iter().any(|ply| !ply.landed);
            let broken = unread || faults.hidden.any() || faults.fall.is_some();
            // Such a hypothesis may itself wait for a half-move of another press.
            broken && line.awaits() != awaited && line.total(ctx.sensed, ctx.now) <= limit
        })
    }

    /// A dump shows `after` where updates had told `before`. If the watcher kept `before` as the placement at
    /// rest after a press, it corrects that.
    pub(in crate::watcher) fn stood_at_press(&mut self, before: &Placement, after: &Placement) {
        let rest = self.presses.judged.as_mut().and_then(|press| press.rest.as_mut());
        if let Some(rest) = rest.filter(|rest| *rest == before) {
            rest.clone_from(after);
        }
    }

    /// True when the press answers an irregularity of the opponent: it is open, and the player has moved no
    /// own piece (7.4.1; `response_to` of the ruling).
    fn answers(&self, ctx: &Ctx<'_>, press: &Press) -> bool {
        let open = self.cases.open.iter().any(|open| {
            open.offender == Some(!press.side)
                && open.target.is_some()
                && open.ply + 1 >= self.course.record.plies()
                && open.said <= press.at
        });
        let best = self.course.lines.best();
        let own = |s| {
            best.placement().at(s).color() == Some(press.side) || ctx.sensed.at(s).color() == Some(press.side)
        };
        open && !best.differing().into_iter().any(own)
    }

    /// Returns true when all half-moves before the press are on the record. An illegal one goes there now if
    /// the opponent has answered it with an illegal act.
    fn reach_for_judgement(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let best = self.course.lines.best();
        let unsaid = best.plies.len() - self.course.announced().min(best.plies.len());
        if unsaid == 0 {
            return true;
        }
        let Some(illegal) = best
            .plies
            .last()
            .filter(|ply| matches!(ply.kind, PlyKind::Illegal(_)))
            .cloned()
        else {
            return false;
        };
        if unsaid > 1
            || !matches!(explain(&best.stand, &self.seen_at(ctx, press)), Explanation::Illegal(act) if act.from_to().is_some())
        {
            return false;
        }
        self.say_illegal(ctx, &illegal);
        true
    }

    /// Looks for one act of the player that explains the whole board, where the best hypothesis has a legal
    /// half-move for the press but leaves pieces where they do not belong. Returns true if there is such an
    /// act: the watcher reports it now, or once all readings of this time have come.
    fn single_act(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let best = self.course.lines.best();
        let made = best.plies.get(self.course.announced());
        let Some(made) = made.filter(|ply| ply.pressed == Some(press.at)) else {
            return false;
        };
        let before = self.course.record.stand().clone();
        let seen = self.seen_at(ctx, press);
        // A square that was wrong before explains itself.
        let wrong = made.stand.placement().differing(&seen);
        if !(wrong & best.misplaced(ctx.sensed)).any() {
            return false;
        }
        let explanation = explain(&before, &seen);
        let stands = stands_where_it_may_not(&explanation);
        let by_one = match explanation {
            Explanation::Illegal(act) => {
                let one = act.from_to().is_some() && act.reason != Reason::OpponentsPieceMoved;
                // Only castling puts king and rook on these squares, so an illegal castling needs no further
                // evidence.
                let suspect = |line: &Line| {
                    let next = line.plies.get(self.course.announced()).map(|ply| &ply.kind);
                    matches!(next, Some(PlyKind::Suspect(other)) if other.from_to() == act.from_to())
                };
                let fell = |line: &Line| line.faults().fall.is_some_and(|fall| !fall.is_over());
                let likely = self.nearly_as_likely(ctx, suspect) && !self.nearly_as_likely(ctx, fell);
                one && (act.reason.is_of_castling() || likely)
            }
            Explanation::PawnNotReplaced { .. }
            | Explanation::WrongColour { .. }
            | Explanation::CastlingIncomplete { .. } => true,
            Explanation::Nothing | Explanation::Legal | Explanation::OnlyMissing(_) => false,
        };
        let noticed = is_noticed(ctx.clock.stopped_at, press.at);
        if !by_one || !stands && !noticed && self.is_unproven(ctx, Some(press.at)) {
            return false;
        }
        if ctx.is_told(press.at, judged_after(ctx)) {
            self.accuse_press(ctx, press, seen);
        }
        true
    }

    /// True when a hypothesis for which `holds` is true costs little more than the best one.
    fn nearly_as_likely(&self, ctx: &Ctx<'_>, holds: impl Fn(&Line) -> bool) -> bool {
        let limit = self.course.lines.best().total(ctx.sensed, ctx.now) + NEARLY;
        let mut lines = self.course.lines.all();
        lines.any(|line| holds(line) && line.total(ctx.sensed, ctx.now) <= limit)
    }

    /// The placement after the press, once the board had come to rest. The player did not cause a difference
    /// from before that player's turn, so such squares get the piece that the record has there.
    fn seen_at(&self, ctx: &Ctx<'_>, press: &Press) -> Placement {
        let mut seen = press
            .rest
            .clone()
            .unwrap_or_else(|| ctx.sensed.placement().clone());
        // Undoes what was played after the press.
        let best = self.course.lines.best();
        if let Some(made) = best
            .plies
            .get(self.course.announced())
            .filter(|ply| ply.pressed == Some(press.at))
        {
            let then = made.stand.placement();
            for square in then.differing(best.placement()) {
                if seen.at(square) == best.placement().at(square) {
                    seen.set(square, then.at(square));
                }
            }
        }
        let Some(last) = self.course.record.last() else {
            return seen;
        };
        let expected = last.stand.placement();
        for square in expected.differing(&seen) {
            let since = ctx.sensed.since(square);
            // What a dump showed had changed some time before it.
            let unseen = ctx.sensed.seen_at(square).is_none();
            if since + OLD_MS < last.at || unseen && since < last.at {
                seen.set(square, expected.at(square));
            }
        }
        seen
    }
}

//! What a press means when no legal half-move explains it, and what is wrong without a press.
//! An accusation is made only when no innocent explanation is left.

use shakmaty::Color;

use super::{
    Game, Press,
    advice::{Finding, Scene},
};
use crate::{
    board::{Explanation, Item, Line, Placement, PlyKind, Sensed, act::Reason, explain},
    time::Millis,
    watcher::ctx::Ctx,
};

/// The board is looked at for an offence when this long has passed since the press.
pub(super) const JUDGE_MS: u64 = 900;
/// The same where the time is not measured.
const UNMEASURED_JUDGE_MS: u64 = 1600;
/// How much worse every innocent explanation must be by then.
const SURE: f32 = 1.0;
/// An innocent explanation of a press must be so much worse than that it is an offence.
const INNOCENT: f32 = 4.5;
/// And when the board has shown the same for this long after the press.
const SURE_AT_REST: f32 = 0.3;
const AT_REST_MS: u64 = 2000;
/// That what was illegal is put right and play goes on from before costs so much more than that it
/// stands.
pub(super) const RESTORED: f32 = 0.6;
/// The board must not have changed for this long, unless a snapshot at rest exists.
const QUIET_MS: u64 = 350;
/// How soon after the press the snapshot at rest may be taken.
pub(super) const REST_MS: u64 = 300;
/// Updates may arrive this long after the press that they belong to.
pub(super) const SCAN_MS: u64 = 450;
/// A piece that was put down before a press is read this long after it at the latest.
pub(super) const READ_MS: u64 = 250;
/// What legal half-moves explain but for pieces that stand wrong is one illegal act where that costs no more than this.
const NEARLY: f32 = 1.4;
/// What has been wrong for this long when the player got the move is a ghost.
const OLD_MS: u64 = 1000;
/// A press that is still unexplained then waits for the next dump or press.
pub(super) const GIVE_UP_MS: u64 = 20_000;
/// Where nothing has been read that a press may be for, the board is asked after this time.
const ASK_MS: u64 = 400;
/// A board that loses updates is believed by its next dump, if it comes within this time.
const DUMP_MS: u64 = 10_000;

/// A lever that springs back does so this soon after a press, and is pressed down again as soon after that.
const BOUNCE_MS: u64 = 700;

/// How long after a press the board is looked at. Where nobody knows when a reading happened, what belongs to the press may
/// seem to come later, and is here already. A line that always gathers has an allowance of its own.
pub(super) fn judged_after(ctx: &Ctx<'_>) -> u64 {
    if ctx.catches_up && ctx.sensed.slack() == 0 {
        UNMEASURED_JUDGE_MS
    } else {
        JUDGE_MS
    }
}

impl Game {
    /// `side` presses at `at` for the second time, for the lever had sprung back: nobody pressed in between, and this press
    /// is a part of the first. Returns false where that is not so.
    pub(in crate::watcher) fn bounced(&mut self, at: Millis, side: Color, sensed: &Sensed) -> bool {
        let sprung = self.later_presses.back().or(self.press.as_ref()).cloned();
        let best = self.lines.best();
        let pressed = best.plies.last().and_then(|ply| ply.pressed);
        let (Some(sprung), Some(pressed)) = (sprung, pressed) else {
            return false;
        };
        let soon = at.since(sprung.at) <= BOUNCE_MS && sprung.at.since(pressed) <= BOUNCE_MS;
        // What is read after the first press, but for its own half-move, was done by a hand.
        let untouched = sensed.last_change() <= pressed + READ_MS;
        if sprung.side == side || !soon || !untouched || best.awaits() != Some(sprung.at) {
            return false;
        }
        self.forget_last_press();
        true
    }

    /// After a time in which nobody listened the time of `side` runs: if his was the last press that was heard, the lever has
    /// gone back since.
    pub(in crate::watcher) fn sprang_back(&mut self, side: Color) {
        let last = self.later_presses.back().or(self.press.as_ref());
        if last.is_some_and(|press| press.side == side) {
            self.forget_last_press();
        }
    }

    fn forget_last_press(&mut self) {
        if let Some(press) = self.later_presses.pop_back().or_else(|| self.press.take()) {
            self.lines.forget_press(press.at);
        }
    }

    /// Looks at the last press, and at what is wrong without one.
    pub(in crate::watcher) fn judge(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_watched() {
            return;
        }
        if self.lost_track() {
            self.press = None;
            self.later_presses.clear();
            return;
        }
        if self.press.is_none() {
            self.press = self.later_presses.pop_front();
        }
        if self.judge_suspect(ctx) {
            return;
        }
        if let Some(press) = self.press.clone() {
            self.judge_press(ctx, press);
        } else {
            self.out_of_turn(ctx);
        }
    }

    /// The best explanation of a press is an illegal act. Returns true when that is what is to be
    /// judged, whether or not the time has come.
    fn judge_suspect(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let k = self.announced();
        let suspected = self.lines.best().plies.get(k);
        let suspected = suspected.filter(|ply| matches!(ply.kind, PlyKind::Suspect(_)) && self.on_record());
        let Some((PlyKind::Suspect(act), Some(pressed), stand)) =
            suspected.map(|ply| (ply.kind.clone(), ply.pressed, ply.stand.clone()))
        else {
            return false;
        };
        if !ctx.is_told(pressed, judged_after(ctx)) || self.may_have_lost(ctx, pressed) {
            return true;
        }
        let at_rest = ctx.now.since(pressed.max(ctx.sensed.last_change())) >= AT_REST_MS;
        let sure = if at_rest { SURE_AT_REST } else { SURE };
        // Who stops the clock has seen what was done, whatever else the board does not read.
        let noticed = ctx.clock.stopped_at.is_some_and(|at| at >= pressed);
        let agreed = self.lines.agree_on(k, ctx.now, ctx.sensed, sure)
            || noticed && self.lines.agree_on_act(k, ctx.now, ctx.sensed, sure);
        if !agreed {
            ctx.at(ctx.now + 150);
            return true;
        }
        if self.excuse(ctx) {
            return true;
        }
        let (side, before) = (!stand.turn(), self.stand().clone());
        let press = self.press.take_if(|press| press.at == pressed);
        let scene = Scene {
            ply: self.plies() + 1,
            before,
            seen: stand.placement().clone(),
            at: pressed,
            clock: press.map_or_else(|| ctx.clock.state(), |press| press.clock),
        };
        let finding = Finding::illegal(side, &act, scene);
        self.lines.advance(k);
        self.base = self.plies();
        self.accuse(ctx, finding, Some(&act));
        let mut restored = Line::new(self.stand().clone(), ctx.sensed, ctx.now);
        self.lines.convict();
        restored.charge(Item::PutRight, RESTORED);
        self.lines.add(ctx.now, ctx.sensed, restored);
        true
    }

    fn judge_press(&mut self, ctx: &mut Ctx<'_>, mut press: Press) {
        if press.rest.is_none() && ctx.passed(press.at, REST_MS) && ctx.still_for(QUIET_MS - 100) {
            press.rest = Some(ctx.sensed.placement().clone());
            self.press = Some(press.clone());
        }
        let waits = self.lines.best().awaits() == Some(press.at);
        if waits && ctx.passed(press.at, ASK_MS) {
            self.ask(ctx, press.at);
        }
        if !ctx.passed(press.at, JUDGE_MS) || !ctx.passed(press.at, judged_after(ctx)) {
            return;
        }
        let best = self.lines.best();
        if best.awaits() != Some(press.at) {
            if self.single_act(ctx, &press) {
                return;
            }
            if self.early_reply(press.side, press.at) && !self.is_unproven(ctx, Some(press.at)) {
                self.knocked_like_a_move(ctx, &press);
            } else {
                self.press = None;
            }
            return;
        }
        if ctx.now.since(press.at) > GIVE_UP_MS || self.gap {
            self.press = None;
            return;
        }
        if self.answers(ctx, &press) {
            self.press = None;
            self.lines.forget_presses();
            return;
        }
        self.lines.grow_blind(ctx.now, ctx.sensed);
        if !ctx.still_for(QUIET_MS) && press.rest.is_none() {
            return;
        }
        // Half-moves before this one must be on the record: without them there is no position to
        // judge from.
        if self.lines.best().awaits() != Some(press.at) || !self.reach_for_judgement(ctx, &press) {
            ctx.at(ctx.now + 200);
            return;
        }
        let explanation = explain(self.stand(), &self.seen_at(ctx, &press));
        let promotion = matches!(
            explanation,
            Explanation::PawnNotReplaced { .. } | Explanation::WrongColour { .. }
        );
        // That nothing was done is no proof before all must have come.
        let nothing = matches!(explanation, Explanation::Nothing | Explanation::OnlyMissing(_));
        if nothing && !ctx.passed(press.at, JUDGE_MS + ctx.sensed.slack()) {
            return;
        }
        // What stands on the last rank can be seen.
        let stands = promotion && !matches!(explanation, Explanation::PawnNotReplaced { seen: false, .. });
        if !promotion && self.may_be_innocent(ctx) {
            ctx.wait_for("an innocent explanation of the press to fall away");
            ctx.at(ctx.now + 300);
            return;
        }
        if !stands && self.excuse(ctx) || !ctx.is_told(press.at, judged_after(ctx)) {
            return;
        }
        let seen = self.seen_at(ctx, &press);
        self.accuse_press(ctx, &press, seen);
    }

    /// True while an explanation that has a half-move for the press, or another reason for it, is not much less likely than
    /// that there is none.
    fn may_be_innocent(&self, ctx: &Ctx<'_>) -> bool {
        let awaited = self.lines.best().awaits();
        let limit = self.lines.best().total(ctx.sensed, ctx.now) + INNOCENT;
        let mut lines = self.lines.all().iter();
        lines.any(|line| {
            let faults = line.faults();
            // Also one that is on the record otherwise.
            let unread = line.plies.iter().any(|ply| !ply.landed);
            let broken = unread || faults.hidden.any() || faults.fall.is_some();
            // It may await a later press.
            broken && line.awaits() != awaited && line.total(ctx.sensed, ctx.now) <= limit
        })
    }

    /// Asks the board once what stands on it, on account of the press at `pressed`.
    pub(super) fn ask(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) {
        if self.asked.replace(pressed) != Some(pressed) {
            *ctx.dump_wanted = true;
        }
    }

    /// True while what seems wrong since the press at `pressed` may be an update that is lost: this board
    /// loses some, it has not shown all its squares since, and nobody has stopped the clock.
    pub(super) fn may_have_lost(&mut self, ctx: &mut Ctx<'_>, pressed: Millis) -> bool {
        let told = ctx
            .sensed
            .last_dump()
            .is_some_and(|dump| dump >= pressed + REST_MS);
        let noticed = ctx.clock.stopped_at.is_some_and(|at| at >= pressed);
        if told || noticed || !ctx.sensed.loses_updates(ctx.now) {
            return false;
        }
        self.ask(ctx, pressed);
        !ctx.passed(pressed, DUMP_MS)
    }

    /// A dump shows `after` where updates had told `before`: if that was what stood there after a press, it
    /// stood otherwise.
    pub(in crate::watcher) fn stood_at_press(&mut self, before: &Placement, after: &Placement) {
        let rest = self.press.as_mut().and_then(|press| press.rest.as_mut());
        if let Some(rest) = rest.filter(|rest| *rest == before) {
            rest.clone_from(after);
        }
    }

    /// True when the press answers what the opponent did: his irregularity is open, and the player
    /// has moved nothing of his own (7.4.1; `response_to` of the ruling).
    fn answers(&self, ctx: &Ctx<'_>, press: &Press) -> bool {
        let open = self.open.iter().any(|open| {
            open.offender == Some(!press.side)
                && open.target.is_some()
                && open.ply + 1 >= self.plies()
                && open.said <= press.at
        });
        let best = self.lines.best();
        let own = |s| {
            best.placement().at(s).color() == Some(press.side) || ctx.sensed.at(s).color() == Some(press.side)
        };
        open && !best.differing().into_iter().any(own)
    }

    /// The half-moves before the press are on the record. An illegal one that is not yet is put
    /// there when the opponent has answered it with an act of his own.
    fn reach_for_judgement(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let best = self.lines.best();
        let unsaid = best.plies.len() - self.announced().min(best.plies.len());
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

    /// The best line has a legal half-move for the press, but leaves pieces where they do not
    /// belong, and one act of the player explains the whole board: then that is what he did.
    /// Returns true when he was accused of it, or is as soon as what the board said by now has come.
    fn single_act(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let best = self.lines.best();
        let made = best.plies.get(self.announced());
        let Some(made) = made.filter(|ply| ply.pressed == Some(press.at)) else {
            return false;
        };
        let before = self.stand().clone();
        let seen = self.seen_at(ctx, press);
        // What was wrong before does not ask for another explanation.
        let wrong = made.stand.placement().differing(&seen);
        if !(wrong & best.misplaced(ctx.sensed)).any() {
            return false;
        }
        let by_one = match explain(&before, &seen) {
            Explanation::Illegal(act) => {
                let one = act.from_to().is_some() && act.reason != Reason::OpponentsPieceMoved;
                // No legal half-move takes a king and a rook to where castling does.
                let suspect = |line: &Line| {
                    let next = line.plies.get(self.announced()).map(|ply| &ply.kind);
                    matches!(next, Some(PlyKind::Suspect(other)) if other.from_to() == act.from_to())
                };
                let fell = |line: &Line| line.faults().fall.is_some_and(|fall| !fall.is_over());
                let likely = self.nearly_as_likely(ctx, suspect) && !self.nearly_as_likely(ctx, fell);
                one && (act.reason == Reason::CastlingNotAllowed || likely)
            }
            Explanation::PawnNotReplaced { .. }
            | Explanation::WrongColour { .. }
            | Explanation::CastlingIncomplete { .. } => true,
            Explanation::Nothing | Explanation::Legal | Explanation::OnlyMissing(_) => false,
        };
        if !by_one || self.is_unproven(ctx, Some(press.at)) {
            return false;
        }
        if ctx.is_told(press.at, judged_after(ctx)) {
            self.accuse_press(ctx, press, seen);
        }
        true
    }

    /// True when a line of which `holds` is true costs little more than the best one.
    fn nearly_as_likely(&self, ctx: &Ctx<'_>, holds: impl Fn(&Line) -> bool) -> bool {
        let limit = self.lines.best().total(ctx.sensed, ctx.now) + NEARLY;
        let mut lines = self.lines.all().iter();
        lines.any(|line| holds(line) && line.total(ctx.sensed, ctx.now) <= limit)
    }

    /// What stood on the board when it had come to rest after the press. What has been wrong since
    /// before the player had the move is no act of his: it is read as it should be.
    fn seen_at(&self, ctx: &Ctx<'_>, press: &Press) -> Placement {
        let mut seen = press
            .rest
            .clone()
            .unwrap_or_else(|| ctx.sensed.placement().clone());
        // What was played after it is undone.
        let best = self.lines.best();
        if let Some(made) = best
            .plies
            .get(self.announced())
            .filter(|ply| ply.pressed == Some(press.at))
        {
            let then = made.stand.placement();
            for square in then.differing(best.placement()) {
                if seen.at(square) == best.placement().at(square) {
                    seen.set(square, then.at(square));
                }
            }
        }
        let Some(last) = self.record.last() else {
            return seen;
        };
        let expected = last.stand.placement();
        for square in expected.differing(&seen) {
            if ctx.sensed.since(square) + OLD_MS < last.at {
                seen.set(square, expected.at(square));
            }
        }
        seen
    }
}

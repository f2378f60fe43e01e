//! Judges a press that no legal half-move explains, and irregularities without a press. The watcher accuses
//! only when no innocent hypothesis is left.

use shakmaty::Color;

use super::{
    Game, Press,
    accuse::{AtPress, FoundAtPress, may_be_innocent, seen_at},
    agreed::{self, Pressed},
    bounced::pressed_again_within,
    displaced::{self, EarlyReply, early_reply},
    doubt::was_noticed,
    finding::{Finding, Scene},
    finish, lacking, passed,
    positions::Positions,
    put_right_unseen::{Unheard, go_on_unseen, unheard},
    set_up::SetUp,
    single_act,
    trust::Excuse,
    untold,
    waits::{GIVE_UP_MS, JUDGE_MS, RESTORED, judged_after},
    withdrawn::{GivenBack, gives_back},
};
use crate::{
    board::{Explanation, IllegalAct, Item, Line, Placement, PlyKind, Stand, explain},
    event::{Certainty, Resolution, notice},
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// By then, every innocent hypothesis must cost this much more than the offence, in nats.
const SURE: f32 = 1.0;
/// The same as `SURE` once the board has been at rest for `AT_REST_MS` after the press.
const SURE_AT_REST: f32 = 0.3;
const AT_REST_MS: u64 = 2000;
/// The board must not have changed for this long, unless the watcher kept a placement at rest.
const QUIET_MS: u64 = 350;
/// If no reading fits a press after this time, the watcher asks the board for a dump.
const ASK_MS: u64 = 400;

/// What the notice of a position says that was set up while the clock stood.
const SET_UP: &str = "While the clock stood, a position was set up that did not occur in the game, and the game goes on from there. If \
                      another one was meant, stop the clock and put that up, or send `set_position`.";

impl Game {
    /// Judges the oldest press that is not judged yet. Without one, looks for a move out of turn.
    pub(in crate::watcher) fn judge(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_watched() {
            return;
        }
        self.presses.looked_at = ctx.now;
        if self.gap.lost_track(&self.course) {
            self.presses.clear();
            return;
        }
        self.presses.advance();
        self.presses.keep_rest(ctx);
        if let Some(press) = self.presses.judged.clone()
            && (self.go_on_from_agreed(ctx, &press)
                || self.take_back_by_press(ctx, &press)
                || self.go_on_from_set_up(ctx, &press)
                || passed::go_on(
                    ctx,
                    &mut self.course,
                    &self.cases,
                    &self.unread,
                    &self.presses,
                    &press,
                ))
        {
            return;
        }
        if finish::may_come(ctx, self.course.record.stand(), self.outcome.show_spent) {
            ctx.wait_for("the other king, which shows the result with the one in the middle");
            return;
        }
        let came = lacking::came_where_nothing_stands(ctx, &self.course);
        if lacking::begins_without(self, ctx, came) || self.judge_suspect(ctx) {
            return;
        }
        if let Some(press) = self.presses.judged.clone() {
            self.judge_press(ctx, &press);
        } else {
            let found = displaced::out_of_turn(ctx, &self.trust());
            if let Some(finding) = found {
                self.accuse(ctx, finding, None);
            }
        }
    }

    /// Goes back to the position after `ply` half-moves, which the players have put up. Unless they put an irregularity right so,
    /// the half-moves after it count again if nobody plays on from there.
    pub(super) fn take_back(&mut self, ctx: &mut Ctx<'_>, ply: usize) {
        let by_ruling = self.cases.at_board().any(|open| open.ply == ply + 1);
        let mut withdrawn = self.course.record[ply..].to_vec();
        withdrawn.append(&mut self.course.record.withdrawn);
        // Somebody may have stopped the clock because of an act that was excused after a gap.
        let is_reported = self.cases.open.iter().any(|open| open.ply == ply + 1);
        if !is_reported && was_noticed(ctx, &self.course.record, ply + 1) {
            self.accuse_of_last(ctx);
        }
        self.takebacks().go_back(ctx, ply, "position_put_up_again");
        if !by_ruling && !ctx.clock.runs() {
            self.course.record.withdrawn = withdrawn;
        }
    }

    /// The player to move has pressed without a half-move, and the board stands as before the last one. Returns true while nobody knows
    /// whether that is taken back, and once it was.
    fn take_back_by_press(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let positions = Positions::of(&self.course, &self.cases, &self.unread);
        let is_sound = !self.doubt.any();
        match gives_back(ctx, &positions, &mut self.presses, is_sound, press) {
            GivenBack::No => false,
            GivenBack::Unknown => true,
            GivenBack::Yes(ply) => {
                // Play goes on from there.
                self.presses.judged = None;
                self.take_back(ctx, ply);
                self.course.press_again(ctx, &self.presses.later);
                true
            }
        }
    }

    /// The players have put up an earlier position while the clock ran. Returns true while nobody knows what `press` says of that, and
    /// where it shows that they have taken back what came after.
    fn go_on_from_agreed(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let Some(ply) = self.agreed else {
            return false;
        };
        let pressed = agreed::pressed(ctx, &self.positions(), ply, press);
        match pressed {
            Pressed::Unknown => return true,
            Pressed::Nothing => {
                self.agreed = None;
                return false;
            }
            Pressed::Lever | Pressed::GivesOver => {
                self.presses.judged = None;
                self.course.lines.forget_presses();
            }
            Pressed::PlaysOn => {}
        }
        if !matches!(pressed, Pressed::Lever) {
            self.agreed = None;
            self.take_back(ctx, ply);
            self.course.lines.grow_all(ctx.now, ctx.sensed);
            self.course.press_again(ctx, self.presses.all());
        }
        true
    }

    /// The game goes on from what was set up while the clock stood, where `press` shows so. Returns true if it does.
    fn go_on_from_set_up(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let Some(set_up) = self.set_up.take() else {
            return false;
        };
        let set_up = match SetUp::after(ctx, &self.positions(), set_up, press) {
            SetUp::Explained => {
                let next = self.course.announced();
                let from_there = |line: &Line| line.plies.get(next).is_some_and(|ply| ply.made_in.is_some());
                if self.course.lines.all().any(from_there) {
                    self.course.notice(ctx, notice::POSITION_SET_UP, SET_UP);
                }
                return false;
            }
            SetUp::Stands(set_up) => {
                self.set_up = Some(set_up);
                return false;
            }
            SetUp::Beside(set_up, mv) => {
                self.set_up = Some(set_up);
                self.course.keep_lines_with(ctx, mv);
                return false;
            }
            SetUp::GoesOn(set_up) => set_up,
        };
        self.course.notice(ctx, notice::POSITION_SET_UP, SET_UP);
        while let Some(index) = self.cases.find(|open| open.target.is_some() && !open.by_hand) {
            self.cases
                .resolve(ctx, &self.course, index, Resolution::Superseded);
        }
        let mut presses = std::mem::take(&mut self.presses);
        self.go_on_from(ctx, &set_up, press.side);
        presses.judged.get_or_insert_with(|| press.clone());
        self.course.press_again(ctx, presses.all());
        self.presses = presses;
        true
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
        match unheard(ctx, &self.positions(), &self.gap, pressed, &stand) {
            Unheard::Waits => {
                ctx.wait_for("the clock to tell whose time runs after the gap");
                return true;
            }
            Unheard::PutRight => {
                let mut finding = self.finding_of(ctx, &act, &stand, pressed);
                finding.certainty = Certainty::Suspected;
                self.accuse(ctx, finding, Some(&act));
                self.course.restart_lines(ctx);
                go_on_unseen(ctx, &mut self.course);
                return true;
            }
            Unheard::Stands => {}
        }
        let at_rest = ctx.now.since(pressed.max(ctx.sensed.last_change())) >= AT_REST_MS;
        let sure = if at_rest { SURE_AT_REST } else { SURE };
        // A person who stopped the clock has seen what was done, whatever the board does not read.
        let noticed = ctx.is_stopped_since(pressed);
        let agreed = self.course.lines.agree_on(k, ctx.now, ctx.sensed, sure)
            || noticed && self.course.lines.agree_on_act(k, ctx.now, ctx.sensed, sure);
        if !agreed {
            ctx.wait_for("innocent hypotheses to become less likely");
            ctx.at(ctx.now + 150);
            return true;
        }
        let suspected = lacking::suspected(&self.course);
        if lacking::begins_without(self, ctx, suspected) || self.excuse(ctx, false) {
            return true;
        }
        let press = self.presses.judged.clone().filter(|press| press.at == pressed);
        if let Some(press) = &press
            && let Explanation::PawnNotReplaced { .. } = explain(self.course.record.stand(), &act.placement())
        {
            self.accuse_press(ctx, press, act.placement());
            return true;
        }
        let posterior = self.course.lines.posterior_of(k, ctx.now, ctx.sensed);
        let mut finding = self.finding_of(ctx, &act, &stand, pressed);
        finding.posterior = Some(posterior);
        self.course.lines.advance(k);
        self.course.base = self.course.record.plies();
        self.accuse(ctx, finding, Some(&act));
        let mut restored = Line::new(self.course.record.stand().clone(), ctx.sensed, ctx.now);
        self.course.lines.convict();
        restored.charge(Item::PutRight, RESTORED);
        self.course.lines.add(ctx.now, ctx.sensed, restored);
        true
    }

    /// What `act`, which left `stand` and was pressed for at `pressed`, is against the Laws. It is judged by that.
    fn finding_of(&mut self, ctx: &Ctx<'_>, act: &IllegalAct, stand: &Stand, pressed: Millis) -> Finding {
        let press = self.presses.judged.take_if(|press| press.at == pressed);
        let scene = Scene {
            ply: self.course.record.plies() + 1,
            before: self.course.record.stand().clone(),
            seen: stand.placement().clone(),
            at: pressed,
            clock: press.map_or_else(|| ctx.clock.state(), |press| press.clock),
        };
        Finding::illegal(!stand.turn(), act, scene)
    }

    fn judge_press(&mut self, ctx: &mut Ctx<'_>, press: &Press) {
        let waits = self.course.lines.best().awaits() == Some(press.at);
        if waits && ctx.passed(press.at, ASK_MS) {
            self.presses.ask(ctx, press.at);
        }
        if !ctx.passed(press.at, JUDGE_MS) || !ctx.passed(press.at, judged_after(ctx)) {
            ctx.wait_for("readings of the time of the press");
            return;
        }
        if self.course.lines.best().awaits() != Some(press.at) {
            if let Some(seen) = single_act::found(ctx, &self.trust(), press) {
                // It is reported now, or once all readings of this time have come.
                if ctx.is_told(press.at, judged_after(ctx)) {
                    self.accuse_press(ctx, press, seen);
                }
                return;
            }
            let is_early = early_reply(self.course.lines.best(), press.side, press.at);
            if is_early && !self.trust().is_unproven(ctx, Some(press.at)) {
                self.look_at_early_reply(ctx, press);
            } else {
                self.presses.judged = None;
            }
            return;
        }
        if ctx.now.since(press.at) > GIVE_UP_MS {
            self.presses.judged = None;
            return;
        }
        if self.answers(ctx, press) {
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
        if self.course.lines.best().awaits() != Some(press.at) || !self.reach_for_judgement(ctx, press) {
            ctx.wait_for("the half-moves before the press");
            ctx.at(ctx.now + 200);
            return;
        }
        let explanation = explain(self.course.record.stand(), &seen_at(ctx, &self.course, press));
        let promotion = matches!(
            explanation,
            Explanation::PawnNotReplaced { .. } | Explanation::WrongColour { .. }
        );
        // Only after all readings must have come does an unchanged board prove that the player did nothing.
        let nothing = matches!(explanation, Explanation::Nothing | Explanation::OnlyMissing(_));
        let wait = if ctx.clock.runs() {
            JUDGE_MS.max(pressed_again_within(&self.course, press.at, ctx.sensed.slack()))
        } else {
            JUDGE_MS
        };
        if nothing && !ctx.passed(press.at, wait + ctx.sensed.slack()) {
            ctx.wait_for("the half-move of the press");
            return;
        }
        if ctx.clock.may_be_misread(ctx.now, press.at) {
            ctx.wait_for("the clock to show whose time runs");
            ctx.at(ctx.now + 100);
            return;
        }
        let stands = explanation.stands_where_it_may_not();
        if !promotion && may_be_innocent(ctx, &self.course.lines) {
            ctx.wait_for("innocent hypotheses to become less likely");
            ctx.at(ctx.now + 300);
            return;
        }
        if !stands && self.excuse(ctx, explanation == Explanation::Nothing) {
            return;
        }
        if !ctx.is_told(press.at, judged_after(ctx)) {
            ctx.wait_for("readings of the time of the press");
            return;
        }
        let seen = seen_at(ctx, &self.course, press);
        self.accuse_press(ctx, press, seen);
    }

    /// Waits for the press of an early reply. If none comes, reports its piece as displaced.
    fn look_at_early_reply(&mut self, ctx: &mut Ctx<'_>, press: &Press) {
        match displaced::knocked(ctx, &self.course, &self.cases, press) {
            EarlyReply::Open => {}
            EarlyReply::Settled => self.presses.judged = None,
            EarlyReply::Knocked(finding) => {
                self.presses.judged = None;
                self.accuse(ctx, *finding, None);
                displaced::leave_open(ctx, &mut self.course);
            }
        }
    }

    /// Returns true when nobody is to be accused, at least not yet.
    fn excuse(&mut self, ctx: &mut Ctx<'_>, is_bare: bool) -> bool {
        match self.trust().excuse(ctx, is_bare) {
            Excuse::No => return false,
            Excuse::Open => {}
            Excuse::Untold { pressed, is_excused } => {
                let (course, doubt) = (&mut self.course, &mut self.doubt);
                untold::take_as_it_stands(ctx, course, doubt, &mut self.presses, pressed);
                self.doubt.excused = is_excused.then_some(self.course.record.plies());
            }
        }
        true
    }

    /// After a gap the record and the board have gone apart. Takes the game up from what stands on the board.
    pub(super) fn take_up_what_stands(&mut self, ctx: &mut Ctx<'_>) {
        let Some(turn) = self.trust().stands_apart(ctx) else {
            return;
        };
        let message = "What was told of the gap does not lead to what stands on the board: the game goes on from there.";
        self.course.notice(ctx, notice::GAP_NOT_EXPLAINED, message);
        self.go_on_from(ctx, ctx.sensed.placement(), turn);
    }

    /// The game goes on from `standing`, with `turn` to move, by half-moves that the watcher cannot name.
    fn go_on_from(&mut self, ctx: &mut Ctx<'_>, standing: &Placement, turn: Color) {
        untold::lead_to(ctx, &mut self.course, &mut self.doubt, standing, turn);
        self.doubt.absent |= self.trust().is_board_faulty();
        self.gap.unbridged = None;
        self.presses.clear();
        self.course.restart_lines(ctx);
    }

    /// The player to move has pressed and no legal half-move explains the board.
    fn accuse_press(&mut self, ctx: &mut Ctx<'_>, press: &Press, seen: Placement) {
        if self.course.to_move() != press.side {
            self.presses.judged = None;
            return;
        }
        if self.was_lever_turned_first(ctx) {
            // The sides of the clock are exchanged first, which is not the game's to do.
            ctx.at(ctx.now + 1);
            return;
        }
        if self.presses.may_have_lost(ctx, press.at) {
            ctx.wait_for("a dump: this board loses updates");
            return;
        }
        let mut found = match FoundAtPress::of(ctx, &self.course, press, seen) {
            AtPress::Waits => return,
            AtPress::Earlier => {
                self.presses.judged = None;
                self.course.lines.forget_presses();
                return;
            }
            AtPress::By(found) => found,
        };
        let is_without_move = found.finding.kind == IrregularityKind::PressWithoutMove;
        if is_without_move
            && self
                .presses
                .may_have_sprung(&self.course, press, ctx.sensed.slack())
        {
            found.finding.certainty = Certainty::Suspected;
        }
        self.presses.judged = None;
        self.accuse(ctx, found.finding.clone(), found.act.as_ref());
        let is_ruled = self.cases.open.last().is_some_and(|open| open.ruled.is_some());
        found.go_on(ctx, &mut self.course, &self.presses, is_ruled);
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
            || !matches!(explain(&best.stand, &seen_at(ctx, &self.course, press)), Explanation::Illegal(act) if act.from_to().is_some())
        {
            return false;
        }
        self.say_illegal(ctx, &illegal);
        true
    }
}

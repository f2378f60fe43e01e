//! What a press means when no legal half-move explains it, and what is wrong without a press.
//! An accusation is made only when no innocent explanation is left.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move};

use super::{
    advice::Finding,
    game::{Ctx, Game, Press},
};
use crate::{
    board::{
        Act, Explanation, Line, Placement, PlyKind, Stand,
        act::{Reason, displaced},
        explain,
    },
    event::Certainty,
    laws::IrregularityKind,
    time::Millis,
};

/// The board is looked at for an offence when this long has passed since the press.
const JUDGE_MS: u64 = 900;
/// How much worse every innocent explanation must be by then.
const SURE: f32 = 1.0;
/// And when the board has shown the same for this long after the press.
const SURE_AT_REST: f32 = 0.3;
const AT_REST_MS: u64 = 2000;
/// That what was illegal is put right and play goes on from before costs so much more than that it
/// stands.
const RESTORED: f32 = 0.6;
/// The board must not have changed for this long, unless a snapshot at rest exists.
const QUIET_MS: u64 = 350;
/// How soon after the press the snapshot at rest may be taken.
const REST_MS: u64 = 300;
/// Updates may arrive this long after the press that they belong to.
const SCAN_MS: u64 = 450;
/// What has been wrong for this long when the player got the move is a ghost.
const OLD_MS: u64 = 1000;
/// A press that is still unexplained then waits for the next dump or press.
const GIVE_UP_MS: u64 = 20_000;
/// Pieces that a press left displaced are judged when this long has passed.
const DISPLACED_MS: u64 = 1100;
/// A piece that left one square and arrived on another within this time was knocked.
const KNOCK_MS: u64 = 100;
/// A knocked piece is spoken of when its owner has not pressed for this long.
const KNOCKED_MS: u64 = 1500;
/// A reply before the press must be pressed within this time to need no further thought.
const EARLY_REPLY_MS: u64 = 2500;
/// A piece moved by the side that does not have the move must stay so long.
const OUT_OF_TURN_MS: u64 = 2500;

impl Game {
    /// Looks at the last press, and at what is wrong without one.
    pub(super) fn judge(&mut self, ctx: &mut Ctx<'_>) {
        if self.result.is_some() {
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
        let suspected = self.on_record().then(|| self.lines.best().plies.get(k)).flatten();
        let Some((PlyKind::Suspect(act), Some(pressed), stand)) =
            suspected.map(|ply| (ply.kind.clone(), ply.pressed, ply.stand.clone()))
        else {
            return false;
        };
        if !ctx.passed(pressed, JUDGE_MS) {
            return true;
        }
        let at_rest = ctx.now.since(pressed.max(ctx.sensed.last_change())) >= AT_REST_MS;
        let sure = if at_rest { SURE_AT_REST } else { SURE };
        if self.lines.agreed(ctx.now, ctx.sensed, sure) <= k {
            ctx.at(ctx.now + 150);
            return true;
        }
        let (side, before) = (!stand.turn(), self.stand().clone());
        let mut finding = Finding::new(self, side, self.plies() + 1, before, stand.placement().clone());
        let press = self.press.take_if(|press| press.at == pressed);
        finding.at = pressed;
        finding.clock = press.map_or_else(|| ctx.clock.state(), |press| press.clock);
        self.find_illegal(&mut finding, &act);
        self.lines.advance(k);
        self.base = self.plies();
        self.accuse(ctx, finding, Some(&act));
        let restored = Line::new(self.stand().clone(), ctx.sensed, ctx.now);
        self.lines.convict();
        self.lines.add(ctx.now, ctx.sensed, restored, RESTORED);
        true
    }

    /// What is said of an illegal act.
    fn find_illegal(&self, finding: &mut Finding, act: &Act) {
        let before = &finding.before;
        let differing = before.placement().differing(&finding.seen);
        finding.kind = IrregularityKind::IllegalMove;
        finding.reason = Some(act.reason);
        finding.act = act.uci();
        finding.squares = act
            .from_to()
            .map_or(differing, |(a, b)| Bitboard::from_square(a).with(b));
        finding.target = Some(before.clone());
        if act.from_to().is_none() {
            finding.certainty = Certainty::Probable;
        }
    }

    fn judge_press(&mut self, ctx: &mut Ctx<'_>, mut press: Press) {
        if press.rest.is_none() && ctx.passed(press.at, REST_MS) && ctx.still_for(QUIET_MS - 100) {
            press.rest = Some(ctx.sensed.placement().clone());
            self.press = Some(press.clone());
        }
        if !ctx.passed(press.at, JUDGE_MS) {
            return;
        }
        let best = self.lines.best();
        if best.awaits() != Some(press.at) {
            if self.single_act(ctx, &press) {
                return;
            }
            if self.early_reply(press.side, press.at) {
                self.knocked_like_a_move(ctx, &press);
            } else if ctx.passed(press.at, DISPLACED_MS) {
                self.press = None;
                self.left_displaced(ctx, &press);
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
        let seen = self.seen_at(ctx, &press);
        self.accuse_press(ctx, &press, seen);
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
    /// Returns true when he was accused of it.
    fn single_act(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let best = self.lines.best();
        let made = best.plies.get(self.announced());
        if best.misplaced(ctx.sensed).is_empty() || made.is_none_or(|ply| ply.pressed != Some(press.at)) {
            return false;
        }
        let before = self.stand().clone();
        let seen = self.seen_at(ctx, press);
        let by_one = match explain(&before, &seen) {
            Explanation::Illegal(act) => act.from_to().is_some() && act.reason != Reason::OpponentsPieceMoved,
            Explanation::PawnNotReplaced { .. }
            | Explanation::WrongColour { .. }
            | Explanation::CastlingIncomplete { .. } => true,
            Explanation::Nothing | Explanation::Legal | Explanation::OnlyMissing(_) => false,
        };
        if !by_one {
            return false;
        }
        self.accuse_press(ctx, press, seen);
        true
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

    /// The player to move has pressed and no legal half-move explains the board.
    fn accuse_press(&mut self, ctx: &mut Ctx<'_>, press: &Press, seen: Placement) {
        let stand = self.stand().clone();
        if stand.turn() != press.side {
            self.press = None;
            return;
        }
        let explanation = explain(&stand, &seen);
        let mut finding = Finding::new(self, press.side, self.plies() + 1, stand.clone(), seen);
        finding.at = press.at;
        finding.clock = press.clock;
        match explanation {
            Explanation::Nothing => {
                finding.kind = IrregularityKind::PressWithoutMove;
                finding.target = Some(stand.clone());
                self.press = None;
                self.accuse(ctx, finding, None);
                let line = Line::new(stand, ctx.sensed, ctx.now);
                self.rebase(ctx, vec![(line, 0.0)]);
            }
            Explanation::PawnNotReplaced { queen, seen } => {
                finding.certainty = if seen {
                    Certainty::Certain
                } else {
                    Certainty::Probable
                };
                self.accuse_promotion(ctx, finding, IrregularityKind::PromotionNotReplaced, queen);
            }
            Explanation::WrongColour { meant } => {
                self.accuse_promotion(ctx, finding, IrregularityKind::WrongColourPromotion, meant);
            }
            Explanation::CastlingIncomplete { castling } => {
                finding.kind = IrregularityKind::CastlingIncomplete;
                finding.squares = stand.placement().differing(&finding.seen);
                finding.act =
                    Some(crate::watcher::game::names(&stand, &PlyKind::Legal(castling), self.mode).0);
                finding.target = Some(stand);
                self.press = None;
                self.accuse(ctx, finding, None);
            }
            Explanation::Illegal(act) => self.accuse_illegal(ctx, finding, act, press.at),
            Explanation::Legal | Explanation::OnlyMissing(_) => {
                // In a hand, or an update was lost: a later reading will tell.
                ctx.at(ctx.now + 500);
            }
        }
    }

    fn accuse_promotion(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut finding: Finding,
        kind: IrregularityKind,
        meant: Move,
    ) {
        let before = finding.before.clone();
        let Some(candidate) = before.candidates().iter().find(|c| c.mv == meant).cloned() else {
            return;
        };
        let target = Arc::new(before.after(&candidate));
        finding.kind = kind;
        let uci = super::game::names(&before, &PlyKind::Legal(meant), self.mode).0;
        finding.act = Some(if kind == IrregularityKind::PromotionNotReplaced {
            uci[..4].to_string()
        } else {
            uci
        });
        finding.squares = Bitboard::from_square(meant.to());
        finding.target = Some(target.clone());
        finding.ruled = Some(meant);
        let left = Arc::new(before.left_as(&finding.seen));
        let act = Act::left(meant.from().map(|from| (from, meant.to())), &finding.seen);
        self.press = None;
        self.accuse(ctx, finding, Some(&act));
        let base = Line::new(before, ctx.sensed, ctx.now);
        let ruled = base.played(PlyKind::Ruled(meant), target, ctx.sensed, ctx.now, 0.0);
        let stands = base.played(PlyKind::Illegal(Box::new(act)), left, ctx.sensed, ctx.now, 0.0);
        self.rebase(ctx, vec![(ruled, 0.6), (stands, 0.0)]);
    }

    fn accuse_illegal(&mut self, ctx: &mut Ctx<'_>, mut finding: Finding, act: Act, pressed: Millis) {
        let before = finding.before.clone();
        let differing = before.placement().differing(&finding.seen);
        // What changed long after the press is not what was pressed for: the opponent is at work.
        let slack = if act.reason == Reason::OpponentsPieceMoved {
            0
        } else {
            SCAN_MS
        };
        let late = differing
            .into_iter()
            .any(|s| ctx.sensed.since(s) > pressed + slack);
        if late && act.reason == Reason::OpponentsPieceMoved {
            // The opponent's time runs: he is making his move.
            ctx.at(ctx.now + 300);
            return;
        }
        if act.from_to().is_none() && (late || !ctx.passed(pressed, 2 * JUDGE_MS)) {
            ctx.at(ctx.now + 300);
            return;
        }
        self.find_illegal(&mut finding, &act);
        let left = Arc::new(before.left_as(&finding.seen));
        self.press = None;
        self.accuse(ctx, finding, Some(&act));
        let base = Line::new(before, ctx.sensed, ctx.now);
        let stands = base.played(PlyKind::Illegal(Box::new(act)), left, ctx.sensed, ctx.now, 0.0);
        self.rebase(ctx, vec![(base, RESTORED), (stands, 0.0)]);
    }

    /// The lines go on from the record with these alternatives.
    pub(super) fn rebase(&mut self, ctx: &mut Ctx<'_>, lines: Vec<(Line, f32)>) {
        self.base = self.plies();
        let mut fresh = Vec::new();
        for (mut line, cost) in lines {
            line.charge(cost);
            fresh.push(line);
        }
        self.lines.reset(ctx.now, ctx.sensed, fresh);
        for press in &self.later_presses {
            self.lines.press(press.at, ctx.sensed, press.side);
        }
    }

    /// A legal half-move was made and pressed: do other pieces stand wrong (7.4, 7.6)?
    fn left_displaced(&mut self, ctx: &mut Ctx<'_>, press: &Press) {
        let best = self.lines.best().clone();
        let Some(last) = best.plies.last() else { return };
        if last.pressed != Some(press.at) || best.turn() == press.side {
            return;
        }
        // Where the opponent has pressed since, what came after the press is his act.
        let slack = if self.later_presses.is_empty() { SCAN_MS } else { 0 };
        let ply = self.base + best.plies.len();
        let mut wrong = misplaced_pairs(&best, ctx, press.at + slack);
        // What stood wrong before this player had the move is not his doing; if it was the other's, it
        // was said then.
        let began = self.turn_began(&best);
        if wrong.into_iter().all(|square| ctx.sensed.since(square) < began) {
            wrong = Bitboard::EMPTY;
        }
        if wrong.is_empty() {
            return;
        }
        if self.open.iter().any(|o| o.ply == ply) {
            return;
        }
        if ply > self.plies() {
            // It is said after the half-move itself.
            self.press = Some(press.clone());
            ctx.at(ctx.now + 150);
            return;
        }
        let seen = ctx.sensed.placement().clone();
        let before = self.stand_at(ply - 1).clone();
        let mut finding = Finding::new(self, press.side, ply, before, seen);
        finding.kind = IrregularityKind::PiecesDisplaced;
        finding.at = press.at;
        finding.clock = press.clock;
        finding.squares = wrong;
        finding.target = Some(best.stand.clone());
        self.accuse(ctx, finding, None);
    }

    /// When the player of the last half-move of `line` got the move: his opponent had made his, and pressed
    /// where he did.
    fn turn_began(&self, line: &Line) -> Millis {
        let before = line.plies.len().checked_sub(2).map(|i| &line.plies[i]);
        match (before, self.base.checked_sub(1)) {
            (Some(ply), _) => ply.pressed.unwrap_or(ply.at),
            (None, Some(i)) => self.record.get(i).map_or(Millis(0), |made| made.at),
            (None, None) => Millis(0),
        }
    }

    /// A piece of the opponent stands where a legal reply would put it, and did so when the press
    /// came: he was quicker than the press, or the hand that moved knocked it there.
    fn early_reply(&self, side: Color, pressed: Millis) -> bool {
        let best = self.lines.best();
        let [.., made, reply] = &best.plies[..] else {
            return false;
        };
        best.turn() == side
            && made.pressed == Some(pressed)
            && reply.pressed.is_none()
            && matches!(reply.kind, PlyKind::Legal(Move::Normal { .. }))
            && reply.at <= pressed + REST_MS
    }

    /// Waits for the press that an early reply would have, then takes the piece for displaced.
    fn knocked_like_a_move(&mut self, ctx: &mut Ctx<'_>, press: &Press) {
        let best = self.lines.best().clone();
        let Some(Move::Normal { from, to, .. }) = best.plies.last().and_then(|p| p.kind.legal()) else {
            return;
        };
        let (left, arrived) = (ctx.sensed.since(from), ctx.sensed.since(to));
        // A hand takes its time between lifting and placing; a knock does not.
        let at_once = arrived.since(left).max(left.since(arrived)) <= KNOCK_MS;
        if !ctx.passed(press.at, if at_once { KNOCKED_MS } else { EARLY_REPLY_MS }) || !at_once {
            return;
        }
        let ply = self.base + best.plies.len() - 1;
        if ply > self.plies() && ctx.now.since(press.at) < GIVE_UP_MS {
            ctx.at(ctx.now + 150);
            return;
        }
        self.press = None;
        if ply != self.plies() || self.open.iter().any(|o| o.ply == ply) {
            return;
        }
        let before = self.stand_at(ply - 1).clone();
        let base = self.stand_at(self.base).clone();
        let mut finding = Finding::new(self, press.side, ply, before, ctx.sensed.placement().clone());
        finding.kind = IrregularityKind::PiecesDisplaced;
        finding.certainty = Certainty::Probable;
        finding.at = press.at;
        finding.clock = press.clock;
        finding.squares = Bitboard::from_square(from).with(to);
        finding.target = Some(self.stand().clone());
        self.accuse(ctx, finding, None);
        let without = best.without_last(&base, ctx.sensed, ctx.now);
        self.lines.reset(ctx.now, ctx.sensed, vec![without, best]);
    }

    /// The side that does not have the move has moved a piece and leaves it so.
    fn out_of_turn(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best();
        if !ctx.clock.runs() || best.plies.len() != self.announced() || !best.misplaced(ctx.sensed).any() {
            return;
        }
        let us = !best.turn();
        let differing = best.differing();
        let Some((from, to)) = displaced(&best.stand, ctx.sensed.placement(), differing, us) else {
            return;
        };
        let ply = self.plies() + 1;
        if self.open.iter().any(|o| o.ply == ply || o.ply == ply - 1) || differing.count() != 2 {
            return;
        }
        let since = ctx.sensed.since(from).max(ctx.sensed.since(to));
        if !ctx.passed(since, OUT_OF_TURN_MS) {
            return;
        }
        let stand = best.stand.clone();
        let seen = ctx.sensed.placement().clone();
        let mut finding = Finding::new(self, us, ply, stand.clone(), seen);
        finding.kind = IrregularityKind::MovedOutOfTurn;
        finding.at = ctx.sensed.since(to);
        finding.clock = ctx.clock.state();
        finding.squares = Bitboard::from_square(from).with(to);
        finding.act = Some(format!("{from}{to}"));
        finding.target = Some(stand);
        self.accuse(ctx, finding, None);
    }
}

/// Squares that show a piece which belongs elsewhere, with the squares where it is missing, all
/// since before `until`.
fn misplaced_pairs(line: &Line, ctx: &Ctx<'_>, until: Millis) -> Bitboard {
    let stand: &Stand = &line.stand;
    let mut wrong = Bitboard::EMPTY;
    for square in line.misplaced(ctx.sensed) {
        let code = ctx.sensed.at(square);
        let from = line.differing().into_iter().find(|s| {
            stand.placement().at(*s) == code && ctx.sensed.at(*s) != code && ctx.sensed.since(*s) <= until
        });
        if let Some(from) = from.filter(|_| ctx.sensed.since(square) <= until) {
            wrong.add(square);
            wrong.add(from);
        }
    }
    wrong
}

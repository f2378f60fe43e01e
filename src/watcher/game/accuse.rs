//! Reports an offence when the player to move has pressed and no legal half-move explains the board. The
//! hypotheses then go on from that report.

use std::sync::Arc;

use shakmaty::{Bitboard, Color, Move, uci::UciMove};

use super::{
    Game, Made, Press,
    advice::{Finding, Scene},
    doubt::{NOTICED_MS, is_noticed},
    judge::{READ_MS, RESTORED, SCAN_MS},
    waits::JUDGE_MS,
};
use crate::{
    board::{
        Bill, Explanation, IllegalAct, Item, Line, Placement, PlyKind, Sensed, Stand, act::Reason,
        candidate::castled, explain,
    },
    event::Certainty,
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// Cost of the hypothesis that the player replaced the pawn by a piece that the board does not read, in nats.
const SPARE: f32 = 1.0;
/// Cost of the hypothesis that the player replaced the pawn by nothing and that play goes on, in nats.
const NOTHING_THERE: f32 = 4.0;

impl Game {
    /// The player to move has pressed and no legal half-move explains the board.
    pub(super) fn accuse_press(&mut self, ctx: &mut Ctx<'_>, press: &Press, seen: Placement) {
        let stand = self.course.record.stand().clone();
        if stand.turn() != press.side {
            self.presses.judged = None;
            return;
        }
        if self.presses.may_have_lost(ctx, press.at) {
            ctx.wait_for("a dump: this board loses updates");
            return;
        }
        let explanation = explain(&stand, &seen);
        let by = press.side;
        let mut scene = Scene {
            ply: self.course.record.plies() + 1,
            before: stand.clone(),
            seen,
            at: press.at,
            clock: press.clock,
        };
        match explanation {
            // The opponent has pressed since. So the press belongs to an earlier half-move.
            Explanation::Nothing if self.course.record.last().is_some_and(|last| press.at < last.at) => {
                self.presses.judged = None;
                self.course.lines.forget_presses();
            }
            Explanation::Nothing => {
                let kind = IrregularityKind::PressWithoutMove;
                let certainty = if self.is_no_reaction(press) {
                    Certainty::Suspected
                } else {
                    Certainty::Certain
                };
                let mut finding = Finding::new(kind, certainty, Some(by), scene);
                finding.target = Some(stand.clone());
                self.presses.judged = None;
                self.accuse(ctx, finding, None);
                let line = Line::new(stand, ctx.sensed, ctx.now);
                self.rebase(ctx, vec![(line, 0.0)]);
            }
            Explanation::PawnNotReplaced { queen, seen } => {
                // If the pawn has gone since, the player may have exchanged it for a piece that the board
                // does not read.
                let now = ctx.sensed.at(queen.to());
                let seen = seen && now == scene.seen.at(queen.to());
                if now.is_empty() {
                    scene.seen.set(queen.to(), now);
                }
                let certainty = if seen {
                    Certainty::Certain
                } else {
                    Certainty::Probable
                };
                let kind = IrregularityKind::PromotionNotReplaced;
                self.accuse_promotion(ctx, Finding::new(kind, certainty, Some(by), scene), queen);
            }
            Explanation::WrongColour { meant } => {
                let kind = IrregularityKind::WrongColourPromotion;
                let finding = Finding::new(kind, Certainty::Certain, Some(by), scene);
                self.accuse_promotion(ctx, finding, meant);
            }
            Explanation::CastlingIncomplete { castling } => {
                let kind = IrregularityKind::CastlingIncomplete;
                let mut finding = Finding::new(kind, Certainty::Certain, Some(by), scene);
                finding.squares = stand.placement().differing(&finding.seen);
                finding.act = Some(UciMove::from_move(castling, self.course.record.mode()).to_string());
                finding.target = Some(stand);
                // The updates of the rook may be lost. A dump would tell of it.
                let is_read = ctx.sensed.last_dump().is_some_and(|dump| dump >= finding.at);
                let stands = self.king_alone(ctx, castling, &finding.seen).filter(|_| is_read);
                self.presses.judged = None;
                self.accuse(ctx, finding, None);
                let next = self.course.announced();
                self.course.lines.keep_to(next, castling, ctx.now, ctx.sensed);
                if let Some(stands) = stands {
                    self.course.lines.add(ctx.now, ctx.sensed, stands);
                }
            }
            Explanation::Illegal(act) => self.accuse_illegal(ctx, by, scene, act),
            Explanation::Legal | Explanation::OnlyMissing(_) => {
                // A hand holds the piece, or an update was lost. A later reading will decide.
                ctx.wait_for("a piece that is not read to be read again");
                ctx.at(ctx.now + 500);
            }
        }
    }

    fn accuse_promotion(&mut self, ctx: &mut Ctx<'_>, mut finding: Finding, meant: Move) {
        let before = finding.before.clone();
        let Some(candidate) = before.candidates().find(|c| c.mv == meant) else {
            return;
        };
        let uci = UciMove::from_move(meant, self.course.record.mode()).to_string();
        finding.act = Some(if finding.kind == IrregularityKind::PromotionNotReplaced {
            uci[..4].to_string()
        } else {
            uci
        });
        finding.squares = Bitboard::from_square(meant.to());
        finding.target = Some(Arc::new(before.after(&candidate)));
        finding.ruled = Some(meant);
        let act = IllegalAct::left(meant.from().map(|from| (from, meant.to())), &finding.seen);
        self.presses.judged = None;
        self.accuse(ctx, finding, Some(&act));
        let ruled = self.cases.open.last().and_then(|open| open.ruled);
        let ways = promotion_ways(before, meant, ruled.is_some(), act, ctx.sensed, ctx.now);
        self.rebase(ctx, ways);
    }

    /// The hypothesis that the king alone has castled, as the board has `seen`, and that nobody minds.
    fn king_alone(&self, ctx: &Ctx<'_>, castling: Move, seen: &Placement) -> Option<Line> {
        let stand = self.course.record.stand().clone();
        let Move::Castle { king, rook } = castling else {
            return None;
        };
        let act = IllegalAct::left(Some((king, castled(king, rook)[0])), seen);
        let left = Arc::new(stand.left_as(&act.placement()));
        let best = self
            .course
            .lines
            .all()
            .find(|line| line.plies.len() == self.course.announced())?;
        let kind = PlyKind::Illegal(Box::new(act));
        let mut stands = best.played(kind, left, ctx.sensed, ctx.now, &Bill::default());
        stands.charge(Item::PutRight, RESTORED);
        Some(stands)
    }

    fn accuse_illegal(&mut self, ctx: &mut Ctx<'_>, by: Color, scene: Scene, act: IllegalAct) {
        let (before, pressed) = (scene.before.clone(), scene.at);
        let differing = before.placement().differing(&scene.seen);
        let late = match (act.from_to(), act.reason) {
            // After the press the opponent's time runs, and the opponent may be moving that piece.
            (Some((from, to)), Reason::OpponentsPieceMoved) => {
                let (left, came) = (ctx.sensed.since(from), ctx.sensed.since(to));
                left.min(came) > pressed || left.max(came) > pressed + READ_MS
            }
            (Some(_), _) => false,
            // A square that changed long after the press was not part of the player's act: the opponent is
            // moving.
            (None, _) => {
                let after = |s| ctx.sensed.since(s) > pressed + SCAN_MS;
                differing.into_iter().any(after) || !ctx.passed(pressed, 2 * JUDGE_MS)
            }
        };
        if late {
            ctx.wait_for("what the opponent does with the board");
            ctx.at(ctx.now + 300);
            return;
        }
        let finding = Finding::illegal(by, &act, scene);
        self.presses.judged = None;
        self.accuse(ctx, finding, Some(&act));
        self.go_on_after(ctx, before, act);
    }

    /// The hypotheses go on after `act`, which the board showed where the record had `before`: the players put it right, or it stands.
    pub(super) fn go_on_after(&mut self, ctx: &mut Ctx<'_>, before: Arc<Stand>, act: IllegalAct) {
        let left = Arc::new(before.left_as(&act.placement()));
        let base = Line::new(before, ctx.sensed, ctx.now);
        let stands = base.played(
            PlyKind::Illegal(Box::new(act)),
            left,
            ctx.sensed,
            ctx.now,
            &Bill::default(),
        );
        self.rebase(ctx, vec![(base, RESTORED), (stands, 0.0)]);
    }

    /// Replaces the beam by these hypotheses, which start from the record. Each comes with its cost in nats.
    pub(in crate::watcher) fn rebase(&mut self, ctx: &mut Ctx<'_>, lines: Vec<(Line, f32)>) {
        self.course.base = self.course.record.plies();
        let mut fresh = Vec::new();
        for (mut line, cost) in lines {
            line.charge(Item::PutRight, cost);
            fresh.push(line);
        }
        self.course.reset_lines(ctx, fresh);
        for press in &self.presses.later {
            self.course.lines.press(press.at, ctx.sensed, press.side);
        }
    }

    /// The board lies sideways (7.2.2).
    pub(in crate::watcher) fn board_sideways(&mut self, ctx: &mut Ctx<'_>) {
        let finding = self.found_at_start(ctx, IrregularityKind::BoardOrientationWrong, Certainty::Certain);
        self.accuse(ctx, finding, None);
    }

    /// White's and Black's pieces stand the other way round than the settings of the table say (7.3). The
    /// board cannot see whether the players changed their seats as well.
    pub(in crate::watcher) fn colours_reversed(&mut self, ctx: &mut Ctx<'_>) {
        let finding = self.found_at_start(ctx, IrregularityKind::ColoursReversed, Certainty::Probable);
        self.accuse(ctx, finding, None);
    }

    /// The initial position is wrong (7.2.1).
    pub(in crate::watcher) fn array_wrong(
        &mut self,
        ctx: &mut Ctx<'_>,
        array: &Placement,
        squares: Bitboard,
        certainty: Certainty,
    ) {
        let mut finding = self.found_at_start(ctx, IrregularityKind::InitialPositionWrong, certainty);
        finding.seen = array.clone();
        finding.squares = squares;
        self.accuse(ctx, finding, None);
    }

    /// An irregularity of the start that has no offender.
    fn found_at_start(&self, ctx: &Ctx<'_>, kind: IrregularityKind, certainty: Certainty) -> Finding {
        let scene = Scene {
            ply: 0,
            before: self.course.record.start.clone(),
            seen: ctx.sensed.placement().clone(),
            at: ctx.now,
            clock: ctx.clock.state(),
        };
        Finding::new(kind, certainty, None, scene)
    }

    /// Reports an act that was excused because of the board's faults or of a gap, if somebody stops the clock before the
    /// opponent has replied.
    pub(in crate::watcher) fn look_at_excused(&mut self, ctx: &mut Ctx<'_>) {
        let Some(ply) = self.doubt.excused.filter(|_| self.is_watched()) else {
            return;
        };
        let Some(made) = self.left_unnamed(ply) else {
            self.doubt.excused = None;
            return;
        };
        let Some(stopped) = ctx.clock.stopped_at else {
            if ctx.passed(made.at, NOTICED_MS) {
                self.doubt.excused = None;
            }
            return;
        };
        if self.course.lines.best().plies.len() > self.course.announced()
            || stopped.since(made.at) > NOTICED_MS
        {
            return;
        }
        self.doubt.excused = None;
        self.accuse_excused(ctx, ply);
    }

    /// Reports an act that was excused after a gap, where somebody stopped the clock because of it and has put up the position after
    /// `ply` half-moves, just before it.
    pub(super) fn accuse_put_right(&mut self, ctx: &mut Ctx<'_>, ply: usize) {
        let noticed = |made: &Made| is_noticed(ctx.clock.stopped_at, made.at);
        let named = |made: &Made| matches!(&made.kind, PlyKind::Illegal(act) if act.from_to().is_some());
        let reported = self.cases.open.iter().any(|open| open.ply == ply + 1);
        if !reported
            && self
                .left_unnamed(ply + 1)
                .is_some_and(|made| noticed(made) && named(made))
        {
            self.accuse_excused(ctx, ply + 1);
        }
    }

    /// The half-move `ply`, where it is the last of the record and an act that the watcher took as it stood.
    fn left_unnamed(&self, ply: usize) -> Option<&Made> {
        let made = self
            .course
            .record
            .last()
            .filter(|_| ply == self.course.record.plies())?;
        matches!(made.kind, PlyKind::Illegal(_)).then_some(made)
    }

    /// Reports the act that the half-move `ply`, the last of the record, is.
    fn accuse_excused(&mut self, ctx: &mut Ctx<'_>, ply: usize) {
        let Some(Made {
            kind: PlyKind::Illegal(act),
            at,
            clock,
            stand,
            ..
        }) = self.course.record.last().cloned()
        else {
            return;
        };
        let before = self.course.record.stand_at(ply - 1).clone();
        let by = before.turn();
        let scene = Scene {
            ply,
            before,
            seen: stand.placement().clone(),
            at,
            clock,
        };
        self.accuse(ctx, Finding::illegal(by, &act, scene), Some(&act));
    }
}

/// How play may go on from `before` after a player did not replace a pawn, so that the board shows what `act`
/// left. Either the ruling prescribes `meant` and completes it, or the act stands, or the player put a piece
/// on the square that the board does not read.
pub(in crate::watcher) fn promotion_ways(
    before: Arc<Stand>,
    meant: Move,
    is_ruled: bool,
    act: IllegalAct,
    sensed: &Sensed,
    now: Millis,
) -> Vec<(Line, f32)> {
    let nothing = Bill::default();
    let left = Arc::new(before.left_as(&act.placement()));
    let target = Arc::new(before.after(&before.candidate(meant)));
    let base = Line::new(before, sensed, now);
    let put_right = if is_ruled {
        base.played(PlyKind::Ruled(meant), target.clone(), sensed, now, &nothing)
    } else {
        base.clone()
    };
    let unread = !act.stood_on(meant.to()) && !sensed.is_felt();
    let mut ways = vec![(put_right, if unread { 3.0 * SPARE } else { RESTORED })];
    if unread {
        // A queen of another set may stand there, which the board does not read. The opponent's reply will
        // decide.
        let spare = base.played(PlyKind::Legal(meant), target, sensed, now, &nothing);
        ways.push((spare.with_unread(meant.to(), sensed), SPARE));
    }
    let stands = base.played(PlyKind::Illegal(Box::new(act)), left, sensed, now, &nothing);
    // An opponent hardly replies to a promotion that left the square empty.
    ways.push((stands, if unread { NOTHING_THERE } else { 0.0 }));
    ways
}

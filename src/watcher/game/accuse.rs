//! Reports an offence when the player to move has pressed and no legal half-move explains the board. The
//! hypotheses then go on from that report.

use std::sync::Arc;

use shakmaty::{Bitboard, Move, uci::UciMove};

use super::{
    Press,
    course::Course,
    finding::{Finding, Scene},
    press::PressQueue,
    record::GameRecord,
    waits::{JUDGE_MS, READ_MS, RESTORED, SCAN_MS},
};
use crate::{
    board::{
        Bill, Explanation, IllegalAct, Item, Line, Lines, Placement, PlyKind, Sensed, Stand, act::Reason,
        candidate::castled, explain, weight,
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

/// An innocent hypothesis of sensor faults must cost this much more than the offence, in nats.
const INNOCENT: f32 = 4.5;
/// Where a legal half-move leaves pieces that stand wrong, one illegal act explains the board instead if its
/// hypothesis costs no more than this above the best one, in nats.
const NEARLY: f32 = 1.4;
/// A square that was wrong for this long before the player got the move is a ghost: the player did not change
/// it.
const OLD_MS: u64 = 1000;

/// A finding about a press that no legal half-move explains, and how the hypotheses go on from its report.
pub(super) struct FoundAtPress {
    pub(super) finding: Finding,
    pub(super) act: Option<IllegalAct>,
    goes_on: GoesOn,
}

/// What is to be made of such a press.
pub(super) enum AtPress {
    /// The opponent has pressed since. So the press belongs to an earlier half-move.
    Earlier,
    /// Nobody knows yet.
    Waits,
    By(Box<FoundAtPress>),
}

/// How the hypotheses go on.
enum GoesOn {
    /// From the record.
    FromRecord,
    /// After a pawn was not replaced: see [`promotion_ways`].
    Promotion(Move),
    /// After king or rook alone has castled so. The act may stand, if this hypothesis comes with it.
    Castling(Move, Option<Box<Line>>),
    /// After the act.
    After,
}

impl FoundAtPress {
    /// What is to be made of `press`, which no legal half-move explains, where the board showed `seen`.
    pub(super) fn of(ctx: &mut Ctx<'_>, course: &Course, press: &Press, seen: Placement) -> AtPress {
        let record = &course.record;
        let stand = record.stand().clone();
        let by = press.side;
        let is_touched = |missing: Bitboard| {
            let turn_began = record.last().map_or(Millis(0), |last| last.at) + SCAN_MS + ctx.sensed.slack();
            let vanished = |square| ctx.sensed.vanished_at(square, stand.placement().at(square));
            let is_of_turn = |square| vanished(square).is_some_and(|at| at > turn_began);
            ctx.sensed.placement() == stand.placement() && missing.into_iter().all(is_of_turn)
        };
        let (explanation, certainty) = match explain(&stand, &seen) {
            // The player has only touched what was not read.
            Explanation::OnlyMissing(missing) if is_touched(missing) => {
                (Explanation::Nothing, Certainty::Suspected)
            }
            explanation => (explanation, Certainty::Certain),
        };
        let mut scene = Scene {
            ply: record.plies() + 1,
            before: stand.clone(),
            seen,
            at: press.at,
            clock: press.clock,
        };
        let found = match explanation {
            Explanation::Nothing if record.last().is_some_and(|last| press.at < last.at) => {
                return AtPress::Earlier;
            }
            Explanation::Nothing => Some(Self::without_move(ctx, record, scene, certainty)),
            Explanation::PawnNotReplaced { queen, seen } => {
                // If the pawn has gone since, the player may have exchanged it for a piece that the board
                // does not read. If it stood through the press, it was left there, whatever came then.
                let (now, pawn) = (ctx.sensed.at(queen.to()), scene.seen.at(queen.to()));
                let was_left = seen && ctx.sensed.stood_through(queen.to(), pawn, press.at);
                let seen = was_left || seen && now == pawn;
                if now.is_empty() && !was_left {
                    scene.seen.set(queen.to(), now);
                }
                let certainty = if seen {
                    Certainty::Certain
                } else {
                    Certainty::Probable
                };
                let kind = IrregularityKind::PromotionNotReplaced;
                Self::of_promotion(record, Finding::new(kind, certainty, Some(by), scene), queen)
            }
            Explanation::WrongColour { meant } => {
                let kind = IrregularityKind::WrongColourPromotion;
                Self::of_promotion(
                    record,
                    Finding::new(kind, Certainty::Certain, Some(by), scene),
                    meant,
                )
            }
            Explanation::CastlingIncomplete { castling } => {
                let kind = IrregularityKind::CastlingIncomplete;
                let mut finding = Finding::new(kind, Certainty::Certain, Some(by), scene);
                finding.squares = stand.placement().differing(&finding.seen);
                finding.act = Some(UciMove::from_move(castling, record.mode()).to_string());
                finding.target = Some(stand);
                // The updates of the rook may be lost. A dump would tell of it.
                let is_read = ctx.sensed.last_dump().is_some_and(|dump| dump >= finding.at);
                let stands = king_alone(ctx, course, castling, &finding.seen).filter(|_| is_read);
                Some(Self {
                    finding,
                    act: None,
                    goes_on: GoesOn::Castling(castling, stands.map(Box::new)),
                })
            }
            Explanation::Illegal(act) => {
                if is_late(ctx, &scene, &act) {
                    ctx.wait_for("what the opponent does with the board");
                    ctx.at(ctx.now + 300);
                    return AtPress::Waits;
                }
                Some(Self {
                    finding: Finding::illegal(by, &act, scene),
                    act: Some(act),
                    goes_on: GoesOn::After,
                })
            }
            Explanation::Legal | Explanation::OnlyMissing(_) => {
                // A hand holds the piece, or an update was lost. A later reading will decide.
                ctx.wait_for("a piece that is not read to be read again");
                ctx.at(ctx.now + 500);
                None
            }
        };
        found.map_or(AtPress::Waits, |found| AtPress::By(Box::new(found)))
    }

    /// The player has pressed without a half-move.
    fn without_move(ctx: &Ctx<'_>, record: &GameRecord, scene: Scene, certainty: Certainty) -> Self {
        let certainty = if record.is_no_reaction(scene.at, ctx.sensed.slack()) {
            Certainty::Suspected
        } else {
            certainty
        };
        let (by, target) = (scene.before.turn(), scene.before.clone());
        let mut finding = Finding::new(IrregularityKind::PressWithoutMove, certainty, Some(by), scene);
        finding.target = Some(target);
        Self {
            finding,
            act: None,
            goes_on: GoesOn::FromRecord,
        }
    }

    fn of_promotion(record: &GameRecord, mut finding: Finding, meant: Move) -> Option<Self> {
        let before = finding.before.clone();
        let candidate = before.candidates().find(|c| c.mv == meant)?;
        let uci = UciMove::from_move(meant, record.mode()).to_string();
        finding.act = Some(if finding.kind == IrregularityKind::PromotionNotReplaced {
            uci[..4].to_string()
        } else {
            uci
        });
        finding.squares = Bitboard::from_square(meant.to());
        finding.target = Some(Arc::new(before.after(&candidate)));
        finding.ruled = Some(meant);
        let act = IllegalAct::left(meant.from().map(|from| (from, meant.to())), &finding.seen);
        Some(Self {
            finding,
            act: Some(act),
            goes_on: GoesOn::Promotion(meant),
        })
    }

    /// Has the hypotheses go on, once it was reported. `is_ruled` tells whether the ruling completes a half-move.
    pub(super) fn go_on(self, ctx: &Ctx<'_>, course: &mut Course, presses: &PressQueue, is_ruled: bool) {
        let before = self.finding.before;
        match (self.goes_on, self.act) {
            (GoesOn::FromRecord, _) => {
                let line = Line::new(before, ctx.sensed, ctx.now);
                course.rebase(ctx, presses, vec![(line, 0.0)]);
            }
            (GoesOn::Promotion(meant), Some(act)) => {
                let ways = promotion_ways(&before, meant, is_ruled, act, ctx.sensed, ctx.now);
                course.rebase(ctx, presses, ways);
            }
            (GoesOn::Castling(castling, stands), _) => {
                let next = course.announced();
                course.lines.keep_to(next, castling, ctx.now, ctx.sensed);
                if let Some(stands) = stands {
                    course.lines.add(ctx.now, ctx.sensed, *stands);
                }
            }
            (GoesOn::After, Some(act)) => course.go_on_after(ctx, presses, before, act),
            (GoesOn::Promotion(_) | GoesOn::After, None) => {}
        }
    }
}

/// True where `act` may be the opponent's, or the opponent's hand may have had a part in it.
fn is_late(ctx: &mut Ctx<'_>, scene: &Scene, act: &IllegalAct) -> bool {
    let pressed = scene.at;
    match (act.from_to(), act.reason) {
        // After the press the opponent's time runs, and the opponent may be moving that piece.
        (Some((from, to)), Reason::OpponentsPieceMoved) => {
            let (left, came) = (ctx.sensed.since(from), ctx.sensed.since(to));
            left.min(came) > pressed || left.max(came) > pressed + READ_MS
        }
        (Some(_), _) => false,
        // A square that changed long after the press was not part of the player's act: the opponent is
        // moving.
        (None, _) => {
            let mut differing = scene.before.placement().differing(&scene.seen).into_iter();
            let after = |s| ctx.sensed.since(s) > pressed + SCAN_MS;
            differing.any(after) || !ctx.passed(pressed, 2 * JUDGE_MS)
        }
    }
}

/// The hypothesis that the king alone has castled, as the board has `seen`, and that nobody minds.
fn king_alone(ctx: &Ctx<'_>, course: &Course, castling: Move, seen: &Placement) -> Option<Line> {
    let Move::Castle { king, rook } = castling else {
        return None;
    };
    let act = IllegalAct::left(Some((king, castled(king, rook)[0])), seen);
    let left = Arc::new(course.record.stand().left_as(&act.placement()));
    let mut lines = course.lines.all();
    let best = lines.find(|line| line.plies.len() == course.announced())?;
    let kind = PlyKind::Illegal(Box::new(act));
    let mut stands = best.played(kind, left, ctx.sensed, ctx.now, &Bill::default());
    stands.charge(Item::PutRight, RESTORED);
    Some(stands)
}

/// True while a hypothesis that explains the press, with the help of sensor faults or a fall, is not much
/// less likely than the one that does not.
pub(super) fn may_be_innocent(ctx: &Ctx<'_>, lines: &Lines) -> bool {
    let awaited = lines.best().awaits();
    let limit = lines.best().total(ctx.sensed, ctx.now) + INNOCENT;
    lines.all().any(|line| {
        let faults = line.faults();
        // The piece may also be one of a half-move that the record has otherwise.
        let unread = line.plies.iter().any(|ply| !ply.landed);
        let broken = unread || faults.hidden.any() || faults.fall.is_some();
        // Such a hypothesis may itself wait for a half-move of another press.
        broken && line.awaits() != awaited && line.total(ctx.sensed, ctx.now) <= limit
    })
}

/// True when a hypothesis for which `holds` is true costs little more than the best one.
pub(super) fn nearly_as_likely(ctx: &Ctx<'_>, lines: &Lines, holds: impl Fn(&Line) -> bool) -> bool {
    let limit = lines.best().total(ctx.sensed, ctx.now) + NEARLY;
    lines
        .all()
        .any(|line| holds(line) && line.total(ctx.sensed, ctx.now) <= limit)
}

/// The placement after the press, once the board had come to rest. The player did not cause a difference
/// from before that player's turn, so such squares get the piece that the record has there.
pub(super) fn seen_at(ctx: &Ctx<'_>, course: &Course, press: &Press) -> Placement {
    let mut seen = press
        .rest
        .clone()
        .unwrap_or_else(|| ctx.sensed.placement().clone());
    // Undoes what was played after the press.
    let best = course.lines.best();
    if let Some(made) = best
        .plies
        .get(course.announced())
        .filter(|ply| ply.pressed == Some(press.at))
    {
        let then = made.stand.placement();
        for square in then.differing(best.placement()) {
            if seen.at(square) == best.placement().at(square) {
                seen.set(square, then.at(square));
            }
        }
    }
    let Some(last) = course.record.last() else {
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

/// How play may go on from `before` after a player did not replace a pawn, so that the board shows what `act`
/// left. Either the ruling prescribes `meant` and completes it, or the act stands, or the player put a piece
/// on the square that the board does not read.
pub(in crate::watcher) fn promotion_ways(
    before: &Arc<Stand>,
    meant: Move,
    is_ruled: bool,
    act: IllegalAct,
    sensed: &Sensed,
    now: Millis,
) -> Vec<(Line, f32)> {
    let nothing = Bill::default();
    let unread = Bill::of(Item::Underpromotion, weight::UNDERPROMOTION);
    let target = Arc::new(before.after(&before.candidate(meant)));
    let base = Line::new(before.clone(), sensed, now);
    let put_right = if is_ruled {
        base.played(PlyKind::Ruled(meant), target.clone(), sensed, now, &nothing)
    } else {
        base.clone()
    };
    let stood = act.stood_on(meant.to());
    let has_gone = sensed.at(meant.to()).is_empty()
        && sensed.has_shown(meant.to(), act.placement().at(meant.to()), Millis(0));
    let is_empty = !sensed.is_felt() && (!stood || has_gone);
    let mut ways = vec![(put_right, if is_empty { 3.0 * SPARE } else { RESTORED })];
    if is_empty {
        // A queen of another set may stand there, which the board does not read. The opponent's reply will
        // decide.
        let spare = base.played(PlyKind::Legal(meant), target, sensed, now, &nothing);
        ways.push((spare.with_unread(meant.to(), sensed), SPARE));
        // Or another piece does, upside down: whoever turns it shows which.
        for other in before.candidates().filter(|other| is_otherwise(other.mv, meant)) {
            let promoted = Arc::new(before.after(&other));
            let kind = PlyKind::Legal(other.mv);
            let otherwise = base.played(kind, promoted, sensed, now, &unread);
            ways.push((otherwise.with_unread(meant.to(), sensed), SPARE));
        }
    }
    let stands = base.after_act(act, sensed, now);
    // An opponent hardly replies to a promotion that left the square empty.
    ways.push((stands, if is_empty && !stood { NOTHING_THERE } else { 0.0 }));
    ways
}

/// True where `mv` promotes the pawn of `meant` to another piece on the same square.
fn is_otherwise(mv: Move, meant: Move) -> bool {
    (mv.from(), mv.to()) == (meant.from(), meant.to()) && mv != meant
}

//! Pieces that stand wrong without an illegal move: a hand knocked them onto a square where a reply would
//! have put them, or a player moved out of turn. `fallen` has all other displaced pieces.

use shakmaty::{Bitboard, Color, Move};

use super::{
    Press,
    cases::Cases,
    course::Course,
    finding::{Finding, Scene},
    finish::is_sign_of_result,
    trust::Trust,
    waits::{GIVE_UP_MS, REST_MS},
};
use crate::{
    board::{Line, PlyKind, act::displaced},
    event::{Certainty, CompletedBy},
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// A hand knocked a piece that left one square and arrived on another within this time.
const KNOCK_MS: u64 = 100;
/// The watcher reports a knocked piece when its owner has not pressed for this long.
const KNOCKED_MS: u64 = 2200;
/// The same for a piece that lies further away than pieces fall, or whose owner forgets the clock in this game: it may be an early
/// reply whose press is still to come.
const THROWN_MS: u64 = 8000;
/// The hand that pressed is not back at the board within this time.
const BACK_MS: u64 = 250;
/// A piece that was moved out of turn must stay where it is for this long.
const OUT_OF_TURN_MS: u64 = 2500;

/// True when a piece of the opponent stood where a legal reply would put it as the press of `side` came.
/// Either the opponent was quicker than the press, or the hand that moved knocked the piece there.
pub(super) fn early_reply(best: &Line, side: Color, pressed: Millis) -> bool {
    let mut last = best.plies.backwards();
    let (Some(reply), Some(made)) = (last.next(), last.next()) else {
        return false;
    };
    best.turn() == side
        && made.pressed == Some(pressed)
        && reply.pressed.is_none()
        && matches!(reply.kind, PlyKind::Legal(Move::Normal { .. }))
        && reply.at <= pressed + REST_MS
}

/// What an early reply turns out to be.
pub(super) enum EarlyReply {
    /// Its press may still come.
    Open,
    /// Nothing is to be said of it.
    Settled,
    /// The piece was displaced.
    Knocked(Box<Finding>),
}

/// Waits for the press of the early reply that ends the best hypothesis. If none comes, its piece was displaced.
pub(super) fn knocked(ctx: &mut Ctx<'_>, course: &Course, cases: &Cases, press: &Press) -> EarlyReply {
    let (record, best) = (&course.record, course.lines.best());
    let Some(Move::Normal { from, to, .. }) = best.plies.last().and_then(|p| p.kind.legal()) else {
        return EarlyReply::Open;
    };
    let (left, arrived) = (ctx.sensed.since(from), ctx.sensed.since(to));
    // A hand needs some time between lifting a piece and placing it. A knock does not, and seldom carries
    // a piece further than the next square. What the board reads after the press may be the opponent's
    // own act.
    let apart = arrived.since(left).max(left.since(arrived));
    let slack = ctx.sensed.slack();
    // Where nobody measured how fast the piece moved, only a stopped clock shows that somebody noticed
    // it.
    let is_noticed = slack == 0 || ctx.is_stopped_since(press.at);
    let knocked = is_noticed && apart <= KNOCK_MS + slack && left.max(arrived) <= press.at;
    // A player who forgot the clock before in this game may have forgotten it again: what he does next tells. In a lump presses may seem
    // to be missing.
    let is_measured = slack == 0 && ctx.timing.lumped.is_none();
    let is_forgotten =
        |ply| record.mover(ply) != press.side && record[ply - 1].completed_by == CompletedBy::Reply;
    let forgets = is_measured && (1..=record.plies()).any(is_forgotten);
    let wait = match from.distance(to) {
        1 if !forgets => KNOCKED_MS,
        _ => THROWN_MS,
    };
    // A hand at the board may be that of the player who has the move and has not pressed yet.
    let quiet = press.at.max(ctx.sensed.last_change());
    if !knocked || !ctx.passed(quiet, wait) {
        return EarlyReply::Open;
    }
    let ply = course.base + best.plies.len() - 1;
    if ply > record.plies() && ctx.now.since(press.at) < GIVE_UP_MS {
        ctx.at(ctx.now + 150);
        return EarlyReply::Open;
    }
    if !ctx.is_told(quiet, wait) {
        return EarlyReply::Open;
    }
    if ply != record.plies() || cases.at_board().any(|o| o.ply == ply) {
        return EarlyReply::Settled;
    }
    let before = record.stand_at(ply - 1).clone();
    let scene = Scene {
        clock: press.clock,
        ..Scene::shown(ctx, ply, before, press.at)
    };
    // Where nobody measured how fast the piece moved, a reply whose press was lost looks the same.
    let certainty = if slack == 0 {
        Certainty::Probable
    } else {
        Certainty::Suspected
    };
    let kind = IrregularityKind::PiecesDisplaced;
    let mut finding = Finding::new(kind, certainty, Some(press.side), scene);
    finding.squares = Bitboard::from_square(from).with(to);
    finding.target = Some(record.stand().clone());
    EarlyReply::Knocked(Box::new(finding))
}

/// The best hypothesis goes on with and without the half-move that ends it, whose piece may be displaced.
pub(super) fn leave_open(ctx: &Ctx<'_>, course: &mut Course) {
    let best = course.lines.best().clone();
    let without = best.without_last(course.record.stand_at(course.base), ctx.sensed, ctx.now);
    course.reset_lines(ctx, vec![without, best]);
}

/// The side that does not have the move has moved a piece and leaves it there.
pub(super) fn out_of_turn(ctx: &mut Ctx<'_>, trust: &Trust<'_>) -> Option<Finding> {
    let course = trust.course;
    let best = course.lines.best();
    if trust.is_unproven(ctx, None)
        || !ctx.clock.runs()
        || best.plies.len() != course.announced()
        || !best.misplaced(ctx.sensed).any()
    {
        return None;
    }
    let us = !best.turn();
    // If the time of the player runs, the record lacks a press.
    if ctx.clock.running() == Some(us) {
        return None;
    }
    let differing = best.differing();
    let (from, to) = displaced(&best.stand, ctx.sensed.placement(), differing, us)?;
    let ply = course.record.plies() + 1;
    if trust.cases.at_board().any(|o| o.ply == ply || o.ply == ply - 1) || differing.count() != 2 {
        return None;
    }
    let (left, came) = (ctx.sensed.since(from), ctx.sensed.since(to));
    let since = left.max(came);
    // A player who takes the last half-move back does not move out of turn.
    let last = course.record.last().and_then(|made| made.kind.from_to());
    if last == Some((to, from)) {
        return None;
    }
    // A king that goes further than a king goes, to the middle, shows a result: the other one follows.
    if is_sign_of_result(best.stand.placement().at(from), from, to) {
        return None;
    }
    // A piece that stood there before the player's own last press was not moved after it. A piece that
    // left right after that press was moved by the opponent: the player's hand was still at the clock.
    // On a line that gathers it may have left later than it seems.
    let (pressed, slack) = (course.record.last().map(|last| last.at), ctx.sensed.slack());
    let early = |pressed: Millis| left + slack <= pressed + BACK_MS || came <= pressed;
    if pressed.is_some_and(early) {
        return None;
    }
    // What happened while the clock stood, or as it started, happened under an arbiter's eyes.
    if ctx.sensed.since(to) <= ctx.clock.started_at || !ctx.is_told(since, OUT_OF_TURN_MS + slack) {
        return None;
    }
    let stand = best.stand.clone();
    let scene = Scene::shown(ctx, ply, stand.clone(), ctx.sensed.since(to));
    let kind = IrregularityKind::MovedOutOfTurn;
    let mut finding = Finding::new(kind, Certainty::Certain, Some(us), scene);
    finding.squares = Bitboard::from_square(from).with(to);
    finding.act = Some(format!("{from}{to}"));
    finding.target = Some(stand);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{ClockReading, Lever, Message, PieceCode},
        event::{Body, Certainty},
        laws::IrregularityKind,
        watcher::{
            Settings, Watcher,
            testing::{after_e4_under, clock, hear},
        },
    };

    /// Hears that `code` stands on each square at its time.
    fn place(watcher: &mut Watcher, at_square_code: &[(u64, u8, u8)]) {
        for &(at, square, code) in at_square_code {
            let piece = PieceCode(code);
            hear(watcher, at, Message::Field { square, piece });
        }
    }

    /// What the watcher has found so far.
    fn found(watcher: &mut Watcher) -> Vec<(IrregularityKind, Certainty)> {
        let what = |body| match body {
            Body::Irregularity(it) => Some((it.kind, it.certainty)),
            _ => None,
        };
        std::iter::from_fn(|| watcher.poll_event())
            .filter_map(|event| what(event.body))
            .collect()
    }

    /// Black plays 1...Nc6 and, before pressing, knocks the pawn on h2 to h3, where a reply would have put
    /// it. The line gathers, so nobody knows how fast that was. The clock is stopped or runs on.
    fn knocks(is_stopped: bool) -> Vec<IrregularityKind> {
        let mut watcher = after_e4_under(Settings {
            gathered_ms: 500,
            ..Settings::default()
        });
        place(
            &mut watcher,
            &[(5500, 1, 0), (6000, 18, 9), (6100, 55, 0), (6600, 47, 1)],
        );
        hear(&mut watcher, 6650, clock(Lever::LeftHigh));
        for at in (7600..20_000).step_by(1000) {
            let Message::Clock(reading) = clock(Lever::LeftHigh) else {
                continue;
            };
            let running = !is_stopped || at < 8600;
            hear(
                &mut watcher,
                at,
                Message::Clock(ClockReading { running, ..reading }),
            );
        }
        found(&mut watcher).into_iter().map(|(kind, _)| kind).collect()
    }

    /// Black plays 1...Nc6 and presses, and puts the pawn on d7 to d6 as well, which leaves `after` ms after the press. The line
    /// gathers for `gathered_ms`.
    fn moves_twice(after: u64, gathered_ms: u64) -> Vec<(IrregularityKind, Certainty)> {
        let mut watcher = after_e4_under(Settings {
            gathered_ms,
            ..Settings::default()
        });
        place(&mut watcher, &[(5500, 1, 0), (6000, 18, 9)]);
        hear(&mut watcher, 6500, clock(Lever::LeftHigh));
        place(&mut watcher, &[(6500 + after, 11, 0), (6900 + after, 19, 7)]);
        for at in (7600..20_000).step_by(1000) {
            hear(&mut watcher, at, clock(Lever::LeftHigh));
        }
        found(&mut watcher)
    }

    #[test]
    fn a_move_out_of_turn_is_suspected_unless_the_hand_was_still_at_the_clock() {
        let told = vec![(IrregularityKind::MovedOutOfTurn, Certainty::Suspected)];
        assert_eq!(moves_twice(450, 0), told);
        assert_eq!(moves_twice(200, 0), [], "the hand was still at the clock");
        for after in [200, 450, 600] {
            assert_eq!(
                moves_twice(after, 240),
                told,
                "where the line gathers, the time is not known so well"
            );
        }
    }

    #[test]
    fn a_knock_of_unknown_speed_is_reported_only_if_the_clock_is_stopped() {
        assert_eq!(knocks(true), [IrregularityKind::PiecesDisplaced]);
        assert!(
            knocks(false).is_empty(),
            "while the clock runs, the pawn on h3 may be an early reply"
        );
    }
}

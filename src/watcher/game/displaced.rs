//! Pieces that stand wrong without an illegal move: knocked onto a square where a reply would have put them, or moved
//! out of turn. What was displaced otherwise is told by `fallen`.

use shakmaty::{Bitboard, Color, Move};

use super::{
    Game, Press,
    advice::{Finding, Scene},
    judge::{GIVE_UP_MS, REST_MS},
};
use crate::{
    board::{PlyKind, act::displaced},
    event::Certainty,
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// A piece that left one square and arrived on another within this time was knocked.
const KNOCK_MS: u64 = 100;
/// A knocked piece is spoken of when its owner has not pressed for this long.
const KNOCKED_MS: u64 = 2200;
/// And when it lies further away than a piece falls, for this long: it may be an early reply that is not pressed yet.
const THROWN_MS: u64 = 8000;
/// A reply before the press must be pressed within this time to need no further thought.
const EARLY_REPLY_MS: u64 = 2500;
/// The hand that has pressed is not back at the board so soon.
const BACK_MS: u64 = 250;
/// A piece moved by the side that does not have the move must stay so long.
const OUT_OF_TURN_MS: u64 = 2500;

impl Game {
    /// A piece of the opponent stands where a legal reply would put it, and did so when the press
    /// came: he was quicker than the press, or the hand that moved knocked it there.
    pub(super) fn early_reply(&self, side: Color, pressed: Millis) -> bool {
        let best = self.lines.best();
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

    /// Waits for the press that an early reply would have, then takes the piece for displaced.
    pub(super) fn knocked_like_a_move(&mut self, ctx: &mut Ctx<'_>, press: &Press) {
        let best = self.lines.best().clone();
        let Some(Move::Normal { from, to, .. }) = best.plies.last().and_then(|p| p.kind.legal()) else {
            return;
        };
        let (left, arrived) = (ctx.sensed.since(from), ctx.sensed.since(to));
        // A hand takes its time between lifting and placing; a knock does not, and seldom goes further than the next
        // square. What is read after the press may be the other player's own doing.
        let apart = arrived.since(left).max(left.since(arrived));
        let slack = ctx.sensed.slack();
        // Where nobody knows how fast that was, somebody has stopped the clock because of it.
        let is_noticed = slack == 0 || ctx.clock.stopped_at.is_some_and(|at| at >= press.at);
        let knocked = is_noticed && apart <= KNOCK_MS + slack && left.max(arrived) <= press.at;
        let wait = match from.distance(to) {
            _ if !knocked => EARLY_REPLY_MS,
            1 => KNOCKED_MS,
            _ => THROWN_MS,
        };
        // A hand that is at the board may belong to him who has the move, and has not pressed yet.
        let quiet = press.at.max(ctx.sensed.last_change());
        if !knocked || !ctx.passed(quiet, wait) {
            return;
        }
        let ply = self.base + best.plies.len() - 1;
        if ply > self.plies() && ctx.now.since(press.at) < GIVE_UP_MS {
            ctx.at(ctx.now + 150);
            return;
        }
        if !ctx.is_told(quiet, wait) {
            return;
        }
        self.press = None;
        if ply != self.plies() || self.open_at_board().any(|o| o.ply == ply) {
            return;
        }
        let before = self.stand_at(ply - 1).clone();
        let base = self.stand_at(self.base).clone();
        let scene = Scene {
            ply,
            before,
            seen: ctx.sensed.placement().clone(),
            at: press.at,
            clock: press.clock,
        };
        // A reply whose press was not heard looks the same where nobody knows how fast it was.
        let certainty = if slack == 0 {
            Certainty::Probable
        } else {
            Certainty::Suspected
        };
        let kind = IrregularityKind::PiecesDisplaced;
        let mut finding = Finding::new(kind, certainty, Some(press.side), scene);
        finding.squares = Bitboard::from_square(from).with(to);
        finding.target = Some(self.stand().clone());
        self.accuse(ctx, finding, None);
        let without = best.without_last(&base, ctx.sensed, ctx.now);
        self.reset_lines(ctx, vec![without, best]);
    }

    /// The side that does not have the move has moved a piece and leaves it so.
    pub(super) fn out_of_turn(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best();
        if self.is_unproven(ctx, None)
            || !ctx.clock.runs()
            || best.plies.len() != self.announced()
            || !best.misplaced(ctx.sensed).any()
        {
            return;
        }
        let us = !best.turn();
        let differing = best.differing();
        let Some((from, to)) = displaced(&best.stand, ctx.sensed.placement(), differing, us) else {
            return;
        };
        let ply = self.plies() + 1;
        if self.open_at_board().any(|o| o.ply == ply || o.ply == ply - 1) || differing.count() != 2 {
            return;
        }
        let (left, came) = (ctx.sensed.since(from), ctx.sensed.since(to));
        let since = left.max(came);
        // What has stood so since before his own last half-move is nothing that he has done since, and by what left at once his
        // hand was not back at the board: the other one's was.
        let early = |pressed: Millis| left <= pressed + BACK_MS || came <= pressed;
        if self.record.last().is_some_and(|last| early(last.at)) {
            return;
        }
        // What was done while the clock stood was done under an arbiter's eyes, and what came with its start was.
        if ctx.sensed.since(to) <= ctx.clock.started_at
            || !ctx.is_told(since, OUT_OF_TURN_MS + ctx.sensed.slack())
        {
            return;
        }
        let stand = best.stand.clone();
        let scene = Scene {
            ply,
            before: stand.clone(),
            seen: ctx.sensed.placement().clone(),
            at: ctx.sensed.since(to),
            clock: ctx.clock.state(),
        };
        let kind = IrregularityKind::MovedOutOfTurn;
        let mut finding = Finding::new(kind, Certainty::Certain, Some(us), scene);
        finding.squares = Bitboard::from_square(from).with(to);
        finding.act = Some(format!("{from}{to}"));
        finding.target = Some(stand);
        self.accuse(ctx, finding, None);
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        dgt::{ClockReading, Lever, Message, PieceCode},
        event::Body,
        laws::IrregularityKind,
        watcher::{
            Settings, Watcher,
            testing::{after_e4_under, clock, hear},
        },
    };

    /// Black plays 1...Nc6 and knocks the pawn on h2 to h3, where a reply would have put it, before he presses. The line gathers,
    /// so that nobody knows how fast that was. The clock is stopped or runs on.
    fn knocks(is_stopped: bool) -> Vec<IrregularityKind> {
        let mut watcher = after_e4_under(Settings {
            gathered_ms: 500,
            ..Settings::default()
        });
        let square = |watcher: &mut Watcher, at, square, code| {
            let piece = PieceCode(code);
            hear(watcher, at, Message::Field { square, piece });
        };
        square(&mut watcher, 5500, 1, 0);
        square(&mut watcher, 6000, 18, 9);
        square(&mut watcher, 6100, 55, 0);
        square(&mut watcher, 6600, 47, 1);
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
        let kind = |body| match body {
            Body::Irregularity(it) => Some(it.kind),
            _ => None,
        };
        std::iter::from_fn(|| watcher.poll_event())
            .filter_map(|event| kind(event.body))
            .collect()
    }

    #[test]
    fn a_knock_that_nobody_timed_is_told_where_the_clock_is_stopped_because_of_it() {
        assert_eq!(knocks(true), [IrregularityKind::PiecesDisplaced]);
        assert!(knocks(false).is_empty(), "that may be an early reply");
    }
}

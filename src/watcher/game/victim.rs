//! Pawns that were left on the board: the one that was captured en passant, so that the capturing pawn has moved aside and taken nothing
//! (3.7.3.1), and the one that was promoted, so that a piece was put beside it and not exchanged for it (3.7.3.3). The act is illegal;
//! but the board may also have failed to tell that the pawn is gone.

use shakmaty::{Bitboard, Move, Square};

use super::{
    finding::{Finding, Scene},
    press::PressQueue,
    record::GameRecord,
    trust::Trust,
};
use crate::{
    board::{Code, act::Reason},
    event::{Certainty, CompletedBy},
    laws::IrregularityKind,
    time::Millis,
    watcher::ctx::Ctx,
};

/// Whoever presses with one hand has taken the pawn off the board with it by then.
const LEFT_MS: u64 = 1500;
/// For so long a dump is waited for. A recorded board answers nobody.
const DUMP_MS: u64 = 5000;
/// So many half-moves later it may still be found.
const LATELY: usize = 8;

/// A pawn that a half-move takes off the board, and that is still read, or was for a while.
#[derive(Clone, Copy)]
pub(super) struct LeftPawn {
    /// The number of the half-move.
    ply: usize,
    taken: Square,
    pawn: Code,
}

impl LeftPawn {
    /// One of the last half-moves is a capture en passant or a promotion that was pressed for, and the pawn that it takes off the board
    /// has been read on its square since before it, at least for a while. Before the press `told` that was said already.
    pub(super) fn of(ctx: &Ctx<'_>, trust: &Trust<'_>, told: Option<Millis>) -> Option<Self> {
        let record = &trust.course.record;
        if !trust.course.on_record()
            || trust.doubt.any()
            || trust.gap.awaits_rest()
            || trust.is_board_faulty()
        {
            return None;
        }
        // The promoted pawn itself had stood there for long.
        let others_stray = trust.is_unproven(ctx, None);
        let first = record.plies().saturating_sub(LATELY) + 1;
        (first..=record.plies()).find_map(|ply| {
            let made = &record[ply - 1];
            let by = record.mover(ply);
            let (taken, pawn) = match made.kind.legal()? {
                Move::EnPassant { from, to } if !others_stray => {
                    (Square::from_coords(to.file(), from.rank()), (!by).pawn())
                }
                Move::Normal {
                    from,
                    promotion: Some(_),
                    ..
                } => (from, by.pawn()),
                _ => return None,
            };
            let pawn = Code::from(pawn);
            // What was not measured may have happened at any time.
            let unmeasured = ctx.sensed.slack() > 0 || ctx.timing.is_unmeasured(made.at);
            let (reads, since) = (ctx.sensed.at(taken), ctx.sensed.since(taken));
            let stands = reads == pawn && since < made.at;
            // Another pawn may have come there meanwhile, and gone.
            let since_before = ctx.sensed.before_since(taken) < made.at;
            let left_late = reads.is_empty() && since > made.at + LEFT_MS;
            let stood = left_late && since_before && ctx.sensed.before(taken) == pawn;
            let is_left = made.completed_by == CompletedBy::Clock
                && told.is_none_or(|told| made.at > told)
                && record.stand().placement().at(taken).is_empty()
                && (stands || stood && !unmeasured);
            is_left.then_some(Self { ply, taken, pawn })
        })
    }

    /// The finding, once it is clear that no update was lost.
    pub(super) fn finding(
        self,
        ctx: &mut Ctx<'_>,
        record: &GameRecord,
        presses: &mut PressQueue,
    ) -> Option<Finding> {
        let Self { ply, taken, pawn } = self;
        let made = &record[ply - 1];
        let pressed = made.at;
        if !ctx.passed(pressed, LEFT_MS) {
            return None;
        }
        let is_gone = ctx.sensed.at(taken).is_empty();
        let is_told = ctx
            .sensed
            .last_dump()
            .is_some_and(|dump| dump >= pressed + LEFT_MS);
        // A dump, or that the pawn is taken off now, shows that no update was lost.
        if !is_gone && !is_told {
            presses.ask(ctx, pressed);
            if !ctx.passed(pressed, DUMP_MS) {
                return None;
            }
        }
        let mut seen = made.stand.placement().clone();
        seen.set(taken, pawn);
        let scene = Scene {
            ply,
            before: record.stand_at(ply - 1).clone(),
            seen,
            at: pressed,
            clock: made.clock,
        };
        let (act, from_to) = (made.uci.to_string(), made.kind.from_to());
        let (kind, by) = (IrregularityKind::IllegalMove, record.mover(ply));
        let mut finding = Finding::new(kind, Certainty::Suspected, Some(by), scene);
        finding.reason = Some(Reason::PieceCannotMoveSo);
        finding.act = Some(act);
        finding.squares = from_to.map_or(Bitboard::EMPTY, |(from, to)| Bitboard::from(from).with(to));
        finding.squares.add(taken);
        finding.target = Some(finding.before.clone());
        Some(finding)
    }
}

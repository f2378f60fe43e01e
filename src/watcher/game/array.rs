//! A wrong initial position that people put right on the board once the game has begun (7.2.1).

use std::sync::Arc;

use shakmaty::uci::UciMove;

use super::{
    Game,
    made::{Made, names},
    waits::REST_MS,
};
use crate::{
    board::{PlyKind, Stand},
    event::{Body, Resolution, notice},
    laws::IrregularityKind,
    watcher::ctx::Ctx,
};

/// In a longer record, in half-moves, nobody puts the initial position right any more: with limited supervision the Laws have the
/// game go on after ten moves (A.5.1.2).
const EARLY: usize = 20;

impl Game {
    /// Where the pieces stand as the half-moves of the record lead from the right initial position, somebody has put it right,
    /// and the record goes on from there.
    pub(in crate::watcher) fn look_for_array_put_right(&mut self, ctx: &mut Ctx<'_>) {
        let seen = ctx.sensed.placement();
        let recorded = self.stand().placement();
        if self.plies() > EARLY || recorded == seen || recorded.occupied() != seen.occupied() {
            return;
        }
        let right = Arc::new(Stand::initial());
        if self.start.placement() == right.placement() {
            return;
        }
        let Some(record) = self.replayed(&right) else {
            return;
        };
        let stands = record.last().map_or(&right, |made| &made.stand);
        if stands.placement() != seen || !ctx.still_for(REST_MS) {
            return;
        }
        let body = Body::MovesRetracted {
            to_ply: 0,
            reason: notice::ARRAY_PUT_RIGHT.into(),
            fen: Some(right.fen()),
        };
        self.emit(ctx, None, body);
        self.mode = right.mode();
        self.start = right;
        self.record.clear();
        for made in record {
            self.enter(ctx, made);
        }
        self.press = None;
        self.later_presses.clear();
        self.restart_lines(ctx);
        let of_start = |open: &super::Open| open.kind == IrregularityKind::InitialPositionWrong;
        while let Some(index) = self.open.iter().position(of_start) {
            self.resolve(ctx, index, Resolution::Restored);
        }
        let message =
            "The pieces were put right: the half-moves of the game count from the initial position.";
        self.notice(ctx, notice::ARRAY_PUT_RIGHT, message);
    }

    /// The record, had its half-moves been made from `start`. None where one of them is not legal then.
    fn replayed(&self, start: &Arc<Stand>) -> Option<Vec<Made>> {
        let mut before = start.clone();
        let mut record = Vec::with_capacity(self.record.len());
        for made in &self.record {
            made.kind.legal()?;
            let candidate = before
                .candidates()
                .find(|candidate| UciMove::from_move(candidate.mv, start.mode()) == made.uci)?;
            let kind = PlyKind::Legal(candidate.mv);
            let (uci, san) = names(&before, &kind, start.mode());
            let stand = Arc::new(before.after(&candidate));
            before = stand.clone();
            record.push(Made {
                kind,
                uci,
                san,
                stand,
                ..made.clone()
            });
        }
        Some(record)
    }
}

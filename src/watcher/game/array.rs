//! A wrong initial position (7.2.1): people put it right on the board once the game has begun, or the first half-move shows that it
//! was wrong.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color, Square, uci::UciMove};

use super::{
    Game, Press,
    made::{Made, names},
    record::GameRecord,
    waits::REST_MS,
};
use crate::{
    board::{Placement, PlyKind, Stand},
    event::{Body, Certainty, Resolution, notice},
    laws::IrregularityKind,
    watcher::{
        arrays::{array_with_pawn_astray, is_full_array},
        ctx::Ctx,
    },
};

/// In a longer record, in half-moves, nobody puts the initial position right any more: with limited supervision the Laws have the
/// game go on after ten moves (A.5.1.2).
const EARLY: usize = 20;

impl Game {
    /// Where the pieces stand as the half-moves of the record lead from the right initial position, somebody has put it right,
    /// and the record goes on from there.
    pub(in crate::watcher) fn look_for_array_put_right(&mut self, ctx: &mut Ctx<'_>) {
        let seen = ctx.sensed.placement();
        let recorded = self.record.stand().placement();
        let alike = recorded.occupied().count() == seen.occupied().count();
        if self.record.plies() > EARLY || recorded == seen || !alike {
            return;
        }
        let right = Arc::new(Stand::initial());
        if self.record.start.placement() == right.placement() {
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
        self.record = GameRecord::new(right);
        for made in record {
            self.enter(ctx, made);
        }
        self.presses.clear();
        self.restart_lines(ctx);
        let of_start = |open: &super::Open| open.kind == IrregularityKind::InitialPositionWrong;
        while let Some(index) = self.cases.find(of_start) {
            self.resolve(ctx, index, Resolution::Restored);
        }
        // From the right position the half-moves are legal.
        let plies = self.record.plies();
        let of_moves = |open: &super::Open| {
            open.kind == IrregularityKind::IllegalMove && open.ply <= plies && !open.by_hand
        };
        while let Some(index) = self.cases.find(of_moves) {
            self.withdraw(ctx, index);
        }
        let message =
            "The pieces were put right: the half-moves of the game count from the initial position.";
        self.notice(ctx, notice::ARRAY_PUT_RIGHT, message);
    }

    /// A pawn stood before its square when the game began, as if its half-move had been made, and a player has pressed for another
    /// half-move of the same side: the position in which that pawn stood astray, and the press.
    pub(in crate::watcher) fn begun_with_pawn_astray(&self, ctx: &Ctx<'_>) -> Option<(Arc<Stand>, Press)> {
        let is_first = self.base == 0 && self.record.plies() <= 1 && self.presses.later.is_empty();
        let press = self.presses.judged.as_ref().filter(|_| is_first)?;
        if self.record.start.placement() != &Placement::ARRAY {
            return None;
        }
        // The record may begin with that pawn, or with the other half-move.
        let astray = array_with_pawn_astray(ctx.sensed, self.record.start.turn(), self.began)?;
        let after = Stand::of_placement(&astray, !self.record.start.turn(), CastlingMode::Standard);
        let astray = Stand::of_placement(&astray, self.record.start.turn(), CastlingMode::Standard);
        let seen = ctx.sensed.placement();
        let goes_on = |from: &Stand| from.candidates().any(|c| from.after(&c).placement() == seen);
        (!goes_on(&after) && goes_on(&astray)).then(|| (Arc::new(astray), press.clone()))
    }

    /// The game began from `start`, and `press` was for its first half-move.
    pub(in crate::watcher) fn begin_with_pawn_astray(
        &mut self,
        ctx: &mut Ctx<'_>,
        start: Arc<Stand>,
        press: Press,
    ) {
        let body = Body::MovesRetracted {
            to_ply: 0,
            reason: IrregularityKind::InitialPositionWrong.as_str().into(),
            fen: Some(start.fen()),
        };
        self.emit(ctx, None, body);
        let array = start.placement().clone();
        let side = start.turn();
        self.record = GameRecord::new(start);
        self.restart_lines(ctx);
        self.lines.press(press.at, ctx.sensed, side);
        self.presses.judged = Some(Press { side, ..press });
        self.array_wrong(
            ctx,
            &array,
            array.differing(&Placement::ARRAY),
            Certainty::Suspected,
        );
    }

    /// Nothing is on the record, and the first press came for a half-move of Black's: the position with Black to move, and the press.
    pub(in crate::watcher) fn begun_by_black(&self, ctx: &Ctx<'_>) -> Option<(Arc<Stand>, Press)> {
        let start = &self.record.start;
        let is_first =
            self.record.is_empty() && self.cases.all().next().is_none() && self.presses.later.is_empty();
        let press = self.presses.judged.as_ref().filter(|_| is_first)?;
        if start.turn() != Color::White || !is_full_array(start.placement()) || ctx.sensed.is_felt() {
            return None;
        }
        let stand = Stand::of_placement(start.placement(), Color::Black, start.mode());
        let seen = ctx.sensed.placement();
        // A reply may be read after White's press, and White's half-move may not be read at all.
        let in_time = |to: Square| ctx.sensed.since(to) <= press.at;
        let is_shown = stand
            .candidates()
            .any(|c| stand.after(&c).placement() == seen && in_time(c.mv.to()));
        is_shown.then(|| (Arc::new(stand), press.clone()))
    }

    /// The game began from `start`, where Black has the move, and `press` was for Black's first half-move.
    pub(in crate::watcher) fn begin_by_black(&mut self, ctx: &mut Ctx<'_>, start: Arc<Stand>, press: Press) {
        let body = Body::MovesRetracted {
            to_ply: 0,
            reason: notice::BLACK_BEGAN.into(),
            fen: Some(start.fen()),
        };
        self.emit(ctx, None, body);
        let message = "Black has made the first half-move, and White begins the game (1.2): the half-moves count as they are played. If it \
                       is the game of the round, the players have to begin anew.";
        self.notice(ctx, notice::BLACK_BEGAN, message);
        self.record = GameRecord::new(start);
        self.restart_lines(ctx);
        self.lines.press(press.at, ctx.sensed, Color::Black);
        self.presses.judged = Some(Press {
            side: Color::Black,
            ..press
        });
    }

    /// The record, had its half-moves been made from `start`. None where one of them is not legal then. What is illegal in the record
    /// may have been legal for the piece that should have stood there.
    fn replayed(&self, start: &Arc<Stand>) -> Option<Vec<Made>> {
        let mut before = start.clone();
        let mut record = Vec::with_capacity(self.record.len());
        for made in self.record.iter() {
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

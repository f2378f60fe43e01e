//! A wrong initial position (7.2.1): people put it right on the board once the game has begun, or the first half-move shows that it
//! was wrong.

use std::sync::Arc;

use shakmaty::{CastlingMode, Color, Square, uci::UciMove};

use super::{Game, Press, made::Made, record::GameRecord, waits::REST_MS};
use crate::{
    board::{Placement, Stand},
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

/// A beginning of the game other than the one that the watcher took for it.
#[derive(Debug)]
pub(in crate::watcher) struct Beginning {
    /// The position before the first half-move. The player who has the move there has pressed.
    pub(in crate::watcher) start: Arc<Stand>,
    pub(in crate::watcher) press: Press,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// A pawn stood astray, and the watcher took it for the first half-move, which nobody saw made.
    PawnAstray,
    ByBlack,
}

impl Game {
    /// Where the pieces stand as the half-moves of the record lead from the right initial position, somebody has put it right,
    /// and the record goes on from there.
    pub(in crate::watcher) fn look_for_array_put_right(&mut self, ctx: &mut Ctx<'_>) {
        let seen = ctx.sensed.placement();
        let recorded = self.course.record.stand().placement();
        let alike = recorded.occupied().count() == seen.occupied().count();
        if self.course.record.plies() > EARLY || recorded == seen || !alike {
            return;
        }
        let right = Arc::new(Stand::initial());
        if self.course.record.start.placement() == right.placement() {
            return;
        }
        // What is illegal in the record may have been legal for the piece that should have stood there.
        let is_it = |_, made: &Made, mv| UciMove::from_move(mv, right.mode()) == made.uci;
        let Some(record) = self.course.record.replayed(0, &right, is_it) else {
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
        self.course.emit(ctx, None, body);
        self.course.record = GameRecord::new(right);
        for made in record {
            self.course.enter(ctx, made);
        }
        self.presses.clear();
        self.course.restart_lines(ctx);
        let of_start = |open: &super::Open| open.kind == IrregularityKind::InitialPositionWrong;
        while let Some(index) = self.cases.find(of_start) {
            self.cases.resolve(ctx, &self.course, index, Resolution::Restored);
        }
        // From the right position the half-moves are legal.
        let plies = self.course.record.plies();
        let of_moves = |open: &super::Open| {
            open.kind == IrregularityKind::IllegalMove && open.ply <= plies && !open.by_hand
        };
        while let Some(index) = self.cases.find(of_moves) {
            self.cases.withdraw(ctx, &self.course, index);
        }
        let message =
            "The pieces were put right: the half-moves of the game count from the initial position.";
        self.course.notice(ctx, notice::ARRAY_PUT_RIGHT, message);
    }

    /// What the first press shows of a beginning other than the record's; none if it shows nothing.
    pub(in crate::watcher) fn begun_otherwise(&self, ctx: &Ctx<'_>) -> Option<Beginning> {
        let press = self
            .presses
            .judged
            .as_ref()
            .filter(|_| self.presses.later.is_empty())?;
        let (start, how) = match self.begun_with_pawn_astray(ctx) {
            Some(start) => (start, How::PawnAstray),
            None => (self.begun_by_black(ctx, press)?, How::ByBlack),
        };
        Some(Beginning {
            start: Arc::new(start),
            press: press.clone(),
            how,
        })
    }

    /// The position in which a pawn stood before its square when the game began, as if its half-move had been made, where a player
    /// has pressed for another half-move of the same side.
    fn begun_with_pawn_astray(&self, ctx: &Ctx<'_>) -> Option<Stand> {
        let start = &self.course.record.start;
        if self.course.base != 0 || self.course.record.plies() > 1 || start.placement() != &Placement::ARRAY {
            return None;
        }
        // The record may begin with that pawn, or with the other half-move.
        let astray = array_with_pawn_astray(ctx.sensed, start.turn(), self.began)?;
        let after = Stand::of_placement(&astray, !start.turn(), CastlingMode::Standard);
        let astray = Stand::of_placement(&astray, start.turn(), CastlingMode::Standard);
        let seen = ctx.sensed.placement();
        let goes_on = |from: &Stand| from.candidates().any(|c| from.after(&c).placement() == seen);
        (!goes_on(&after) && goes_on(&astray)).then_some(astray)
    }

    /// The initial position with Black to move, where nothing is on the record and `press` came for a half-move of Black's.
    fn begun_by_black(&self, ctx: &Ctx<'_>, press: &Press) -> Option<Stand> {
        let start = &self.course.record.start;
        let is_first = self.course.record.is_empty() && self.cases.all().next().is_none();
        let is_array = start.turn() == Color::White && is_full_array(start.placement());
        if !is_first || !is_array || ctx.sensed.is_felt() {
            return None;
        }
        let stand = Stand::of_placement(start.placement(), Color::Black, start.mode());
        let seen = ctx.sensed.placement();
        // A reply may be read after White's press, and White's half-move may not be read at all.
        let in_time = |to: Square| ctx.sensed.since(to) <= press.at;
        let is_shown = stand
            .candidates()
            .any(|c| stand.after(&c).placement() == seen && in_time(c.mv.to()));
        is_shown.then_some(stand)
    }

    /// The game began otherwise than the record has it. Its half-moves count from there.
    pub(in crate::watcher) fn begin_otherwise(&mut self, ctx: &mut Ctx<'_>, beginning: Beginning) {
        let Beginning { start, press, how } = beginning;
        let body = Body::MovesRetracted {
            to_ply: 0,
            reason: match how {
                How::PawnAstray => IrregularityKind::InitialPositionWrong.as_str().into(),
                How::ByBlack => notice::BLACK_BEGAN.into(),
            },
            fen: Some(start.fen()),
        };
        self.course.emit(ctx, None, body);
        let side = start.turn();
        self.course.record = GameRecord::new(start);
        self.course.restart_lines(ctx);
        self.course.lines.press(press.at, ctx.sensed, side);
        self.presses.judged = Some(Press { side, ..press });
        match how {
            How::PawnAstray => {
                let array = self.course.record.start.placement().clone();
                let squares = array.differing(&Placement::ARRAY);
                self.array_wrong(ctx, &array, squares, Certainty::Suspected);
            }
            How::ByBlack => {
                let message = "Black has made the first half-move, and White begins the game (1.2): the half-moves count as they \
                               are played. If it is the game of the round, the players have to begin anew.";
                self.course.notice(ctx, notice::BLACK_BEGAN, message);
            }
        }
    }
}

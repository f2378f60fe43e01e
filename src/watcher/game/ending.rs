//! Positions that end the game by themselves (5.1.1, 5.2.1, 5.2.2, 9.6), as far as the edition in force has
//! them. A position that only allows a claim makes a notice for the arbiter.

use shakmaty::Position;

use super::Game;
use crate::{
    board::Stand,
    event::{GameResult, notice},
    laws::{Case, Facts, IrregularityKind, PenaltyKind, decide},
    mate::is_dead_quick_with,
    watcher::ctx::Ctx,
};

impl Game {
    /// Ends the game if the position after the last half-move ends it.
    pub(super) fn end_by_position(&mut self, ctx: &mut Ctx<'_>) {
        let stand = self.course.record.stand().clone();
        let Some(chess) = stand.chess() else { return };
        let moves = stand.moves().len();
        if moves == 0 {
            if chess.is_check() {
                let result = chess.turn().fold_wb(GameResult::BlackWins, GameResult::WhiteWins);
                self.end(ctx, result, "checkmate");
            } else {
                self.end(ctx, GameResult::Draw, "stalemate");
            }
        } else if is_dead_quick_with(chess, moves) {
            self.end(ctx, GameResult::Draw, "dead_position");
        } else if chess.halfmoves() >= 150 && draws(ctx, IrregularityKind::SeventyFive, false) {
            self.end(ctx, GameResult::Draw, "seventy_five_moves");
        } else {
            if chess.halfmoves() == 100 {
                let message = "Fifty moves by each side without a capture or pawn move (9.3).";
                self.course.notice(ctx, notice::FIFTY_MOVES, message);
            }
            if chess.halfmoves() >= 4 {
                self.repetition(ctx, &stand);
            }
        }
    }

    fn repetition(&mut self, ctx: &mut Ctx<'_>, stand: &Stand) {
        let plies = self.course.record.occurrences(stand);
        let consecutive = plies.len() >= 5 && plies[plies.len() - 5..].windows(2).all(|w| w[1] - w[0] == 4);
        if plies.len() >= 5 && draws(ctx, IrregularityKind::Fivefold, consecutive) {
            self.end(ctx, GameResult::Draw, "fivefold_repetition");
        } else if plies.len() == 3 {
            let message = "The position has occurred three times (9.2).";
            self.course.notice(ctx, notice::THREEFOLD_REPETITION, message);
        }
    }
}

/// True where the edition in force makes the game a draw.
fn draws(ctx: &Ctx<'_>, kind: IrregularityKind, consecutive: bool) -> bool {
    let mut facts = Facts::new(kind, None);
    facts.consecutive = consecutive;
    let case = Case {
        edition: ctx.rules.laws,
        time_control: ctx.rules.time_control,
        supervision: ctx.rules.supervision,
        facts,
    };
    decide(&case, &ctx.rules.contested).penalty.kind == PenaltyKind::Draw
}

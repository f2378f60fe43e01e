//! Positions that end the game by themselves (5.1.1, 5.2.1, 5.2.2, 9.6), as far as the edition in force has
//! them. A position that only allows a claim makes a notice for the arbiter.

use shakmaty::Position;

use super::course::Course;
use crate::{
    event::{GameResult, notice},
    laws::{Facts, IrregularityKind, PenaltyKind, decide},
    mate::is_dead_quick_with,
    watcher::ctx::Ctx,
};

/// The result and its reason, if the position after the last half-move of the record ends the game.
pub(super) fn ended(ctx: &mut Ctx<'_>, course: &Course) -> Option<(GameResult, &'static str)> {
    let stand = course.record.stand();
    let chess = stand.chess()?;
    let moves = stand.moves().len();
    if moves == 0 && chess.is_check() {
        let result = chess.turn().fold_wb(GameResult::BlackWins, GameResult::WhiteWins);
        return Some((result, "checkmate"));
    }
    let drawn = if moves == 0 {
        "stalemate"
    } else if is_dead_quick_with(chess, moves) {
        "dead_position"
    } else if chess.halfmoves() >= 150 && draws(ctx, IrregularityKind::SeventyFive, false) {
        "seventy_five_moves"
    } else {
        if chess.halfmoves() == 100 {
            let message = "Fifty moves by each side without a capture or pawn move (9.3).";
            course.notice(ctx, notice::FIFTY_MOVES, message);
        }
        if chess.halfmoves() < 4 || !ends_by_repetition(ctx, course) {
            return None;
        }
        "fivefold_repetition"
    };
    Some((GameResult::Draw, drawn))
}

/// True where the repetition of the position ends the game. One that allows a claim makes a notice.
fn ends_by_repetition(ctx: &mut Ctx<'_>, course: &Course) -> bool {
    let plies = course.record.occurrences(course.record.stand());
    let consecutive = plies.len() >= 5 && plies[plies.len() - 5..].windows(2).all(|w| w[1] - w[0] == 4);
    if plies.len() >= 5 && draws(ctx, IrregularityKind::Fivefold, consecutive) {
        return true;
    }
    if plies.len() == 3 {
        let message = "The position has occurred three times (9.2).";
        course.notice(ctx, notice::THREEFOLD_REPETITION, message);
    }
    false
}

/// True where the edition in force makes the game a draw.
fn draws(ctx: &Ctx<'_>, kind: IrregularityKind, consecutive: bool) -> bool {
    let mut facts = Facts::new(kind, None);
    facts.consecutive = consecutive;
    decide(&ctx.rules.case(facts), &ctx.rules.contested).penalty.kind == PenaltyKind::Draw
}

//! Displaced pieces that are put back after half-moves were made since.

use shakmaty::{Bitboard, Square};

use super::Open;
use crate::{
    board::{Placement, Stand},
    laws::IrregularityKind,
    watcher::ctx::Ctx,
};

/// True when the pieces that `open` says were displaced stand again where they belong, and the game has reached `stand`: the squares in
/// question show what it has there, for `ms` milliseconds, and none of the pieces has gone on.
pub(super) fn stands_again(ctx: &mut Ctx<'_>, open: &Open, stand: &Stand, ms: u64) -> bool {
    use IrregularityKind::{DisplacedPieceFound, PiecesDisplaced};
    let Some(target) = open.target.as_ref().map(|target| target.placement()) else {
        return false;
    };
    if !matches!(open.kind, PiecesDisplaced | DisplacedPieceFound) {
        return false;
    }
    let named = open.case_file.said.squares.iter();
    let squares: Bitboard = named.filter_map(|name| name.parse::<Square>().ok()).collect();
    let homes = squares & target.occupied();
    let (seen, belongs) = (ctx.sensed.placement(), stand.placement());
    let alike = |one: &Placement, other: &Placement, of: Bitboard| (one.differing(other) & of).is_empty();
    if homes.is_empty() || !alike(seen, belongs, squares) || !alike(seen, target, homes) {
        return false;
    }
    let since = squares.into_iter().map(|square| ctx.sensed.since(square)).max();
    since.is_some_and(|since| ctx.passed(since, ms))
}

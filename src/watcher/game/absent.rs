//! Accusations that rest on a piece which the board has not shown where the record has it, since before the player's turn.

use shakmaty::{Square, uci::UciMove};

use super::finding::Finding;
use crate::{time::Millis, watcher::ctx::Ctx};

/// What a square has shown for so long (milliseconds), it did not show in passing.
const STOOD_MS: u64 = 1500;

/// True when the piece that made the illegal move, or one of the player's own that it took, was not read where the record has it when
/// the player's turn began at `turn_began`, nor a while before or after: it stood elsewhere, or nowhere.
pub(super) fn rests_on_absent(ctx: &Ctx<'_>, finding: &Finding, turn_began: Millis) -> bool {
    let Some(UciMove::Normal { from, to, .. }) =
        finding.act.as_ref().and_then(|act| act.parse::<UciMove>().ok())
    else {
        return false;
    };
    let before = finding.before.placement();
    let is_absent = |square: Square| {
        let shown = ctx.sensed.shown_at(square, turn_began);
        shown.is_some_and(|(code, since, until)| {
            let lasted = until.unwrap_or(ctx.now).since(since);
            !code.agrees(before.at(square)) && lasted >= STOOD_MS
        })
    };
    let is_own = before.at(to).color() == Some(finding.before.turn());
    is_absent(from) || is_own && is_absent(to)
}

//! The end of a game as the board shows it: both kings on centre squares, or a special piece.

use shakmaty::{Color, Role, Square};

use super::game::{Ctx, Game};
use crate::{
    board::{Code, PlyKind, Sensed},
    event::{CompletedBy, GameResult},
};

/// The kings must stand in the centre for this long.
const KINGS_MS: u64 = 1200;
/// A special piece must stand for this long: they also occur as misreadings.
const SPECIAL_MS: u64 = 3000;

/// Where the king of `color` was seen last.
fn king(sensed: &Sensed, color: Color) -> Option<Square> {
    let seen = sensed.placement().squares_of(Code::from(color.king()));
    seen.into_iter().max_by_key(|s| sensed.since(*s))
}

/// The result that both kings on centre squares stand for (protocol section 7), if they do. Two
/// centre squares touch, so that no position of a game looks like it.
pub(super) fn kings_say(sensed: &Sensed) -> Option<GameResult> {
    let (white, black) = (king(sensed, Color::White)?, king(sensed, Color::Black)?);
    let centre = |s: Square| matches!(s, Square::D4 | Square::E4 | Square::D5 | Square::E5);
    if !centre(white) || !centre(black) {
        return None;
    }
    Some(match (white.is_light(), black.is_light()) {
        (true, true) => GameResult::WhiteWins,
        (false, false) => GameResult::BlackWins,
        _ => GameResult::Draw,
    })
}

impl Game {
    /// Looks whether the board says that the game is over.
    pub(super) fn look_for_result(&mut self, ctx: &mut Ctx<'_>) {
        if self.result.is_some() {
            return;
        }
        if let Some(result) = kings_say(ctx.sensed) {
            let since = |color| king(ctx.sensed, color).map_or(ctx.now, |s| ctx.sensed.since(s));
            let since = since(Color::White).max(since(Color::Black));
            if ctx.passed(since, KINGS_MS) {
                self.end_by_kings(ctx, result);
            }
        }
        for (code, result) in [
            (13, GameResult::Draw),
            (14, GameResult::WhiteWins),
            (15, GameResult::BlackWins),
        ] {
            let square = ctx.sensed.placement().squares_of(Code(code)).single_square();
            if let Some(square) = square
                && ctx.passed(ctx.sensed.since(square), SPECIAL_MS)
            {
                self.settle_rest(ctx);
                self.end(ctx, result, "special_piece");
            }
        }
    }

    /// The kings stand in the centre: steps of theirs on the way are no moves of the game.
    fn end_by_kings(&mut self, ctx: &mut Ctx<'_>, result: GameResult) {
        let mut keep = self.plies();
        while keep > 0 && self.is_step_to_centre(keep - 1) {
            keep -= 1;
        }
        self.retract(ctx, keep, "kings_to_the_centre");
        self.settle_before_kings(ctx);
        self.end(ctx, result, "kings_in_the_centre");
    }

    /// A king's move at the end of the record that nobody pressed for.
    fn is_step_to_centre(&self, index: usize) -> bool {
        let made = &self.record[index];
        let king = matches!(
            made.kind.legal(),
            Some(shakmaty::Move::Normal { role: Role::King, .. })
        );
        king && made.completed_by != CompletedBy::Clock && index + 2 >= self.plies()
    }

    /// Half-moves that were made before the kings went up and had not been said yet.
    fn settle_before_kings(&mut self, ctx: &mut Ctx<'_>) {
        let best = self.lines.best().clone();
        let from = self.announced();
        if !self.on_record() {
            return;
        }
        let last_pressed = best.plies.iter().rposition(|p| p.pressed.is_some());
        for (i, ply) in best.plies.iter().enumerate().skip(from) {
            let king = matches!(
                ply.kind,
                PlyKind::Legal(shakmaty::Move::Normal { role: Role::King, .. })
            );
            let vouched = last_pressed.is_some_and(|last| i <= last);
            if (king && !vouched) || matches!(ply.kind, PlyKind::Illegal(_)) {
                break;
            }
            let by = if ply.pressed.is_some() {
                CompletedBy::Clock
            } else {
                CompletedBy::Stillness
            };
            self.announce(ctx, ply, by);
        }
    }
}

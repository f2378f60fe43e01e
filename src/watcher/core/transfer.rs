//! The position was transferred to the board that lies another way round: the remedy of 7.2.2 for a board that lay sideways.

use super::{Core, Phase};
use crate::{
    board::Orientation,
    event::{Resolution, notice},
    terms::IrregularityKind,
    time::Millis,
    watcher::game::Open,
};

impl Core {
    /// The clock runs again. Where the position of the record stands on the board another way round, the board lies so from now on,
    /// and the game goes on.
    pub(super) fn look_for_transfer(&mut self, now: Millis) {
        let (Phase::Game(game), Some(raw)) = (&self.phase, &self.raw) else {
            return;
        };
        let stand = game.record.stand().placement();
        if !game.is_watched() || game.is_shown(stand, self.sensed.placement()) {
            return;
        }
        let mut ways = Orientation::ALL.into_iter();
        let Some(found) = ways.find(|way| game.is_shown(stand, &way.placement(raw))) else {
            return;
        };
        self.turn_to(found);
        self.orientation_shown = true;
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        game.restart_lines(&ctx);
        let message = "The position stands on the board another way round: it was transferred, or the board was turned. The game goes on.";
        game.notice(&mut ctx, notice::POSITION_TRANSFERRED, message);
        let lay_sideways = |case: &Open| case.kind == IrregularityKind::BoardOrientationWrong;
        if !found.is_sideways()
            && let Some(index) = game.cases.find(lay_sideways)
        {
            game.resolve(&mut ctx, index, Resolution::Restored);
        }
    }
}

//! The clock was started: a game goes on, perhaps from a position that was put up or transferred meanwhile.

use super::{Core, Phase, first_side::started_otherwise};
use crate::{
    board::Orientation,
    event::{Resolution, notice},
    terms::IrregularityKind,
    time::Millis,
    watcher::game::{Open, unclocked::Unclocked},
};

impl Core {
    /// The clock was started at `at`.
    pub(super) fn clock_started(&mut self, at: Millis) {
        self.look_for_begun_next(at);
        if let Some(game) = self.phase.game() {
            started_otherwise(game, &mut self.clock);
        }
        self.look_for_transfer(at);
        let Some((game, mut ctx)) = self.game_and_ctx(at) else {
            return;
        };
        let stood = std::mem::take(&mut game.course.lines.frozen) || ctx.clock.stood();
        game.gap.restarts = stood && game.gap.is_open;
        game.course.lines.set_clock_runs(true);
        game.course.clock_used = true;
        game.unclocked = Unclocked::default();
        if let Some(side) = ctx.clock.running() {
            game.presses.sprang_back(&mut game.course.lines, side);
        }
        if game.is_watched() && !game.gap.is_open && !game.is_overruled(&mut ctx) {
            game.started_again(&mut ctx);
            game.course.lines.grow_all(at, ctx.sensed);
        }
    }

    /// Where the position of the record stands on the board another way round, it was transferred, as 7.2.2 prescribes for a board
    /// that lay sideways. The board lies so from now on, and the game goes on.
    fn look_for_transfer(&mut self, now: Millis) {
        let (Phase::Game(game), Some(raw)) = (&self.phase, &self.raw) else {
            return;
        };
        let stand = game.course.record.stand().placement();
        if !game.is_watched() || game.unread.is_shown(stand, self.sensed.placement()) {
            return;
        }
        let mut ways = Orientation::ALL.into_iter();
        let Some(found) = ways.find(|way| game.unread.is_shown(stand, &way.placement(raw))) else {
            return;
        };
        self.turn_to(found);
        self.orientation_shown = true;
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        game.course.restart_lines(&ctx);
        let message = "The position stands on the board another way round: it was transferred, or the board was turned. The game goes on.";
        game.course
            .notice(&mut ctx, notice::POSITION_TRANSFERRED, message);
        let lay_sideways = |case: &Open| case.kind == IrregularityKind::BoardOrientationWrong;
        if !found.is_sideways()
            && let Some(index) = game.cases.find(lay_sideways)
        {
            game.cases
                .resolve(&mut ctx, &game.course, index, Resolution::Restored);
        }
    }
}

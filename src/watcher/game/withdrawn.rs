//! Half-moves that were taken back. If that was while the clock stood, and nobody plays on from there, the players only looked at the
//! game: to count repetitions, or after its end.

use super::{Game, Press, doubt::NOTICED_MS, waits::JUDGE_MS};
use crate::{board::Placement, watcher::ctx::Ctx};

impl Game {
    /// Goes back to the position after `ply` half-moves, which the players have put up. Unless they put an irregularity right so,
    /// the half-moves after it count again if nobody plays on from there.
    pub(super) fn take_back(&mut self, ctx: &mut Ctx<'_>, ply: usize) {
        let by_ruling = self.cases.at_board().next().is_some();
        let mut withdrawn = self.course.record[ply..].to_vec();
        withdrawn.append(&mut self.course.record.withdrawn);
        self.accuse_put_right(ctx, ply);
        self.go_back(ctx, ply, "position_put_up_again");
        if !by_ruling && !ctx.clock.runs() {
            self.course.record.withdrawn = withdrawn;
        }
    }

    /// The player to move has pressed without a half-move, and the board stands as before the last one. Either he agrees that it is taken
    /// back, or he moved a piece of the opponent's, and somebody stops the clock. Returns true while nobody knows, and once it was taken
    /// back.
    pub(super) fn take_back_by_press(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let stands = self.is_given_back_by(ctx, press);
        if stands && ctx.passed(press.at, JUDGE_MS) {
            self.presses.gave_back = Some(press.at);
        }
        let waits = self.presses.gave_back == Some(press.at);
        // The half-move may have been put up again, or a person may have changed the record.
        let is_put_up = self
            .unread
            .is_shown(self.course.record.stand().placement(), ctx.sensed.placement());
        let before = self.course.record.plies().checked_sub(1);
        let Some(before) = before.filter(|_| !waits || ctx.clock.stopped_at.is_none() && !is_put_up) else {
            self.presses.gave_back = None;
            return false;
        };
        // A piece that is only lifted may come back to where it was.
        let earlier = self.course.record.stand_at(before).placement();
        let mut changed = earlier.differing(ctx.sensed.placement()).into_iter();
        let has_moved = changed.any(|square| ctx.sensed.at(square).is_piece());
        if waits && (has_moved || ctx.passed(press.at, NOTICED_MS)) {
            // Play goes on from there.
            self.presses.judged = None;
            self.take_back(ctx, before);
            for later in &self.presses.later {
                self.course.lines.press(later.at, ctx.sensed, later.side);
            }
            return true;
        }
        if stands || waits {
            ctx.wait_for("somebody to stop the clock, or play to go on");
        }
        stands || waits
    }

    /// True where `press` is of the player to move, and the board stands as before the last half-move.
    fn is_given_back_by(&self, ctx: &Ctx<'_>, press: &Press) -> bool {
        let before = self.course.record.plies().checked_sub(1);
        let is_given = press.side == self.course.to_move() && self.course.on_record() && !self.doubt.any();
        is_given && before.is_some() && self.earlier(ctx.sensed.placement()) == before
    }

    /// How many of the half-moves that were taken back lead to what `seen` shows.
    pub(super) fn put_up_again(&self, seen: &Placement) -> Option<usize> {
        let shown = |made: &super::Made| self.unread.is_shown(made.stand.placement(), seen);
        let last = self.course.record.withdrawn.iter().rposition(shown)?;
        Some(last + 1)
    }
}

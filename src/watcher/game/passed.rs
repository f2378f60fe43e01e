//! A player pressed without a move, and his opponent simply moved: the turn has passed.

use super::{Game, Open, Press};
use crate::{
    board::{IllegalAct, Line, Placement, Sensed, candidate::Candidate},
    event::CompletedBy,
    terms::IrregularityKind,
    watcher::ctx::Ctx,
};

impl Game {
    /// The player whose turn it is not has pressed for a half-move of his, after a press without a move that was reported. That one
    /// counts as a half-move then, which has no name. Returns true if so.
    pub(super) fn go_on_after_pass(&mut self, ctx: &mut Ctx<'_>, press: &Press) -> bool {
        let ply = self.record.plies() + 1;
        if press.side == self.to_move() || !self.on_record() {
            return false;
        }
        let passed = |open: &Open| open.kind == IrregularityKind::PressWithoutMove && open.ply == ply;
        if self.cases.find(passed).is_none() {
            return false;
        }
        let is_explained = |line: &Line| {
            let is_legal = line.plies.iter().all(|ply| ply.kind.legal().is_some());
            is_legal && self.is_shown(line.placement(), ctx.sensed.placement())
        };
        let stood = self.record.stand().placement().clone();
        let left = self.record.stand().left_as(&stood);
        let has_moved = |reply: Candidate| leads_to(&reply, &stood, ctx.sensed, press);
        if self.lines.all().any(is_explained) || !left.candidates().any(has_moved) {
            return false;
        }
        let presses = std::mem::take(&mut self.presses);
        self.announce_nameless(ctx, &IllegalAct::left(None, &stood), press.at, CompletedBy::Reply);
        self.restart_lines(ctx);
        self.press_again(ctx, presses, press);
        true
    }
}

/// True where `reply` leads from what `stood` to what stands now, but for pieces of the opponent that he has lifted since.
fn leads_to(reply: &Candidate, stood: &Placement, sensed: &Sensed, press: &Press) -> bool {
    let after = reply.after(stood);
    let lifted = |square| {
        let is_his = after.at(square).color() == Some(!press.side);
        is_his && sensed.at(square).is_empty() && sensed.since(square) >= press.at
    };
    after.differing(sensed.placement()).into_iter().all(lifted)
}

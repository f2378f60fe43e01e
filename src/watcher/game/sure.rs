//! How sure an accusation is said to be: `certain` is said where at most one in a thousand is false
//! (`examples/fit` counts it), and where anything else is amiss that is not so.

use shakmaty::Bitboard;

use super::{Game, advice::Finding, glimpse::TICKS};
use crate::{
    board::act::Reason,
    event::{Certainty, CompletedBy},
    laws::IrregularityKind,
    watcher::{ctx::Ctx, gathers::TOGETHER_MS},
};

/// For so many half-moves after a correction the record may be wrong otherwise, too.
const SHAKY: usize = 24;

/// The kinds that follow from what the record says of the position.
fn follows_from_the_record(kind: IrregularityKind) -> bool {
    matches!(
        kind,
        IrregularityKind::IllegalMove
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::PiecesDisplaced
            | IrregularityKind::MovedOutOfTurn
    )
}

/// The kinds that follow from when something happened, and not only from what stands on the board.
fn rests_on_times(kind: IrregularityKind) -> bool {
    matches!(
        kind,
        IrregularityKind::InitialPositionWrong
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::PiecesDisplaced
            | IrregularityKind::MovedOutOfTurn
    )
}

impl Game {
    /// How sure `finding` is, by what else is amiss.
    pub(super) fn how_sure(&self, ctx: &Ctx<'_>, finding: &Finding) -> Certainty {
        let by_record = finding.reported.is_none() && follows_from_the_record(finding.kind);
        // Something may be missing, and nobody is accused because of that.
        let unknown =
            ctx.sensed.may_miss_some() || self.is_unmeasured(ctx, finding) || self.is_hasty(ctx, finding);
        if finding.reported.is_none() && unknown {
            return Certainty::Suspected;
        }
        // Whether somebody stopped the clock in time to have seen what the board may not show is not measured either.
        let unmeasured = ctx.lumped.is_some_and(|lumped| finding.at <= lumped) && self.is_board_faulty();
        if by_record && (unmeasured || self.is_shaky(ctx, finding) || self.puts_back(ctx, finding)) {
            return Certainty::Suspected;
        }
        let doubtful = by_record && (self.was_mistaken() || self.is_untidy(ctx, finding));
        if doubtful && finding.certainty == Certainty::Certain {
            Certainty::Probable
        } else {
            finding.certainty
        }
    }

    /// The opponent's piece was moved back to where it came from: it had rather been displaced, and the record has that as a
    /// half-move. Who stops the clock because of it has seen it.
    fn puts_back(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        if ctx.clock.stopped_at.is_some_and(|at| at >= finding.at) {
            return false;
        }
        let last = finding.ply.checked_sub(2).and_then(|i| self.record.get(i));
        let moved = last.and_then(|made| made.kind.from_to());
        let back = moved.map(|(from, to)| format!("{to}{from}"));
        finding.reason == Some(Reason::OpponentsPieceMoved) && back.is_some() && finding.act == back
    }

    /// What follows from the record proves nothing where that is in doubt, and was played on all the same; where it was corrected
    /// lately, half-moves were not pressed for either, and nobody stops the clock because of it; and, once it was corrected, where
    /// the board does not read all.
    fn is_shaky(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        if self.is_unproven(ctx, Some(finding.at)) || self.doubt.is_begun_in_lump() {
            return true;
        }
        let noticed = ctx.clock.stopped_at.is_some_and(|at| at >= finding.at);
        self.doubt.corrected.is_some_and(|ply| {
            let lately = finding.ply <= ply + SHAKY && (!noticed || finding.ply <= ply);
            let last = self.record.iter().rev().take(SHAKY);
            let unpressed = last.filter(|made| made.completed_by != CompletedBy::Clock);
            lately && unpressed.count() > 0 || self.is_board_faulty()
        })
    }

    /// Something in this game had to be told otherwise, or could not be told for certain: the record may be wrong again.
    fn was_mistaken(&self) -> bool {
        let mut said = self.open.iter().chain(&self.closed);
        self.doubt.shaken
            || said.any(|open| !open.is_dismissed() && open.matter.said.certainty != Certainty::Certain)
    }

    /// It is decided within a lump and was pressed for before that, and nothing in the lump tells by then that time has passed.
    fn is_hasty(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        use IrregularityKind::{BothFlags, FlagFall};
        let stopped = ctx.clock.stopped_at.is_some_and(|at| at >= finding.at);
        let flag = matches!(finding.kind, BothFlags | FlagFall);
        let before = ctx.catches_up && finding.at < ctx.lump_began;
        before && ctx.sensed.slack() == 0 && !flag && !stopped && self.ticks < TICKS
    }

    /// What was done within a half-move that began in a lump: when each of it happened nobody measured, and it is a matter of a
    /// quarter of a second whose hand it was, and of less than one whether a lever sprang back. The same holds of a piece that came
    /// to where it may not go after the press.
    fn is_unmeasured(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let late = |s| ctx.sensed.since(s) > finding.at;
        let gathered = |s| late(s) && ctx.sensed.since(s) <= finding.at + TOGETHER_MS;
        if ctx.gathered_until.is_some_and(|until| finding.at <= until)
            && finding.squares.into_iter().any(gathered)
        {
            return true;
        }
        let late = finding.kind == IrregularityKind::IllegalMove && finding.squares.into_iter().any(late);
        let before = finding.ply.checked_sub(2).and_then(|i| self.record.get(i));
        let began = before.map_or(self.began, |made| made.at).min(finding.at);
        (rests_on_times(finding.kind) || late) && ctx.lumped.is_some_and(|lumped| began <= lumped)
    }

    /// Pieces or squares are not read, or the board shows something else besides that is not as the record has it.
    fn is_untidy(&self, ctx: &Ctx<'_>, finding: &Finding) -> bool {
        let best = self.lines.best();
        let unread = self.noticed | ctx.sensed.dead() | best.faults().hidden | best.faults().silent;
        // Where no explanation has the act, its own squares differ. Of pieces that fell together one is found first.
        let explained = best.plies.first().is_some_and(|ply| ply.kind.legal().is_none());
        let own = match finding.kind {
            IrregularityKind::PiecesDisplaced => Bitboard::FULL,
            _ if explained => Bitboard::EMPTY,
            _ => finding.squares,
        };
        unread.any() || (best.differing() & !own).any()
    }
}

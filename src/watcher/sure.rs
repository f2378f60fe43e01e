//! How sure an accusation is said to be: `certain` is said where at most one in a thousand is false
//! (`examples/fit` counts it), and where anything else is amiss that is not so.

use shakmaty::Bitboard;

use super::{
    advice::Finding,
    game::{Ctx, Game},
};
use crate::{event::Certainty, laws::IrregularityKind};

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

impl Game {
    /// How sure `finding` is, by what else is amiss.
    pub(super) fn how_sure(&self, ctx: &Ctx<'_>, finding: &Finding) -> Certainty {
        let by_record = finding.reported.is_none() && follows_from_the_record(finding.kind);
        // Something may be missing, and nobody is accused because of that.
        if finding.reported.is_none() && ctx.sensed.may_miss_some() {
            return Certainty::Suspected;
        }
        let doubtful = by_record && (self.was_mistaken() || self.is_untidy(ctx, finding));
        if doubtful && finding.certainty == Certainty::Certain {
            Certainty::Probable
        } else {
            finding.certainty
        }
    }

    /// Something in this game had to be told otherwise, or could not be told for certain: the record may be wrong again.
    fn was_mistaken(&self) -> bool {
        let mut said = self.open.iter().chain(&self.closed);
        self.doubt.shaken
            || said.any(|open| !open.is_dismissed() && open.matter.said.certainty != Certainty::Certain)
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

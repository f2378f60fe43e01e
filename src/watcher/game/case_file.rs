//! The report of an irregularity with the case behind it, and the ruling of the Laws on it.

use serde::{Deserialize, Serialize};

use shakmaty::Color;

use crate::{
    board::Stand,
    event::Irregularity,
    laws::{
        Case, IrregularityKind, Occurrence, Penalty, PenaltyKind, Ruling, decide, options::MateAskedIn, words,
    },
    mate::cannot_mate_quick,
    watcher::ctx::Ctx,
};

/// A report and what may still change its ruling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::watcher) struct CaseFile {
    pub(super) case: Case,
    /// The report with its newest ruling.
    pub(in crate::watcher) said: Irregularity,
    /// The increment that the press gave the offender, in milliseconds.
    pub(super) increment_ms: u64,
    pub(super) mate: Mate,
    /// A person has raised the irregularity.
    pub(super) raised: bool,
}

/// Whether the offender's opponent can mate, as far as the ruling depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mate {
    /// The answer is known, or makes no difference.
    #[default]
    Known,
    /// The shell is looking for the answer in this position (FEN).
    Asked(String),
    /// The search met its bound without an answer.
    Undetermined,
}

impl CaseFile {
    /// The case of an earlier game, of which only the report is known.
    pub(in crate::watcher) fn of_past(case: Case, said: Irregularity) -> Self {
        Self {
            case,
            said,
            increment_ms: 0,
            mate: Mate::Known,
            raised: false,
        }
    }

    /// The ruling of the Laws on the case as it is now.
    pub(super) fn ruling(&self, ctx: &Ctx<'_>) -> Ruling {
        let mut ruling = decide(&self.case, &ctx.rules.contested);
        if self.mate == Mate::Undetermined && depends_on_mate(&self.case, ctx) {
            ruling.penalty = Penalty {
                kind: PenaltyKind::Arbiter,
                seconds: 0,
                to: None,
            };
        }
        ruling
    }

    /// The player who loses by it, if his opponent can mate.
    pub(super) fn loser(&self) -> Option<Color> {
        let facts = &self.case.facts;
        let loser = match facts.irregularity {
            IrregularityKind::BothFlags => facts.first_flag.side(),
            _ => facts.offender,
        };
        loser.map(Color::from)
    }

    /// Asks whether the opponent can mate, where the ruling depends on it: in the position that the article puts on the board
    /// (7.5.5); at a flag in the present one. In a past game nobody looks for mates any more.
    pub(super) fn ask_for_mate(
        &mut self,
        ctx: &Ctx<'_>,
        before: &Stand,
        target: Option<&Stand>,
        is_past: bool,
    ) {
        let after = ctx.rules.contested.mate_asked_in == MateAskedIn::TargetPosition;
        let judged = target.filter(|_| after).unwrap_or(before);
        if let (Some(loser), Some(chess)) = (self.loser(), judged.chess())
            && depends_on_mate(&self.case, ctx)
        {
            if cannot_mate_quick(chess, !loser) {
                self.case.facts.opponent_can_mate = false;
            } else if is_past {
                self.mate = Mate::Undetermined;
            } else {
                self.mate = Mate::Asked(judged.fen());
            }
        }
    }

    /// Writes the text of the report anew.
    pub(super) fn put_into_words(&mut self, ctx: &Ctx<'_>) {
        let alone = self.case.is_unsupervised() && !self.raised;
        let occurrence = Occurrence::of(&self.said, ctx.rules.laws)
            .raised_by_system(alone)
            .first_flag(self.case.facts.first_flag.side())
            .mate_undetermined(self.mate == Mate::Undetermined);
        self.said.text = words(&occurrence);
    }
}

/// True where the ruling depends on whether the offender's opponent can mate.
fn depends_on_mate(case: &Case, ctx: &Ctx<'_>) -> bool {
    let mut other = case.clone();
    other.facts.opponent_can_mate = !case.facts.opponent_can_mate;
    let options = &ctx.rules.contested;
    decide(case, options) != decide(&other, options)
}

//! An arbiter says that a game goes by other rules than those under which it began. Its cases are ruled on anew.

use super::{Open, cases::Cases, record::GameRecord};
use crate::{
    event::{Certainty, Resolution},
    laws::{
        PositionRuling, decide,
        offence::{self, Window},
        options::Count,
    },
    watcher::{Rules, ctx::Ctx},
};

/// Puts the cases under the present rules, where the game went by those `before`.
pub(super) fn judge_anew(ctx: &Ctx<'_>, cases: &mut Cases, record: &GameRecord, before: &Rules) {
    let is_past = cases.is_past;
    for open in cases.all_mut() {
        open.judge_anew(ctx, record, before, is_past);
    }
    let mut all: Vec<_> = cases.all_mut().collect();
    all.sort_by_key(|open| open.said);
    let mut offences = [0; 2];
    for open in all {
        let facts = &mut open.case_file.case.facts;
        let is_offence = facts.offence_number > 0;
        if let Some(side) = open.offender.filter(|_| is_offence) {
            facts.offence_number = offences[side as usize] + 1;
            offences[side as usize] += u32::from(open.counted);
        }
    }
    cases.offences = offences;
}

impl Open {
    /// Puts it under the present rules: whether it counts, whether it may stand, and what is put on the board.
    fn judge_anew(&mut self, ctx: &Ctx<'_>, record: &GameRecord, before: &Rules, is_past: bool) {
        let file = &mut self.case_file;
        let counted_before = offence::counts(&file.case, &before.contested);
        let ruled_before = decide(&file.case, &before.contested).position;
        let rules = &ctx.rules;
        (file.case.edition, file.case.time_control, file.case.supervision) =
            (rules.laws, rules.time_control, rules.supervision);
        let counts = offence::counts(&file.case, &rules.contested);
        if counts != counted_before {
            let stands = self
                .ended
                .as_ref()
                .is_some_and(|ended| ended.how == Resolution::Stands);
            let acted_on = !stands || rules.contested.offences_not_acted_on == Count::Counted;
            let is_sure = file.said.certainty != Certainty::Suspected;
            let is_dismissed = (self.ended.as_ref()).is_some_and(|ended| ended.how == Resolution::Dismissed);
            self.counted = counts && is_sure && acted_on && !is_dismissed;
            file.case.facts.offence_number = u32::from(counts);
        }
        self.may_stand = self.counted && !file.raised && offence::rule(&file.case).window != Window::GameEnd;
        let ruled = decide(&file.case, &rules.contested).position;
        let is_back = |ruled| {
            matches!(
                ruled,
                PositionRuling::ReinstateBefore | PositionRuling::LastIdentifiable
            )
        };
        let stood = record.stand_at(self.ply.saturating_sub(1).min(record.plies()));
        if is_back(ruled) && !is_back(ruled_before) {
            self.target = Some(stood.clone());
            self.ruled = None;
            file.said.ruling.target_fen = Some(stood.fen());
        }
        file.ask_for_mate(ctx, stood, self.target.as_deref(), is_past);
    }
}

//! An arbiter says that a game goes by other rules than those under which it began. Its cases are ruled on anew.

use std::sync::Arc;

use super::{Game, Open};
use crate::{
    event::{Certainty, Resolution, Why, notice},
    laws::{
        PositionRuling, decide,
        offence::{self, Window},
        options::Count,
    },
    watcher::{Rules, ctx::Ctx},
};

impl Game {
    /// Judges the game by `rules` from now on, and tells what that changes in the open cases.
    pub(in crate::watcher) fn go_by(&mut self, ctx: &mut Ctx<'_>, rules: Arc<Rules>) {
        let message = format!(
            "From now on game {} goes by other rules: {}. Before, it went by these: {}.",
            self.number,
            rules.in_words(),
            self.rules.in_words()
        );
        self.put_under(ctx, rules);
        self.notice(ctx, notice::RULES_TAKEN, &message);
        for i in 0..self.cases.open.len() {
            self.amend(ctx, i, Why::Rules);
            ctx.out.questions.extend(self.question(&self.cases.open[i]));
        }
    }

    /// The same without a word.
    pub(in crate::watcher) fn put_under(&mut self, ctx: &mut Ctx<'_>, rules: Arc<Rules>) {
        let before = std::mem::replace(&mut self.rules, rules.clone());
        self.rules_waiting = None;
        ctx.rules = rules;
        let mut cases = std::mem::take(&mut self.cases);
        for open in cases.all_mut() {
            self.judge_anew(ctx, open, &before);
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
        self.cases = cases;
    }

    /// Puts the case under the present rules: whether it counts, whether it may stand, and what is put on the board.
    fn judge_anew(&self, ctx: &Ctx<'_>, open: &mut Open, before: &Rules) {
        let file = &mut open.case_file;
        let counted_before = offence::counts(&file.case, &before.contested);
        let ruled_before = decide(&file.case, &before.contested).position;
        let rules = &ctx.rules;
        (file.case.edition, file.case.time_control, file.case.supervision) =
            (rules.laws, rules.time_control, rules.supervision);
        let counts = offence::counts(&file.case, &rules.contested);
        if counts != counted_before {
            let stands = open
                .ended
                .as_ref()
                .is_some_and(|ended| ended.how == Resolution::Stands);
            let acted_on = !stands || rules.contested.offences_not_acted_on == Count::Counted;
            let is_sure = file.said.certainty != Certainty::Suspected;
            let is_dismissed = (open.ended.as_ref()).is_some_and(|ended| ended.how == Resolution::Dismissed);
            open.counted = counts && is_sure && acted_on && !is_dismissed;
            file.case.facts.offence_number = u32::from(counts);
        }
        open.may_stand = open.counted && !file.raised && offence::rule(&file.case).window != Window::GameEnd;
        let ruled = decide(&file.case, &rules.contested).position;
        let is_back = |ruled| {
            matches!(
                ruled,
                PositionRuling::ReinstateBefore | PositionRuling::LastIdentifiable
            )
        };
        let stood = self
            .record
            .stand_at(open.ply.saturating_sub(1).min(self.record.plies()));
        if is_back(ruled) && !is_back(ruled_before) {
            open.target = Some(stood.clone());
            open.ruled = None;
            file.said.ruling.target_fen = Some(stood.fen());
        }
        self.ask_for_mate(ctx, file, stood, open.target.as_deref());
    }
}

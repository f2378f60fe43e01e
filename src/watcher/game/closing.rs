//! An arbiter closes cases, opens them again, and notes what was done.

use std::sync::Arc;

use super::{Ended, Open, cases::Cases, course::Course, touch::Hands};
use crate::{
    board::PlyKind,
    event::{Body, CompletedBy, Resolution, Why},
    laws::{
        IrregularityKind, Penalty, RaisedBy,
        offence::{self, Window},
        options::Count,
    },
    watcher::{at_rest::at_rest, command::CommandError, ctx::Ctx, not_now::NotNow},
};

impl Cases {
    /// Records that there was no offence. The case may be closed already.
    pub(in crate::watcher) fn dismiss(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        id: String,
    ) -> Result<(), CommandError> {
        let over = self
            .closed
            .iter()
            .position(|open| open.id == id && !open.is_dismissed());
        let Some(i) = over else {
            let i = self.find_open(&id)?;
            self.resolve(ctx, course, i, Resolution::Dismissed);
            return Ok(());
        };
        let open = self.closed[i].clone();
        self.uncount(ctx, course, &open);
        let closed = &mut self.closed[i];
        closed.counted = false;
        if let Some(ended) = &mut closed.ended {
            ended.before = Some(ended.how);
            ended.how = Resolution::Dismissed;
            ended.counted = open.counted;
            ended.by.clone_from(&ctx.out.by);
        }
        let body = Body::IrregularityResolved {
            irregularity: id,
            how: Resolution::Dismissed,
        };
        course.emit(ctx, None, body);
        Ok(())
    }

    /// Takes back how a case ended. A case that was dismissed after it had ended goes back to its first end,
    /// and counts again. Any other case is open again, and only a person closes it.
    pub(in crate::watcher) fn reopen(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        id: String,
    ) -> Result<(), CommandError> {
        let Some(i) = self.closed.iter().position(|open| open.id == id) else {
            self.find_open(&id)?;
            return Err(NotNow::CaseIsOpen.into());
        };
        let mut again = self.closed.remove(i);
        let Some(ended) = again.ended.take() else {
            return Err(CommandError::UnknownIrregularity(id));
        };
        let is_open = ended.before.is_none();
        let body = Body::IrregularityReopened {
            irregularity: id,
            open: is_open,
        };
        course.emit(ctx, None, body);
        if ended.counted && !again.counted {
            again.counted = true;
            self.count_again(ctx, course, &again);
        }
        match ended.before {
            Some(how) => {
                again.ended = Some(Ended {
                    how,
                    before: None,
                    ..ended
                });
                self.closed.push(again);
            }
            None => {
                again.by_hand = true;
                self.open.push(again);
            }
        }
        Ok(())
    }

    /// Notes the arbiter's penalty or remark on a case.
    pub(in crate::watcher) fn note(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        irregularity: String,
        penalty: Option<Penalty>,
        note: Option<String>,
    ) -> Result<(), CommandError> {
        let mut known = self.all();
        if !known.any(|open| open.id == irregularity) {
            return Err(CommandError::UnknownIrregularity(irregularity));
        }
        if penalty.is_none() && note.is_none() {
            return Err(NotNow::NothingToNote.into());
        }
        let body = Body::CaseNoted {
            irregularity,
            penalty,
            note,
        };
        course.emit(ctx, None, body);
        Ok(())
    }

    /// Lets the position on the board stand. An illegal move enters the record; displaced pieces stay where
    /// they are.
    pub(in crate::watcher) fn accept(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &mut Course,
        id: &str,
    ) -> Result<(), CommandError> {
        let i = self.find_open(id)?;
        let open = self.open[i].clone();
        if open.ply == course.record.plies() + 1 && open.act.is_some() {
            let line = course.lines.all().find(|line| {
                line.plies
                    .first()
                    .is_some_and(|ply| matches!(ply.kind, PlyKind::Illegal(_)))
            });
            if let Some(ply) = line.and_then(|line| line.plies.first().cloned()) {
                course.announce(ctx, &ply, CompletedBy::Ruling);
            }
        } else if matches!(
            open.kind,
            IrregularityKind::PiecesDisplaced | IrregularityKind::DisplacedPieceFound
        ) && open.ply == course.record.plies()
        {
            at_rest(ctx.sensed, ctx.now)?;
            let stand = Arc::new(course.record.stand().with_placement(ctx.sensed.placement()));
            if let Some(made) = course.record.made_mut().last_mut() {
                made.stand = stand;
                made.accepted = true;
            }
        }
        if offence::counts(&open.case_file.case, &ctx.rules.contested) && !open.counted {
            // A suspicion counts once a person says that the offence happened.
            self.open[i].counted = true;
            self.count_again(ctx, course, &open);
        }
        self.resolve(ctx, course, i, Resolution::Stands);
        course.restart_lines(ctx);
        Ok(())
    }

    /// Notes that a person has raised the irregularity, or that nobody does, and makes the ruling anew.
    pub(in crate::watcher) fn raised_by(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        id: String,
        by: RaisedBy,
    ) -> Result<(), CommandError> {
        if self.closed.iter().any(|open| open.id == id) {
            return Err(NotNow::CaseIsOver.into());
        }
        let Some(i) = self.find(|open| open.id == id) else {
            return Err(CommandError::UnknownIrregularity(id));
        };
        let open = &mut self.open[i];
        open.case_file.raised = by != RaisedBy::Nobody;
        open.case_file.case.facts.raised_by = by;
        // An irregularity that was raised in time does not stand because of a later reply.
        let until_reply = offence::rule(&open.case_file.case).window != Window::GameEnd;
        open.may_stand = open.counted && until_reply && by == RaisedBy::Nobody;
        self.amend(ctx, course, i, Why::RaisedBy);
        Ok(())
    }

    /// Ends an open irregularity.
    pub(in crate::watcher) fn resolve(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        index: usize,
        how: Resolution,
    ) {
        let mut open = self.open.remove(index);
        let body = Body::IrregularityResolved {
            irregularity: open.id.clone(),
            how,
        };
        course.emit(ctx, None, body);
        // An offence that stands was not acted on.
        let counts = match how {
            Resolution::Dismissed => false,
            Resolution::Stands => {
                !open.may_stand || ctx.rules.contested.offences_not_acted_on == Count::Counted
            }
            Resolution::Restored | Resolution::Superseded => true,
        };
        let counted = open.counted;
        if !counts {
            self.uncount(ctx, course, &open);
            open.counted = false;
        }
        open.ended = Some(Ended {
            how,
            by: ctx.out.by.clone(),
            counted,
            before: None,
        });
        self.closed.push(open);
    }

    /// Ends an open irregularity that the players have put right. The report of an illegal move covers what hands touched before.
    pub(in crate::watcher) fn put_right(
        &mut self,
        ctx: &mut Ctx<'_>,
        course: &Course,
        hands: &mut Hands,
        index: usize,
    ) {
        if self.open[index].kind == IrregularityKind::IllegalMove {
            hands.forget_touches();
        }
        self.resolve(ctx, course, index, Resolution::Restored);
    }

    /// Takes an open irregularity back: there was no offence.
    pub(in crate::watcher) fn withdraw(&mut self, ctx: &mut Ctx<'_>, course: &Course, index: usize) {
        let open = self.open[index].clone();
        self.open[index].counted = false;
        self.uncount(ctx, course, &open);
        self.resolve(ctx, course, index, Resolution::Superseded);
    }

    /// Takes `gone` out of the count of offences (7.5.5). Later offences of the player get a number that is
    /// one lower.
    pub(in crate::watcher) fn uncount(&mut self, ctx: &mut Ctx<'_>, course: &Course, gone: &Open) {
        let Some(side) = gone.offender.filter(|_| gone.counted) else {
            return;
        };
        let count = &mut self.offences[side as usize];
        *count = count.saturating_sub(1);
        let number = gone.case_file.case.facts.offence_number;
        for i in 0..self.open.len() {
            let later = &mut self.open[i];
            let facts = &mut later.case_file.case.facts;
            if later.offender == Some(side) && later.counted && facts.offence_number > number {
                facts.offence_number -= 1;
                self.amend(ctx, course, i, Why::OffenceCount);
            }
        }
    }

    /// Counts `again` among the offences again. Later offences of the player get a number that is one higher.
    pub(in crate::watcher) fn count_again(&mut self, ctx: &mut Ctx<'_>, course: &Course, again: &Open) {
        let Some(side) = again.offender else { return };
        self.offences[side as usize] += 1;
        let number = again.case_file.case.facts.offence_number;
        for i in 0..self.open.len() {
            let later = &mut self.open[i];
            let facts = &mut later.case_file.case.facts;
            let is_later = later.id != again.id && later.said >= again.said;
            if later.offender == Some(side) && later.counted && is_later && facts.offence_number >= number {
                facts.offence_number += 1;
                self.amend(ctx, course, i, Why::OffenceCount);
            }
        }
    }

    /// Takes over what a person ruled and reported in the game that had a result.
    pub(in crate::watcher) fn take_what_was_ruled(&mut self, said: &Self) {
        for theirs in said.all() {
            let mine = self.all().find(|mine| mine.id == theirs.id);
            let counted_before = mine.is_some_and(|mine| mine.counted);
            if mine.is_some_and(|mine| !is_ruled_since(mine, theirs)) {
                continue;
            }
            if let Some(side) = theirs.offender {
                let count = &mut self.offences[side as usize];
                *count = (*count + u32::from(theirs.counted)).saturating_sub(u32::from(counted_before));
            }
            self.open.retain(|open| open.id != theirs.id);
            self.closed.retain(|open| open.id != theirs.id);
            if theirs.ended.is_some() {
                self.closed.push(theirs.clone());
            } else {
                self.open.push(theirs.clone());
            }
        }
    }
}

/// True where a person has closed, dismissed or reopened the case of which the copy has `mine`. In a game
/// that has a result only a person does so.
fn is_ruled_since(mine: &Open, theirs: &Open) -> bool {
    match (mine.ended.is_some(), theirs.ended.is_some()) {
        (false, closed) => closed,
        (true, false) => theirs.by_hand && !mine.by_hand,
        (true, true) => theirs.is_dismissed() && !mine.is_dismissed(),
    }
}

//! From a finding to the report for the arbiter: the case, its ruling, the target position, the text.

use shakmaty::{Color, Square};

use super::{
    Open,
    case_file::{CaseFile, Mate},
    cases::Cases,
    course::Course,
    finding::Finding,
    flags::Flags,
    record::GameRecord,
    waits::JUDGE_MS,
};
use crate::{
    board::IllegalAct,
    event::{Body, Certainty},
    laws::{
        Case, Facts, IrregularityKind, PositionRuling, RaisedBy, decide,
        offence::{self, Window},
        options::Alert,
    },
    watcher::ctx::Ctx,
};

/// The open case of the illegal move of `finding`, where that still stands and nobody has touched it since: the player was sent back
/// to it, and has pressed once more.
pub(super) fn same_act<'c>(ctx: &Ctx<'_>, cases: &'c Cases, finding: &Finding) -> Option<&'c Open> {
    let is_same = |open: &&Open| {
        let untouched = |square: Square| ctx.sensed.since(square) <= open.said;
        open.kind == finding.kind
            && (open.ply, open.offender) == (finding.ply, finding.offender)
            && open.case_file.said.act == finding.act
            && finding.squares.into_iter().all(untouched)
    };
    // He may also have pressed once more without a half-move, where the board has told nothing meanwhile.
    let is_silent = |open: &Open| ctx.sensed.last_told() + JUDGE_MS < open.said;
    let may_be_same = |open: &&Open| match finding.kind {
        IrregularityKind::IllegalMove => finding.reported.is_none(),
        IrregularityKind::PressWithoutMove => finding.reported.is_none() && is_silent(open),
        _ => false,
    };
    cases.open.iter().find(is_same).filter(may_be_same)
}

/// Reports `finding` with what the Laws prescribe in `case`, `how_sure` as the watcher is, and keeps its case open unless it came as a
/// suspicion. Returns the id.
pub(super) fn report(
    ctx: &mut Ctx<'_>,
    course: &Course,
    cases: &mut Cases,
    mut finding: Finding,
    mut case: Case,
    how_sure: Certainty,
    act: Option<&IllegalAct>,
) -> String {
    let is_advice = finding.certainty == Certainty::Suspected;
    finding.certainty = how_sure;
    let is_sure = how_sure != Certainty::Suspected;
    let counts = offence::counts(&case, &ctx.rules.contested);
    if let Some(side) = finding.offender.filter(|_| counts) {
        case.facts.offence_number = cases.next_offence(side);
    }
    let counted = counts && is_sure;
    let may_stand = is_sure && offence::is_counted_kind(finding.kind);
    let ruled = decide(&case, &ctx.rules.contested).position;
    let back = matches!(
        ruled,
        PositionRuling::ReinstateBefore | PositionRuling::LastIdentifiable
    );
    if back && finding.ruled.take().is_some() {
        // The edition of 1997 has the half-move taken back: no ruling completes it.
        finding.target = Some(finding.before.clone());
    }
    if back && finding.reported.is_some() {
        finding.target.get_or_insert_with(|| finding.before.clone());
    }
    let mut case_file = case_file(ctx, &course.record, cases.is_past, &finding, case);
    case_file.rule(ctx, &course.record, finding.ply, finding.target.as_deref());
    let body = Body::Irregularity(Box::new(case_file.said.clone()));
    let id = course.emit(ctx, Some(finding.at), body);
    if counted && let Some(side) = finding.offender {
        cases.offences[side as usize] += 1;
    }
    // A finding that came as a suspicion keeps no open case. A finding that `how_sure` makes a suspicion
    // does, so that the watcher does not report it again.
    if is_advice {
        return id;
    }
    cases.open.push(Open {
        id: id.clone(),
        kind: finding.kind,
        offender: finding.offender,
        ply: finding.ply,
        target: finding.target,
        ruled: finding.ruled,
        act: act.cloned(),
        counted,
        // A case that a person has raised does not stand because of a later reply.
        may_stand: may_stand && !case_file.raised && offence::rule(&case_file.case).window != Window::GameEnd,
        said: ctx.now,
        by_hand: finding.reported.is_some(),
        ended: None,
        case_file: Box::new(case_file),
    });
    if let Some(question) = cases
        .open
        .last()
        .and_then(|open| open.question(course.record.mode()))
    {
        ctx.out.questions.push_back(question);
    }
    id
}

/// The case of `finding`, in a game that has a result if `is_over`.
pub(super) fn case(
    ctx: &Ctx<'_>,
    record: &GameRecord,
    flags: &Flags,
    is_over: bool,
    finding: &Finding,
) -> Case {
    let mut facts = Facts::new(finding.kind, finding.offender.map(Into::into));
    facts.moves_completed = record.moves_completed();
    facts.opponent_has_replied = record.is_answered(finding.offender, finding.ply);
    facts.last_period = flags.in_last_period(ctx);
    facts.first_flag = finding.first_flag;
    facts.game_over = is_over;
    if let Some(reported) = &finding.reported {
        facts.concurrent.clone_from(&reported.concurrent);
        facts.claim_correct = reported.claim_correct;
        facts.opponent_touched_piece = reported.opponent_touched_piece;
        facts.players_agree = reported.players_agree;
        facts.response_to = reported.response_to;
        facts.observed = reported.observed;
        facts.next_move_completed = reported.next_move_completed;
        facts.illegal_position_persists = reported.illegal_position_persists;
        facts.prescribed_moves_done = finding.offender.is_some_and(|side| {
            finding.kind == IrregularityKind::FlagFall
                && flags.period_is_complete(ctx, side, record.moves_completed())
        });
    }
    let mut case = ctx.rules.case(facts);
    let unraised = ctx.rules.contested.alert_unsupervised == Alert::NotRaised;
    if unraised && finding.reported.is_none() && case.is_unsupervised() {
        case.facts.raised_by = RaisedBy::Nobody;
    }
    case
}

/// The case file of `case`, without a ruling. If the ruling depends on whether the opponent can mate, and
/// no quick proof shows that the opponent cannot, the file holds that question for the shell.
fn case_file(ctx: &Ctx<'_>, record: &GameRecord, is_past: bool, finding: &Finding, case: Case) -> CaseFile {
    let offence_number = case.facts.offence_number;
    let mut case_file = CaseFile {
        case,
        mate: Mate::Known,
        increment_ms: finding
            .offender
            .map_or(0, |side| increment_of(ctx, record, finding, side)),
        raised: finding.reported.is_some(),
        said: finding.as_said(offence_number),
    };
    case_file.ask_for_mate(ctx, &finding.before, finding.target.as_deref(), is_past);
    case_file
}

/// The increment that the offender got by the press after the act, where that was the offender's last
/// press.
fn increment_of(ctx: &Ctx<'_>, record: &GameRecord, finding: &Finding, offender: Color) -> u64 {
    let pressed =
        offence::is_counted_kind(finding.kind) || finding.kind == IrregularityKind::CastlingIncomplete;
    if pressed && record.plies() <= finding.ply {
        ctx.clock.gained(offender)
    } else {
        0
    }
}

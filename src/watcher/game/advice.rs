//! From a finding to the report for the arbiter: the case, its ruling, the target position, the text.

use std::{collections::BTreeMap, sync::Arc};

use shakmaty::{Bitboard, Color, Move, Square};

use super::{
    Game, Open,
    case_file::{CaseFile, Mate},
};
use crate::{
    board::{IllegalAct, Placement, Stand, act::Reason},
    event::{Advice, Body, Certainty, ClockState, Irregularity},
    laws::{
        Case, Facts, FirstFlag, IrregularityKind, PositionRuling, RaisedBy, decide,
        offence::{self, Window},
        options::Alert,
    },
    time::Millis,
    watcher::{command::Report, ctx::Ctx},
};

/// An irregularity that was found at the board, before `laws` is asked.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Finding {
    pub(in crate::watcher) kind: IrregularityKind,
    pub(in crate::watcher) offender: Option<Color>,
    pub(super) ply: usize,
    pub(in crate::watcher) certainty: Certainty,
    pub(in crate::watcher) reason: Option<Reason>,
    pub(in crate::watcher) act: Option<String>,
    pub(in crate::watcher) squares: Bitboard,
    /// The position before the act.
    pub(super) before: Arc<Stand>,
    /// What stood on the board.
    pub(super) seen: Placement,
    /// The position that should stand on the board, where the players have to put something right.
    pub(in crate::watcher) target: Option<Arc<Stand>>,
    /// The half-move that the ruling completes.
    pub(super) ruled: Option<Move>,
    pub(in crate::watcher) at: Millis,
    pub(in crate::watcher) clock: Option<ClockState>,
    /// The side whose flag fell first, where both flags are down.
    pub(in crate::watcher) first_flag: FirstFlag,
    /// The report of a person; none where the sensors found the irregularity.
    pub(in crate::watcher) reported: Option<Report>,
}

/// Position and time of a finding.
#[derive(Clone, Debug)]
pub(in crate::watcher) struct Scene {
    /// The number of the half-move that the finding concerns; 0 for the start.
    pub(in crate::watcher) ply: usize,
    /// The position before the act.
    pub(in crate::watcher) before: Arc<Stand>,
    /// What stood on the board.
    pub(in crate::watcher) seen: Placement,
    pub(in crate::watcher) at: Millis,
    pub(in crate::watcher) clock: Option<ClockState>,
}

impl Finding {
    /// A finding with these facts. All others are empty.
    pub(in crate::watcher) fn new(
        kind: IrregularityKind,
        certainty: Certainty,
        offender: Option<Color>,
        scene: Scene,
    ) -> Self {
        let Scene {
            ply,
            before,
            seen,
            at,
            clock,
        } = scene;
        Self {
            kind,
            offender,
            ply,
            certainty,
            reason: None,
            act: None,
            squares: Bitboard::EMPTY,
            before,
            seen,
            target: None,
            ruled: None,
            at,
            clock,
            first_flag: FirstFlag::Unknown,
            reported: None,
        }
    }

    /// An illegal act of `by`.
    pub(super) fn illegal(by: Color, act: &IllegalAct, scene: Scene) -> Self {
        let certainty = if act.from_to().is_none() {
            Certainty::Probable
        } else {
            Certainty::Certain
        };
        let mut finding = Self::new(IrregularityKind::IllegalMove, certainty, Some(by), scene);
        finding.reason = Some(act.reason);
        finding.act = act.uci();
        finding.squares = act.from_to().map_or_else(
            || finding.before.placement().differing(&finding.seen),
            |(a, b)| Bitboard::from_square(a).with(b),
        );
        finding.target = Some(finding.before.clone());
        finding
    }

    /// The body of its event, without ruling and text.
    fn as_said(&self, offence_number: u32) -> Irregularity {
        Irregularity {
            kind: self.kind,
            offender: self.offender.map(Into::into),
            ply: self.ply as u32,
            certainty: self.certainty,
            articles: Vec::new(),
            squares: self.squares.into_iter().map(|s| s.to_string()).collect(),
            act: self.act.clone(),
            reason: self.reason.map(|r| r.as_str().to_string()),
            fen_before: self.before.fen(),
            placement: self.seen.fen(),
            clock: self.clock,
            offence_number,
            ruling: Advice::none(),
            text: BTreeMap::new(),
            note: self
                .reported
                .as_ref()
                .and_then(|report| report.note.clone())
                .map(Into::into),
        }
    }
}

impl Game {
    /// The open case of the illegal move of `finding`, where that still stands and nobody has touched it since: the player was sent back
    /// to it, and has pressed once more.
    fn same_act(&self, ctx: &Ctx<'_>, finding: &Finding) -> Option<&Open> {
        let is_same = |open: &&Open| {
            let untouched = |square: Square| ctx.sensed.since(square) <= open.said;
            open.kind == finding.kind
                && (open.ply, open.offender) == (finding.ply, finding.offender)
                && open.case_file.said.act == finding.act
                && finding.squares.into_iter().all(untouched)
        };
        let is_new = finding.reported.is_some() || finding.kind != IrregularityKind::IllegalMove;
        self.cases.open.iter().find(is_same).filter(|_| !is_new)
    }

    /// Reports an irregularity with what the Laws prescribe, and keeps its case open unless it is only a
    /// suspicion. Returns the id.
    pub(in crate::watcher) fn accuse(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut finding: Finding,
        act: Option<&IllegalAct>,
    ) -> String {
        if let Some(same) = self.same_act(ctx, &finding) {
            return same.id.clone();
        }
        let is_advice = finding.certainty == Certainty::Suspected;
        finding.certainty = self.how_sure(ctx, &finding);
        let is_sure = finding.certainty != Certainty::Suspected;
        let mut case = self.case(ctx, &finding);
        let counts = offence::counts(&case, &ctx.rules.contested);
        if let Some(side) = finding.offender.filter(|_| counts) {
            case.facts.offence_number = self.cases.next_offence(side);
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
        let mut case_file = self.case_file(ctx, &finding, case);
        let target = finding.target.as_ref().map(|stand| (stand.fen(), stand.turn()));
        let target = target.as_ref().map(|(fen, turn)| (fen.as_str(), *turn));
        let advice = case_file.advice(ctx, &self.course.record, finding.ply, target);
        case_file.said.articles.clone_from(&advice.articles);
        case_file.said.ruling = advice;
        case_file.put_into_words(ctx);
        let body = Body::Irregularity(Box::new(case_file.said.clone()));
        let id = self.course.emit(ctx, Some(finding.at), body);
        if counted && let Some(side) = finding.offender {
            self.cases.offences[side as usize] += 1;
        }
        // A finding that came as a suspicion keeps no open case. A finding that `how_sure` made a suspicion
        // does, so that the watcher does not report it again.
        if is_advice {
            return id;
        }
        self.cases.open.push(Open {
            id: id.clone(),
            kind: finding.kind,
            offender: finding.offender,
            ply: finding.ply,
            target: finding.target,
            ruled: finding.ruled,
            act: act.cloned(),
            counted,
            // A case that a person has raised does not stand because of a later reply.
            may_stand: may_stand
                && !case_file.raised
                && offence::rule(&case_file.case).window != Window::GameEnd,
            said: ctx.now,
            by_hand: finding.reported.is_some(),
            ended: None,
            case_file: Box::new(case_file),
        });
        if let Some(question) = self
            .cases
            .open
            .last()
            .and_then(|open| open.question(self.course.record.mode()))
        {
            ctx.out.questions.push_back(question);
        }
        id
    }

    fn case(&self, ctx: &Ctx<'_>, finding: &Finding) -> Case {
        let mut facts = Facts::new(finding.kind, finding.offender.map(Into::into));
        facts.moves_completed = self.course.record.moves_completed();
        facts.opponent_has_replied = self.course.record.is_answered(finding.offender, finding.ply);
        facts.last_period = self.flags.in_last_period(ctx);
        facts.first_flag = finding.first_flag;
        facts.game_over = self.outcome.result.is_some();
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
                    && self
                        .flags
                        .period_is_complete(ctx, side, self.course.record.moves_completed())
            });
        }
        let mut case = Case {
            edition: ctx.rules.laws,
            time_control: ctx.rules.time_control,
            supervision: ctx.rules.supervision,
            facts,
        };
        let unraised = ctx.rules.contested.alert_unsupervised == Alert::NotRaised;
        if unraised && finding.reported.is_none() && case.is_unsupervised() {
            case.facts.raised_by = RaisedBy::Nobody;
        }
        case
    }

    /// The case file of `case`, without a ruling. If the ruling depends on whether the opponent can mate, and
    /// no quick proof shows that the opponent cannot, the file holds that question for the shell.
    fn case_file(&self, ctx: &Ctx<'_>, finding: &Finding, case: Case) -> CaseFile {
        let offence_number = case.facts.offence_number;
        let mut case_file = CaseFile {
            case,
            mate: Mate::Known,
            increment_ms: finding
                .offender
                .map_or(0, |side| self.increment_of(ctx, finding, side)),
            raised: finding.reported.is_some(),
            said: finding.as_said(offence_number),
        };
        case_file.ask_for_mate(
            ctx,
            &finding.before,
            finding.target.as_deref(),
            self.cases.is_past,
        );
        case_file
    }

    /// The increment that the offender got by the press after the act, where that was the offender's last
    /// press.
    fn increment_of(&self, ctx: &Ctx<'_>, finding: &Finding, offender: Color) -> u64 {
        let pressed =
            offence::is_counted_kind(finding.kind) || finding.kind == IrregularityKind::CastlingIncomplete;
        if pressed && self.course.record.plies() <= finding.ply {
            ctx.clock.gained(offender)
        } else {
            0
        }
    }
}

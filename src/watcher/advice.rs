//! From what was found to what the arbiter is told: the case, its ruling, the target, the words.

use std::{collections::BTreeMap, sync::Arc};

use shakmaty::{Bitboard, Color, Move};

use super::game::{Ctx, Game, Open};
use crate::{
    board::{Act, Placement, Stand, act::Reason},
    event::{Advice, Body, Certainty, ClockState, Irregularity},
    laws::{
        Case, Facts, IrregularityKind, Occurrence, Options, PenaltyKind, PositionRuling,
        clock_proposal::{ClockHistory, propose},
        decide, words,
    },
    mate::cannot_mate_quick,
    time::Millis,
};

/// What was found at the board, before the law is asked.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) kind: IrregularityKind,
    pub(super) offender: Option<Color>,
    pub(super) ply: usize,
    pub(super) certainty: Certainty,
    pub(super) reason: Option<Reason>,
    pub(super) act: Option<String>,
    pub(super) squares: Bitboard,
    /// The position before the act.
    pub(super) before: Arc<Stand>,
    /// What stood on the board.
    pub(super) seen: Placement,
    /// How the board is to stand, where something is to be put right.
    pub(super) target: Option<Arc<Stand>>,
    /// The half-move that the ruling completes.
    pub(super) ruled: Option<Move>,
    pub(super) at: Millis,
    pub(super) clock: Option<ClockState>,
}

impl Finding {
    pub(super) fn new(game: &Game, by: Color, ply: usize, before: Arc<Stand>, seen: Placement) -> Self {
        debug_assert!(ply <= game.plies() + 1);
        Self {
            kind: IrregularityKind::IllegalMove,
            offender: Some(by),
            ply,
            certainty: Certainty::Certain,
            reason: None,
            act: None,
            squares: Bitboard::EMPTY,
            before,
            seen,
            target: None,
            ruled: None,
            at: Millis(0),
            clock: None,
        }
    }
}

/// The four kinds that share the count of 7.5.5.
fn counts(kind: IrregularityKind) -> bool {
    matches!(
        kind,
        IrregularityKind::IllegalMove
            | IrregularityKind::PromotionNotReplaced
            | IrregularityKind::PressWithoutMove
            | IrregularityKind::TwoHands
    )
}

impl Game {
    /// Says an irregularity with what the Laws prescribe, and keeps it open where something is to
    /// be put right.
    pub(super) fn accuse(&mut self, ctx: &mut Ctx<'_>, finding: Finding, act: Option<&Act>) {
        let counted = counts(finding.kind) && finding.certainty != Certainty::Suspected;
        let offence_number = match finding.offender {
            Some(side) if counts(finding.kind) => self.offences[side as usize] + 1,
            _ => 0,
        };
        let case = self.case(ctx, &finding, offence_number);
        let ruling = decide(&case, &Options::default());
        let target_fen = finding.target.as_ref().map(|stand| stand.fen());
        let clock_proposal = self.proposal(ctx, &finding, &ruling);
        let mut irregularity = Irregularity {
            kind: finding.kind,
            offender: finding.offender.map(Into::into),
            ply: finding.ply as u32,
            certainty: finding.certainty,
            articles: ruling.articles.clone(),
            squares: finding.squares.into_iter().map(|s| s.to_string()).collect(),
            act: finding.act.clone(),
            reason: finding.reason.map(|r| r.as_str().to_string()),
            fen_before: finding.before.fen(),
            placement: finding.seen.fen(),
            clock: finding.clock,
            offence_number,
            ruling: Advice {
                penalty: ruling.penalty,
                position: ruling.position,
                articles: ruling.articles.clone(),
                target_fen,
                clock_proposal,
            },
            text: BTreeMap::new(),
        };
        irregularity.text = words(&Occurrence::of(&irregularity, ctx.settings.laws));
        let id = self.emit(ctx, Some(finding.at), Body::Irregularity(Box::new(irregularity)));
        if counted && let Some(side) = finding.offender {
            self.offences[side as usize] += 1;
        }
        let lost = ruling.penalty.kind == PenaltyKind::Loss;
        if finding.certainty == Certainty::Suspected {
            return;
        }
        self.open.push(Open {
            id,
            kind: finding.kind,
            offender: finding.offender,
            ply: finding.ply,
            target: finding.target,
            ruled: finding.ruled,
            act: act.cloned(),
            counted,
            may_stand: !lost && case.is_unsupervised() && ruling.position != PositionRuling::Stands,
            said: ctx.now,
        });
    }

    fn case(&self, ctx: &Ctx<'_>, finding: &Finding, offence_number: u32) -> Case {
        let mut facts = Facts::new(finding.kind, finding.offender.map(Into::into));
        facts.offence_number = offence_number;
        facts.moves_completed = self.moves_completed();
        facts.last_period = self.in_last_period(ctx);
        facts.opponent_can_mate = self.opponent_can_mate(finding);
        Case {
            edition: ctx.settings.laws,
            time_control: ctx.settings.time_control,
            supervision: ctx.settings.supervision,
            facts,
        }
    }

    /// Whether the offender's opponent could mate by some series of legal moves, in the position
    /// that the article puts on the board (6.9, 7.5.5).
    fn opponent_can_mate(&self, finding: &Finding) -> bool {
        let Some(offender) = finding.offender else {
            return true;
        };
        let judged = finding.target.as_ref().unwrap_or(&finding.before);
        judged
            .chess()
            .is_none_or(|chess| !cannot_mate_quick(chess, !offender))
    }

    fn proposal(&self, ctx: &Ctx<'_>, finding: &Finding, ruling: &crate::laws::Ruling) -> Option<ClockState> {
        let clock = finding.clock?;
        let offender = finding.offender?;
        if !counts(finding.kind) {
            // Nothing was earned by it: the times stay, and the side to move in the target runs.
            let turn = finding.target.as_ref()?.turn();
            return Some(ClockState {
                running: Some(turn.into()),
                ..clock
            });
        }
        let history = ClockHistory {
            white_at_press_ms: clock.white_ms,
            black_at_press_ms: clock.black_ms,
            increment_ms: ctx.clock.gained(offender),
        };
        propose(&history, offender.into(), ruling)
    }
}

//! An irregularity that was found, before the Laws are asked.

use std::{collections::BTreeMap, sync::Arc};

use shakmaty::{Bitboard, Color, Move};

use crate::{
    board::{IllegalAct, Placement, Stand, act::Reason},
    event::{Advice, Certainty, ClockState, Irregularity},
    laws::{FirstFlag, IrregularityKind},
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
    /// The posterior of the act, where it is a part of the best hypothesis.
    pub(super) posterior: Option<f64>,
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

impl Scene {
    /// The act at `at`, half-move `ply`, came after `before`: what board and clock show now.
    pub(super) fn shown(ctx: &Ctx<'_>, ply: usize, before: Arc<Stand>, at: Millis) -> Self {
        Self {
            ply,
            before,
            seen: ctx.sensed.placement().clone(),
            at,
            clock: ctx.clock.state(),
        }
    }
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
            posterior: None,
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
    pub(super) fn as_said(&self, offence_number: u32) -> Irregularity {
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

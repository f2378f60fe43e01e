//! Half-moves and irregularities as a snapshot keeps them: to JSON, and back where they make sense.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Color, fen::Fen, uci::UciMove};

use super::parsed::{SavedPlies, When};
use crate::{
    board::{IllegalAct, PlyKind, Stand},
    event::{ClockState, CompletedBy},
    laws::{IrregularityKind, Side},
    watcher::game::{Ended, Game, Made, Open, case_file::CaseFile, names},
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedPly {
    uci: String,
    how: How,
    completed_by: CompletedBy,
    clock: Option<ClockState>,
    #[serde(default)]
    at: When,
    /// The illegal act, with the placement that it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    act: Option<IllegalAct>,
    /// The position that an arbiter accepted after it, if that differs from the one it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<String>,
    /// The position in which it was made, if that differs from the one before: pieces had been displaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_in: Option<String>,
    /// The board did not read the piece where it went, so its square is a guess.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    guessed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    Legal,
    Ruled,
    Recovered,
    Illegal,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedOpen {
    pub(super) id: String,
    kind: IrregularityKind,
    offender: Option<Side>,
    ply: SavedPlies,
    target: Option<String>,
    ruled: Option<String>,
    act: Option<IllegalAct>,
    counted: bool,
    may_stand: bool,
    #[serde(default)]
    said: When,
    #[serde(rename = "matter")]
    case_file: Box<CaseFile>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_hand: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<Ended>,
}

impl SavedPly {
    pub(super) fn of(made: &Made) -> Self {
        let (how, act) = match &made.kind {
            PlyKind::Legal(_) => (How::Legal, None),
            PlyKind::Ruled(_) => (How::Ruled, None),
            PlyKind::Recovered(_) => (How::Recovered, None),
            PlyKind::Illegal(act) | PlyKind::Suspect(act) => (How::Illegal, Some((**act).clone())),
        };
        Self {
            uci: made.uci.to_string(),
            how,
            completed_by: made.completed_by,
            clock: made.clock,
            at: When(made.at),
            act,
            guessed: !made.landed,
            accepted: made.accepted.then(|| made.stand.fen()),
            made_in: made.made_in.as_ref().map(|stand| stand.fen()),
        }
    }

    pub(super) fn restore(&self, before: &Arc<Stand>, mode: CastlingMode) -> Result<Made, String> {
        let made_in = self.made_in.as_ref().map(|text| stand(text, mode).map(Arc::new));
        let made_in = made_in.transpose()?;
        let before = made_in.as_ref().unwrap_or(before);
        let (kind, left) = match (self.how, &self.act) {
            (How::Illegal, None) => return Err("an illegal act that is not told".to_owned()),
            (How::Illegal, Some(act)) => {
                let left = before.left_as(&act.placement());
                (PlyKind::Illegal(Box::new(act.clone())), left)
            }
            (how, _) => {
                let none = || format!("{:?} is no half-move of {}", self.uci, before.fen());
                let candidate = before.named(&self.uci).ok_or_else(none)?;
                let kind = match how {
                    How::Ruled => PlyKind::Ruled(candidate.mv),
                    How::Recovered => PlyKind::Recovered(candidate.mv),
                    _ => PlyKind::Legal(candidate.mv),
                };
                (kind, before.after(&candidate))
            }
        };
        let (uci, san) = names(before, &kind, mode);
        if uci.to_string() != self.uci {
            return Err(format!("{:?} is not what was done: {uci}", self.uci));
        }
        let stand = match &self.accepted {
            Some(text) => stand(text, mode)?,
            None => left,
        };
        Ok(Made {
            kind,
            uci,
            san,
            stand: Arc::new(stand),
            completed_by: self.completed_by,
            clock: self.clock,
            at: self.at.0,
            accepted: self.accepted.is_some(),
            made_in: made_in.clone(),
            landed: !self.guessed,
        })
    }
}

impl SavedOpen {
    pub(super) fn of(open: &Open, mode: CastlingMode) -> Self {
        Self {
            id: open.id.clone(),
            kind: open.kind,
            offender: open.offender.map(Into::into),
            ply: open.ply.into(),
            target: open.target.as_ref().map(|stand| stand.fen()),
            ruled: open.ruled.map(|mv| UciMove::from_move(mv, mode).to_string()),
            act: open.act.clone(),
            counted: open.counted,
            may_stand: open.may_stand,
            said: When(open.said),
            case_file: open.case_file.clone(),
            by_hand: open.by_hand,
            ended: open.ended.clone(),
        }
    }

    pub(super) fn restore(&self, game: &Game) -> Result<Open, String> {
        let (ply, mode) = (usize::from(self.ply), game.course.record.mode());
        let before = game
            .course
            .record
            .stand_at(ply.saturating_sub(1).min(game.course.record.plies()));
        // A ruling completes no half-move that became impossible because the record was corrected.
        let named = self.ruled.as_deref().and_then(|uci| before.named(uci));
        let ruled = named.map(|candidate| candidate.mv);
        if ruled.is_some() && ply == 0 {
            return Err("a half-move is to complete what was before the first".to_owned());
        }
        let target = match &self.target {
            Some(text) => Some(Arc::new(stand(text, mode)?)),
            None => None,
        };
        Ok(Open {
            id: self.id.clone(),
            kind: self.kind,
            offender: self.offender.map(Color::from),
            ply,
            ruled,
            target,
            act: self.act.clone(),
            counted: self.counted,
            may_stand: self.may_stand,
            said: self.said.0,
            case_file: self.case_file.clone(),
            by_hand: self.by_hand,
            ended: self.ended.clone(),
        })
    }
}

/// Largest number of moves before the watcher takes a game up. The game may go on for long after that, and
/// the program adds up numbers of moves.
const MOST_MOVES: u32 = u32::MAX / 2;

pub(super) fn fen(text: &str) -> Result<Fen, String> {
    let fen: Fen = text
        .parse()
        .map_err(|error| format!("{text:?} is no FEN: {error}"))?;
    let moves = fen.as_setup().fullmoves.get();
    if moves > MOST_MOVES {
        return Err(format!("{text:?} is of no game: move {moves}"));
    }
    Ok(fen)
}

pub(super) fn stand(text: &str, mode: CastlingMode) -> Result<Stand, String> {
    Ok(Stand::of_setup(fen(text)?.into_setup(), mode))
}

/// The position of a FEN from outside, playable or not.
pub(in crate::watcher) fn stand_of_fen(fen: &str, mode: CastlingMode) -> Option<Stand> {
    let stand = stand(fen, mode).ok()?;
    (stand.setup().fullmoves.get() <= MOST_MOVES / 2).then_some(stand)
}

//! A line as a snapshot keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Square, uci::UciMove};

use super::Line;
use crate::{
    board::{
        act::Act,
        bill::KeptBill,
        candidate::Candidate,
        faults::Faults,
        kept::{KeptSquare, bits},
        ply::{Ply, PlyKind},
        sensed::Sensed,
        stand::Stand,
    },
    laws::Side,
    time::Millis,
};

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptLine {
    plies: Vec<KeptPly>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pending: Vec<(Side, Millis)>,
    bill: KeptBill,
    #[serde(with = "bits")]
    trail: Bitboard,
    faults: Faults,
    born: Millis,
    /// Since when squares differ by it: all, and those that do since later.
    wrong_since: (Millis, Vec<(KeptSquare, Millis)>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptPly {
    kind: KeptKind,
    at: Millis,
    began: Millis,
    seen: bool,
    landed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pressed: Option<Millis>,
    missed: f32,
}

/// A half-move by its name in UCI, or what was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptKind {
    Legal(String),
    Ruled(String),
    Recovered(String),
    Illegal(Box<Act>),
    Suspect(Box<Act>),
}

impl Line {
    /// The same as a snapshot keeps it.
    pub(in crate::board) fn keep(&self, sensed: &Sensed) -> KeptLine {
        let least = self.wrong_since.iter().min().copied().unwrap_or_default();
        let later = Square::ALL.into_iter().filter_map(|s| {
            let since = self.wrong_since[usize::from(s)];
            // What changed since counts from there.
            (since > least.max(sensed.since(s))).then_some((KeptSquare(s), since))
        });
        KeptLine {
            plies: self.plies.iter().map(KeptPly::of).collect(),
            pending: self
                .pending
                .iter()
                .map(|(side, at)| ((*side).into(), *at))
                .collect(),
            bill: self.bill.keep(),
            trail: self.trail,
            faults: self.faults,
            born: self.born,
            wrong_since: (least, later.collect()),
        }
    }
}

impl KeptLine {
    /// The line, which goes on from `base` and explains `sensed`.
    pub(in crate::board) fn restore(&self, base: &Arc<Stand>, sensed: &Sensed) -> Result<Line, String> {
        let mut line = Line::new(base.clone(), sensed, self.born);
        for kept in &self.plies {
            let ply = kept.restore(&line.stand)?;
            line.stand = ply.stand.clone();
            line.plies.push(ply);
        }
        line.pending = self
            .pending
            .iter()
            .map(|(side, at)| ((*side).into(), *at))
            .collect();
        line.bill = self.bill.restore()?;
        line.faults = self.faults;
        let (least, later) = &self.wrong_since;
        line.wrong_since = [*least; 64];
        for (KeptSquare(square), since) in later {
            line.wrong_since[usize::from(*square)] = *since;
        }
        line.hold_against(Bitboard::FULL, sensed);
        line.trail = self.trail & line.differing;
        Ok(line)
    }
}

impl KeptPly {
    fn of(ply: &Ply) -> Self {
        // Moves of the start position's variant: a king that takes its own rook castles.
        let uci = |mv| UciMove::from_move(mv, ply.stand.mode()).to_string();
        Self {
            kind: match &ply.kind {
                PlyKind::Legal(mv) => KeptKind::Legal(uci(*mv)),
                PlyKind::Ruled(mv) => KeptKind::Ruled(uci(*mv)),
                PlyKind::Recovered(mv) => KeptKind::Recovered(uci(*mv)),
                PlyKind::Illegal(act) => KeptKind::Illegal(act.clone()),
                PlyKind::Suspect(act) => KeptKind::Suspect(act.clone()),
            },
            at: ply.at,
            began: ply.began,
            seen: ply.seen,
            landed: ply.landed,
            pressed: ply.pressed,
            missed: ply.missed,
        }
    }

    fn restore(&self, before: &Arc<Stand>) -> Result<Ply, String> {
        let (kind, stand) = self.kind.restore(before)?;
        if !self.missed.is_finite() {
            return Err(format!("a half-move that has cost {}", self.missed));
        }
        Ok(Ply {
            kind,
            at: self.at,
            began: self.began,
            seen: self.seen,
            landed: self.landed,
            pressed: self.pressed,
            missed: self.missed,
            stand: Arc::new(stand),
        })
    }
}

impl KeptKind {
    /// What was played on `before`, and where it leads.
    fn restore(&self, before: &Stand) -> Result<(PlyKind, Stand), String> {
        let legal = |uci: &str| -> Result<Candidate, String> {
            let named = |c: &Candidate| UciMove::from_move(c.mv, before.mode()).to_string() == uci;
            let none = || format!("{uci:?} is no half-move of {}", before.fen());
            before.candidates().find(named).ok_or_else(none)
        };
        let made = |uci: &str, kind: fn(shakmaty::Move) -> PlyKind| {
            legal(uci).map(|candidate| (kind(candidate.mv), before.after(&candidate)))
        };
        match self {
            Self::Legal(uci) => made(uci, PlyKind::Legal),
            Self::Ruled(uci) => made(uci, PlyKind::Ruled),
            Self::Recovered(uci) => made(uci, PlyKind::Recovered),
            Self::Illegal(act) => Ok((PlyKind::Illegal(act.clone()), before.left_as(&act.placement()))),
            Self::Suspect(act) => Ok((PlyKind::Suspect(act.clone()), before.left_as(&act.placement()))),
        }
    }
}

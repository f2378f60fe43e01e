//! A line as a snapshot keeps it.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Square};

use super::{Line, rested::Rested};
use crate::{
    board::{
        bill::KeptBill,
        faults::Faults,
        kept::{KeptSquare, bits},
        ply::{Grown, Tree},
        sensed::Sensed,
        stand::Stand,
        wrong_since::WrongSince,
    },
    terms::Side,
    time::Millis,
};

/// A line as a snapshot keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptLine {
    /// The last half-move, by its number in the tree of all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pending: Vec<(Side, Millis)>,
    bill: KeptBill,
    #[serde(with = "bits")]
    trail: Bitboard,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    faults: Option<Faults>,
    born: Millis,
    /// Since when squares differ from the line: the earliest time, and the later times with their squares.
    wrong_since: (Millis, Vec<(KeptSquare, Millis)>),
    /// What lasting differences have cost by squares, and what was due for second thoughts.
    #[serde(default, skip_serializing_if = "is_nothing")]
    rested: (Vec<(KeptSquare, f32)>, f32),
}

fn is_nothing((paid, thoughts): &(Vec<(KeptSquare, f32)>, f32)) -> bool {
    paid.is_empty() && *thoughts == 0.0
}

impl KeptLine {
    /// `line` as a snapshot keeps it.
    pub(in crate::board) fn of<'a>(line: &'a Line, sensed: &Sensed, tree: &mut Tree<'a>) -> Self {
        let least = line.wrong_since.least();
        let later = Square::ALL.into_iter().filter_map(|s| {
            let since = line.wrong_since.at(s);
            // A square that changed since counts from its change.
            (since > least.max(sensed.since(s))).then_some((KeptSquare(s), since))
        });
        let paid = line.rested.paid().iter();
        let paid = paid.map(|(square, nats)| (KeptSquare(*square), *nats));
        Self {
            last: tree.take_in(&line.plies),
            pending: line
                .pending
                .iter()
                .map(|(side, at)| ((*side).into(), *at))
                .collect(),
            bill: line.bill.keep(),
            trail: line.trail,
            faults: Some(line.faults).filter(|faults| *faults != Faults::default()),
            born: line.born,
            wrong_since: (least, later.collect()),
            rested: (paid.collect(), line.rested.thoughts()),
        }
    }

    /// The line, which goes on from `base` and explains `sensed`.
    pub(in crate::board) fn restore(
        &self,
        base: &Arc<Stand>,
        tree: &Grown,
        sensed: &Sensed,
    ) -> Result<Line, String> {
        let mut line = Line::new(base.clone(), sensed, self.born);
        line.plies = tree.line_to(self.last)?;
        if let Some(ply) = line.plies.last() {
            line.stand = ply.stand.clone();
            line.moves = OnceLock::new();
        }
        line.pending = self
            .pending
            .iter()
            .map(|(side, at)| ((*side).into(), *at))
            .collect();
        line.bill = self.bill.restore()?;
        let (paid, thoughts) = &self.rested;
        if !paid
            .iter()
            .map(|(_, nats)| nats)
            .chain([thoughts])
            .all(|nats| nats.is_finite())
        {
            return Err("differences that have cost no number".to_owned());
        }
        let paid = paid.iter().map(|(KeptSquare(square), nats)| (*square, *nats));
        line.rested = Rested::of(paid.collect(), *thoughts);
        line.faults = self.faults.unwrap_or_default();
        let (least, later) = &self.wrong_since;
        line.wrong_since = WrongSince::new(*least);
        for (KeptSquare(square), since) in later {
            line.wrong_since.set(*square, *since);
        }
        line.hold_against(Bitboard::FULL, sensed);
        line.trail = self.trail & line.differing;
        Ok(line)
    }
}

//! The beam as a snapshot keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Lines, MOST_LINES};
use crate::{
    board::{
        line::KeptLine,
        ply::{KeptPlies, Tree},
        sensed::Sensed,
        stand::Stand,
    },
    time::Millis,
};

/// The beam as a snapshot keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptLines {
    plies: KeptPlies,
    /// The best first.
    lines: Vec<KeptLine>,
    aged: Millis,
    clock_runs: bool,
    frozen: bool,
    #[serde(default)]
    seen_to: Millis,
}

impl KeptLines {
    /// `beam` as a snapshot keeps it.
    #[must_use]
    pub fn of(beam: &Lines, sensed: &Sensed) -> Self {
        let mut tree = Tree::default();
        let lines = beam
            .lines
            .iter()
            .map(|line| KeptLine::of(line, sensed, &mut tree))
            .collect();
        Self {
            plies: tree.keep(),
            lines,
            aged: beam.aged,
            clock_runs: beam.clock_runs,
            frozen: beam.frozen,
            seen_to: beam.seen_to,
        }
    }

    /// The lines, which go on from `base` and explain `sensed`.
    ///
    /// # Errors
    /// The message says what makes no sense in the lines.
    pub fn restore(&self, base: &Arc<Stand>, sensed: &Sensed) -> Result<Lines, String> {
        let count = self.lines.len();
        if !(1..=MOST_LINES).contains(&count) {
            return Err(format!("{count} hypotheses: 1 to {MOST_LINES} are kept"));
        }
        let tree = self.plies.restore(base)?;
        let restored = |kept: &KeptLine| kept.restore(base, &tree, sensed).map(Box::new);
        let lines = self.lines.iter().map(restored);
        let mut lines = Lines {
            lines: lines.collect::<Result<_, _>>()?,
            aged: self.aged,
            ranked_at: None,
            clock_runs: false,
            recovering: false,
            gap_is_open: false,
            frozen: self.frozen,
            seen_to: self.seen_to,
            left: false,
        };
        lines.set_clock_runs(self.clock_runs);
        Ok(lines)
    }
}

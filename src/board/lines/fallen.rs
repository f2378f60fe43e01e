//! Pieces that fell, in the beam: hypotheses of them come and go, and one of them is the likeliest.

use super::Lines;
use crate::{
    board::{
        bill::Item,
        faults::Fall,
        line::{Glance, Line},
        ply::PlyKind,
        sensed::Sensed,
        weight,
    },
    time::Millis,
};

impl Lines {
    /// Adds lines in which pieces fell while the last half-move was made.
    pub(super) fn grow_fallen(&mut self, sensed: &Sensed) {
        if sensed.is_felt() || self.frozen {
            return;
        }
        if !self.lines.iter().all(|line| line.takes_row_for_fall(sensed)) {
            self.lines.retain(|line| !line.takes_row_for_fall(sensed));
        }
        let fallen: Vec<Line> = self
            .lines
            .iter()
            .filter_map(|line| line.with_fall(sensed))
            .collect();
        for line in fallen {
            self.offer(line);
        }
    }

    /// Drops `fall` from all lines: it has been reported, and all pieces are back.
    pub fn forget_fall(&mut self, fall: &Fall) {
        for line in &mut self.lines {
            line.faults.fall = line.faults.fall.filter(|known| !known.is_of(fall));
        }
    }

    /// The clock is stopped. If that is soon after a press, it speaks for a fall or an offence at that press.
    pub fn clock_stopped(&mut self, now: Millis, sensed: &Sensed) {
        for line in &mut self.lines {
            // A player may stop the clock because of an offence, too.
            let last = line.plies.last();
            if last.is_some_and(|ply| matches!(ply.kind, PlyKind::Suspect(_)) && ply.pressed.is_some()) {
                line.charge(Item::Illegal, -weight::STOPPED);
            }
            line.fall_is_noticed(now);
        }
        self.rank(now, sensed);
    }

    /// The likeliest fall, with its posterior. `stands`: the clock stands, and an arbiter may be at work.
    /// Then a line counts only if nothing else differs.
    #[must_use]
    pub fn likeliest_fall(&self, now: Millis, sensed: &Sensed, stands: bool) -> Option<(Fall, f64)> {
        let line = self.lines.iter().find(|line| line.faults.fall.is_some())?;
        let best = line.faults.fall?;
        if stands && line.differing.any() {
            return None;
        }
        let glance = Glance::new(sensed, now);
        let totals: Vec<f32> = self.lines.iter().map(|line| line.total_at(glance)).collect();
        let odds = weight::posterior(&totals);
        // One piece or two: the offence is the same.
        let same = |line: &Line| line.faults.fall.is_some_and(|fall| fall.is_of(&best));
        let mass = self.lines.iter().zip(odds).filter(|(line, _)| same(line));
        Some((best, mass.map(|(_, p)| p).sum()))
    }
}

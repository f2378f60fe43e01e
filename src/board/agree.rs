//! What the hypotheses have in common that are nearly as likely as the best.

use shakmaty::Move;

use super::{
    fall::Fall,
    line::{Glance, Line},
    lines::Lines,
    ply::PlyKind,
    sensed::{SCAN_MS, Sensed},
    weight,
};
use crate::time::Millis;

impl Lines {
    /// True when all lines within `margin` nats of the best have the same half-move number `k`.
    #[must_use]
    pub fn agree_on(&self, k: usize, now: Millis, sensed: &Sensed, margin: f32) -> bool {
        let mut close = self.close(now, sensed, margin);
        close.all(|line| self.best().has_same(k, line))
    }

    /// The lines within `margin` nats of the best, without the best itself.
    fn close(&self, now: Millis, sensed: &Sensed, margin: f32) -> impl Iterator<Item = &Line> {
        let glance = Glance::new(sensed, now);
        let limit = self.best().total_at(glance) + margin;
        self.all()
            .skip(1)
            .filter(move |line| line.total_at(glance) <= limit)
    }

    /// True when all lines have the same half-move number `k`.
    #[must_use]
    pub fn share(&self, k: usize) -> bool {
        self.lines[1..].iter().all(|line| self.best().has_same(k, line))
    }

    /// True when all lines within `margin` nats of the best have the same suspected act as half-move number
    /// `k`. They may differ in where the pieces stand that are not read.
    #[must_use]
    pub fn agree_on_act(&self, k: usize, now: Millis, sensed: &Sensed, margin: f32) -> bool {
        let act = |line: &Line| match &line.plies.get(k)?.kind {
            PlyKind::Suspect(act) => Some((act.from_to()?, act.reason)),
            _ => None,
        };
        let best = act(self.best());
        best.is_some() && self.close(now, sensed, margin).all(|line| act(line) == best)
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
        // One piece or two: the offence is the same.
        let same = |line: &Line| line.faults.fall.is_some_and(|fall| fall.is_of(&best));
        Some((best, self.mass(now, sensed, same)))
    }

    /// The posterior of the lines for which `holds` is true.
    fn mass(&self, now: Millis, sensed: &Sensed, holds: impl Fn(&Line) -> bool) -> f64 {
        let glance = Glance::new(sensed, now);
        let totals: Vec<f32> = self.lines.iter().map(|line| line.total_at(glance)).collect();
        let odds = self.lines.iter().zip(weight::posterior(&totals));
        odds.filter(|(line, _)| holds(line)).map(|(_, p)| p).sum()
    }

    /// The posterior of half-move number `k` of the best line.
    #[must_use]
    pub fn posterior_of(&self, k: usize, now: Millis, sensed: &Sensed) -> f64 {
        self.mass(now, sensed, |line| self.best().has_same(k, line))
    }

    /// The posterior that something stands as `fall` has it, however it got there: that pieces fell, or that squares differ for which
    /// nothing accounts and that changed before the press was read.
    #[must_use]
    pub fn out_of_place(&self, fall: &Fall, now: Millis, sensed: &Sensed) -> f64 {
        let changed_since = sensed.changed_since(fall.pressed + SCAN_MS);
        let has_it = |line: &Line| match line.faults.fall {
            Some(other) => other.pressed == fall.pressed,
            None => {
                let last = line.plies.last().and_then(|last| last.pressed);
                last == Some(fall.pressed)
                    && line.differing.any()
                    && (line.differing & changed_since).is_empty()
            }
        };
        self.mass(now, sensed, has_it)
    }

    /// Drops the lines whose half-move number `k` is not `mv`. A line that has no such half-move stays. If no
    /// line would stay, all do.
    pub fn keep_to(&mut self, k: usize, mv: Move, now: Millis, sensed: &Sensed) {
        let meant = |line: &Line| {
            let next = line.plies.get(k);
            next.is_none_or(|ply| ply.kind.legal() == Some(mv))
        };
        if self.all().any(meant) {
            self.lines.retain(|line| meant(line));
            self.rank(now, sensed);
        }
    }
}

//! Lines with which another game goes on.

use super::Lines;
use crate::board::{line::Line, ply::PlyKind};

impl Lines {
    /// All lines, with which another game goes on. Here stay those that are still asked for, as they are: the best one, and the
    /// one in which an illegal act that was said stands.
    pub fn leave(&mut self) -> Self {
        let says_act = |line: &Line| {
            let first = line.plies.first();
            first.is_some_and(|ply| matches!(ply.kind, PlyKind::Illegal(_)))
        };
        let mut lines = vec![self.lines[0].clone()];
        lines.extend(self.lines[1..].iter().find(|line| says_act(line)).cloned());
        let left = Self {
            lines,
            left: true,
            ..*self
        };
        std::mem::replace(self, left)
    }
}

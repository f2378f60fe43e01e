//! The positions of a game, held against what the board shows.

use super::{Made, Open, cases::Cases, course::Course, unread::Unread};
use crate::{
    board::{Line, Placement},
    watcher::arrays::{array_named, is_array_as_read},
};

/// The positions of a game, as the board shows them: but for pieces and squares that it does not read.
#[derive(Clone, Copy)]
pub(in crate::watcher) struct Positions<'g> {
    pub(super) course: &'g Course,
    pub(super) cases: &'g Cases,
    pub(super) unread: &'g Unread,
}

impl Positions<'_> {
    /// True when a hypothesis that contains the whole record shows `seen`.
    pub(super) fn explains(&self, seen: &Placement) -> bool {
        let said = &self.course.record[self.course.base..];
        let keeps = |line: &Line| {
            line.plies.len() >= said.len()
                && line
                    .plies
                    .iter()
                    .zip(said)
                    .all(|(ply, made)| ply.kind.same_as(&made.kind))
        };
        self.course
            .lines
            .all()
            .any(|line| self.unread.is_shown(line.placement(), seen) && keeps(line))
    }

    /// The last earlier position of the game that `seen` shows. The initial position does not count, for it
    /// begins a new game, unless the players have to put an irregularity right there.
    pub(super) fn earlier(&self, seen: &Placement) -> Option<usize> {
        let array = is_array_as_read(&array_named(seen));
        let least = usize::from(array && !self.is_to_be_put_right(seen));
        let placement = |ply: usize| self.course.record.stand_at(ply).placement();
        let mut plies = (least..self.course.record.plies()).rev();
        let found = plies.find(|ply| self.unread.is_shown(placement(*ply), seen))?;
        // The same stood before a press without a move. Whoever puts it up again takes that back, too.
        let passed = found > least && placement(found) == placement(found - 1);
        Some(found - usize::from(passed))
    }

    /// True where `seen` is the target of an open irregularity and at most one half-move was played since.
    /// Later, an initial position begins another game, whatever was reported of the first half-moves.
    pub(in crate::watcher) fn is_to_be_put_right(&self, seen: &Placement) -> bool {
        let is_recent = |open: &&Open| self.course.record.plies() <= open.ply + 1;
        let mut targets = self
            .cases
            .open
            .iter()
            .filter(is_recent)
            .filter_map(|open| open.target.as_ref());
        targets.any(|target| target.placement().agrees(seen))
    }

    /// How many of the half-moves that were taken back lead to what `seen` shows.
    pub(super) fn put_up_again(&self, seen: &Placement) -> Option<usize> {
        let shown = |made: &Made| self.unread.is_shown(made.stand.placement(), seen);
        let last = self.course.record.withdrawn.iter().rposition(shown)?;
        Some(last + 1)
    }
}

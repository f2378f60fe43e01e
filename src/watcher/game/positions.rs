//! The positions of a game, held against what the board shows.

use shakmaty::Color;

use super::{Made, Open, cases::Cases, course::Course, unread::Unread};
use crate::{
    board::{Line, Placement, Sensed, Stand, candidate::Candidate},
    time::Millis,
    watcher::arrays::{array_named, is_array_as_read},
};

/// So many pieces of a position that is put up again may be missing when the clock is started.
const MOST_AWAY: usize = 2;

/// The positions of a game, as the board shows them: but for pieces and squares that it does not read.
#[derive(Clone, Copy)]
pub(in crate::watcher) struct Positions<'g> {
    pub(super) course: &'g Course,
    pub(super) cases: &'g Cases,
    pub(super) unread: &'g Unread,
}

impl<'g> Positions<'g> {
    pub(super) fn of(course: &'g Course, cases: &'g Cases, unread: &'g Unread) -> Self {
        Self {
            course,
            cases,
            unread,
        }
    }
}

impl Positions<'_> {
    /// True when a hypothesis that contains the whole record shows `seen`.
    pub(super) fn explains(&self, seen: &Placement) -> bool {
        let mut lines = self.whole_lines();
        lines.any(|line| self.unread.is_shown(line.placement(), seen))
    }

    /// True when a hypothesis of legal half-moves alone shows `seen`.
    pub(super) fn explains_legally(&self, seen: &Placement) -> bool {
        let is_explained = |line: &Line| {
            let legal = line.plies.iter().all(|ply| ply.kind.legal().is_some());
            legal && self.unread.is_shown(line.placement(), seen)
        };
        self.course.lines.all().any(is_explained)
    }

    /// The hypotheses that contain the whole record.
    fn whole_lines(&self) -> impl Iterator<Item = &Line> {
        let lines = self.course.lines.all();
        lines.filter(|line| self.course.is_kept_by(line))
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

    /// The last earlier position of the game with `mover` to move that `seen` shows but for a piece or two that are not there, or not
    /// read yet, although pieces stand where the record has others: hands put them there since `stopped`.
    pub(super) fn nearly_earlier(&self, sensed: &Sensed, mover: Color, stopped: Millis) -> Option<usize> {
        let seen = sensed.placement();
        let missing = |placement: &Placement| {
            let differing = placement.differing(seen);
            let is_few = (1..=MOST_AWAY).contains(&differing.count());
            is_few && (differing & seen.occupied()).is_empty()
        };
        let was_put_up = |placement: &Placement| {
            let apart = self.course.record.stand().placement().differing(placement);
            let mut back = (apart & seen.occupied()).into_iter();
            back.any(|square| sensed.since(square) >= stopped)
        };
        // Who captures with a piece like the one that was captured puts up what stood before, but for both squares that they left.
        let stand = self.course.record.stand();
        let is_played_on = stand.turn() != mover && self.half_move_shown(stand, seen).is_some();
        if is_played_on || self.whole_lines().any(|line| missing(line.placement())) {
            return None;
        }
        let mut plies = (1..self.course.record.plies()).rev();
        plies.find(|ply| {
            let stand = self.course.record.stand_at(*ply);
            stand.turn() == mover && missing(stand.placement()) && was_put_up(stand.placement())
        })
    }

    /// The legal half-move from `before` after which the board shows `seen`.
    pub(super) fn half_move_shown(&self, before: &Stand, seen: &Placement) -> Option<Candidate> {
        let shows = |made: &Candidate| self.unread.is_shown(&made.after(before.placement()), seen);
        before.candidates().find(shows)
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

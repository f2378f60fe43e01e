//! When the session asks for the whole board.
//!
//! A dump verifies what changes have told, mends what damage on the line has cost, or answers the watcher. Only
//! the first is routine. On a line that boards share a dump takes as long as five visits, so the boards' sessions
//! leave room there for the dumps that somebody waits for.

use crate::time::Millis;

/// From the last change on the board to the dump that verifies it (milliseconds, as all below).
pub(super) const SETTLED: u64 = 1000;
/// Between dumps of a quiet board.
pub(super) const QUIET: u64 = 5000;
/// From damage on the line to the dump that mends it.
pub(super) const MEND: u64 = 300;
/// From a dump to the next routine one, multiplied by the number of boards on the line. The line reads at most two
/// dumps a second, and routine takes no more than two thirds of them.
const A_BOARD: u64 = 800;

/// The deadlines of the dumps.
#[derive(Clone, Debug, Default)]
pub(super) struct Dumps {
    /// From a dump to the next routine one, at the least.
    pause: u64,
    /// When the last one came.
    last: Option<Millis>,
    due: Millis,
    /// When one is due because of damage on the line. Changes of squares do not put it off.
    mend_due: Option<Millis>,
}

impl Dumps {
    /// True on a line that boards share.
    pub(super) fn is_on_line(&self) -> bool {
        self.pause > 0
    }

    /// Of a board on a line that so many boards share; 0 where the board has the line to itself.
    pub(super) fn on_line_of(boards: u64) -> Self {
        Self {
            pause: boards * A_BOARD,
            ..Self::default()
        }
    }

    /// None has come and none is due, as for a new link to the same board.
    pub(super) fn anew(&self) -> Self {
        Self {
            pause: self.pause,
            ..Self::default()
        }
    }

    /// A square has changed.
    pub(super) fn changed(&mut self, now: Millis) {
        let paused = self.last.map(|last| last + self.pause);
        self.due = (now + SETTLED).max(paused.unwrap_or_default());
    }

    /// The line was damaged at `now`. A deadline from before the greeting may have passed.
    pub(super) fn damaged(&mut self, now: Millis) {
        self.mend_due = self.mend_due.filter(|due| *due > now).or(Some(now + MEND));
    }

    /// The handshake is sent. Changes between its dump and its mode show in another dump.
    pub(super) fn opened(&mut self, now: Millis) {
        self.due = now + MEND;
        self.mend_due = self.mend_due.filter(|due| *due > now);
    }

    /// Somebody waits for one.
    pub(super) fn wanted(&mut self, now: Millis) {
        self.due = now;
    }

    /// One came while nobody greeted the board.
    pub(super) fn came(&mut self, now: Millis) {
        self.last = Some(now);
    }

    /// True if one is due; the next one is due later then.
    pub(super) fn take_due(&mut self, now: Millis) -> bool {
        let is_due = now >= self.due || self.mend_due.is_some_and(|due| now >= due);
        if is_due {
            self.mend_due = None;
            self.due = now + QUIET.max(self.pause);
        }
        is_due
    }

    /// When the next one is due.
    pub(super) fn due(&self) -> Millis {
        self.mend_due.map_or(self.due, |due| due.min(self.due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a dump is due after a change at `changed`, on a line of `boards` boards. One came at 10 s.
    fn due(boards: u64, changed: u64) -> u64 {
        let mut dumps = Dumps::on_line_of(boards);
        dumps.came(Millis(10_000));
        dumps.changed(Millis(changed));
        dumps.due().0
    }

    #[test]
    fn a_board_on_a_line_of_many_is_verified_less_often() {
        assert_eq!(due(0, 10_500), 11_500, "a line of its own");
        assert_eq!(due(12, 10_500), 10_000 + 12 * A_BOARD);
        assert_eq!(due(12, 30_000), 31_000, "it stood still for long");
        let mut dumps = Dumps::on_line_of(12);
        assert!(dumps.take_due(Millis(40_000)));
        assert_eq!(dumps.due(), Millis(40_000 + 12 * A_BOARD), "it stands still");
    }

    #[test]
    fn damage_and_watchers_are_not_put_off() {
        let mut dumps = Dumps::on_line_of(12);
        dumps.came(Millis(10_000));
        dumps.damaged(Millis(10_100));
        dumps.changed(Millis(10_200));
        assert_eq!(dumps.due(), Millis(10_100 + MEND));
        assert!(dumps.take_due(Millis(10_400)));
        dumps.wanted(Millis(10_500));
        assert!(dumps.take_due(Millis(10_500)) && !dumps.take_due(Millis(10_600)));
    }
}

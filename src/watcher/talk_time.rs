//! The time of the conversation with a board, which stands still while the board cannot have heard what was asked.
//!
//! A line that tells its own times may tell late, and in a lump, what happened. A question that came up on the way through the
//! lump reaches the board after all of it. Its answer is not overdue before then.

use crate::time::Millis;

/// Time that may stand still.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TalkTime {
    /// For how many milliseconds it has stood still.
    stood: u64,
    /// Since when it stands still.
    since: Option<Millis>,
}

impl TalkTime {
    /// The time of the conversation at `now`.
    pub(super) fn at(self, now: Millis) -> Millis {
        self.since.map_or(now, |since| since.min(now)) - self.stood
    }

    /// When `due`, a time of the conversation, will be; none while that stands still.
    pub(super) fn due(self, due: Option<Millis>) -> Option<Millis> {
        due.filter(|_| self.since.is_none()).map(|due| due + self.stood)
    }

    /// Stands still from `now` on, or goes on.
    pub(super) fn stand(&mut self, now: Millis, still: bool) {
        if still {
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.stood += now.since(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_due_later_by_as_long_as_time_stood_still() {
        let mut time = TalkTime::default();
        let due = Some(Millis(2500));
        assert_eq!((time.at(Millis(1000)), time.due(due)), (Millis(1000), due));
        time.stand(Millis(1000), true);
        time.stand(Millis(4000), true);
        assert_eq!((time.at(Millis(5000)), time.due(due)), (Millis(1000), None));
        time.stand(Millis(7000), false);
        time.stand(Millis(7100), false);
        assert_eq!(
            (time.at(Millis(7100)), time.due(due)),
            (Millis(1100), Some(Millis(8500)))
        );
    }
}

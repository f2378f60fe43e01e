//! What is wrong with the journal becomes events of the boards: once when it starts, once when it ends.

use std::collections::BTreeMap;

use tokio::sync::broadcast;

use crate::{event::notice, journal::Notice, time::Millis};

/// Trouble that comes again so soon never ended: a disk on the brink would fill the journal with notices.
const QUIET_MS: u64 = 10_000;
/// Notices that a board's task may leave lying, besides one for each board: more than there are codes.
const CHANNEL: usize = 32;

/// Watches the journal's troubles and tells the boards.
pub(super) struct Announcer {
    boards: broadcast::Sender<Notice>,
    /// Troubles that were said and whose end was not, with the time at which each was last seen.
    said: BTreeMap<&'static str, Millis>,
}

impl Announcer {
    pub(super) fn new(boards: usize) -> Self {
        Self {
            boards: broadcast::Sender::new(CHANNEL + boards),
            said: BTreeMap::new(),
        }
    }

    /// What will be announced from now on. A board's task that is started again has heard the rest.
    pub(super) fn listen(&self) -> broadcast::Receiver<Notice> {
        self.boards.subscribe()
    }

    /// Tells the boards.
    pub(super) fn announce(&self, notice: Notice) {
        // Nobody listens while every board's task is being started again: it is in the log.
        let _ = self.boards.send(notice);
    }

    /// Looks at what is wrong now.
    pub(super) fn look(&mut self, now: Millis, troubles: &[Notice]) {
        for trouble in troubles {
            if self.said.insert(trouble.code, now).is_none() {
                self.announce(trouble.clone());
            }
        }
        let over: Vec<_> = self
            .said
            .extract_if(.., |_, seen| now.since(*seen) >= QUIET_MS)
            .map(|(code, _)| code)
            .collect();
        for code in over {
            self.announce(ended(code));
        }
    }
}

fn ended(code: &str) -> Notice {
    if code == notice::OUTBOX_FILLING {
        Notice::new(
            notice::OUTBOX_RECOVERED,
            "what waits for the broker is within the journal's limit again",
        )
    } else {
        Notice::new(
            notice::JOURNAL_RECOVERED,
            format!("the journal can be written again: {code} is over"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(board: &mut broadcast::Receiver<Notice>) -> Vec<&'static str> {
        std::iter::from_fn(|| board.try_recv().ok())
            .map(|notice| notice.code)
            .collect()
    }

    #[test]
    fn trouble_is_said_once_at_its_start_and_once_at_its_end() {
        let mut announcer = Announcer::new(1);
        let mut board = announcer.listen();
        let full = [Notice::new(notice::DISK_FULL, "no room")];
        for second in 0..60 {
            // On the brink: every other second there is room for one event.
            let troubles = if second % 2 == 0 { &full[..] } else { &[] };
            announcer.look(Millis(second * 1000), troubles);
        }
        assert_eq!(heard(&mut board), ["disk_full"]);
        let mut late = announcer.listen();
        for second in 60..120 {
            announcer.look(Millis(second * 1000), &[]);
        }
        assert_eq!(heard(&mut board), ["journal_recovered"]);
        assert_eq!(heard(&mut late), ["journal_recovered"]);
        announcer.look(Millis(120_000), &full);
        assert_eq!(heard(&mut board), ["disk_full"], "a new trouble");
    }

    #[test]
    fn two_troubles_end_each_for_itself() {
        let mut announcer = Announcer::new(1);
        let mut board = announcer.listen();
        let filling = Notice::new(notice::OUTBOX_FILLING, "much");
        let failing = Notice::new(notice::JOURNAL_FAILING, "broken");
        announcer.look(Millis(0), &[filling.clone(), failing]);
        for second in 1..30 {
            announcer.look(Millis(second * 1000), std::slice::from_ref(&filling));
        }
        assert_eq!(
            heard(&mut board),
            ["outbox_filling", "journal_failing", "journal_recovered"]
        );
    }
}

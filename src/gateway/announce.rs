//! Turns troubles of the journal into events of the boards: one event when a trouble begins, and one when it ends.

use std::collections::BTreeMap;

use tokio::sync::broadcast;

use crate::{event::notice, journal::Notice, time::Millis};

/// A trouble that comes again within this time (in milliseconds) has not ended: a disk that is full at times would fill
/// the journal with notices.
const QUIET_MS: u64 = 10_000;
/// How many notices a board's task may leave unread. The few troubles begin and end no more often than every ten seconds, so this
/// is an hour of them.
const CHANNEL: usize = 1024;

/// Watches the journal's troubles and tells the boards.
pub(super) struct Announcer {
    boards: broadcast::Sender<Notice>,
    /// Troubles that were announced and whose end was not, with the time at which each was last seen.
    said: BTreeMap<&'static str, Millis>,
}

impl Announcer {
    pub(super) fn new() -> Self {
        Self {
            boards: broadcast::Sender::new(CHANNEL),
            said: BTreeMap::new(),
        }
    }

    /// The notices from now on. A board's task that is started again has heard the earlier ones.
    pub(super) fn listen(&self) -> broadcast::Receiver<Notice> {
        self.boards.subscribe()
    }

    /// Sends a notice to all boards.
    fn announce(&self, notice: Notice) {
        // No task may listen while every board is being started again. The log has the notice.
        let _ = self.boards.send(notice);
    }

    /// Compares the present troubles with those announced. True where one has begun or ended.
    pub(super) fn look(&mut self, now: Millis, troubles: &[Notice]) -> bool {
        let mut is_news = false;
        for trouble in troubles {
            if self.said.insert(trouble.code, now).is_none() {
                self.announce(trouble.clone());
                is_news = true;
            }
        }
        let over: Vec<_> = self
            .said
            .extract_if(.., |_, seen| now.since(*seen) >= QUIET_MS)
            .map(|(code, _)| code)
            .collect();
        is_news |= !over.is_empty();
        for code in over {
            self.announce(ended(code));
        }
        is_news
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
        let mut announcer = Announcer::new();
        let mut board = announcer.listen();
        let full = [Notice::new(notice::DISK_FULL, "no room")];
        for second in 0..60 {
            // A disk that is full at times: every other second it has room for one event.
            let troubles = if second % 2 == 0 { &full[..] } else { &[] };
            let is_news = announcer.look(Millis(second * 1000), troubles);
            assert_eq!(is_news, second == 0, "`health` hurries once");
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
        let mut announcer = Announcer::new();
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

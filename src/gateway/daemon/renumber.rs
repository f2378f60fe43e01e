//! Gives events other numbers when the broker knows numbers that the journal does not, or when no disk secures them.

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Daemon;
use crate::{event::notice, journal::Notice};

/// Of how many boards that are not configured `health` says that their numbers jumped.
const MOST_OTHERS: usize = 20;

impl Daemon {
    /// Lets the boards stand still while the journal gives other numbers to what they have said and nobody has sent.
    /// The boards go on from the new numbers.
    pub(super) async fn renumber(&mut self) {
        self.stop_boards.cancel();
        let boards = async { while self.boards.join_next().await.is_some() {} };
        if timeout(self.config.limits.shutdown_timeout / 4, boards)
            .await
            .is_err()
        {
            tracing::error!("boards did not stand still in time");
            self.boards.shutdown().await;
        }
        self.running.clear();
        self.stop_boards = CancellationToken::new();
        let found = self.shared.journal.lift().await;
        self.start_boards();
        // Somebody else may have retained numbers of any number of boards.
        let is_ours = |notice: &Notice| {
            let board = notice.board.as_deref();
            board.is_none_or(|board| self.plans.keys().any(|id| id.as_str() == board))
        };
        // The numbers of a board may have jumped before: the newest notice tells of it.
        let is_newest = |old: &Notice| {
            !found
                .iter()
                .any(|new| (&new.code, &new.board) == (&old.code, &old.board))
        };
        let mut known = std::mem::take(&mut self.notices);
        known.retain(|old| is_newest(old) && is_ours(old));
        self.notices = known;
        // Another notice tells of the disk as long as that lasts, and the boards tell the jumps.
        let lasts = |notice: &Notice| notice.code != notice::JOURNAL_UNSECURED;
        let (ours, others): (Vec<_>, Vec<_>) = found.into_iter().filter(lasts).partition(is_ours);
        self.notices.extend(ours);
        self.notices.extend(others.into_iter().take(MOST_OTHERS));
    }
}

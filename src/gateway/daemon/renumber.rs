//! Gives events other numbers when the broker knows numbers that the journal does not.

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Daemon;

impl Daemon {
    /// Lets the boards stand still while the journal gives other numbers to what they have said. None of that was sent.
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
        self.notices.extend(found);
    }
}

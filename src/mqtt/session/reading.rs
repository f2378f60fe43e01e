//! Reads the outbox ahead while the connection goes on: a journal whose disk hangs delays neither pings nor states.

use std::time::{Duration, Instant};

use tokio::{
    task::{JoinError, JoinSet},
    time::timeout,
};

use super::BrokerSession;
use crate::{journal::OutboxRow, mqtt::link::BrokerLink};

/// How long the connection waits for the journal's answer before it goes on without it.
const PROMPT: Duration = Duration::from_millis(100);

/// What the journal answered, and how many events it was asked for.
pub(super) enum Read {
    Backlog(Vec<OutboxRow>, usize),
    /// Rows, each true where it is the first of its board that waits.
    Live(Vec<(OutboxRow, bool)>, usize),
}

impl<L: BrokerLink> BrokerSession<'_, L> {
    /// Tells the journal what the broker has acknowledged. If the journal is behind, the session tells it later.
    pub(super) fn hand_over_acks(&mut self) {
        self.core.journal.try_acked(&mut self.core.acks);
    }

    /// Has the journal read the outbox, one question at a time. Where the journal is prompt, the events are there when
    /// the lanes take turns.
    pub(super) async fn load(&mut self) {
        if self.core.outbox.release(Instant::now()) {
            self.reading = JoinSet::new();
        }
        // Without this the journal would hand out acknowledged events again.
        while self.reading.is_empty() && self.core.acks.is_empty() && self.ask() {
            if let Ok(Some(read)) = timeout(PROMPT, self.reading.join_next()).await {
                self.loaded(read);
            }
        }
    }

    /// Asks the journal for the events that the lane wants; true where it wants any.
    fn ask(&mut self) -> bool {
        let journal = self.core.journal.clone();
        if let Some((after, limit)) = self.core.outbox.wants() {
            self.reading
                .spawn(async move { Read::Backlog(journal.unacked(after, limit).await, limit) });
        } else if let Some((after, limit)) = self.core.outbox.wants_live() {
            self.reading
                .spawn(async move { Read::Live(journal.latest(after, limit).await, limit) });
        } else {
            return false;
        }
        true
    }

    pub(super) fn loaded(&mut self, read: Result<Read, JoinError>) {
        match read {
            Ok(Read::Backlog(rows, asked)) => self.core.outbox.load(rows, asked),
            Ok(Read::Live(rows, asked)) => self.core.outbox.load_live(rows, asked),
            Err(error) => tracing::error!(%error, "reading the outbox failed and is begun again"),
        }
    }
}

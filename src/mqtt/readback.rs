//! What the broker knows of our numbers is asked before anything is sent to it.
//!
//! The last states of the boards lie there, with the last number of each; and where events went out whose numbers no disk
//! secured, a ceiling. A message to ourselves comes back after all that: then everything was heard.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde::Deserialize;
use tokio::sync::oneshot;

use super::{link::Arrived, topic::Topics};
use crate::{
    config::Id,
    journal::{Journal, Known},
};

/// How long a broker may be silent that does not let us hear ourselves.
const SILENCE: Duration = Duration::from_secs(3);

/// Connections that end while we listen for ourselves, after which we do without.
const MOST_BROKEN_OFF: u32 = 1;

/// The last field of a board's `game` that counts here.
#[derive(Deserialize)]
struct Game {
    last_seq: u64,
}

/// Payload of a board's `numbers`: no number above the ceiling was sent while no disk could be written.
#[derive(Deserialize, serde::Serialize)]
pub(super) struct Numbers {
    pub(super) ceiling: u64,
}

/// How far the asking is.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Unasked,
    /// Something may still come until then.
    Hearing(Instant),
    /// Everything was heard.
    Heard,
    /// The journal compares.
    Comparing(oneshot::Receiver<()>),
}

/// The asking, over connections, until it has come to its end.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    stage: Stage,
    known: BTreeMap<String, Known>,
    /// Connections that ended in the middle of it.
    broken_off: u32,
}

impl ReadBack {
    /// It is asked on a new connection. True where a message to ourselves is to follow: there are brokers that hang up
    /// on one that they do not allow.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        if matches!(self.stage, Stage::Hearing(_)) {
            self.broken_off += 1;
        }
        self.stage = Stage::Hearing(now + SILENCE);
        self.known.clear();
        self.broken_off < MOST_BROKEN_OFF
    }

    /// Takes what came in, if it is an answer.
    pub(super) fn take(&mut self, topics: &Topics, arrived: &Arrived) {
        if !matches!(self.stage, Stage::Hearing(_)) {
            return;
        }
        if arrived.topic == topics.echo() {
            return self.end();
        }
        let Some((board, state)) = topics.parse_read_back(&arrived.topic) else {
            return;
        };
        self.stage = Stage::Hearing(Instant::now() + SILENCE);
        let known = self.known.entry(board.to_owned()).or_default();
        let payload = &arrived.payload;
        if state == "numbers" {
            known.ceiling = serde_json::from_slice::<Numbers>(payload).map_or(0, |numbers| numbers.ceiling);
        } else {
            known.last = serde_json::from_slice::<Game>(payload).map_or(0, |game| game.last_seq);
        }
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) {
        if matches!(self.stage, Stage::Hearing(_)) {
            self.stage = Stage::Heard;
        }
    }

    /// Goes on where time or what was heard allows it.
    pub(super) async fn go_on(&mut self, journal: &Journal, now: Instant) {
        if let Stage::Hearing(until) = self.stage
            && until <= now
        {
            tracing::warn!(
                "the broker does not let us hear what we published before: if the journal was lost, it cannot tell; may we read our own topics?"
            );
            self.stage = Stage::Heard;
        }
        if matches!(self.stage, Stage::Heard) {
            self.stage = Stage::Comparing(journal.reconcile(self.known.clone()).await);
        }
    }

    /// Ends when nothing speaks against sending.
    pub(super) async fn settled(&mut self) {
        if let Stage::Comparing(answer) = &mut self.stage
            && answer.await.is_ok()
        {
            return;
        }
        // A journal that is closed: nothing will be sent any more.
        std::future::pending::<()>().await;
    }

    /// Boards that are not among `ours`: they were renamed or removed.
    pub(super) fn former(&self, ours: &[Id]) -> Vec<Id> {
        let is_former = |id: &Id| !ours.contains(id);
        let boards = self.known.keys().filter_map(|board| board.parse().ok());
        boards.filter(is_former).collect()
    }

    /// The ceilings that lie there.
    pub(super) fn ceilings(self) -> BTreeMap<String, u64> {
        let known = self.known.into_iter();
        let ceilings = known.map(|(board, known)| (board, known.ceiling));
        ceilings.filter(|(_, ceiling)| *ceiling > 0).collect()
    }
}

//! The requests to the journal's thread.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::oneshot;

use super::entry::{
    AppendError, CommandRecord, Entry, JournalStats, KnownNumbers, Notice, OutboxRow, Resume, Written,
};

/// Why events must not be sent before numbers are compared again.
#[derive(Clone, Copy, Debug)]
pub struct StandBy {
    /// True where events were being sent before.
    pub was_sending: bool,
    /// True where another gateway gives out our numbers, false where there is another broker.
    pub has_rival: bool,
}

/// A request with the sender of its answer.
pub(super) enum JournalRequest {
    Append(Entry, oneshot::Sender<Result<Written, AppendError>>),
    Note(CommandRecord, oneshot::Sender<Result<Written, AppendError>>),
    Acked(Vec<u64>),
    Unacked(u64, usize, oneshot::Sender<Vec<OutboxRow>>),
    Latest(u64, usize, oneshot::Sender<Vec<(OutboxRow, bool)>>),
    Resume(String, oneshot::Sender<Resume>),
    Command(String, String, oneshot::Sender<Option<CommandRecord>>),
    Reconcile(BTreeMap<String, KnownNumbers>, oneshot::Sender<BTreeSet<String>>),
    /// The boot id of the process whose end the broker has told.
    SeenOff(String),
    /// Another gateway waits for our name.
    MeetRival,
    /// What the broker has by now in its retained states, by board.
    Shown(BTreeMap<String, u64>),
    StandBy(StandBy),
    Boot(String),
    Lift(oneshot::Sender<Vec<Notice>>),
    Tick(oneshot::Sender<JournalStats>),
    Close(oneshot::Sender<()>),
}

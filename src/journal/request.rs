//! The requests to the journal's thread.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::oneshot;

use super::{
    entry::{
        AppendError, CommandRecord, Entry, JournalStats, KnownNumbers, Notice, OutboxRow, Resume, Written,
    },
    runs::LastRun,
};

/// A request with the sender of its answer.
pub(super) enum JournalRequest {
    Append(Entry, oneshot::Sender<Result<Written, AppendError>>),
    Note(CommandRecord, oneshot::Sender<Result<Written, AppendError>>),
    Acked(Vec<u64>),
    Unacked(u64, usize, oneshot::Sender<Vec<OutboxRow>>),
    Latest(u64, usize, oneshot::Sender<Vec<(OutboxRow, bool)>>),
    Resume(String, oneshot::Sender<Resume>),
    Command(String, String, oneshot::Sender<Option<CommandRecord>>),
    Reconcile(
        Option<BTreeMap<String, KnownNumbers>>,
        oneshot::Sender<BTreeSet<String>>,
    ),
    StandBy(bool),
    AskAnew(bool),
    Send,
    Follow(LastRun),
    Heard(BTreeMap<String, u64>),
    Boot(String),
    Lift(oneshot::Sender<Vec<Notice>>),
    Tick(oneshot::Sender<JournalStats>),
    Close(oneshot::Sender<()>),
}

//! What is asked of the journal's thread.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::entry::{AppendError, CommandRecord, Entry, Known, Notice, Resume, Row, Stats, Written};

/// A request, with where its answer goes.
pub(super) enum Request {
    Append(Entry, oneshot::Sender<Result<Written, AppendError>>),
    Acked(Vec<u64>),
    Unacked(u64, usize, oneshot::Sender<Vec<Row>>),
    Latest(u64, usize, oneshot::Sender<Vec<(Row, bool)>>),
    Resume(String, oneshot::Sender<Resume>),
    Command(String, String, oneshot::Sender<Option<CommandRecord>>),
    Reconcile(BTreeMap<String, Known>, oneshot::Sender<()>),
    StandBy(bool),
    Boot(String),
    Lift(oneshot::Sender<Vec<Notice>>),
    Tick(oneshot::Sender<Stats>),
    Close(oneshot::Sender<()>),
}

//! The handle to the journal's thread.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
};

use tokio::sync::{mpsc, oneshot, watch};

use super::{
    entry::{
        AppendError, CommandRecord, Entry, JournalSettings, JournalStats, KnownNumbers, Notice, OutboxRow,
        Resume, Written,
    },
    error::JournalError,
    open,
    request::JournalRequest,
    runs::LastRun,
    writer::{JournalWriter, Tells},
};

/// Requests that may wait for the thread; senders wait beyond that.
const CHANNEL: usize = 256;

/// Handle to the journal's thread; cheap to clone.
#[derive(Clone, Debug)]
pub struct Journal {
    requests: mpsc::Sender<JournalRequest>,
    /// The position of the last event; a change wakes the publisher.
    news: watch::Receiver<u64>,
    /// What is wrong with the journal now.
    trouble: watch::Receiver<Vec<Notice>>,
    unsecured: watch::Receiver<bool>,
    disputed: watch::Receiver<bool>,
    sending: watch::Receiver<bool>,
    era: watch::Receiver<Option<String>>,
    identity: Arc<str>,
    is_new: bool,
}

/// Resolves when an entry is on the disk, or refused.
#[derive(Debug)]
pub struct Committed(oneshot::Receiver<Result<Written, AppendError>>);

impl Future for Committed {
    type Output = Result<Written, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|answer| answer.unwrap_or(Err(AppendError::Closed)))
    }
}

impl Journal {
    /// Opens the journal of `gateway` and starts its thread, which ends when the last handle is gone or at
    /// [`Self::close`]. The notices tell what the opening found.
    ///
    /// # Errors
    /// When another process has the journal, or the file system refuses. A damaged file is set aside instead.
    pub fn open(settings: JournalSettings, gateway: &str) -> Result<(Self, Vec<Notice>), JournalError> {
        let mut ready = open::open(&settings, gateway)?;
        let notices = std::mem::take(&mut ready.notices);
        let (path, identity) = (settings.path.clone(), ready.identity.as_str().into());
        let is_new = ready.resumes.is_empty();
        let sqlite = |source| JournalError::Sqlite {
            path: path.clone(),
            source,
        };
        let (requests, receiver) = mpsc::channel(CHANNEL);
        let (news_sender, news) = watch::channel(0);
        let (trouble_sender, trouble) = watch::channel(Vec::new());
        let (unsecured_sender, unsecured) = watch::channel(false);
        let (disputed_sender, disputed) = watch::channel(false);
        let (sending_sender, sending) = watch::channel(false);
        let (era_sender, era) = watch::channel(None);
        let tells = Tells {
            news: news_sender,
            trouble: trouble_sender,
            unsecured: unsecured_sender,
            disputed: disputed_sender,
            sending: sending_sender,
            era: era_sender,
        };
        let writer = JournalWriter::new(ready, settings, gateway.to_owned(), tells).map_err(sqlite)?;
        thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(receiver))
            .map_err(|source| JournalError::Io {
                act: "start the thread of",
                path,
                source,
            })?;
        let journal = Self {
            requests,
            news,
            trouble,
            unsecured,
            disputed,
            sending,
            era,
            identity,
            is_new,
        };
        Ok((journal, notices))
    }

    /// Hands over an entry and returns the future that resolves when it is on the disk. Waits while the thread is
    /// behind.
    pub async fn append(&self, entry: Entry) -> Committed {
        let (answer, committed) = oneshot::channel();
        // A closed channel drops `answer`, which the future reports as `Closed`.
        let _ = self.requests.send(JournalRequest::Append(entry, answer)).await;
        Committed(committed)
    }

    /// Hands over a command to the gateway, which leads to no events, without waiting for the thread. Returns false if the
    /// thread is behind: the command is not kept then.
    #[must_use]
    pub fn try_note(&self, record: CommandRecord) -> bool {
        let (answer, _) = oneshot::channel();
        self.requests
            .try_send(JournalRequest::Note(record, answer))
            .is_ok()
    }

    /// Takes events off the outbox. The acknowledgements are on disk within a tick: an event whose acknowledgement a
    /// crash loses is sent again.
    pub async fn acked(&self, positions: Vec<u64>) {
        let _ = self.requests.send(JournalRequest::Acked(positions)).await;
    }

    /// Takes events off the outbox without waiting. If the thread is behind, they stay in `positions`.
    pub fn try_acked(&self, positions: &mut Vec<u64>) {
        if positions.is_empty() {
            return;
        }
        match self.requests.try_reserve() {
            Ok(place) => place.send(JournalRequest::Acked(std::mem::take(positions))),
            Err(mpsc::error::TrySendError::Full(())) => {}
            // The thread is gone: nobody takes acknowledgements any more.
            Err(mpsc::error::TrySendError::Closed(())) => positions.clear(),
        }
    }

    /// Up to `limit` events after position `after` that nobody has acknowledged, in order.
    pub async fn unacked(&self, after: u64, limit: usize) -> Vec<OutboxRow> {
        self.ask(|answer| JournalRequest::Unacked(after, limit, answer))
            .await
    }

    /// Events as [`Self::unacked`] gives them, each true where it is the first of its board that waits.
    pub async fn latest(&self, after: u64, limit: usize) -> Vec<(OutboxRow, bool)> {
        self.ask(|answer| JournalRequest::Latest(after, limit, answer))
            .await
    }

    /// Where a board goes on.
    pub async fn resume(&self, board: &str) -> Resume {
        self.ask(|answer| JournalRequest::Resume(board.to_owned(), answer))
            .await
    }

    /// The command with this reference on this board in the last ten minutes: a caller that repeats a command gets the
    /// same answer.
    pub async fn command(&self, board: &str, reference: &str) -> Option<CommandRecord> {
        self.ask(|answer| JournalRequest::Command(board.to_owned(), reference.to_owned(), answer))
            .await
    }

    /// Compares the journal's numbers with those that a broker knows. The answer comes as soon as they are settled.
    /// If the broker knows numbers above those of the journal at its start, that is after [`Self::lift`]. The answer has the boards
    /// that were left out, because the journal has no room for boards that nobody configured: only the broker knows their numbers.
    /// `known` is none of a broker that does not tell what was published before.
    pub async fn reconcile(
        &self,
        known: Option<BTreeMap<String, KnownNumbers>>,
    ) -> oneshot::Receiver<BTreeSet<String>> {
        let (answer, receiver) = oneshot::channel();
        let _ = self.requests.send(JournalRequest::Reconcile(known, answer)).await;
        receiver
    }

    /// What tells this journal from any other, also from one of a gateway of our name.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// What tells the time since [`Self::reconcile`] from any other; none before. A copy of this journal knows those before it was made.
    #[must_use]
    pub fn era(&self) -> Option<String> {
        self.era.borrow().clone()
    }

    /// True where the journal knew no board as it was opened: it is the first one, or the one before was lost.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Tells the journal that another gateway gives out numbers under our name. Events that the journal takes from now
    /// on are not sent before [`Self::reconcile`], by this process or by another. Unless events were being sent, that
    /// holds for all since the start.
    pub async fn stand_by(&self, was_sending: bool) {
        let _ = self.requests.send(JournalRequest::StandBy(was_sending)).await;
    }

    /// Tells the journal that another broker is asked for our numbers. As [`Self::stand_by`], but nobody else had the name.
    pub async fn ask_anew(&self, was_sending: bool) {
        let _ = self.requests.send(JournalRequest::AskAnew(was_sending)).await;
    }

    /// Has the journal note that its events can be sent, after [`Self::reconcile`] and once the broker has answered `info`, without waiting.
    /// Returns false if the thread is behind: it notes nothing then. Before [`Self::sends`] no event may be sent: the next process takes
    /// them for unsent.
    #[must_use]
    pub fn try_begin_to_send(&self) -> bool {
        self.requests.try_send(JournalRequest::Send).is_ok()
    }

    /// True once events may be sent. [`Self::news`] tells when.
    #[must_use]
    pub fn sends(&self) -> bool {
        *self.sending.borrow()
    }

    /// Tells the journal which run had our name last, before [`Self::reconcile`].
    pub async fn follow(&self, last: LastRun) {
        let _ = self.requests.send(JournalRequest::Follow(last)).await;
    }

    /// Tells the journal the highest numbers that other brokers told, or this one before it lost them. Where numbers leave their range,
    /// they go on above these.
    pub async fn heard(&self, numbers: BTreeMap<String, u64>) {
        let _ = self.requests.send(JournalRequest::Heard(numbers)).await;
    }

    /// Writes the daemon's boot id to where [`super::query::boot`] finds it.
    pub async fn set_boot(&self, boot_id: &str) {
        let _ = self.requests.send(JournalRequest::Boot(boot_id.to_owned())).await;
    }

    /// True while boards need other numbers: a broker knows numbers that the journal does not, or no disk secures those of the
    /// boards. The boards then stand still for [`Self::lift`], and go on from [`Self::resume`] after it.
    #[must_use]
    pub fn disputed(&self) -> watch::Receiver<bool> {
        self.disputed.clone()
    }

    /// Gives the events since the start, of boards whose numbers are disputed, numbers above the disputed ones.
    pub async fn lift(&self) -> Vec<Notice> {
        self.ask(JournalRequest::Lift).await
    }

    /// True while there are events whose numbers no disk secures.
    #[must_use]
    pub fn unsecured(&self) -> watch::Receiver<bool> {
        self.unsecured.clone()
    }

    /// Does the housekeeping (pending acknowledgements, limits, another try at a refusing disk) and returns the figures
    /// after it. The caller does this every second or so.
    pub async fn tick(&self) -> JournalStats {
        self.ask(JournalRequest::Tick).await
    }

    /// Writes everything that is pending and ends the thread.
    pub async fn close(&self) {
        self.ask(JournalRequest::Close).await;
    }

    /// Wakes up when there are new events to send; the position of the last.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.clone()
    }

    /// What is wrong with the journal right now; empty when all is well.
    #[must_use]
    pub fn trouble(&self) -> watch::Receiver<Vec<Notice>> {
        self.trouble.clone()
    }

    async fn ask<T: Default>(&self, request: impl FnOnce(oneshot::Sender<T>) -> JournalRequest) -> T {
        let (answer, receiver) = oneshot::channel();
        let _ = self.requests.send(request(answer)).await;
        receiver.await.unwrap_or_default()
    }
}

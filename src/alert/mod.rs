//! Notices pushed to phones: an event that an arbiter must hear of goes to a webhook or to ntfy.
//!
//! Each place reads the events in the journal beside all other work, as a broadcast does, so no board ever waits for a
//! phone. The file of positions beside the journal keeps how far each place was told, and which messages it has refused
//! so far. A restart repeats only the messages that were under way. The file keeps also of which irregularities the place
//! was told: it hears when one of them is off.
#![allow(clippy::disallowed_methods)] // phones live on the wall clock.

mod message;
mod place;
mod read;
mod refused;
#[cfg(test)]
mod tests;
mod told;

use std::{path::PathBuf, time::Duration};

use fastrand::Rng;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use self::{
    message::AlertMessage,
    place::{Recipient, SendError},
    read::AlertNews,
    refused::{RefusedAlert, RefusedAlerts},
    told::ToldAlerts,
};
use crate::{
    config::AlertConfig,
    event::Body,
    journal::{Taken, alerted, wall_ms},
    link::Backoff,
    time::Millis,
};

/// How many events are read at a time.
const BATCH: usize = 256;
/// How long to wait before trying again to read a journal.
const PATIENCE: Duration = Duration::from_secs(5);
/// An event older than this (in milliseconds) is no news for a phone: the arbiter sees it on the page.
const OLDEST_MS: i64 = 15 * 60_000;
/// First and longest wait after a failure that may pass.
const RETRY_MS: (u64, u64) = (1_000, 60_000);

/// Pushes to `alert`'s place the events written to the journal at `path`, until `stop`; `news` has the position of the last one and
/// wakes it up. A new place hears what is written after this call, however late a busy machine runs what it returns.
pub(crate) fn tell(
    alert: AlertConfig,
    path: PathBuf,
    news: watch::Receiver<u64>,
    stop: CancellationToken,
) -> impl Future<Output = ()> {
    let last = *news.borrow();
    tell_after(last, alert, path, news, stop)
}

async fn tell_after(
    last: u64,
    alert: AlertConfig,
    path: PathBuf,
    news: watch::Receiver<u64>,
    stop: CancellationToken,
) {
    let began = Instant::now().into_std();
    let mut teller = Teller {
        key: alert.key(),
        place: Recipient::new(&alert),
        alert,
        path,
        position: 0,
        told: ToldAlerts::default(),
        refused: RefusedAlerts::default(),
        began,
        taken: Taken::begin(began, wall_ms(), last),
        written: last,
        news,
        oldest_ms: OLDEST_MS,
        failing: false,
        stale: 0,
    };
    let mut after = teller.begin(last).await;
    loop {
        teller.hear_news();
        let (last, more) = tokio::select! {
            done = teller.work(after) => done,
            () = stop.cancelled() => return,
        };
        after = last;
        if !more {
            tokio::select! {
                changed = teller.news.changed() => if changed.is_err() { return },
                () = until(teller.refused.due()) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

/// Waits for `due`; for ever where nothing is due.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

struct Teller {
    alert: AlertConfig,
    /// The name of the place in the file of positions.
    key: String,
    place: Recipient,
    path: PathBuf,
    /// The last event that is told, refused or of no interest, as are all before it.
    position: u64,
    /// Of which irregularities the place was told.
    told: ToldAlerts,
    /// What the place has refused so far.
    refused: RefusedAlerts,
    /// When this run began.
    began: std::time::Instant,
    /// When this run wrote which events, whatever the wall clock says.
    taken: Taken,
    /// The last event of which it is noted when it was written.
    written: u64,
    /// Has the position of the last event.
    news: watch::Receiver<u64>,
    /// [`OLDEST_MS`], or less in tests.
    oldest_ms: i64,
    /// True once the log has told that the place cannot be reached.
    failing: bool,
    /// How many messages became too old in the meantime.
    stale: u64,
}

impl Teller {
    /// The position to go on from: that of the last event told, or at the first time `last`, the end of the journal.
    async fn begin(&mut self, last: u64) -> u64 {
        let (path, key) = (self.path.clone(), self.key.clone());
        let begin = move || {
            let (position, rest) = alerted::read(&path, &key).unwrap_or((last, String::new()));
            // A journal that was restored may end before that position.
            let position = position.min(last);
            let refused = RefusedAlerts::positions(&rest).into_iter();
            let refused = refused.filter(|refused| *refused <= position);
            let refused: Vec<_> = refused.filter_map(|refused| read::at(&path, refused)).collect();
            (position, ToldAlerts::parse(&rest), refused)
        };
        let (position, told, refused) = tokio::task::spawn_blocking(begin).await.unwrap_or_default();
        (self.position, self.told) = (position, told);
        for news in refused {
            self.refused.add(RefusedAlert::new(news));
        }
        self.keep().await;
        position
    }

    /// Tells of the events after `after`; the last of them, and whether there may be more.
    async fn work(&mut self, after: u64) -> (u64, bool) {
        self.try_again().await;
        let Some(batch) = self.read(after).await else {
            sleep(PATIENCE).await;
            return (after, true);
        };
        let more = batch.len() >= BATCH;
        let mut last = after;
        for news in batch {
            last = news.position;
            self.consider(news).await;
            self.try_again().await;
        }
        (last, more)
    }

    /// The next events; none where the journal cannot be read now.
    async fn read(&self, after: u64) -> Option<Vec<AlertNews>> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || read::batch(&path, after, BATCH))
            .await
            .ok()?;
        read.inspect_err(|error| tracing::debug!("alerts: cannot read the journal: {error}"))
            .ok()
    }

    /// Pushes the event, if the place asks for it. It waits where the place has refused what comes before it.
    async fn consider(&mut self, news: AlertNews) {
        self.note_written(news.position);
        let is_late = self.refused.precede(&news);
        if matches!(news.event.body, Body::Irregularity(_)) && !is_late {
            self.told.forget(&news);
        }
        if !is_late && self.message(&news).is_none() {
            return;
        }
        while self.refused.is_full() {
            until(self.refused.due()).await;
            self.try_again().await;
        }
        self.position = news.position;
        let one = RefusedAlert::new(news);
        if self.refused.precede(&one.news) {
            self.refused.add(one);
            self.keep().await;
        } else {
            self.push(one).await;
        }
    }

    /// Pushes again what the place has refused, as far as it is due.
    async fn try_again(&mut self) {
        while let Some(one) = self.refused.take_due() {
            self.push(one).await;
        }
    }

    async fn push(&mut self, one: RefusedAlert) {
        if let Some(since_ms) = self.send(&one.news, one.since_ms).await {
            self.refused.add(one.again(since_ms));
        }
        self.keep().await;
    }

    /// The message on an event, and whether it changes one that the place has.
    fn message(&self, news: &AlertNews) -> Option<(AlertMessage, bool)> {
        let follow_up = self.told.follow_up(news, self.alert.language);
        let follow_up = follow_up.map(|message| (message, true));
        follow_up.or_else(|| Some((AlertMessage::of(&news.event, &self.alert)?, false)))
    }

    /// Sends the message on an event if it is still news. What changes a message that the place has is news until the
    /// place has refused it for as long. When the place refused it first, in milliseconds of this run, if it may take it later.
    async fn send(&mut self, news: &AlertNews, mut since_ms: Option<i64>) -> Option<i64> {
        let (message, is_follow_up) = self.message(news)?;
        let mut backoff = Backoff::new(RETRY_MS.0, RETRY_MS.1, 0);
        let mut rng = Rng::new();
        loop {
            // What the place must hear waits as long as it is away, but not for ever if it is there and refuses that.
            let age_ms = if is_follow_up {
                since_ms.map_or(0, |since_ms| self.run_ms() - since_ms)
            } else {
                self.age_ms(news)
            };
            if age_ms > self.oldest_ms {
                self.stale += 1;
                return None;
            }
            let error = match self.place.send(&message).await {
                Ok(()) => {
                    self.told.note(news, self.alert.language);
                    self.worked();
                    return None;
                }
                Err(error) => error,
            };
            self.failed(&error);
            if error.is_final() {
                return None;
            }
            let is_refused = matches!(error, SendError::Refused { .. });
            if is_refused {
                since_ms.get_or_insert_with(|| self.run_ms());
            }
            // A place that is away, or asks for peace, takes no other message either.
            match error.peace() {
                None if is_refused => return since_ms,
                peace => {
                    let wait = Duration::from_millis(backoff.failed(Millis(0), &mut rng));
                    self.rest(wait.max(peace.unwrap_or_default())).await;
                }
            }
        }
    }

    /// How long ago an event was written, by a clock that nobody sets.
    fn age_ms(&self, news: &AlertNews) -> i64 {
        let now = Instant::now().into_std();
        let age = self.taken.age(now, news.position, news.written_ms);
        i64::try_from(age.as_millis()).unwrap_or(i64::MAX)
    }

    fn run_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// Waits, and notes when events are written meanwhile.
    async fn rest(&mut self, wait: Duration) {
        let end = Instant::now() + wait;
        loop {
            tokio::select! {
                () = sleep_until(end) => return,
                Ok(()) = self.news.changed() => self.hear_news(),
            }
        }
    }

    fn hear_news(&mut self) {
        let written = *self.news.borrow_and_update();
        self.note_written(written);
    }

    fn note_written(&mut self, position: u64) {
        if position > self.written {
            self.taken.note(Instant::now().into_std(), self.written + 1);
            self.written = position;
        }
    }

    /// Keeps how far the place was told.
    async fn keep(&self) {
        let (path, key, position) = (self.path.clone(), self.key.clone(), self.position);
        let rest = self.refused.text() + &self.told.text();
        let keep = move || {
            if let Err(error) = alerted::keep(&path, &key, position, &rest) {
                tracing::debug!("alerts: cannot keep how far {key} was told: {error}");
            }
        };
        // The write ends with the runtime at the latest.
        let _ = tokio::task::spawn_blocking(keep).await;
    }

    fn worked(&mut self) {
        if self.refused.is_empty() && std::mem::take(&mut self.failing) {
            let left_out = match std::mem::take(&mut self.stale) {
                0 => String::new(),
                count => format!(
                    "; {count} messages grew older than a quarter of an hour meanwhile and were left out"
                ),
            };
            tracing::info!("alerts: {} takes messages again{left_out}", self.place.name());
        }
    }

    /// Writes one line to the log for a failure, and none for each attempt.
    fn failed(&mut self, error: &SendError) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!("alerts: a message is not taken: {error}");
        }
    }
}
